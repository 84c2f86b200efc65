// The quick tests of each folder, from quick_tests.txt.

#pragma once

#include <string>
#include <vector>

namespace tritonc::mutate {

struct QuickTest {
  std::string folder;  // of the sources that it tests, from the root of the repository
  std::string target;  // builds the test program
  std::string command; // for bash, in the build folder; the source tree is ../source
};

/// Lines "folder | target | command"; `#` begins a comment. In the order of the file.
std::vector<QuickTest> read_quick_tests(const std::string &text);

/// The tests of the folder that contains `file`.
std::vector<QuickTest> tests_of(const std::string &file, const std::vector<QuickTest> &all);

} // namespace tritonc::mutate
