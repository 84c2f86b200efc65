// Tests the examples of the language reference: each compiles and leaves the values in memory that
// its last line gives:
//
//     // programs = 2, x = {1, 2}, n = 2 gives x = {3, 4}
//
// The arguments have the names and the order of the parameters. Constant memory that the host fills
// has the name of its declaration.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>

using namespace tritonc;
using namespace tritonc::test;

namespace {

const std::filesystem::path language = TRITONC_TESTS_DIR "/../docs/pages/language";

struct Example {
  std::string page, source;
};

std::string contents(const std::filesystem::path &file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> found;
  for (const auto &entry : std::filesystem::directory_iterator(language))
    found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// The code between ```c and ```.
std::vector<Example> examples() {
  std::vector<Example> found;
  const std::string opening = "```c\n", closing = "\n```";
  for (const std::filesystem::path &page : pages()) {
    std::string text = contents(page);
    for (size_t at = text.find(opening); at != text.npos; at = text.find(opening, at)) {
      at += opening.size();
      size_t end = text.find(closing, at);
      found.push_back({page.filename(), text.substr(at, end - at)});
      at = end;
    }
  }
  return found;
}

using Values = std::map<std::string, std::vector<double>>;

// "x = {1, 2}, n = 2": values by name.
Values values_in(const std::string &text) {
  Values values;
  std::regex entry(R"((\w+) = (\{[^}]*\}|[-+.\w]+))"), number(R"([-+.\w]+)");
  for (std::sregex_iterator it(text.begin(), text.end(), entry), end; it != end; ++it) {
    std::string list = (*it)[2];
    std::vector<double> &numbers = values[(*it)[1]];
    for (std::sregex_iterator n(list.begin(), list.end(), number); n != end; ++n)
      numbers.push_back(std::stod((*n)[0]));
  }
  return values;
}

void run(const std::string &source, const std::string &before, const std::string &after) {
  SmallKernel kernel(source);
  Values values = values_in(before), expected = values_in(after);
  if (values.count("programs"))
    kernel.set_grid(int(values["programs"].at(0)));
  std::map<std::string, int> buffers;
  for (const ir::Parameter &parameter : kernel.function().parameters) {
    CAPTURE(parameter.name);
    REQUIRE(values.count(parameter.name));
    const ir::Type &type = parameter.value->type;
    if (type.is_pointer())
      buffers[parameter.name] = kernel.add(type.elem, values[parameter.name]);
    else
      kernel.add_value(type.elem, values[parameter.name].at(0));
  }
  for (const ir::ConstantMemory &constant : kernel.function().constant_memory)
    if (values.count(constant.name))
      kernel.fill(constant.name, values[constant.name]);
  CHECK_FALSE(expected.empty());
  for (const auto &[name, numbers] : expected) {
    CAPTURE(name);
    REQUIRE(buffers.count(name));
    kernel.must_give(buffers[name], numbers, 1e-6);
  }
}

} // namespace

TEST_CASE("reference: every example gives its stated results") {
  std::vector<Example> all = examples();
  CHECK(all.size() > 20);
  for (const Example &example : all) {
    CAPTURE(example.page);
    CAPTURE(example.source);
    size_t last = example.source.rfind("\n// ") + 1, gives = example.source.find(" gives ", last);
    REQUIRE(gives != std::string::npos);
    run(example.source, example.source.substr(last, gives - last), example.source.substr(gives));
  }
}

TEST_CASE("reference: every page has a contents entry and an example") {
  std::string table = contents(language / "index.md");
  for (const std::filesystem::path &page : pages()) {
    CAPTURE(page);
    CHECK((page.filename() == "index.md" ||
           table.find("(" + page.filename().string() + ")") != table.npos));
    CHECK(contents(page).find("```c\n") != std::string::npos);
  }
}
