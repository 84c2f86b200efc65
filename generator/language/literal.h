// Literals: the value and type that C gives to a number or a character.

#pragma once

#include "language/types.h"
#include "source/diagnostics.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace tritonc {

struct Number {
  Scalar scalar = Scalar::int32;
  bool has_suffix = false;
  uint64_t integer = 0;
  double real = 0; // if the scalar is a float
};

/// The number, or what is wrong with it (each of the messages takes the spelling).
std::variant<Number, Message> parse_number(std::string_view spelling);

/// The text that "a\tb" stands for; nothing if there is an escape that we don't know.
std::optional<std::string> parse_string(std::string_view spelling);

/// The value of 'a' or '\n'.
std::optional<int> parse_character(std::string_view spelling);

} // namespace tritonc
