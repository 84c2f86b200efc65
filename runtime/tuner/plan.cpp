// Reads plans. See plan.h.
//
// Tested by tests/unit/tuner/plan_test.cpp.

#include "plan.h"

#include <algorithm>
#include <charconv>
#include <istream>
#include <sstream>
#include <stdexcept>

namespace tritonc::v1::tuner {

namespace {

std::vector<std::string> fields_of(const std::string &line) {
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    std::size_t end = std::min(line.find('\t', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

[[noreturn]] void fail(int line, const std::string &why) {
  throw std::runtime_error("line " + std::to_string(line) + " of the plan: " + why);
}

std::map<std::string, std::int64_t> arguments_of(int line, const std::string &text) {
  std::map<std::string, std::int64_t> arguments;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::size_t equals = std::min(word.find('='), word.size());
    std::string number = word.substr(std::min(equals + 1, word.size()));
    const char *end = number.data() + number.size();
    std::int64_t value = 0;
    std::from_chars_result read = std::from_chars(number.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end)
      fail(line, "`" + word + "` is not NAME=INTEGER");
    arguments[word.substr(0, equals)] = value;
  }
  return arguments;
}

} // namespace

std::vector<Problem> read_plan(std::istream &text) {
  std::vector<Problem> problems;
  std::string line;
  for (int number = 1; std::getline(text, line); number++) {
    if (line.empty())
      continue;
    std::vector<std::string> fields = fields_of(line);
    if (fields.size() != 5 || fields[0] != "problem")
      fail(number, "expected a problem of five fields, as written by tritonc tune");
    problems.push_back({fields[1], fields[2], fields[3], arguments_of(number, fields[4])});
  }
  return problems;
}

} // namespace tritonc::v1::tuner
