// Values for measurements. See values.h.

#include "values.h"

#include <tritonc/numbers.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tritonc::v1::tuner {

namespace {

/// A linear congruential generator; returns the upper bits. Fast, because the memory is large.
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed * 2862933555777941757u + 3037000493u) {}
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return std::uint32_t(state_ >> 32);
  }

private:
  std::uint64_t state_;
};

/// T for C++ arithmetic types; float for the types that only convert to and from float.
template <typename T> using Number = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

template <typename T> T random_number(Random &random) {
  if constexpr (std::is_same_v<T, bool>)
    return random.next() & 1;
  else if constexpr (std::is_integral_v<T>)
    // Not negative, because the value may be an index. Only i8 has negative values.
    return T(std::int32_t(random.next() & 7) - (std::is_signed_v<T> && sizeof(T) == 1 ? 4 : 0));
  else
    return T(Number<T>(float(std::int32_t(random.next())) * 0x1p-31f));
}

template <typename T> void fill(void *to, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  T *elements = static_cast<T *>(to);
  for (std::size_t i = 0; i < count; i++)
    elements[i] = random_number<T>(random);
}

template <typename T> void set(void *to, double value) {
  T element = T(Number<T>(value));
  std::memcpy(to, &element, sizeof element);
}

template <typename T> T element_at(const void *from, std::size_t i) {
  T element;
  std::memcpy(&element, static_cast<const char *>(from) + i * sizeof element, sizeof element);
  return element;
}

template <typename T> double distance(const void *first, const void *second, std::size_t count) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (std::memcmp(first, second, count * sizeof(T)) == 0)
    return 0;
  if (std::is_integral_v<T>)
    return infinite;
  double apart = 0, length = 0;
  for (std::size_t i = 0; i < count; i++) {
    double x = double(Number<T>(element_at<T>(first, i)));
    double y = double(Number<T>(element_at<T>(second, i)));
    if (std::isfinite(x) && std::isfinite(y)) {
      apart += (x - y) * (x - y);
      length += x * x;
    } else if (x != y && !(std::isnan(x) && std::isnan(y))) {
      return infinite;
    }
  }
  if (apart == 0)
    return 0;
  return length == 0 ? infinite : std::sqrt(apart / length);
}

template <typename T> constexpr Element row(std::string_view name, double tolerance) {
  return {name, sizeof(T), fill<T>, set<T>, distance<T>, tolerance};
}

// A tolerance is about eight times the distance between adjacent values at 1.
constexpr Element elements[] = {
    row<bool>("i1", 0),
    row<std::int8_t>("i8", 0),
    row<std::uint8_t>("u8", 0),
    row<std::int16_t>("i16", 0),
    row<std::uint16_t>("u16", 0),
    row<std::int32_t>("i32", 0),
    row<std::uint32_t>("u32", 0),
    row<std::int64_t>("i64", 0),
    row<std::uint64_t>("u64", 0),
    row<half>("f16", 8e-3),
    row<bfloat16>("bf16", 6e-2),
    row<float>("f32", 1e-4), // matmuls may round to tf32 and add in any order
    row<double>("f64", 1e-12),
    row<float8_e4m3>("e4m3", 0.5),
    row<float8_e5m2>("e5m2", 1),
};

} // namespace

const Element *find_element(std::string_view name) {
  const Element *end = elements + sizeof elements / sizeof *elements;
  const Element *found =
      std::find_if(elements, end, [&](const Element &one) { return one.name == name; });
  return found == end ? nullptr : found;
}

} // namespace tritonc::v1::tuner
