// Parses numbers, characters and strings. See literal.h.
//
// Tested by tests/unit/language/literal_test.cpp.

#include "language/literal.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace tritonc {
namespace {

bool has_prefix(std::string_view text, char letter) {
  return text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == letter;
}

bool is_real(std::string_view text) {
  if (has_prefix(text, 'x'))
    return text.find_first_of(".pP") != text.npos;
  return text.find_first_of(".eE") != text.npos;
}

std::variant<Number, Message> parse_real(std::string_view text) {
  Number number{Scalar::double_};
  if ((text.back() | 0x20) == 'f' &&
      !(has_prefix(text, 'x') && text.find_first_of("pP") == text.npos)) {
    number = {Scalar::float_, true};
    text.remove_suffix(1);
  } else if ((text.back() | 0x20) == 'l') {
    number.has_suffix = true;
    text.remove_suffix(1);
  }
  auto format = std::chars_format::general;
  if (has_prefix(text, 'x')) {
    format = std::chars_format::hex;
    text.remove_prefix(2);
  }
  const char *end = text.data() + text.size();
  std::from_chars_result result;
  if (number.scalar == Scalar::float_) {
    float value = 0; // parses as float to avoid double rounding
    result = std::from_chars(text.data(), end, value, format);
    number.real = value;
  } else {
    result = std::from_chars(text.data(), end, number.real, format);
  }
  if (result.ptr != end || result.ec == std::errc::invalid_argument)
    return Message::bad_number;
  if (result.ec == std::errc::result_out_of_range)
    return Message::number_too_large;
  return number;
}

// Removes the suffix from `text`; returns false if the suffix is invalid.
bool take_integer_suffix(std::string_view &text, bool &is_unsigned, bool &is_long) {
  size_t digits = text.find_last_not_of("uUlL") + 1;
  std::string suffix(text.substr(digits));
  text = text.substr(0, digits);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](char c) { return c | 0x20; });
  is_unsigned = suffix.find('u') != suffix.npos;
  is_long = suffix.find('l') != suffix.npos;
  for (const char *known : {"", "u", "l", "ll", "ul", "ull", "lu", "llu"})
    if (suffix == known)
      return true;
  return false;
}

std::variant<Number, Message> parse_integer(std::string_view text) {
  bool is_unsigned = false, is_long = false;
  if (!take_integer_suffix(text, is_unsigned, is_long))
    return Message::bad_number;
  Number number;
  number.has_suffix = is_unsigned || is_long;
  int base = has_prefix(text, 'x') ? 16 : has_prefix(text, 'b') ? 2 : 10;
  if (base != 10)
    text.remove_prefix(2);
  else if (text.size() > 1 && text[0] == '0')
    base = 8;
  const char *end = text.data() + text.size();
  std::from_chars_result result = std::from_chars(text.data(), end, number.integer, base);
  if (result.ptr != end || result.ec == std::errc::invalid_argument)
    return Message::bad_number;
  if (result.ec == std::errc::result_out_of_range)
    return Message::number_too_large;
  // The first type that holds the value. A decimal number without `u` becomes unsigned only if it
  // does not fit into int64.
  bool may_be_unsigned = is_unsigned || base != 10;
  if (!is_long && !is_unsigned && number.integer <= std::numeric_limits<int32_t>::max())
    number.scalar = Scalar::int32;
  else if (!is_long && may_be_unsigned && number.integer <= std::numeric_limits<uint32_t>::max())
    number.scalar = Scalar::uint32;
  else if (!is_unsigned && number.integer <= uint64_t(std::numeric_limits<int64_t>::max()))
    number.scalar = Scalar::int64;
  else
    number.scalar = Scalar::uint64;
  return number;
}

} // namespace

std::variant<Number, Message> parse_number(std::string_view spelling) {
  std::string text(spelling);
  text.erase(std::remove(text.begin(), text.end(), '\''), text.end()); // 1'000
  return is_real(text) ? parse_real(text) : parse_integer(text);
}

namespace {

// Parses and removes the escape sequence after a backslash: `n`, `101`, `x41`.
std::optional<char> take_escape(std::string_view &text) {
  constexpr std::string_view names = "ntrabfv\\'\"?", values = "\n\t\r\a\b\f\v\\'\"?";
  bool is_hexadecimal = !text.empty() && text[0] == 'x';
  if (is_hexadecimal)
    text.remove_prefix(1);
  unsigned char code = 0; // octal escapes have at most three digits
  const char *last =
      text.data() + (is_hexadecimal ? text.size() : std::min(text.size(), size_t(3)));
  std::from_chars_result read = std::from_chars(text.data(), last, code, is_hexadecimal ? 16 : 8);
  if (read.ec == std::errc()) {
    text.remove_prefix(size_t(read.ptr - text.data()));
    return char(code);
  }
  size_t found = text.empty() || is_hexadecimal ? names.npos : names.find(text[0]);
  if (found == names.npos)
    return std::nullopt;
  text.remove_prefix(1);
  return values[found];
}

// The text between two quotes, with escape sequences replaced.
std::optional<std::string> unquoted(std::string_view spelling, char quote) {
  if (spelling.size() < 2 || spelling.front() != quote || spelling.back() != quote)
    return std::nullopt;
  std::string_view rest = spelling.substr(1, spelling.size() - 2);
  std::string text;
  while (!rest.empty()) {
    std::optional<char> one = rest[0];
    rest.remove_prefix(1);
    if (one == '\\')
      one = take_escape(rest);
    if (!one)
      return std::nullopt;
    text += *one;
  }
  return text;
}

} // namespace

std::optional<std::string> parse_string(std::string_view spelling) {
  return unquoted(spelling, '"');
}

std::optional<int> parse_character(std::string_view spelling) {
  std::optional<std::string> text = unquoted(spelling, '\'');
  return text && text->size() == 1 ? std::optional<int>((*text)[0]) : std::nullopt;
}

} // namespace tritonc
