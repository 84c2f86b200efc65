// Common parts of the tests of shipped kernels. Each .cpp file here tests one family of kernels/:
//
//     #include "kernel_test.h"
//     #include <shipped_transpose.hpp> // tritonc_shipped_kernels(transpose ...) in CMakeLists.txt
//
//     namespace {
//     void test() {
//       Array<float> x(n, draw<float>), y(n);
//       std::string problem = outcome(kernels::f::launch({}, {.x = x.data(), .y = y.data()},
//       tile)); check(text("f SIZE=%d n=%d", tile.SIZE, n),
//             problem.empty() ? y.compare([&](size_t i) { return 2 * x[i]; }, 1e-6) : problem);
//     }
//     const device_tests::KernelTest transpose("transpose", test);
//     }
//
// An Array ends at the end of its allocation, so the emulator and compute-sanitizer find accesses
// past its end. Outputs are NaN before the launch. The same tests run on the emulator. They leave
// out large cases if `emulated()` is true.

#pragma once

#include "gpu/matrices.h"

#include <functional>

namespace device_tests {

/// A family of kernels. The constructor adds it to the list of all families.
class KernelTest {
public:
  KernelTest(const char *name, void (*run)()) : name(name), run(run) { all().push_back(this); }
  static std::vector<const KernelTest *> &all() {
    static std::vector<const KernelTest *> list;
    return list;
  }

  const char *const name;
  void (*const run)();
};

/// Option --small.
inline bool only_small = false;

/// Whether to leave out large cases: on the emulator, and with --small.
inline bool emulated() {
  if (only_small)
    return true;
  tritonc::device_info device;
  require(tritonc::current_device(device), "current_device");
  return device.emulated;
}

/// The error of a launch, or of the kernel that it started; "" if none.
inline std::string outcome(tritonc::status launched) {
  if (!launched.ok())
    return launched.message().c_str();
  tritonc::status done = tritonc::synchronize();
  return done.ok() ? "" : std::string(done.message().c_str());
}

inline double uniform(double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(generator);
}

/// A random T: in [-1, 1] for floating-point types, any value for integers.
template <typename T> T draw() {
  if constexpr (std::is_integral_v<T>)
    return T(generator());
  else
    return T(float(uniform(-1, 1)));
}

/// Random bits, which include every kind of NaN.
template <typename T> T draw_bits() {
  std::uint64_t random = generator();
  T value;
  std::memcpy(&value, &random, sizeof(T));
  return value;
}

template <typename T> bool same_bits(T a, T b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }

/// Device memory of exactly `count` elements, and a host copy.
template <typename T> class Array {
public:
  /// All bits are 1, which is NaN.
  explicit Array(size_t count) : host_(count) {
    std::memset(static_cast<void *>(host_.data()), 0xff, count * sizeof(T));
    require(memory_.allocate(std::max<size_t>(count, 1)), "allocation");
    write();
  }
  Array(size_t count, T (*value)()) : Array(count) { fill(value); }

  /// Sets each element to value().
  template <typename Value> void fill(Value value) {
    for (T &element : host_)
      element = value();
    write();
  }
  /// Copies the host's elements to the device.
  void write() {
    if (!host_.empty())
      require(tritonc::copy_to_device(memory_.data(), host_.data(), host_.size() * sizeof(T)),
              "copy");
  }
  /// Copies the device's elements to the host.
  void read() {
    if (!host_.empty())
      require(tritonc::copy_to_host(host_.data(), memory_.data(), host_.size() * sizeof(T)),
              "copy");
  }

  T *data() const { return memory_.data(); }
  size_t size() const { return host_.size(); }
  T &operator[](size_t i) { return host_[i]; }
  double at(size_t i) const { return as_double(host_[i]); }

  /// Whether all bits of element i are still 1.
  bool is_untouched(size_t i) const {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &host_[i], sizeof(T));
    return std::all_of(bytes, bytes + sizeof(T), [](unsigned char byte) { return byte == 0xff; });
  }

private:
  std::vector<T> host_;
  tritonc::buffer<T> memory_;
};

/// Checks that a launch with zero elements succeeds and writes nothing.
template <typename T, typename Launch> void check_nothing(const std::string &what, Launch launch) {
  Array<T> beside(8);
  std::string problem = outcome(launch(beside.data()));
  beside.read();
  for (size_t i = 0; i < beside.size() && problem.empty(); i++)
    if (!beside.is_untouched(i))
      problem = text("element %zu was written", i);
  check(what, problem);
}

/// Device memory of a few rows, where the last row begins more than 2^31 elements after the first.
/// Nothing accesses the gaps. For GPUs only; is_there() is false if the GPU has too little memory.
template <typename T> class FarRows {
public:
  FarRows(int rows, int columns, T (*value)() = nullptr)
      : columns_(columns), host_(size_t(rows) * size_t(columns)),
        is_there_(memory_.allocate(size_t(rows - 1) * distance + size_t(columns)).ok()) {
    std::memset(static_cast<void *>(host_.data()), 0xff, host_.size() * sizeof(T));
    if (value)
      std::generate(host_.begin(), host_.end(), value);
    if (is_there_)
      write();
  }
  void poison() {
    std::memset(static_cast<void *>(host_.data()), 0xff, host_.size() * sizeof(T));
    write();
  }
  void read() {
    for (size_t row = 0; row * size_t(columns_) < host_.size(); row++)
      require(tritonc::copy_to_host(at_row(row), memory_.data() + row * distance,
                                    size_t(columns_) * sizeof(T)),
              "copy");
  }

  T *data() const { return memory_.data(); }
  T at(int row, int column) const { return host_[size_t(row) * size_t(columns_) + size_t(column)]; }
  bool is_there() const { return is_there_; }

  static constexpr int rows = 3;
  static constexpr int distance = (1 << 30) + 16; // leading dimension, in elements

private:
  void write() {
    for (size_t row = 0; row * size_t(columns_) < host_.size(); row++)
      require(tritonc::copy_to_device(memory_.data() + row * distance, at_row(row),
                                      size_t(columns_) * sizeof(T)),
              "copy");
  }
  T *at_row(size_t row) { return &host_[row * size_t(columns_)]; }

  int columns_;
  std::vector<T> host_;
  tritonc::buffer<T> memory_;
  bool is_there_;
};

/// The expected elements of an array. Elements without set() must not change.
struct Expected {
  explicit Expected(size_t count) : values(count), is_written(count) {}
  void set(size_t i, double value) {
    values[i] = value;
    is_written[i] = true;
  }

  std::vector<double> values;
  std::vector<bool> is_written;
};

/// Reads a kernel's output and describes the first error, "" if there is none. Errors are:
///
/// - |element - expected| > relative * |expected| + absolute;
/// - NaN or infinity on one side only;
/// - a write to an element that is not in `expected`.
///
/// Integers need no tolerance: the defaults require equality.
template <typename T>
std::string compare(Array<T> &result, const Expected &expected, double relative = 0,
                    double absolute = 0) {
  result.read();
  for (size_t i = 0; i < result.size(); i++) {
    if (!expected.is_written[i]) {
      if (!result.is_untouched(i))
        return text("element %zu was written: it is %g", i, result.at(i));
      continue;
    }
    double is = result.at(i), right = expected.values[i];
    bool same = std::isnan(right) ? std::isnan(is)
                : std::isinf(right)
                    ? is == right
                    : std::fabs(is - right) <= relative * std::fabs(right) + absolute;
    if (!same)
      return text("element %zu is %.9g, not %.9g", i, is, right);
  }
  return "";
}

} // namespace device_tests
