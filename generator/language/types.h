// The types of Triton-C: signed and unsigned C scalars, pointers to scalars, and tiles of both.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

using Extents = std::vector<int64_t>;

inline constexpr int max_axes = 5;
inline constexpr int64_t max_elements = int64_t(1) << 20;

/// In conversion order: the common type of two numbers is the later type (exceptions: see
/// `common`).
enum class Scalar : uint8_t {
  error, // already reported; suppresses follow-up messages
  void_,
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

struct Type {
  Scalar scalar = Scalar::error;
  bool pointer = false;     // each element is a pointer to `scalar`
  bool to_const = false;    // pointers only: to const elements
  Extents shape;            // empty = scalar, not a tile
  bool to_constant = false; // pointers only: to constant memory

  bool operator==(const Type &) const = default;

  bool is_error() const { return scalar == Scalar::error; }
  bool is_void() const { return scalar == Scalar::void_ && !pointer; }
  bool is_tile() const { return !shape.empty(); }
  bool is_pointer() const { return pointer; }
  bool is_bool() const { return !pointer && scalar == Scalar::bool_; }
  bool is_integer() const; // also true for bool
  bool is_float() const;
  bool is_number() const { return is_integer() || is_float(); }

  Type with_shape(Extents s) const {
    return {scalar, pointer, to_const, std::move(s), to_constant};
  }
  /// Numbers of type `s`, in the same shape.
  Type with_scalar(Scalar s) const { return {s, false, false, shape, false}; }
  /// The type of the elements that the pointers point to.
  Type pointee() const { return {scalar, false, false, shape, false}; }

  static Type of(Scalar scalar) { return {scalar, false, false, {}, false}; }
};

bool is_unsigned(Scalar scalar); // also true for bool
bool is_integer(Scalar scalar);
bool is_float(Scalar scalar);
/// True for e4m3 and e5m2. The compiler computes with these types in float.
bool is_small_float(Scalar scalar);
int bits_of(Scalar scalar); // bool: 8, as in memory
std::string name_of(Scalar scalar);

/// "float[128, 64]", "half*[64]", "const half *".
std::string name_of(const Type &type);
/// "[128, 64]"; "[]" for a scalar.
std::string name_of(const Extents &shape);

int64_t element_count(const Extents &shape);
bool is_power_of_two(int64_t value); // also true for 0
int64_t next_power_of_two(int64_t value);

/// C's usual arithmetic conversions. half with bfloat16 yields float. An 8-bit float with any type
/// except double yields float.
Scalar common(Scalar a, Scalar b);
/// The type of an operand in arithmetic: small integers become int; e4m3 and e5m2 become float.
Scalar promoted(Scalar a);

/// The shape of an operation on two tiles, by NumPy's rules: the shorter shape gets leading axes of
/// extent 1, then each pair of extents must be equal or contain a 1. Returns nullopt otherwise.
std::optional<Extents> broadcast(const Extents &a, const Extents &b);

} // namespace tritonc
