// C++ leaves the order of arguments unspecified, and compilers differ. So at most one argument of a
// call may create operations of tile IR or instructions of LLVM IR. Otherwise the generated code
// depends on the compiler that built tritonc. This test reads the source tree.

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path generator = fs::path(TRITONC_TESTS_DIR).parent_path() / "generator";

std::string text_of(const fs::path &file) {
  std::ifstream stream(file);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// A call of a method of ir::Builder or of llvm::IRBuilder, or of a function with a builder.
std::regex creation() {
  std::string header = text_of(generator / "ir/builder.h"), names = "Create[A-Z]\\w*";
  std::regex method(R"((?:Value|Op) \*(\w+)\()");
  for (std::sregex_iterator at(header.begin(), header.end(), method), end; at != end; ++at)
    names += "|" + (*at)[1].str();
  return std::regex("(\\.|->)(" + names + ")\\(|\\b\\w+\\((builder_?|b_)[,)]");
}

// The argument lists in `text` of which two arguments create something. Braces define an order, and
// the callee runs a lambda.
std::vector<std::string> unordered_arguments(std::string text) {
  static const std::regex creates = creation();
  text = std::regex_replace(text, std::regex(R"(//[^\n]*|"(\\.|[^"\\\n])*"|'\\?[^']')"), "0");
  std::vector<std::vector<size_t>> open; // where the arguments begin
  std::vector<std::string> found;
  for (size_t i = 0; i < text.size(); i++) {
    if (std::strchr("([{", text[i]))
      open.emplace_back();
    if (open.empty() || !std::strchr("([{,)]}", text[i]))
      continue;
    open.back().push_back(i + 1);
    if (!std::strchr(")]}", text[i]))
      continue;
    std::vector<size_t> starts = std::move(open.back());
    open.pop_back();
    int count = 0;
    for (size_t k = 1; text[i] == ')' && k < starts.size(); k++) {
      std::string argument = text.substr(starts[k - 1], starts[k] - 1 - starts[k - 1]);
      size_t first = argument.find_first_not_of(" \n");
      bool is_lambda = first < argument.size() && argument[first] == '[';
      count += !is_lambda && std::regex_search(argument, creates);
    }
    if (count > 1)
      found.push_back(text.substr(starts[0], i - starts[0]));
  }
  return found;
}

} // namespace

TEST_CASE("argument order: at most one argument creates operations") {
  int files = 0;
  for (const char *folder :
       {"ir", "analysis", "translate", "passes", "schedule", "backend", "lower"})
    for (const auto &entry : fs::directory_iterator(generator / folder))
      if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h") {
        CAPTURE(entry.path().string());
        files++;
        for (const std::string &arguments : unordered_arguments(text_of(entry.path())))
          FAIL_CHECK("give these arguments an order with local variables: " << arguments);
      }
  CHECK(files > 100);
}

TEST_CASE("argument order: what the test finds") {
  for (const char *text : {"b.sub(b.add(x, y), b.i32(1));", "f(b->CreateNeg(x), g(builder, y));",
                           "f(x, // a, b\n  b_.CreateNot(y), \"(\", b_.CreateNeg(z));"})
    CHECK_MESSAGE(unordered_arguments(text).size() == 1, text);
  for (const char *text : {"b.sub(b.add(b.mul(x, y), z), w);", "return {b.add(x, y), b.sub(x, y)};",
                           "f(g(builder, x), [&] { b.store(x, y); });", "f(values.size(), i32(1));",
                           "f(b.add(x, y), \"b.add(x, y)\"); // b.add(x, y)"})
    CHECK_MESSAGE(unordered_arguments(text).empty(), text);
}
