// Writes the depfile. See depfile.h.
//
// Tested by tests/unit/emit/depfile_test.cpp.

#include "emit/report/depfile.h"

#include <set>

namespace tritonc {

namespace {

/// Adds a backslash before blanks and `#`, and before each backslash directly before them. Other
/// backslashes stay unchanged. `$` becomes `$$`.
std::string escaped(std::string_view path) {
  std::string out;
  size_t backslashes = 0;
  for (char c : path) {
    if (c == ' ' || c == '\t' || c == '#')
      out.append(backslashes + 1, '\\');
    if (c == '$')
      out += '$';
    backslashes = c == '\\' ? backslashes + 1 : 0;
    out += c;
  }
  return out;
}

} // namespace

Result<std::string> depfile(const std::vector<std::string> &targets,
                            const std::vector<std::string> &dependencies) {
  std::string out;
  for (const std::string &target : targets)
    out += (out.empty() ? "" : " ") + escaped(target);
  out += ":";
  for (const std::string &dependency :
       std::set<std::string>(dependencies.begin(), dependencies.end())) {
    if (dependency.find_first_of("\n\r") != std::string::npos)
      return Error{Message::line_break_in_path, {dependency}};
    out += " \\\n  " + escaped(dependency);
  }
  return out + "\n";
}

} // namespace tritonc
