// What messages say is to be typed does mend what they are about: applies the fixes of every kernel
// in this folder, and compiles what comes out. A kernel in fixes_*.tc is right then.

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

// The -D and so on that the kernel asks for in its comments.
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
      translate_source(input, [](const FrontEndResult &right, Diagnostics &diagnostics) {
        for (const ir::Function &kernel : right.kernels)
          lint(kernel, diagnostics);
      });
  std::filesystem::remove(path);
  return result;
}

// Where a line and a column, in characters, are in a text.
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

void collect(const Diagnostic &finding, const std::string &source, std::vector<Change> &changes) {
  for (const Replacement &edit : finding.fix)
    changes.push_back({offset_of(source, edit.at.line, edit.at.column),
                       offset_of(source, edit.at.end_line, edit.at.end_column), edit.text});
  for (const Diagnostic &note : finding.notes)
    collect(note, source, changes);
}

struct Mended {
  std::string source;
  size_t changes = 0;
};

Mended mended(std::string source, const std::vector<Diagnostic> &findings) {
  std::vector<Change> changes;
  for (const Diagnostic &finding : findings)
    collect(finding, source, changes);
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change &a, const Change &b) { return a.begin > b.begin; });
  for (const Change &change : changes)
    source.replace(change.begin, change.end - change.begin, change.text);
  return {source, changes.size()};
}

bool has_fix(const Diagnostic &finding) {
  return !finding.fix.empty() || std::any_of(finding.notes.begin(), finding.notes.end(), has_fix);
}

std::multiset<std::string> syntax_errors(const std::vector<Diagnostic> &findings) {
  std::multiset<std::string> texts;
  for (const Diagnostic &finding : findings)
    if (finding.name == "expected" || finding.name == "stray-character")
      texts.insert(finding.text);
  return texts;
}

} // namespace

TEST_CASE("fixes mend what they are about, and what comes out can be read") {
  constexpr int max_rounds = 4; // a word that is wrong twice is said once, and some hide others
  size_t sources = 0, changes = 0;
  for (const auto &entry : std::filesystem::directory_iterator(TRITONC_TESTS_DIR "/diagnostics")) {
    if (entry.path().extension() != ".tc")
      continue;
    std::string name = entry.path().filename().string();
    CAPTURE(name);
    std::string source = read(entry.path());
    FrontEndResult result = translate_text(name, source);
    std::multiset<std::string> known = syntax_errors(result.findings);
    for (int round = 0; round < max_rounds; round++) {
      Mended better = mended(source, result.findings);
      if (better.changes == 0)
        break;
      sources += round == 0;
      changes += better.changes;
      source = better.source;
      result = translate_text(name, source);
    }
    CAPTURE(source);
    CAPTURE(result.diagnostics);
    for (const Diagnostic &finding : result.findings)
      CHECK_FALSE(has_fix(finding));
    if (name.rfind("fixes_", 0) == 0)
      CHECK(result.findings.empty());
    for (const std::string &error : syntax_errors(result.findings))
      CHECK_MESSAGE(known.count(error) > 0, error);
  }
  CHECK(sources >= 10);
  CHECK(changes >= 60);
}
