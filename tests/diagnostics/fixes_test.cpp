// Tests the fixes of diagnostics: applies the fixes of every kernel in this folder, and compiles
// the result. A kernel in fixes_*.tc then has no messages.

#include "diagnose/lint.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace tritonc;

namespace {

std::string read(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The macros in comments of the form `// -D NAME=VALUE`.
std::vector<Define> defines_in(const std::string &source) {
  std::vector<Define> defines;
  const std::string mark = "// -D ";
  for (size_t at = source.rfind(mark, 0) == 0 ? 0 : source.find("\n" + mark); at != source.npos;
       at = source.find("\n" + mark, at + 1)) {
    size_t begin = source.find(mark, at) + mark.size(), end = source.find('\n', begin);
    std::string text = source.substr(begin, end - begin);
    size_t equals = text.find('=');
    defines.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return defines;
}

FrontEndResult translate_text(const std::string &name, const std::string &source) {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("tritonc_fixes_" + std::to_string(getpid()) + "_" + name);
  std::ofstream(path, std::ios::binary) << source;
  FrontEndInput input = {.path = path.string(),
                         .defines = defines_in(source),
                         .include_dirs = {TRITONC_TESTS_DIR "/diagnostics"}};
  input.messages.max_errors = 0;
  FrontEndResult result =
      translate_source(input, [](const FrontEndResult &right, DiagnosticEngine &diagnostics) {
        for (const ir::Function &kernel : right.kernels)
          lint(kernel, diagnostics);
      });
  std::filesystem::remove(path);
  return result;
}

// The byte offset of a line and a column. The column counts UTF-8 characters.
size_t offset_of(const std::string &text, int line, int column) {
  size_t at = 0;
  for (; line > 1; line--)
    at = text.find('\n', at) + 1;
  for (; column > 1; column--)
    do
      at++;
    while ((text[at] & 0xc0) == 0x80);
  return at;
}

struct Change {
  size_t begin, end;
  std::string text;
};

void collect(const Diagnostic &message, const std::string &source, std::vector<Change> &changes) {
  for (const Replacement &edit : message.fix)
    changes.push_back({offset_of(source, edit.at.line, edit.at.column),
                       offset_of(source, edit.at.end_line, edit.at.end_column), edit.text});
  for (const Diagnostic &note : message.notes)
    collect(note, source, changes);
}

struct Mended {
  std::string source;
  size_t changes = 0;
};

Mended mended(std::string source, const std::vector<Diagnostic> &diagnostics) {
  std::vector<Change> changes;
  for (const Diagnostic &message : diagnostics)
    collect(message, source, changes);
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change &a, const Change &b) { return a.begin > b.begin; });
  for (const Change &change : changes)
    source.replace(change.begin, change.end - change.begin, change.text);
  return {source, changes.size()};
}

bool has_fix(const Diagnostic &message) {
  return !message.fix.empty() || std::any_of(message.notes.begin(), message.notes.end(), has_fix);
}

std::multiset<std::string> syntax_errors(const std::vector<Diagnostic> &diagnostics) {
  std::multiset<std::string> texts;
  for (const Diagnostic &message : diagnostics)
    if (message.name == "expected" || message.name == "stray-character")
      texts.insert(message.text);
  return texts;
}

} // namespace

TEST_CASE("fixes: remove their messages and add no syntax error") {
  constexpr int max_passes = 4; // an error is reported once per word, and an error may hide others
  size_t sources = 0, changes = 0;
  for (const auto &entry : std::filesystem::directory_iterator(TRITONC_TESTS_DIR "/diagnostics")) {
    if (entry.path().extension() != ".tc")
      continue;
    std::string name = entry.path().filename().string();
    CAPTURE(name);
    std::string source = read(entry.path());
    FrontEndResult result = translate_text(name, source);
    std::multiset<std::string> known = syntax_errors(result.diagnostics);
    for (int round = 0; round < max_passes; round++) {
      Mended better = mended(source, result.diagnostics);
      if (better.changes == 0)
        break;
      sources += round == 0;
      changes += better.changes;
      source = better.source;
      result = translate_text(name, source);
    }
    CAPTURE(source);
    CAPTURE(result.diagnostics_text);
    for (const Diagnostic &message : result.diagnostics)
      CHECK_FALSE(has_fix(message));
    if (name.rfind("fixes_", 0) == 0)
      CHECK(result.diagnostics.empty());
    for (const std::string &error : syntax_errors(result.diagnostics))
      CHECK_MESSAGE(known.count(error) > 0, error);
  }
  CHECK(sources >= 10);
  CHECK(changes >= 60);
}
