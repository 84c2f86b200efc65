// The language's types of numbers, and what its operators give, as the reference says: written for
// the table test alone, so that it shares no mistake with the compiler or the tile interpreter.
//
// Numbers are held as double or as an integer, whatever their type. `known` is false where the
// language does not say what comes out: after an overflow of signed integers, a division by zero, a
// conversion out of range.

#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace table {

/// In the order of conversion.
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
  const char *name; // in the language, and of parameters
  int bits;
  bool is_float, is_signed;
  int digits;     // of a float's fraction, the hidden one too
  int least;      // exponent of the smallest normal number
  double largest; // of floats
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

/// The nearest number of a floating-point type, ties to even.
double rounded(Type type, double number);

/// From and to memory.
Number read(Type type, const void *memory);
void write(Type type, const Number &number, void *memory);
/// Whether two numbers are the same, as far as anybody can see: all NaN are, and both zeros.
bool same(Type type, const Number &a, const Number &b);
std::string text_of(Type type, const Number &number);

Type promoted(Type type);
Type common(Type a, Type b);
Number convert(Type from, Type to, const Number &number);
bool is_true(Type type, const Number &number);

/// `+`, `<<`, `<`, `min` and so on, of two numbers of a type that is promoted; the result has that
/// type, of comparisons it is a bool.
Number binary(const std::string &op, Type type, const Number &a, const Number &b);
/// `-`, `~`, `abs`.
Number unary(const std::string &op, Type type, const Number &a);

} // namespace table
