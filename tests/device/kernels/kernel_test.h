// What the tests of shipped kernels share. Each file here tests a family of kernels/:
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
// Arrays lie at the end of what was allocated, so that who reads or writes after them is found by
// the emulator and by compute-sanitizer; what a kernel is to write is NaN before. All that a test
// does also runs on the emulator, where `emulated()` says to leave out what is large.

#pragma once

#include "../matrices.h"

#include <functional>

namespace device_tests {

/// A family of kernels; they are in a list of all, in the order of their names.
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

/// Asked for by --small.
inline bool only_small = false;

/// Whether the emulator takes the GPU's place, or something that is as slow.
inline bool emulated() {
  if (only_small)
    return true;
  tritonc::device_info device;
  require(tritonc::current_device(device), "the device");
  return device.emulated;
}

/// What went wrong with a launch or what it did; "" if nothing.
inline std::string outcome(tritonc::status launched) {
  if (!launched.ok())
    return launched.message().c_str();
  tritonc::status done = tritonc::synchronize();
  return done.ok() ? "" : std::string(done.message().c_str());
}

inline double uniform(double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(generator);
}

/// A number in [-1, 1] that T has; of integers any.
template <typename T> T draw() {
  if constexpr (std::is_integral_v<T>)
    return T(generator());
  else
    return T(float(uniform(-1, 1)));
}

/// Any bits, all kinds of NaN included.
template <typename T> T draw_bits() {
  std::uint64_t random = generator();
  T value;
  std::memcpy(&value, &random, sizeof(T));
  return value;
}

template <typename T> bool same_bits(T a, T b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }

/// Device memory of exactly so many elements, and what the host knows of it.
template <typename T> class Array {
public:
  /// All bits 1, which is NaN.
  explicit Array(size_t count) : host_(count) {
    std::memset(static_cast<void *>(host_.data()), 0xff, count * sizeof(T));
    require(memory_.allocate(std::max<size_t>(count, 1)), "allocation");
    write();
  }
  Array(size_t count, T (*value)()) : Array(count) { fill(value); }

  /// value() for each element.
  template <typename Value> void fill(Value value) {
    for (T &element : host_)
      element = value();
    write();
  }
  /// To the device, what the host has.
  void write() {
    if (!host_.empty())
      require(tritonc::copy_to_device(memory_.data(), host_.data(), host_.size() * sizeof(T)),
              "copy");
  }
  /// From the device.
  void read() {
    if (!host_.empty())
      require(tritonc::copy_to_host(host_.data(), memory_.data(), host_.size() * sizeof(T)),
              "copy");
  }

  T *data() const { return memory_.data(); }
  size_t size() const { return host_.size(); }
  T &operator[](size_t i) { return host_[i]; }
  double at(size_t i) const { return as_double(host_[i]); }

  /// Whether nobody has written there.
  bool is_untouched(size_t i) const {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &host_[i], sizeof(T));
    return std::all_of(bytes, bytes + sizeof(T), [](unsigned char byte) { return byte == 0xff; });
  }

private:
  std::vector<T> host_;
  tritonc::buffer<T> memory_;
};

/// Whether a launch of no elements is a success that writes nothing.
template <typename T, typename Launch> void check_nothing(const std::string &what, Launch launch) {
  Array<T> beside(8);
  std::string problem = outcome(launch(beside.data()));
  beside.read();
  for (size_t i = 0; i < beside.size() && problem.empty(); i++)
    if (!beside.is_untouched(i))
      problem = text("element %zu was written", i);
  check(what, problem);
}

/// Device memory of a few rows whose last one begins more than 2^31 elements after the first; in
/// between nothing is ever looked at. For GPUs, and only for those that have as much memory.
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
  static constexpr int distance = (1 << 30) + 16; // of the rows, in elements

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

/// What the elements of an array must be: those that are not mentioned must be as they were.
struct Expected {
  explicit Expected(size_t count) : values(count), is_written(count) {}
  void set(size_t i, double value) {
    values[i] = value;
    is_written[i] = true;
  }

  std::vector<double> values;
  std::vector<bool> is_written;
};

/// Reads what a kernel has left and says what is wrong with it: an element further from what is
/// expected than `relative` of that and `absolute`, NaN where there should be none or none where
/// it should be, or one written that should not be. Integers have to be equal.
template <typename T>
std::string compare(Array<T> &result, const Expected &expected, double relative = 0,
                    double absolute = 0) {
  result.read();
  for (size_t i = 0; i < result.size(); i++) {
    if (!expected.is_written[i]) {
      if (!result.is_untouched(i))
        return text("element %zu was written, and is %g", i, result.at(i));
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
