// Checks that docs/pages/reference/diagnostics.md has exactly the errors and warnings of
// generator/diagnostics/diagnostics.def, and the texts of runtime/src/api/status.cpp, word by word.
//
// A row of the page starts with a text. Below the text is the option that disables the warning, or
// the code of the status:
//
//     | `division by zero`<br>`-Wno-division-by-zero` | cause | cure |
//
// For %0 of diagnostics.def, and for %s of status.cpp, the page has a word: <name>.
//
// Also checks that the messages on all pages exist: the first column of the tables "Errors", and the
// lines `error: ...`, `warning: ...` and `note: ...` in blocks of text. There, the arguments have
// values, and `...` stands for omitted text.

#include "diagnostics/diagnostics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
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

// The errors and warnings of the compiler.
std::vector<Row> messages() {
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

// A message of the compiler as a page quotes it.
struct Quote {
  std::string severity, text;
};

// Compares a message, in which %0 stands for any text, with a quote, in which ... does. Returns how
// many characters are the same in both, or a negative number if no text matches both.
int same_characters(const std::string &message, const std::string &quote) {
  const std::regex number("%[0-9]"), omission("\\.\\.\\.");
  const std::string a = std::regex_replace(message, number, "\1");
  const std::string b = std::regex_replace(quote, omission, "\1");
  const int never = -10000;
  // same[i][j]: of the ends a[i...] and b[j...].
  std::vector<std::vector<int>> same(a.size() + 1, std::vector<int>(b.size() + 1, never));
  same[a.size()][b.size()] = 0;
  for (size_t i = a.size() + 1; i-- > 0;)
    for (size_t j = b.size() + 1; j-- > 0;) {
      bool more_a = i < a.size(), more_b = j < b.size();
      bool any = (more_a && a[i] == '\1') || (more_b && b[j] == '\1');
      if (more_a && more_b && a[i] == b[j])
        same[i][j] = std::max(same[i][j], same[i + 1][j + 1] + 1);
      if (any && more_a)
        same[i][j] = std::max(same[i][j], same[i + 1][j]);
      if (any && more_b)
        same[i][j] = std::max(same[i][j], same[i][j + 1]);
    }
  return same[0][0];
}

bool exists(const Quote &quote) {
  const std::map<std::string, Severity> severities = {
      {"error", Severity::error}, {"warning", Severity::warning}, {"note", Severity::note}};
  // "%0: %1" agrees with almost everything. So demand a word, and more if the quote omits text.
  bool is_whole = quote.text.find("...") == quote.text.npos;
  int wanted = is_whole ? 8 : std::max(8, int(quote.text.size()) / 3);
  return std::any_of(std::begin(entries), std::end(entries), [&](const Entry &entry) {
    return entry.severity == severities.at(quote.severity) &&
           same_characters(entry.text, quote.text) >= wanted;
  });
}

// The first column of the table below "## Errors". At its end may be "(warning)", or an example:
// "(for ...)", "(in ...)".
std::vector<Quote> errors_table(const std::string &page) {
  std::vector<Quote> quotes;
  const std::regex row(R"re(\| (.*?)( \((?:warning|(?:for|in) [^|]*)\))? \| [^|]+ \|)re");
  size_t title = page.find("\n## Errors\n");
  std::istringstream lines(title == page.npos ? "" : page.substr(title + 1));
  std::string line;
  while (std::getline(lines, line) && (line.rfind("## ", 0) != 0 || line == "## Errors")) {
    std::smatch part;
    if (std::regex_match(line, part, row) && part[1] != "message")
      quotes.push_back({part[2] == " (warning)" ? "warning" : "error", part[1]});
  }
  return quotes;
}

// The messages in the blocks of text, except reports of the emulator: they name their kernel, and
// tests/package/readme_test.sh compares them with the output of the page's commands.
std::vector<Quote> text_blocks(const std::string &page) {
  std::vector<Quote> quotes;
  const std::string opening = "\n```text\n", closing = "\n```\n";
  const std::regex form(
      R"re(^(?: *|\S+:\d+:\d+: )(error|warning|note): (.*?)(?: \[-W[\w-]+\])?$)re");
  for (size_t at = page.find(opening); at != page.npos; at = page.find(opening, at)) {
    size_t end = page.find(closing, at + opening.size() - 1);
    std::string block = page.substr(at + opening.size(), end - at - opening.size()), line;
    at = end;
    std::istringstream lines(block.find("[kernel ") == block.npos ? block : "");
    while (std::getline(lines, line)) {
      std::smatch part;
      if (std::regex_match(line, part, form))
        quotes.push_back({part[1], part[2]});
    }
  }
  return quotes;
}

// README.md, the pages, and the pages of the samples.
std::vector<std::string> all_pages() {
  const std::filesystem::path root = TRITONC_TESTS_DIR "/..";
  std::vector<std::string> found = {"README.md"};
  for (const char *folder : {"docs/pages", "samples"})
    for (const auto &entry : std::filesystem::recursive_directory_iterator(root / folder))
      if (entry.path().extension() == ".md")
        found.push_back(std::filesystem::relative(entry.path(), root));
  return found;
}

int check_that_all_exist(std::vector<Quote> (*quotes_of)(const std::string &)) {
  int count = 0;
  for (const std::string &name : all_pages()) {
    CAPTURE(name);
    for (const Quote &quote : quotes_of(read(name.c_str()))) {
      CHECK_MESSAGE(exists(quote), "no " << quote.severity << " of tritonc: " << quote.text);
      count++;
    }
  }
  return count;
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

TEST_CASE("all pages: the messages in the tables of errors exist") {
  CHECK(check_that_all_exist(errors_table) > 80);
}

TEST_CASE("all pages: the errors, warnings and notes in blocks of text exist") {
  CHECK(check_that_all_exist(text_blocks) > 10);
}

TEST_CASE("quoted messages: a wrong text, a wrong severity and an omission") {
  CHECK(exists({"error", "shapes differ in `+`: [64] and [32]"}));
  CHECK(exists({"error", "shapes differ in `+`: ..."}));
  CHECK_FALSE(exists({"error", "shapes differ in `+`"}));
  CHECK_FALSE(exists({"error", "the shapes differ in `+`: ..."}));
  CHECK_FALSE(exists({"error", "..."}));
  CHECK(exists({"warning", "division by zero"}));
  CHECK_FALSE(exists({"error", "division by zero"}));
  CHECK_FALSE(exists({"error", "no such message"}));
}

TEST_CASE("quoted messages: where a page has them") {
  const std::string page = "# Page\n\n"
                           "| message | what to do |\n|---|---|\n| elsewhere | Read on |\n\n"
                           "```text\na.tc:1:2: warning: one [-Wone]\n  note: two\nno error\n```\n\n"
                           "```text\na.tc:1:2: error: three [kernel a]\n```\n\n"
                           "```sh\nerror: four\n```\n\n## Errors\n\n"
                           "| message | what to do |\n|---|---|\n| five (warning) | Stop |\n"
                           "| six (for `x`) | Go |\n\n## More\n\n| seven | Go |\n";
  std::string found;
  for (const auto &quotes : {errors_table(page), text_blocks(page)})
    for (const Quote &quote : quotes)
      found += quote.severity + " " + quote.text + "; ";
  CHECK(found == "warning five; error six; warning one; note two; ");
}
