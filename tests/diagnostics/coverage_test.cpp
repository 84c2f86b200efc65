// Checks that every message of generator/diagnostics/diagnostics.def occurs in a test. The text of
// a front end message occurs in a kernel of this folder, or in a test of diagnostics/, language/ or
// translate/. Of every other error and warning, its name or 16 contiguous characters of its text
// occur in any test.

#include "diagnostics/diagnostics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

using namespace tritonc;

namespace {

std::string read(const std::filesystem::path &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string all_tests() {
  std::string text;
  for (const char *folder : {"diagnostics", "unit/diagnostics", "unit/language", "unit/translate"})
    for (const auto &entry :
         std::filesystem::directory_iterator(std::string(TRITONC_TESTS_DIR "/") + folder)) {
      std::string extension = entry.path().extension().string();
      bool is_this = entry.path().filename() == "coverage_test.cpp";
      if ((extension == ".tc" || extension == ".cpp") && !is_this)
        text += read(entry.path()) + "\n";
    }
  return text;
}

// The message text as a regular expression. An argument matches any text within a line.
std::regex pattern_of(const std::string &text) {
  std::string pattern;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\\' && i + 1 < text.size()) // an escaped quotation mark
      i++;
    if (text[i] == '%' && i + 1 < text.size() && isdigit(text[i + 1])) {
      pattern += "[^\n]*";
      i++;
    } else if (ispunct(text[i])) {
      pattern += std::string("\\") + text[i];
    } else {
      pattern += text[i];
    }
  }
  return std::regex(pattern);
}

struct Row {
  std::string name, severity, text;
};

// The messages of the sections for whose titles `wants` returns true.
template <typename Wants> std::vector<Row> messages_of(Wants wants) {
  std::vector<Row> rows;
  std::ifstream file(TRITONC_TESTS_DIR "/../generator/diagnostics/diagnostics.def");
  std::string all((std::istreambuf_iterator<char>(file)), {});
  std::regex row(
      R"re(// --- ([^\n]*)|(?:MESSAGE|ERROR)\((\w+),\s*(\w+),\s*"((?:[^"\\]|\\.)*)"\))re");
  bool is_wanted = false;
  for (std::sregex_iterator it(all.begin(), all.end(), row), end; it != end; ++it) {
    if ((*it)[1].matched)
      is_wanted = wants((*it)[1].str());
    else if (is_wanted)
      rows.push_back({(*it)[2].str(), (*it)[3].str(), (*it)[4].str()});
  }
  return rows;
}

// Length of the longest text between two arguments.
size_t longest_piece(const std::string &text) {
  size_t longest = 0, length = 0;
  for (size_t i = 0; i < text.size(); i++) {
    length = text[i] == '%' ? 0 : length + 1;
    i += text[i] == '%'; // skips the argument number
    longest = std::max(longest, length);
  }
  return longest;
}

std::vector<Row> front_end_messages() {
  return messages_of([](const std::string &title) { return title.rfind("Front end", 0) == 0; });
}

} // namespace

TEST_CASE("diagnostics.def: every front end message occurs in a test") {
  std::string tests = all_tests();
  std::vector<Row> messages = front_end_messages();
  CHECK(messages.size() > 50);
  for (const Row &message : messages) {
    CAPTURE(message.name);
    CAPTURE(message.text);
    CHECK(std::regex_search(tests, pattern_of(message.text)));
  }
}

TEST_CASE("diagnostics.def: every other error and warning has a test") {
  constexpr size_t most = 16; // contiguous characters that identify a message
  std::string tests;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(std::string(TRITONC_TESTS_DIR)))
    if (entry.path().extension() == ".cpp" && entry.path().filename() != "coverage_test.cpp")
      tests += std::regex_replace(read(entry.path()), std::regex("\"\\s*\n\\s*\""), "");
  int count = 0;
  auto is_other = [](const std::string &title) { return title.rfind("Front end", 0) != 0; };
  for (const Row &message : messages_of(is_other)) {
    if (message.severity == "note")
      continue;
    count++;
    std::string name = message.name; // the name in JSON and SARIF
    std::replace(name.begin(), name.end(), '_', '-');
    bool is_found = tests.find("Message::" + message.name) != std::string::npos ||
                    tests.find("\"" + name + "\"") != std::string::npos;
    size_t least = std::min(most, longest_piece(message.text));
    for (size_t i = 0; !is_found && i + least <= message.text.size(); i++) {
      std::string part = message.text.substr(i, least);
      is_found = part.find('%') == std::string::npos && tests.find(part) != std::string::npos;
    }
    CAPTURE(message.name);
    CHECK(is_found);
  }
  CHECK(count > 50);
}

TEST_CASE("diagnostics.def: lower case, without a full stop") {
  for (const Row &message : front_end_messages()) {
    CAPTURE(message.name);
    CHECK_FALSE((isupper(message.text[0]) && message.text.substr(0, 4) != "LLVM"));
    bool is_elided =
        message.text.size() > 3 && message.text.substr(message.text.size() - 3) == "...";
    CHECK((message.text.back() != '.' || is_elided));
  }
}
