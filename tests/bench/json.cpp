// Tested by json_test.cpp.

#include "json.h"

#include <cmath>
#include <cstdio>

namespace bench {

// Starts a new line for each member of the outer objects and arrays. An element of an array stays
// on one line.
void Json::separate() {
  if (levels_.empty())
    return;
  Level &level = levels_.back();
  if (!level.empty)
    text_ += level.on_one_line ? ", " : ",";
  if (!level.on_one_line)
    text_ += "\n" + std::string(2 * levels_.size(), ' ');
  level.empty = false;
}

void Json::write_string(const std::string &text) {
  text_ += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      text_ += escaped;
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

void Json::write_key(const std::string &key) {
  if (key.empty())
    return;
  write_string(key);
  text_ += ": ";
}

void Json::begin(char opening, const std::string &key) {
  separate();
  write_key(key);
  text_ += opening;
  bool within_array =
      !levels_.empty() && (levels_.back().on_one_line || levels_.back().closing == ']');
  levels_.push_back({opening == '{' ? '}' : ']', within_array, true});
}

void Json::end() {
  Level level = levels_.back();
  levels_.pop_back();
  if (!level.on_one_line && !level.empty)
    text_ += "\n" + std::string(2 * levels_.size(), ' ');
  text_ += level.closing;
  if (levels_.empty())
    text_ += "\n";
}

void Json::write_number(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", number);
  text_ += std::isfinite(number) ? digits : "null"; // JSON has no NaN and no infinity
}

void Json::value(double number) {
  separate();
  write_number(number);
}

void Json::value(const std::string &text) {
  separate();
  write_string(text);
}

void Json::field(const std::string &key, double number) {
  separate();
  write_key(key);
  write_number(number);
}

void Json::field(const std::string &key, const std::string &text) {
  separate();
  write_key(key);
  write_string(text);
}

} // namespace bench
