// Implements the type rules of random kernels. See types.h.

#include "random_kernels/types.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tritonc::random {
namespace {

struct Row {
  const char *name;
  int bits;
  bool is_signed;
  int precision; // floats
};

constexpr std::array<Row, scalar_count> rows = {{
    {"bool", 8, false, 0},
    {"int8", 8, true, 0},
    {"uint8", 8, false, 0},
    {"int16", 16, true, 0},
    {"uint16", 16, false, 0},
    {"int", 32, true, 0},
    {"uint32", 32, false, 0},
    {"int64", 64, true, 0},
    {"uint64", 64, false, 0},
    {"e4m3", 8, true, 4},
    {"e5m2", 8, true, 3},
    {"half", 16, true, 11},
    {"bfloat16", 16, true, 8},
    {"float", 32, true, 24},
    {"double", 64, true, 53},
}};

const Row &row(Scalar scalar) { return rows[size_t(scalar)]; }

} // namespace

const char *name_of(Scalar scalar) { return row(scalar).name; }
int bits_of(Scalar scalar) { return row(scalar).bits; }
bool is_signed(Scalar scalar) { return row(scalar).is_signed; }
int precision_of(Scalar scalar) { return row(scalar).precision; }

std::optional<Scalar> scalar_named(const std::string &name) {
  for (size_t i = 0; i < rows.size(); i++)
    if (name == rows[i].name)
      return Scalar(i);
  return std::nullopt;
}

double least(Scalar scalar) {
  return is_signed(scalar) ? -std::ldexp(1.0, bits_of(scalar) - 1) : 0;
}

double largest(Scalar scalar) {
  if (scalar == Scalar::bool_)
    return 1;
  return std::ldexp(1.0, bits_of(scalar) - (is_signed(scalar) ? 1 : 0)) - 1;
}

Scalar promoted(Scalar scalar) {
  if (is_small_float(scalar))
    return Scalar::float_;
  return scalar < Scalar::int32 ? Scalar::int32 : scalar;
}

Scalar common(Scalar a, Scalar b) {
  if (a == b && is_float(a) && !is_small_float(a))
    return a;
  bool sixteen = is_float(a) && is_float(b) && bits_of(a) == 16 && bits_of(b) == 16;
  return sixteen ? Scalar::float_ : std::max(promoted(a), promoted(b));
}

int64_t elements_of(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::optional<Shape> broadcast(const Shape &a, const Shape &b) {
  const Shape &wide = a.size() >= b.size() ? a : b, &narrow = a.size() >= b.size() ? b : a;
  Shape shape = wide;
  for (size_t d = 0; d < narrow.size(); d++) {
    int64_t &extent = shape[wide.size() - narrow.size() + d];
    if (extent == 1)
      extent = narrow[d];
    else if (narrow[d] != 1 && narrow[d] != extent)
      return std::nullopt;
  }
  return shape;
}

std::string text_of(const Shape &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text.empty() ? "" : text + "]";
}

} // namespace tritonc::random
