// Tests translate/translate.cpp and diagnose/lint.cpp: compiles every kernel in this folder, and
// compares the messages with the messages in its comments.

#include "diagnose/lint.h"
#include "support/messages.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string trim(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(" \r") + 1);
  return text;
}

struct Case {
  FrontEndInput input;
  std::vector<std::string> expected; // "12 error: text"
};

void add_expectations(Case &test, int line, const std::string &comment) {
  size_t begin = 0;
  while (begin < comment.size()) {
    size_t end = std::min(comment.find(" | ", begin), comment.size());
    std::string part = trim(comment.substr(begin, end - begin));
    for (const char *severity : {"error: ", "warning: ", "note: "})
      if (part.rfind(severity, 0) == 0)
        test.expected.push_back(std::to_string(line) + " " + part);
    begin = end + 3;
  }
}

Case read_case(const std::filesystem::path &path) {
  Case test;
  test.input.path = path.string();
  test.input.messages.max_errors = 0;
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    number++;
    size_t comment = line.find("// ");
    if (comment == line.npos)
      continue;
    std::string text = line.substr(comment + 3);
    if (comment == 0 && text.rfind("--max-errors ", 0) == 0) {
      test.input.messages.max_errors = std::stoi(text.substr(13));
    } else if (comment == 0 && text.rfind("-D ", 0) == 0) {
      size_t equals = text.find('=');
      test.input.defines.push_back({text.substr(3, equals - 3), text.substr(equals + 1)});
    } else {
      add_expectations(test, number, text);
    }
  }
  return test;
}

// The messages as "12 error: text". A note without a location has the line of the previous message.
std::vector<std::string> actual(const std::string &diagnostics) {
  std::vector<std::string> lines;
  int line = 0;
  for (const ToldMessage &message : read_messages(diagnostics)) {
    line = message.line > 0 || message.severity != "note" ? message.line : line;
    lines.push_back(std::to_string(line) + " " + message.severity + ": " + message.text);
  }
  return lines;
}

std::string join(std::vector<std::string> lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const std::string &a, const std::string &b) {
    return std::stoi(a) < std::stoi(b);
  });
  std::string out;
  for (const std::string &line : lines)
    out += line + "\n";
  return out;
}

} // namespace

TEST_CASE("tests/diagnostics: every kernel has exactly its messages") {
  int count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(TRITONC_TESTS_DIR "/diagnostics")) {
    if (entry.path().extension() != ".tc")
      continue;
    count++;
    CAPTURE(entry.path().filename().string());
    Case test = read_case(entry.path());
    auto lint_on = [](const FrontEndResult &right, DiagnosticEngine &diagnostics) {
      for (const ir::Function &kernel : right.kernels)
        lint(kernel, diagnostics);
    };
    FrontEndResult result = translate_source(test.input, lint_on);
    CHECK(join(actual(result.diagnostics_text)) == join(test.expected));
    CHECK(result.kernels.empty() == (result.errors > 0));
  }
  CHECK(count > 10);
}
