// Implements the scalar table, type names, conversions and broadcasting. See types.h.
//
// Tested by tests/unit/language/types_test.cpp.

#include "language/types.h"

#include <algorithm>
#include <array>

namespace tritonc {
namespace {

struct ScalarInfo {
  const char *name;
  int bits;
  bool is_integer, is_unsigned, is_float;
};

// In the order of Scalar.
constexpr std::array<ScalarInfo, 17> scalar_infos = {{
    {"<error>", 0, false, false, false},
    {"void", 0, false, false, false},
    {"bool", 8, true, true, false},
    {"int8", 8, true, false, false},
    {"uint8", 8, true, true, false},
    {"short", 16, true, false, false},
    {"unsigned short", 16, true, true, false},
    {"int", 32, true, false, false},
    {"unsigned", 32, true, true, false},
    {"long", 64, true, false, false},
    {"unsigned long", 64, true, true, false},
    {"e4m3", 8, false, false, true},
    {"e5m2", 8, false, false, true},
    {"half", 16, false, false, true},
    {"bfloat16", 16, false, false, true},
    {"float", 32, false, false, true},
    {"double", 64, false, false, true},
}};

const ScalarInfo &info(Scalar scalar) { return scalar_infos[size_t(scalar)]; }

} // namespace

bool is_unsigned(Scalar scalar) { return info(scalar).is_unsigned; }
bool is_integer(Scalar scalar) { return info(scalar).is_integer; }
bool is_float(Scalar scalar) { return info(scalar).is_float; }
bool is_small_float(Scalar scalar) { return is_float(scalar) && bits_of(scalar) == 8; }
int bits_of(Scalar scalar) { return info(scalar).bits; }
std::string name_of(Scalar scalar) { return info(scalar).name; }

bool Type::is_integer() const { return !pointer && tritonc::is_integer(scalar); }
bool Type::is_float() const { return !pointer && tritonc::is_float(scalar); }

std::string name_of(const Type &type) {
  std::string out = type.to_const ? "const " : "";
  out += type.to_constant ? "__constant__ " : "";
  out += name_of(type.scalar);
  if (type.pointer)
    out += " *";
  return type.is_tile() ? out + name_of(type.shape) : out;
}

std::string name_of(const Extents &shape) {
  std::string out = "[";
  for (size_t d = 0; d < shape.size(); d++)
    out += (d ? ", " : "") + std::to_string(shape[d]);
  return out + "]";
}

int64_t element_count(const Extents &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count))
      return INT64_MAX;
  return count;
}

Scalar promoted(Scalar a) {
  if (is_small_float(a))
    return Scalar::float_;
  return is_integer(a) && bits_of(a) < 32 ? Scalar::int32 : a;
}

Scalar common(Scalar a, Scalar b) {
  if (a == b && is_float(a) && !is_small_float(a))
    return a;
  if ((a == Scalar::half && b == Scalar::bfloat16) || (a == Scalar::bfloat16 && b == Scalar::half))
    return Scalar::float_;
  return std::max(promoted(a), promoted(b));
}

bool is_power_of_two(int64_t value) { return (value & (value - 1)) == 0; }

int64_t next_power_of_two(int64_t value) {
  int64_t power = 1;
  while (power < value)
    power *= 2;
  return power;
}

std::optional<Extents> broadcast(const Extents &a, const Extents &b) {
  Extents out(std::max(a.size(), b.size()));
  for (size_t d = 0; d < out.size(); d++) {
    // `d` counts from the last axis.
    int64_t x = d < a.size() ? a[a.size() - 1 - d] : 1;
    int64_t y = d < b.size() ? b[b.size() - 1 - d] : 1;
    if (x != y && x != 1 && y != 1)
      return std::nullopt;
    out[out.size() - 1 - d] = x == 1 ? y : x;
  }
  return out;
}

} // namespace tritonc
