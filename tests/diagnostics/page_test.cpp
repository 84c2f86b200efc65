// Checks that docs/pages/reference/diagnostics.md has exactly the errors and warnings of
// generator/diagnostics/diagnostics.def, and the texts of runtime/src/api/status.cpp, word by word.
//
// A row of the page starts with a text. Below the text is the option that disables the warning, or
// the code of the status:
//
//     | `division by zero`<br>`-Wno-division-by-zero` | cause | cure |
//
// For %0 of diagnostics.def, and for %s of status.cpp, the page has a word: <name>.

#include "diagnostics/diagnostics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>

using namespace tritonc;

namespace {

// A text, and what is below it on the page: "-Wno-spills", "no_driver", or "" for an error.
struct Row {
  std::string text, below;
};

std::string read(const char *path) {
  std::ifstream file(std::string(TRITONC_TESTS_DIR "/../") + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The errors and warnings of the compiler.
std::vector<Row> messages() {
  struct Entry {
    std::string name;
    Severity severity;
    std::string text;
  };
  const Entry entries[] = {
#undef MESSAGE // of doctest
#define MESSAGE(name, severity, text) {#name, Severity::severity, text},
#include "diagnostics/diagnostics.def"
  };
  std::vector<Row> rows;
  for (const Entry &entry : entries) {
    std::string option = "-Wno-" + entry.name;
    std::replace(option.begin(), option.end(), '_', '-');
    if (entry.severity != Severity::note)
      rows.push_back({entry.text, entry.severity == Severity::warning ? option : ""});
  }
  return rows;
}

// The texts of the runtime, except that of `ok`.
std::vector<Row> statuses() {
  std::vector<Row> rows;
  std::string source = read("runtime/src/api/status.cpp"), code;
  std::regex part(R"re(case status_code::(\w+):|say\("%s%s((?:[^"\\]|"\s*")*)")re");
  for (std::sregex_iterator it(source.begin(), source.end(), part), end; it != end; ++it)
    if ((*it)[1].matched)
      code = (*it)[1].str();
    else if (code != "ok")
      rows.push_back({std::regex_replace((*it)[2].str(), std::regex("\"\\s*\""), ""), code});
  return rows;
}

// The rows of the page before or after the title of the statuses.
std::vector<Row> page_rows(bool of_statuses) {
  std::string page = read("docs/pages/reference/diagnostics.md"), line;
  size_t middle = page.find("\n## Statuses");
  REQUIRE(middle != std::string::npos);
  std::istringstream lines(of_statuses ? page.substr(middle) : page.substr(0, middle));
  std::regex form("\\| (`+) ?(.*?) ?\\1(?:<br>`([\\w-]+)`)? \\| [^|]+ \\| [^|]+ \\|");
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    if (line.rfind("| ", 0) != 0 || line == "| message | cause | cure |")
      continue;
    CAPTURE(line);
    std::smatch row;
    CHECK(std::regex_match(line, row, form));
    if (!row.empty())
      rows.push_back({row[2].str(), row[3].str()});
  }
  return rows;
}

const std::regex argument("%[0-9sd]|<[a-z]+>");

std::string without_arguments(const std::string &text) {
  return std::regex_replace(text, argument, "<>");
}

// Checks that both lists have the same texts, each once.
void compare(const std::vector<Row> &wanted, const std::vector<Row> &found) {
  std::map<std::string, std::string> page;
  for (const Row &row : found) {
    CAPTURE(row.text);
    bool is_new = page.emplace(without_arguments(row.text), row.below).second;
    CHECK_MESSAGE(is_new, "the page has this text twice");
  }
  for (const Row &row : wanted) {
    CAPTURE(row.text);
    auto place = page.find(without_arguments(row.text));
    CHECK_MESSAGE(place != page.end(), "the page lacks this text");
    if (place == page.end())
      continue;
    CHECK(place->second == row.below);
    page.erase(place);
  }
  for (const auto &[text, below] : page)
    FAIL_CHECK("no message has this text of the page: " << text);
}

std::vector<std::string> arguments_of(const std::string &text) {
  return {std::sregex_token_iterator(text.begin(), text.end(), argument), {}};
}

} // namespace

TEST_CASE("diagnostics.md: every error and warning of the compiler, and no other") {
  std::vector<Row> wanted = messages();
  CHECK(wanted.size() > 200);
  compare(wanted, page_rows(/*of_statuses=*/false));
}

TEST_CASE("diagnostics.md: every text of the runtime, and no other") {
  std::vector<Row> wanted = statuses();
  CHECK(wanted.size() > 30);
  compare(wanted, page_rows(/*of_statuses=*/true));
}

TEST_CASE("diagnostics.md: an argument that occurs twice in a message has one word") {
  std::map<std::string, std::string> texts;
  for (const Row &row : messages())
    texts[without_arguments(row.text)] = row.text;
  int count = 0;
  for (const Row &row : page_rows(/*of_statuses=*/false)) {
    CAPTURE(row.text);
    std::vector<std::string> words = arguments_of(row.text);
    std::vector<std::string> numbers = arguments_of(texts[without_arguments(row.text)]);
    std::map<std::string, std::string> word_of;
    for (size_t i = 0; i < std::min(words.size(), numbers.size()); i++) {
      auto [place, is_new] = word_of.emplace(numbers[i], words[i]);
      CHECK(place->second == words[i]);
      count += !is_new;
    }
  }
  CHECK(count > 0);
}
