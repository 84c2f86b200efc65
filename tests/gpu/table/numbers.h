// The language's element types and the results of its operators, as the language reference defines
// them. Only the table test uses this code, so it shares no errors with the compiler or the tile
// interpreter.
//
// A Number holds a double or an integer, for every type. `known` is false if the language leaves
// the value undefined: signed overflow, division by zero, conversion out of range.

#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace table {

/// In the order of the arithmetic conversions.
enum class Type : uint8_t {
  bool_,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  e4m3,
  e5m2,
  half,
  bfloat16,
  float_,
  double_,
};
inline constexpr int type_count = 15;

struct TypeInfo {
  const char *name; // in the language, and in the kernels' parameters
  int bits;
  bool is_float, is_signed;
  int digits;     // significand bits of a float, with the hidden bit
  int least;      // exponent of the smallest normal value
  double largest; // largest finite float
};
const TypeInfo &info(Type type);
inline bool is_float(Type type) { return info(type).is_float; }
inline bool is_small_float(Type type) { return type == Type::e4m3 || type == Type::e5m2; }
inline int bytes_of(Type type) { return info(type).bits / 8; }

struct Number {
  double real = 0;
  int64_t integer = 0;
  bool known = true;
};
Number of_integer(int64_t integer);
Number of_real(double real);
Number unknown();

/// The nearest value of a floating-point type, ties to even.
double rounded(Type type, double number);

/// Reads from memory and writes to memory.
Number read(Type type, const void *memory);
void write(Type type, const Number &number, void *memory);
/// Whether two values are equal. All NaN are equal, and so are both zeros.
bool same(Type type, const Number &a, const Number &b);
std::string text_of(Type type, const Number &number);

Type promoted(Type type);
Type common(Type a, Type b);
Number convert(Type from, Type to, const Number &number);
bool is_true(Type type, const Number &number);

/// `+`, `<<`, `<`, `min` and so on, for two values of a promoted type. The result has that type;
/// the result of a comparison is a bool.
Number binary(const std::string &op, Type type, const Number &a, const Number &b);
/// `-`, `~`, `abs`.
Number unary(const std::string &op, Type type, const Number &a);

} // namespace table
