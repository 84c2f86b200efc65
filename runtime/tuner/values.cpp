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

template <typename T> double number_at(const void *from, std::size_t i) {
  return double(Number<T>(element_at<T>(from, i)));
}

// An unsigned integer of the same size.
template <typename T>
using Bits = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// A floating-point type.
template <typename T> struct Format;
template <> struct Format<half> {
  static constexpr int digits = 11, min_exponent = -14; // of the significand; of normal values
  static constexpr double change = 0x1p-7;              // Element::change
  static constexpr int rounding = 1;                    // units in the last place
  static constexpr double weight = 1;                   // Element::weight
};
template <> struct Format<bfloat16> {
  static constexpr int digits = 8, min_exponent = -126;
  static constexpr double change = 0x1p-5;
  static constexpr int rounding = 1;
  static constexpr double weight = 1;
};
template <> struct Format<float> {
  static constexpr int digits = 24, min_exponent = -126;
  static constexpr double change = 0x1p-7;
  static constexpr int rounding = 4;
  static constexpr double weight = 1;
};
template <> struct Format<double> {
  static constexpr int digits = 53, min_exponent = -1022;
  static constexpr double change = 0x1p-21;
  static constexpr int rounding = 4;
  static constexpr double weight = 1;
};
template <> struct Format<float8_e4m3> {
  static constexpr int digits = 4, min_exponent = -6;
  static constexpr double change = 0x1p-7;
  static constexpr int rounding = 1;
  static constexpr double weight = 0.25;
};
template <> struct Format<float8_e5m2> {
  static constexpr int digits = 3, min_exponent = -14;
  static constexpr double change = 0x1p-7;
  static constexpr int rounding = 1;
  static constexpr double weight = 0.125;
};

// The number of adjacent values of a relative change. At least 1.
template <typename T> std::int64_t steps_of(double change) {
  return std::max<std::int64_t>(1, std::int64_t(std::ldexp(change, Format<T>::digits - 1)));
}

// Adds next_step() to the bits of each value above `steps` times the smallest one: adjacent values
// have adjacent bits.
template <typename T, typename Step>
void add_to_bits(void *values, std::size_t count, std::int64_t steps, const Step &next_step) {
  constexpr Bits<T> sign = Bits<T>(Bits<T>(1) << (8 * sizeof(T) - 1));
  for (std::size_t i = 0; i < count; i++) {
    Bits<T> bits = element_at<Bits<T>>(values, i);
    std::int64_t step = next_step();
    if (Bits<T>(bits & ~sign) > Bits<T>(steps))
      bits = Bits<T>(bits + Bits<T>(step));
    std::memcpy(static_cast<char *>(values) + i * sizeof bits, &bits, sizeof bits);
  }
}

template <typename T>
void perturb(void *values, std::size_t count, double change, std::uint64_t seed) {
  Random random(seed);
  std::int64_t steps = steps_of<T>(change);
  double choices = double(2 * steps + 1) * 0x1p-32;
  add_to_bits<T>(values, count, steps, [&] { // uniform from -steps to steps
    return std::int64_t(double(random.next()) * choices) - steps;
  });
}

template <typename T> void enlarge(void *values, std::size_t count, double change) {
  std::int64_t steps = steps_of<T>(change);
  add_to_bits<T>(values, count, steps, [&] { return steps; });
}

constexpr float infinite = std::numeric_limits<float>::infinity();

double distance_between(double x, double y) {
  if (x == y || (std::isnan(x) && std::isnan(y)))
    return 0;
  return std::isfinite(x) && std::isfinite(y) ? std::fabs(x - y) : double(infinite);
}

template <typename T>
void widen(float *distances, const void *first, const void *second, std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    double apart = distance_between(number_at<T>(first, i), number_at<T>(second, i));
    if (std::isfinite(apart)) // so is a distance between f64 values above float's range
      apart = std::min(apart, double(std::numeric_limits<float>::max()));
    distances[i] = std::max(distances[i], float(apart));
  }
}

// The max difference between two elements that are the same value before rounding, or nearly. They
// are equal, or adjacent values of T. Operations of float and double may differ by some units in
// the last place, for example because one variant contracts a * b + c to fma. Smaller types are
// computed in float and then rounded once.
template <typename T> double rounding_error(double x, double y) {
  int exponent = std::ilogb(std::max(std::fabs(x), std::fabs(y)));
  exponent = std::max(exponent, Format<T>::min_exponent);
  return std::ldexp(Format<T>::rounding, exponent - Format<T>::digits + 1);
}

template <typename T>
double excess(const void *first, const void *second, const float *bounds, std::size_t count) {
  if (std::memcmp(first, second, count * sizeof(T)) == 0)
    return 0;
  if constexpr (std::is_integral_v<T>) {
    return double(infinite);
  } else {
    double max_excess = 0;
    for (std::size_t i = 0; i < count; i++) {
      double x = number_at<T>(first, i), y = number_at<T>(second, i);
      double bound = bounds ? double(bounds[i]) : 0, apart = distance_between(x, y);
      if (apart == 0 || bound == double(infinite))
        continue;
      if (std::isfinite(apart))
        apart /= bound + rounding_error<T>(x, y);
      max_excess = std::max(max_excess, apart);
    }
    return max_excess;
  }
}

template <typename T> constexpr Element row(std::string_view name) {
  if constexpr (std::is_integral_v<T>)
    return {name, sizeof(T), fill<T>, set<T>, nullptr, nullptr, nullptr, excess<T>, 0, 1};
  else
    return {name,     sizeof(T), fill<T>,           set<T>,           perturb<T>, enlarge<T>,
            widen<T>, excess<T>, Format<T>::change, Format<T>::weight};
}

constexpr Element elements[] = {
    row<bool>("i1"),           row<std::int8_t>("i8"),    row<std::uint8_t>("u8"),
    row<std::int16_t>("i16"),  row<std::uint16_t>("u16"), row<std::int32_t>("i32"),
    row<std::uint32_t>("u32"), row<std::int64_t>("i64"),  row<std::uint64_t>("u64"),
    row<half>("f16"),          row<bfloat16>("bf16"),     row<float>("f32"),
    row<double>("f64"),        row<float8_e4m3>("e4m3"),  row<float8_e5m2>("e5m2"),
};

} // namespace

const Element *find_element(std::string_view name) {
  const Element *end = elements + sizeof elements / sizeof *elements;
  const Element *found =
      std::find_if(elements, end, [&](const Element &one) { return one.name == name; });
  return found == end ? nullptr : found;
}

} // namespace tritonc::v1::tuner
