// Tested by values_test.cpp.

#include "values.h"

#include <tritonc/numbers.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <thread>

namespace bench {

namespace {

template <typename T, typename Convert>
std::vector<unsigned char> converted(const std::vector<float> &numbers, const Convert &convert) {
  std::vector<unsigned char> result(numbers.size() * sizeof(T));
  T *out = reinterpret_cast<T *>(result.data());
  for (float number : numbers)
    *out++ = convert(number);
  return result;
}

struct Sums {
  double squared_difference = 0, squared_peer = 0, largest = 0;

  void add(double ours, double peer) {
    double difference = std::abs(ours - peer);
    squared_difference += difference * difference;
    squared_peer += peer * peer;
    if (!(difference <= largest))
      largest = difference; // also NaN, unless a later value replaces it; the sum keeps NaN
  }
  void add(const Sums &other) {
    squared_difference += other.squared_difference;
    squared_peer += other.squared_peer;
    largest = std::max(largest, other.largest);
  }
};

template <typename T> double wide(T number) { return double(number); }
template <> double wide(tritonc::half number) { return float(number); }
template <> double wide(tritonc::bfloat16 number) { return float(number); }

template <typename T> Sums sums(const void *ours, const void *peers, std::size_t count) {
  const T *x = static_cast<const T *>(ours), *y = static_cast<const T *>(peers);
  std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 32);
  std::size_t share = (count + threads - 1) / threads;
  std::vector<Sums> parts(threads);
  std::vector<std::thread> workers;
  for (std::size_t t = 0; t < threads; t++)
    workers.emplace_back([=, &parts] {
      Sums part; // a local variable avoids false sharing
      for (std::size_t i = t * share; i < std::min(count, (t + 1) * share); i++)
        part.add(wide(x[i]), wide(y[i]));
      parts[t] = part;
    });
  Sums result;
  for (std::size_t t = 0; t < threads; t++) {
    workers[t].join();
    result.add(parts[t]);
  }
  return result;
}

Sums sums(Type type, const void *ours, const void *peers, std::size_t count) {
  switch (type) {
  case Type::float16:
  case Type::e4m3:
    return sums<tritonc::half>(ours, peers, count);
  case Type::bfloat16:
    return sums<tritonc::bfloat16>(ours, peers, count);
  case Type::tf32:
  case Type::float32:
    return sums<float>(ours, peers, count);
  case Type::float64:
    return sums<double>(ours, peers, count);
  case Type::int8:
    return sums<std::int32_t>(ours, peers, count);
  }
  return {};
}

} // namespace

std::vector<float> normal_numbers(std::size_t count) {
  std::mt19937 generator(20261122);
  std::normal_distribution<float> normal;
  std::vector<float> result(count);
  for (float &number : result)
    number = normal(generator);
  return result;
}

std::vector<unsigned char> as_operands(const std::vector<float> &numbers, Type type) {
  switch (type) {
  case Type::float16:
    return converted<tritonc::half>(numbers, [](float x) { return tritonc::half(x); });
  case Type::bfloat16:
    return converted<tritonc::bfloat16>(numbers, [](float x) { return tritonc::bfloat16(x); });
  case Type::tf32:
  case Type::float32:
    return converted<float>(numbers, [](float x) { return x; });
  case Type::float64:
    return converted<double>(numbers, [](float x) { return double(x); });
  case Type::e4m3:
    return converted<tritonc::float8_e4m3>(numbers,
                                           [](float x) { return tritonc::float8_e4m3(x); });
  case Type::int8:
    return converted<std::int8_t>(numbers, [](float x) {
      return std::int8_t(std::clamp(std::round(32 * x), -127.0f, 127.0f));
    });
  }
  return {};
}

// NaN in every floating-point type; for int8, an int32 far from all results.
unsigned char poison(Type type) { return type == Type::int8 ? 0x7f : 0xff; }

Difference difference(Type type, const void *ours, const void *peers, std::size_t count) {
  Sums total = sums(type, ours, peers, count);
  if (total.squared_difference == 0)
    return {};
  double scale = std::sqrt(total.squared_peer / double(count));
  if (scale == 0)
    return {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  return {std::sqrt(total.squared_difference / total.squared_peer), total.largest / scale};
}

bool is_acceptable(Type type, const Difference &difference) {
  struct Bound {
    double mean, largest;
  };
  static const Bound bounds[] = {
      {1e-3, 2e-2},   // half: results have 11 bits, the largest error is about 6 times the mean
      {8e-3, 2e-1},   // bfloat16: 8 bits
      {2e-3, 2e-2},   // tf32: operands have 11 bits, rounded or truncated
      {1e-5, 1e-4},   // float
      {1e-13, 1e-12}, // double
      {5e-3, 5e-2},   // e4m3: half results, and accumulators with fewer bits
      {0, 0},         // int8: exact
  };
  const Bound &bound = bounds[int(type)];
  return difference.mean <= bound.mean && difference.largest <= bound.largest; // false for NaN
}

} // namespace bench
