// Types of random kernels and Triton-C's type rules, implemented a second time, independently of
// the compiler's front end. The tests compare the two.
//
// Does not depend on the compiler.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc::random {

/// In the order of conversions: the common type of two types is the later one.
enum class Scalar : uint8_t {
  bool_,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  e4m3, // arithmetic in float, like e5m2
  e5m2,
  half,
  bfloat16,
  float_,
  double_,
};
inline constexpr int scalar_count = 15;

const char *name_of(Scalar scalar);
std::optional<Scalar> scalar_named(const std::string &name);
int bits_of(Scalar scalar); // bool: 8, as in memory
inline int bytes_of(Scalar scalar) { return bits_of(scalar) / 8; }
inline bool is_float(Scalar scalar) { return scalar >= Scalar::e4m3; }
inline bool is_small_float(Scalar scalar) {
  return scalar == Scalar::e4m3 || scalar == Scalar::e5m2;
}
inline bool is_integer(Scalar scalar) { return !is_float(scalar); } // bool too
bool is_signed(Scalar scalar);                                      // integers, and all floats

/// Significant bits of a float type: every integer up to 2^precision is exact.
int precision_of(Scalar scalar);
/// The limits of an integer type, rounded to double.
double least(Scalar scalar);
double largest(Scalar scalar);

/// The type after promotion: types below 32 bits are promoted, except half and bfloat16.
Scalar promoted(Scalar scalar);
/// The common type of a binary operator's operands.
Scalar common(Scalar a, Scalar b);

using Shape = std::vector<int64_t>;

int64_t elements_of(const Shape &shape);
/// The shape of an operation on both: counted from the last axis, extents are equal or one is 1.
std::optional<Shape> broadcast(const Shape &a, const Shape &b);
/// Whether shape `from` broadcasts to `to`.
inline bool fits(const Shape &from, const Shape &to) { return broadcast(from, to) == to; }
std::string text_of(const Shape &shape); // "[16, 32]"; "" = scalar

struct Type {
  Scalar scalar = Scalar::int32;
  bool pointer = false;     // elements are pointers to `scalar`
  Shape shape = {};         // empty = not a tile
  bool to_const = false;    // pointers: no stores allowed
  bool to_constant = false; // pointers: to constant memory

  bool operator==(const Type &) const = default;
  bool is_tile() const { return !shape.empty(); }
  int64_t elements() const { return elements_of(shape); }
  Type with_shape(Shape s) const { return {scalar, pointer, std::move(s), to_const, to_constant}; }
  Type with_scalar(Scalar s) const { return {s, false, shape}; }
};

} // namespace tritonc::random
