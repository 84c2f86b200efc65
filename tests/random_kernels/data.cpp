// Makes the contents of the buffers of random kernels. See data.h.

#include "random_kernels/data.h"

#include "random_kernels/draw.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tritonc::random {
namespace {

// An 8-bit or 16-bit float type: significands with `precision` bits including the hidden bit,
// exponents from `min_exponent` on. The largest exponent is for infinity and NaN; in e4m3 it also
// has finite values, and only all ones is NaN.
struct Small {
  int bits, precision, min_exponent;
  bool has_infinity;

  int hidden() const { return 1 << (precision - 1); }
  int sign() const { return 1 << (bits - 1); }
  int infinity() const { return sign() - hidden(); }
  int nan() const { return has_infinity ? sign() - hidden() / 2 : sign() - 1; }
};

Small small_of(Scalar scalar) {
  switch (scalar) {
  case Scalar::e4m3:
    return {8, 4, -6, false};
  case Scalar::e5m2:
    return {8, 3, -14, true};
  case Scalar::half:
    return {16, 11, -14, true};
  default:
    return {16, 8, -126, true};
  }
}

// The bits of a value that is exact in the type.
int small_bits(double value, const Small &type) {
  int sign = std::signbit(value) ? type.sign() : 0;
  if (std::isnan(value) || (std::isinf(value) && !type.has_infinity))
    return sign | type.nan();
  if (std::isinf(value))
    return sign | type.infinity();
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  int exponent;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, type.min_exponent);
  int significand = int(std::ldexp(magnitude, type.precision - 1 - exponent));
  if (significand < type.hidden())
    return sign | significand;
  return sign |
         ((exponent - type.min_exponent + 1) * type.hidden() + (significand - type.hidden()));
}

double small_value(int bits, const Small &type) {
  int magnitude = bits & (type.sign() - 1);
  double sign = bits & type.sign() ? -1 : 1;
  if (type.has_infinity && magnitude == type.infinity())
    return sign * std::numeric_limits<double>::infinity();
  if (magnitude >= (type.has_infinity ? type.infinity() : type.nan()))
    return std::numeric_limits<double>::quiet_NaN();
  int biased = magnitude / type.hidden(), fraction = magnitude % type.hidden();
  if (biased == 0)
    return sign * std::ldexp(fraction, type.min_exponent - (type.precision - 1));
  return sign * std::ldexp(type.hidden() + fraction,
                           biased - 1 + type.min_exponent - (type.precision - 1));
}

template <typename T> void append(T value, std::vector<uint8_t> &bytes) {
  size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(&bytes[at], &value, sizeof value);
}

template <typename T> T read(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

DataValue of_integer(int64_t value) { return {value, double(value)}; }
DataValue of_real(double value) { return {0, value}; }

} // namespace

uint64_t stream_of(uint64_t seed, const std::string &name) {
  uint64_t hash = seed;
  for (char c : name)
    hash = mixed(hash + uint64_t((unsigned char)c) + 1);
  return hash;
}

DataValue value_of(const Data &data, uint64_t stream, int64_t index) {
  uint64_t bits = mixed(stream + mixed(uint64_t(index) + 1));
  uint64_t count = uint64_t(data.high) - uint64_t(data.low) + 1; // 0 = all 64-bit values
  int64_t drawn = int64_t(uint64_t(data.low) + (count ? bits % count : bits));
  return {drawn, std::ldexp(double(drawn), -data.fraction_bits)};
}

void append_bytes(Scalar scalar, DataValue value, std::vector<uint8_t> &bytes) {
  switch (scalar) {
  case Scalar::bool_:
    return bytes.push_back(value.integer != 0);
  case Scalar::e4m3:
  case Scalar::e5m2:
    return bytes.push_back(uint8_t(small_bits(value.real, small_of(scalar))));
  case Scalar::half:
  case Scalar::bfloat16:
    return append(uint16_t(small_bits(value.real, small_of(scalar))), bytes);
  case Scalar::float_:
    return append(float(value.real), bytes);
  case Scalar::double_:
    return append(value.real, bytes);
  default:
    for (int i = 0; i < bytes_of(scalar); i++)
      bytes.push_back(uint8_t(uint64_t(value.integer) >> (8 * i)));
  }
}

DataValue from_bytes(Scalar scalar, const uint8_t *bytes) {
  switch (scalar) {
  case Scalar::bool_:
    return of_integer(*bytes);
  case Scalar::int8:
    return of_integer(read<int8_t>(bytes));
  case Scalar::uint8:
    return of_integer(*bytes);
  case Scalar::int16:
    return of_integer(read<int16_t>(bytes));
  case Scalar::uint16:
    return of_integer(read<uint16_t>(bytes));
  case Scalar::int32:
    return of_integer(read<int32_t>(bytes));
  case Scalar::uint32:
    return of_integer(read<uint32_t>(bytes));
  case Scalar::int64:
  case Scalar::uint64:
    return of_integer(read<int64_t>(bytes));
  case Scalar::e4m3:
  case Scalar::e5m2:
    return of_real(small_value(*bytes, small_of(scalar)));
  case Scalar::half:
  case Scalar::bfloat16:
    return of_real(small_value(read<uint16_t>(bytes), small_of(scalar)));
  case Scalar::float_:
    return of_real(read<float>(bytes));
  case Scalar::double_:
    return of_real(read<double>(bytes));
  }
  return {};
}

std::vector<uint8_t> bytes_of(const Data &data, Scalar scalar, uint64_t stream, int64_t count) {
  std::vector<uint8_t> bytes;
  bytes.reserve(size_t(count * bytes_of(scalar)));
  for (int64_t i = 0; i < count; i++)
    append_bytes(scalar, value_of(data, stream, i), bytes);
  return bytes;
}

std::vector<uint8_t> unwritten_bytes(Scalar scalar, int64_t count) {
  int size = bytes_of(scalar);
  std::vector<uint8_t> bytes(size_t(count * size));
  for (size_t i = 0; i < bytes.size(); i++)
    bytes[i] = uint8_t(0xc3 + 7 * (i % size_t(size)));
  return bytes;
}

uint64_t hash_of(Scalar scalar, const std::vector<uint8_t> &bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  size_t size = size_t(bytes_of(scalar));
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    bool is_zero = is_float(scalar) && from_bytes(scalar, &bytes[at]).real == 0;
    for (size_t i = 0; i < size; i++)
      hash = (hash ^ (is_zero ? 0 : bytes[at + i])) * 0x100000001b3;
  }
  return hash;
}

} // namespace tritonc::random
