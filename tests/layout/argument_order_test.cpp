// C++ leaves the order of a call's arguments unspecified, and of an operator's operands. Compilers
// differ. So at most one of them may
//
// - create operations of tile IR or instructions of LLVM IR. Otherwise the generated code depends on
//   the compiler that built tritonc.
// - draw random numbers, in the generators of the tests. Otherwise the random kernels of a seed
//   depend on that compiler.
//
// This test reads the source tree.

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path tests = TRITONC_TESTS_DIR, generator = tests.parent_path() / "generator";

std::string text_of(const fs::path &file) {
  std::ifstream stream(file);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

bool is_source(const fs::path &file) {
  return file.extension() == ".cpp" || file.extension() == ".h";
}

// The text without comments and strings.
std::string code_of(const std::string &text) {
  static const std::regex others(R"(//[^\n]*|"(\\.|[^"\\\n])*"|'\\?[^']')");
  return std::regex_replace(text, others, "0");
}

// --- Effects: regular expressions of calls that need an order. -----------------------------------

// The names of the methods of ir::Builder and of llvm::IRBuilder that create something.
const std::string &creating_methods() {
  static const std::string made = [] {
    std::string header = text_of(generator / "ir/builder.h"), names = "Create[A-Z]\\w*";
    std::regex method(R"((?:Value|Op) \*(\w+)\()");
    for (std::sregex_iterator at(header.begin(), header.end(), method), end; at != end; ++at)
      names += "|" + (*at)[1].str();
    return names;
  }();
  return made;
}

// A call of such a method, or of a function with a builder that `code` declares.
std::regex creation_in(const std::string &code) {
  std::string builders = "builder_?|b_";
  static const std::regex variable(R"(\bBuilder &?(\w+))");
  for (std::sregex_iterator at(code.begin(), code.end(), variable), end; at != end; ++at)
    builders += "|" + (*at)[1].str();
  return std::regex("(\\.|->)(" + creating_methods() + ")\\(|\\b\\w+\\((" + builders + ")[,)]");
}

// The position after the bracket that closes the bracket at `open`.
size_t after_bracket(const std::string &code, size_t open) {
  int depth = 0;
  for (size_t i = open; i < code.size(); i++) {
    depth += std::strchr("([{", code[i]) != nullptr;
    if (std::strchr(")]}", code[i]) && --depth == 0)
      return i + 1;
  }
  return code.size();
}

// The functions and named lambdas of `code` that have `effect` in their bodies.
std::set<std::string> functions_with(const std::regex &effect, const std::string &code) {
  static const std::regex start(
      R"(\b(\w+) ?\([^;{}]*\)( const)? \{|\b(\w+) = \[[^\]]*\](\([^;{}]*\))? \{)");
  std::set<std::string> names;
  for (std::sregex_iterator at(code.begin(), code.end(), start), end; at != end; ++at) {
    size_t open = size_t(at->position() + at->length()) - 1;
    if (std::regex_search(code.substr(open, after_bracket(code, open) - open), effect))
      names.insert((*at)[1].matched ? (*at)[1] : (*at)[3]);
  }
  for (const char *statement : {"if", "for", "while", "switch"})
    names.erase(statement);
  return names;
}

// A use of a random::Draw in `code`, a change of the generator's lists, or a call of a function
// with such a use or change.
std::regex drawing_in(const std::string &code) {
  std::string variables = "work_|lists_";
  std::regex variable(R"(\bDraw &?(\w+))");
  for (std::sregex_iterator at(code.begin(), code.end(), variable), end; at != end; ++at)
    variables += "|" + (*at)[1].str();
  std::set<std::string> names = {"bits", "add_variable"};
  for (;;) {
    std::string calls;
    for (const std::string &name : names)
      calls += (calls.empty() ? "" : "|") + name;
    std::regex effect("\\b(" + variables + ")\\b|\\b(" + calls + ")(?=\\()");
    size_t before = names.size();
    names.merge(functions_with(effect, code));
    if (names.size() == before)
      return effect;
  }
}

// --- Search. -------------------------------------------------------------------------------------

// Finds argument lists and expressions of which two parts have an effect. Braces define an order,
// and so do && || ?: << >> and assignments.
class Scanner {
public:
  Scanner(const std::string &code, const std::regex &effect) : code_(code) {
    for (std::sregex_iterator at(code.begin(), code.end(), effect), end; at != end; ++at)
      if (at->position() == 0 || code[size_t(at->position()) - 1] != ':') // not N::f(
        effects_.push_back(size_t(at->position()));
  }

  std::vector<std::string> run() {
    levels_.push_back({0, true});
    for (size_t i = 0; i < code_.size();)
      i += read(i);
    return std::move(found_);
  }

private:
  // The text between two brackets.
  struct Level {
    size_t start;
    bool is_block; // of statements, or of the head of a statement
    size_t argument = start, expression = start, operand = start; // where the current part begins
    int arguments = 0, operands = 0;                              // with an effect
  };

  // Reads the token at `i`, and returns its length.
  size_t read(size_t i) {
    char c = code_[i];
    if (std::strchr("([{", c))
      levels_.push_back({i + 1, begins_block(i)});
    else if (std::strchr(")]}", c))
      close(i);
    else if (c == ',' || c == ';')
      end_argument(i);
    for (std::string_view token : {"->", "::", "++", "--"})
      if (code_.compare(i, token.size(), token) == 0)
        return token.size();
    for (std::string_view token : {"<=>", "==", "!=", "<=", ">="})
      if (code_.compare(i, token.size(), token) == 0)
        return end_operand(i, token.size());
    for (std::string_view token : {"<<=", ">>=", "&&", "||", "<<", ">>",
                                   "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "?", ":", "="})
      if (code_.compare(i, token.size(), token) == 0)
        return end_expression(i, token.size());
    return std::strchr("+-*/%&|^<>", c) ? end_operand(i, 1) : 1;
  }

  bool has_effect(size_t begin, size_t end) const {
    auto first = std::lower_bound(effects_.begin(), effects_.end(), begin);
    return first != effects_.end() && *first < end;
  }

  size_t end_operand(size_t i, size_t length) {
    Level &level = levels_.back();
    level.operands += has_effect(level.operand, i);
    level.operand = i + length;
    return length;
  }

  size_t end_expression(size_t i, size_t length) {
    end_operand(i, length);
    Level &level = levels_.back();
    if (level.operands > 1)
      found_.push_back(code_.substr(level.expression, i - level.expression));
    level.operands = 0;
    level.expression = i + length;
    return length;
  }

  // A lambda as an argument has no effect: the callee runs it.
  void end_argument(size_t i) {
    end_expression(i, 1);
    Level &level = levels_.back();
    size_t first = code_.find_first_not_of(" \n", level.argument);
    level.arguments += code_[first] != '[' && has_effect(level.argument, i);
    level.argument = i + 1;
    if (code_[i] == ';') // the head of a `for`
      level.arguments = 0;
  }

  void close(size_t i) {
    end_argument(i);
    Level inner = levels_.back();
    if (code_[i] == ')' && inner.arguments > 1)
      found_.push_back(code_.substr(inner.start, i - inner.start));
    levels_.pop_back();
    Level &outer = levels_.back();
    if (inner.is_block) {
      outer.operands = 0;
      outer.expression = outer.operand = i + 1;
    }
  }

  // Whether the bracket at `open` belongs to a statement. Otherwise it belongs to an expression.
  bool begins_block(size_t open) const {
    if (code_[open] == '{') // T{ is an expression
      return open == 0 || !(std::isalnum(code_[open - 1]) || std::strchr("_>", code_[open - 1]));
    for (std::string_view word : {"if (", "for (", "while (", "switch ("})
      if (open + 1 >= word.size() && code_.compare(open + 1 - word.size(), word.size(), word) == 0)
        return true;
    return false;
  }

  const std::string &code_;
  std::vector<size_t> effects_; // positions
  std::vector<Level> levels_;
  std::vector<std::string> found_;
};

std::vector<std::string> unordered(const std::string &text, const std::regex &effect) {
  std::string code = code_of(text);
  return Scanner(code, effect).run();
}

std::vector<std::string> unordered_draws(const std::string &text) {
  return unordered(text, drawing_in(code_of(text)));
}

void check(const fs::path &file, const std::regex &effect) {
  CAPTURE(file.string());
  for (const std::string &parts : unordered(text_of(file), effect))
    FAIL_CHECK("give these an order with local variables: " << parts);
}

} // namespace

TEST_CASE("argument order: at most one argument creates operations") {
  int files = 0;
  for (const char *folder :
       {"ir", "analysis", "translate", "passes", "schedule", "backend", "lower"})
    for (const auto &entry : fs::directory_iterator(generator / folder))
      if (is_source(entry.path())) {
        files++;
        check(entry.path(), creation_in(code_of(text_of(entry.path()))));
      }
  CHECK(files > 100);
}

// A file that includes draw.h shares its functions with the files of its name, and generator.h with
// generate*.cpp.
TEST_CASE("argument order: at most one argument draws random numbers") {
  std::set<std::string> users; // paths without extensions
  for (const auto &entry : fs::recursive_directory_iterator(tests))
    if (is_source(entry.path()) &&
        text_of(entry.path()).find("#include \"random_kernels/draw.h\"") != std::string::npos)
      users.insert((entry.path().parent_path() / entry.path().stem()).string());
  users.insert((tests / "random_kernels/draw").string());
  int files = 0;
  for (const fs::path user : users) {
    std::vector<fs::path> together;
    for (const auto &entry : fs::directory_iterator(user.parent_path())) {
      std::string stem = entry.path().stem().string();
      bool is_generator = user.stem() == "generator" &&
                          std::regex_match(stem, std::regex("generate(_(?!test).*)?"));
      if (is_source(entry.path()) && (stem == user.stem() || is_generator))
        together.push_back(entry.path());
    }
    std::string code;
    for (const fs::path &file : together)
      code += code_of(text_of(file));
    std::regex drawing = drawing_in(code);
    for (const fs::path &file : together)
      check(file, drawing);
    files += int(together.size());
  }
  CHECK(files > 15);
}

TEST_CASE("argument order: what the test finds") {
  for (const char *text : {"b.sub(b.add(x, y), b.i32(1));", "f(b->CreateNeg(x), g(builder, y));",
                           "f(x, // a, b\n  b_.CreateNot(y), \"(\", b_.CreateNeg(z));",
                           "return f(builder, x) < f(builder, y);",
                           "Builder host = g(); host.add(f(host, x), host.i64(1));"})
    CHECK_MESSAGE(unordered(text, creation_in(text)).size() == 1, text);
  for (const char *text : {"b.sub(b.add(b.mul(x, y), z), w);", "return {b.add(x, y), b.sub(x, y)};",
                           "f(g(builder, x), [&] { b.store(x, y); });", "f(values.size(), i32(1));",
                           "f(b.add(x, y), \"b.add(x, y)\"); // b.add(x, y)"})
    CHECK_MESSAGE(unordered(text, creation_in(text)).empty(), text);
}

TEST_CASE("argument order: which draws the test finds") {
  const std::string functions = "Draw draw_; int one() { return draw_.index(9); } "
                                "int two() const { return 2 * one(); } int none() { return 2; }\n";
  for (const char *text :
       {"f(draw_.bits(), draw_.bits());", "f(one(), g(x, two()));", "x = one() + two();",
        "x = \"a\" + two() + \"b\" + to_string(x ? 1 : one());", "if (one() == two()) return;",
        "auto three = [&](int x) { return x + one(); }; f(three(1), one());",
        "x = y && one() * (2 + two());", "x = T{one()} - one();", "T x(one(), two());"})
    CHECK_MESSAGE(unordered_draws(functions + text).size() == 1, text);
  for (const char *text :
       {"f(one(), none());", "f(one(), N::two());", "T x{one(), two()};", "f({one(), two()}, x);",
        "x = one() && two();", "x = one() ? two() : one() + 1;", "out << one() << two();",
        "x += one(), y = two();", "int x = one(), y = two();", "x[one()] = two();",
        "if (one()) x = 1 + two();", "if (one()) { one(); } return 1 + two();",
        "for (int x = one(), y = two(); x < y; x++) f(one());", "f(x, [&] { one(); }, two());",
        "f(\"one(), two()\"); // one() + two()"})
    CHECK_MESSAGE(unordered_draws(functions + text).empty(), text);
}
