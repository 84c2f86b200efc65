// Mutants as text. See mutant.h.
//
// Tested by tests/mutate/mutant_test.cpp.

#include "mutate/mutant.h"

#include <map>
#include <sstream>

namespace tritonc::mutate {
namespace {

// Appends the lines of `text`, without indentation, each after `mark`.
void append_lines(const std::string &text, const char *mark, std::string &out) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    out += mark + line + "\n";
  }
}

// The text on one line.
std::string folded(const std::string &text) {
  std::string line;
  for (char c : text) {
    bool is_space = c == ' ' || c == '\t' || c == '\n';
    if (!is_space || line.empty() || line.back() != ' ')
      line += is_space ? ' ' : c;
  }
  return line;
}

} // namespace

std::string id_of(const Mutant &mutant) {
  return mutant.file + ":" + std::to_string(mutant.line) + ":" + std::to_string(mutant.column) +
         ": " + mutant.change + ": `" + folded(mutant.before) + "` -> `" + folded(mutant.after) +
         "`";
}

std::optional<std::string> planted(const std::string &text, const Mutant &mutant) {
  if (mutant.offset > text.size() ||
      text.compare(mutant.offset, mutant.before.size(), mutant.before) != 0)
    return std::nullopt;
  std::string changed = text;
  return changed.replace(mutant.offset, mutant.before.size(), mutant.after);
}

std::string diff_of(const std::string &text, const Mutant &mutant) {
  std::optional<std::string> changed = planted(text, mutant);
  if (!changed)
    return "";
  size_t first = mutant.offset == 0 ? 0 : text.rfind('\n', mutant.offset - 1) + 1; // npos + 1 = 0
  size_t last = text.find('\n', mutant.offset + mutant.before.size());
  size_t length = (last == std::string::npos ? text.size() : last) - first;
  std::string diff;
  append_lines(text.substr(first, length), "- ", diff);
  append_lines(changed->substr(first, length - mutant.before.size() + mutant.after.size()), "+ ",
               diff);
  return diff;
}

void name_mutants(const std::string &text, std::vector<Mutant> &mutants) {
  std::map<std::string, int> counts;
  for (Mutant &mutant : mutants) {
    mutant.name = mutant.file + "\n" + mutant.change + "\n" + diff_of(text, mutant);
    if (int before = counts[mutant.name]++)
      mutant.name += std::to_string(before);
  }
}

} // namespace tritonc::mutate
