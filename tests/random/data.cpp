// What the buffers of random kernels hold. See data.h.

#include "random/data.h"

#include "random/draw.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tritonc::random {
namespace {

// The bits of a number that the 16-bit type holds exactly: `precision` digits, exponents from
// `least_exponent` on.
uint16_t small_bits(double value, int precision, int least_exponent) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  int hidden = 1 << (precision - 1);
  if (std::isinf(value))
    return uint16_t(sign | (0x8000 - hidden));
  if (std::isnan(value))
    return uint16_t(sign | (0x8000 - hidden / 2));
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  int exponent;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, least_exponent);
  int significand = int(std::ldexp(magnitude, precision - 1 - exponent));
  if (significand < hidden)
    return uint16_t(sign | significand);
  return uint16_t(sign | ((exponent - least_exponent + 1) * hidden + (significand - hidden)));
}

double small_value(uint16_t bits, int precision, int least_exponent) {
  int hidden = 1 << (precision - 1), magnitude = bits & 0x7fff, infinity = 0x8000 - hidden;
  double sign = bits & 0x8000 ? -1 : 1;
  if (magnitude >= infinity)
    return magnitude == infinity ? sign * std::numeric_limits<double>::infinity()
                                 : std::numeric_limits<double>::quiet_NaN();
  int biased = magnitude / hidden, fraction = magnitude % hidden;
  if (biased == 0)
    return sign * std::ldexp(fraction, least_exponent - (precision - 1));
  return sign * std::ldexp(hidden + fraction, biased - 1 + least_exponent - (precision - 1));
}

constexpr int half_least = -14, bfloat16_least = -126;

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
  uint64_t count = uint64_t(data.high) - uint64_t(data.low) + 1; // 0: all 64-bit numbers
  int64_t drawn = int64_t(uint64_t(data.low) + (count ? bits % count : bits));
  return {drawn, std::ldexp(double(drawn), -data.fraction_bits)};
}

void append_bytes(Scalar scalar, DataValue value, std::vector<uint8_t> &bytes) {
  switch (scalar) {
  case Scalar::bool_:
    return bytes.push_back(value.integer != 0);
  case Scalar::half:
    return append(small_bits(value.real, 11, half_least), bytes);
  case Scalar::bfloat16:
    return append(small_bits(value.real, 8, bfloat16_least), bytes);
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
  case Scalar::half:
    return of_real(small_value(read<uint16_t>(bytes), 11, half_least));
  case Scalar::bfloat16:
    return of_real(small_value(read<uint16_t>(bytes), 8, bfloat16_least));
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
