// Parses literals: the value and the type that C gives to a number, a character or a string.

#pragma once

#include "diagnostics/diagnostics.h"
#include "language/types.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace tritonc {

struct Number {
  Scalar scalar = Scalar::int32;
  bool has_suffix = false;
  uint64_t integer = 0;
  double real = 0; // only for float scalars
};

/// Returns the number, or the error message, which takes the spelling as its argument.
std::variant<Number, Message> parse_number(std::string_view spelling);

/// The value of "a\tb"; nullopt if the string has an unknown escape sequence.
std::optional<std::string> parse_string(std::string_view spelling);

/// The value of 'a' or '\n'; nullopt if it is not one character.
std::optional<int> parse_character(std::string_view spelling);

} // namespace tritonc
