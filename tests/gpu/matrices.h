// Common parts of the GPU tests: random matrices, a matmul in double precision with error bounds,
// device memory that is NaN until a write, and the counts of passed and failed cases.
//
// Header-only, because each test is one executable that you copy to a GPU machine.

#pragma once

#include "error_bounds.h"

#include <tritonc/device.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace device_tests {

inline int passed = 0, failed = 0;
inline std::mt19937_64 generator(20261121);

inline void fail(const std::string &what, const std::string &why) {
  std::printf("FAILED %s: %s\n", what.c_str(), why.c_str());
  failed++;
}

// An error of the machine or of an earlier kernel. It makes all later results meaningless, so the
// test stops.
inline void require(tritonc::status status, const std::string &what) {
  if (status.ok())
    return;
  fail(what, status.message().c_str());
  std::printf("%d passed, %d failed; stopped after an error\n", passed, failed);
  std::exit(1);
}

// --- Matrices ------------------------------------------------------------------------------------

// Row-major without gaps. Elements are in [-1, 1].
struct Matrix {
  int rows, columns;
  std::vector<double> elements;

  double &at(int row, int column) { return elements[size_t(row) * columns + column]; }
  double at(int row, int column) const { return elements[size_t(row) * columns + column]; }
};

inline Matrix zero_matrix(int rows, int columns) {
  return {rows, columns, std::vector<double>(size_t(rows) * size_t(columns))};
}

template <typename T> double as_double(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return double(value);
  else
    return double(float(value));
}

// The T nearest to `value`, which has at most the bits of a float if T is not double.
template <typename T> T from_double(double value) {
  if constexpr (std::is_arithmetic_v<T>)
    return T(value);
  else
    return T(float(value));
}

// Elements are rounded to T, so that reference and kernel have equal inputs. Integers have T's full
// range.
template <typename T> Matrix random_matrix(int rows, int columns) {
  Matrix matrix = zero_matrix(rows, columns);
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    std::uniform_int_distribution<int> uniform(Limits::min(), Limits::max());
    for (double &element : matrix.elements)
      element = uniform(generator);
    return matrix;
  }
  using Drawn = std::conditional_t<std::is_same_v<T, double>, double, float>;
  std::uniform_real_distribution<Drawn> uniform(-1, 1);
  for (double &element : matrix.elements)
    element = as_double(from_double<T>(uniform(generator)));
  return matrix;
}

// Integers from -2 to 2. Every type represents them, and sums of their products are exact.
inline Matrix small_integers(int rows, int columns) {
  Matrix matrix = zero_matrix(rows, columns);
  for (double &element : matrix.elements)
    element = int(generator() % 5) - 2;
  return matrix;
}

inline Matrix transposed(const Matrix &matrix) {
  Matrix result = zero_matrix(matrix.columns, matrix.rows);
  for (int row = 0; row < matrix.rows; row++)
    for (int column = 0; column < matrix.columns; column++)
      result.at(column, row) = matrix.at(row, column);
  return result;
}

// Calls work(i) for 0 <= i < count, on up to 16 threads.
template <typename Work> void in_parallel(int count, const Work &work) {
  std::atomic<int> next = 0;
  auto run = [&] {
    for (int i; (i = next++) < count;)
      work(i);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::min<unsigned>(std::thread::hardware_concurrency(), 16); i++)
    threads.emplace_back(run);
  run();
  for (std::thread &thread : threads)
    thread.join();
}

inline std::vector<double> product(const Matrix &a, const Matrix &b) {
  std::vector<double> c(size_t(a.rows) * b.columns);
  in_parallel(a.rows, [&](int row) {
    double *out = &c[size_t(row) * b.columns];
    for (int k = 0; k < a.columns; k++) {
      double factor = a.at(row, k);
      const double *in = &b.elements[size_t(k) * b.columns];
      for (int column = 0; column < b.columns; column++)
        out[column] += factor * in[column];
    }
  });
  return c;
}

// The same, as a sum of a kernel with operands of type T. `operand_error`: the relative error of a
// product through rounding of its operands, which does not change integers.
template <typename T>
std::vector<Bounded> bounded_product(const Matrix &a, const Matrix &b, double operand_error = 0) {
  auto magnitudes_of = [](Matrix matrix) {
    for (double &element : matrix.elements)
      element = std::fabs(element);
    return matrix;
  };
  auto is_whole = [](const Matrix &matrix) {
    return std::all_of(matrix.elements.begin(), matrix.elements.end(),
                       [](double element) { return element == std::trunc(element); });
  };
  std::vector<double> values = product(a, b), sums = product(magnitudes_of(a), magnitudes_of(b));
  bool are_integers = is_whole(a) && is_whole(b);
  std::vector<Bounded> result(values.size());
  for (size_t i = 0; i < values.size(); i++)
    result[i] = are_integers ? sum_of_integers<T>(values[i], sums[i], a.columns)
                             : sum_of_products<T>(values[i], sums[i], a.columns, operand_error);
  return result;
}

// The same after rounding to the type of the result.
template <typename T> std::vector<Bounded> stored_as(std::vector<Bounded> elements) {
  for (Bounded &element : elements)
    element = rounded<T>(element);
  return elements;
}

// --- Memory --------------------------------------------------------------------------------------

// A matrix in device memory with leading dimension `leading`. Its buffer has `lead` elements before
// the matrix, and `trail` elements after it.
template <typename T> class DeviceMatrix {
public:
  DeviceMatrix(int rows, int columns, int leading, int lead, int trail = 0)
      : rows_(rows), columns_(columns), leading_(leading), lead_(lead),
        end_(lead + (rows > 0 ? size_t(rows - 1) * leading + columns : 0)), host_(end_ + trail) {
    std::memset(static_cast<void *>(host_.data()), 0xff, host_.size() * sizeof(T)); // NaN
    require(memory_.allocate(std::max<size_t>(host_.size(), 1)), "allocation");
  }

  void write(const Matrix &matrix) {
    for (int row = 0; row < rows_; row++)
      for (int column = 0; column < columns_; column++)
        at(row, column) = from_double<T>(matrix.at(row, column));
    poison();
  }

  // Copies the host's elements to the device: NaN, except where write() has set them.
  void poison() {
    if (!host_.empty())
      require(tritonc::copy_to_device(memory_.data(), host_.data(), host_.size() * sizeof(T)),
              "copy");
  }

  void read() {
    if (!host_.empty())
      require(tritonc::copy_to_host(host_.data(), memory_.data(), host_.size() * sizeof(T)),
              "copy");
  }

  T *data() const { return memory_.data() + lead_; }
  T &at(int row, int column) { return host_[lead_ + size_t(row) * leading_ + column]; }

  // Whether the memory before the matrix, between its rows and after it is unchanged.
  bool gaps_are_untouched() const {
    const auto *bytes = reinterpret_cast<const unsigned char *>(host_.data());
    auto untouched = [&](size_t from, size_t to) {
      return std::all_of(bytes + from * sizeof(T), bytes + to * sizeof(T),
                         [](unsigned char byte) { return byte == 0xff; });
    };
    if (!untouched(0, lead_) || !untouched(end_, host_.size()))
      return false;
    for (int row = 0; row + 1 < rows_; row++)
      if (!untouched(lead_ + size_t(row) * leading_ + columns_, lead_ + size_t(row + 1) * leading_))
        return false;
    return true;
  }

private:
  int rows_, columns_, leading_, lead_;
  size_t end_; // of the matrix, in elements
  std::vector<T> host_;
  tritonc::buffer<T> memory_;
};

// Describes the first element whose error is above its bound; "" if there is none.
template <typename T>
std::string compare(DeviceMatrix<T> &result, const std::vector<Bounded> &expected, int rows,
                    int columns) {
  return find_wrong_element(
      rows, columns, [&](int row, int column) { return as_double(result.at(row, column)); },
      [&](int row, int column) {
        return expected[size_t(row) * size_t(columns) + size_t(column)];
      });
}

inline void check(const std::string &what, const std::string &problem) {
  if (problem.empty())
    passed++;
  else
    fail(what, problem);
}

// At most 199 characters.
template <typename... Arguments> std::string text(const char *format, Arguments... arguments) {
  char buffer[200];
  std::snprintf(buffer, sizeof buffer, format, arguments...);
  return buffer;
}

// False without a driver or without a GPU.
inline bool find_device() {
  tritonc::device_info device;
  tritonc::status status = tritonc::current_device(device);
  if (status.code() == tritonc::status_code::no_driver ||
      status.code() == tritonc::status_code::no_device) {
    std::printf("[SKIP] no GPU here: %s\n", status.message().c_str());
    return false;
  }
  require(status, "current_device");
  std::printf("%s, compute capability %d.%d\n", device.name, device.major, device.minor);
  return true;
}

// Prints the counts, and returns the exit code.
inline int report() {
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

} // namespace device_tests
