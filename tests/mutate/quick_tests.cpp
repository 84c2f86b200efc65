// The quick tests of each folder. See quick_tests.h.
//
// Tested by tests/mutate/quick_tests_test.cpp.

#include "mutate/quick_tests.h"

#include <sstream>

namespace tritonc::mutate {
namespace {

std::string trimmed(const std::string &text) {
  size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

} // namespace

std::vector<QuickTest> read_quick_tests(const std::string &text) {
  std::vector<QuickTest> tests;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::istringstream columns(line);
    std::string folder, target, command;
    std::getline(columns, folder, '|');
    std::getline(columns, target, '|');
    std::getline(columns, command);
    tests.push_back({trimmed(folder), trimmed(target), trimmed(command)});
  }
  return tests;
}

std::vector<QuickTest> tests_of(const std::string &file, const std::vector<QuickTest> &all) {
  std::vector<QuickTest> tests;
  for (const QuickTest &test : all)
    if (file.rfind(test.folder + "/", 0) == 0)
      tests.push_back(test);
  return tests;
}

} // namespace tritonc::mutate
