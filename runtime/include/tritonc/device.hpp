// Device memory and timing, for programs that do not use CUDA otherwise: samples, tests, tools.
//
// A program that already uses CUDA does not need this header. The functions call the same driver as
// the launches, and report errors with `tritonc::status`. They use the thread's current context. If
// the thread has none, they make the primary context of device 0 current and leave it current. The
// functions are thread-safe; one `buffer` or `timer` object is not.

#pragma once

#include <tritonc/runtime.hpp>

#include <cstddef>

namespace tritonc {
inline namespace v1 {

struct device_info {
  char name[128]; // NUL-terminated: "NVIDIA H200"
  int major;      // compute capability, major number
  int minor;      // compute capability, minor number
  int num_sms;    // number of SMs
  bool emulated;  // true: no GPU, TRITONC_DRIVER names the emulator
};

/// Describes the device of the current context. Returns `no_driver` or `no_device` on a machine
/// without a GPU.
status current_device(device_info &info) noexcept;

/// Allocates device memory, aligned to 256 bytes; 0 bytes count as 1. Sets `*memory` to its device
/// address, or to null after an error. Free it with `release`.
status allocate(void **memory, std::size_t bytes) noexcept;
/// Frees memory of `allocate`; ignores null.
status release(void *memory) noexcept;
/// Copies host memory to device memory. `from` may be reused when the call returns.
status copy_to_device(void *to, const void *from, std::size_t bytes) noexcept;
/// Copies device memory to host memory, and waits for the copy.
status copy_to_host(void *to, const void *from, std::size_t bytes) noexcept;
/// Sets `bytes` bytes of device memory to `value`.
status fill(void *memory, unsigned char value, std::size_t bytes) noexcept;

/// Waits until all work in the stream is done. Returns errors of earlier kernels.
status synchronize(stream where = {}) noexcept;

/// Device memory for `size()` elements of type T. The destructor frees the memory.
template <typename T> class buffer {
public:
  buffer() noexcept = default;
  buffer(const buffer &) = delete;
  buffer &operator=(const buffer &) = delete;
  buffer(buffer &&other) noexcept : data_(other.data_), size_(other.size_) { other.forget(); }
  buffer &operator=(buffer &&other) noexcept {
    if (this == &other)
      return *this;
    reset();
    data_ = other.data_;
    size_ = other.size_;
    other.forget();
    return *this;
  }
  ~buffer() { reset(); }

  /// Frees the old memory and allocates memory for `count` elements. After an error, the buffer is
  /// empty.
  status allocate(std::size_t count) noexcept {
    reset();
    void *memory = nullptr;
    if (count > std::size_t(-1) / sizeof(T))
      return {status_code::out_of_memory, nullptr, "allocate", 2};
    status result = tritonc::allocate(&memory, count * sizeof(T));
    if (!result.ok())
      return result;
    data_ = static_cast<T *>(memory);
    size_ = count;
    return result;
  }
  /// Copies all `size()` elements from host memory.
  status copy_from(const T *host) noexcept {
    return copy_to_device(data_, host, size_ * sizeof(T));
  }
  /// Copies all `size()` elements to host memory.
  status copy_to(T *host) const noexcept { return copy_to_host(host, data_, size_ * sizeof(T)); }
  /// Sets every byte to `value`.
  status fill(unsigned char value) noexcept {
    return tritonc::fill(data_, value, size_ * sizeof(T));
  }

  /// Returns the device address; null if the buffer is empty.
  T *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; } // in elements
  /// Frees the memory.
  void reset() noexcept {
    (void)release(data_); // an error here comes from a kernel; the next call returns it too
    forget();
  }

private:
  void forget() noexcept {
    data_ = nullptr;
    size_ = 0;
  }
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

/// Measures the device's time between two points of a stream. The destructor releases its events.
class timer {
public:
  timer() noexcept = default;
  timer(const timer &) = delete;
  timer &operator=(const timer &) = delete;
  ~timer();

  /// Enqueues the first point.
  status start(stream where = {}) noexcept;
  /// Enqueues the second point.
  status stop(stream where = {}) noexcept;
  /// Sets `started` to whether the device has reached the first point. Does not wait. Returns
  /// `invalid_argument` before `start`.
  status has_started(bool &started) noexcept;
  /// Waits for the second point and sets `elapsed` to the milliseconds between both points. Returns
  /// `invalid_argument` before `start` and `stop`.
  status milliseconds(float &elapsed) noexcept;

private:
  status record(void *&event, stream where) noexcept;
  void *first_ = nullptr;
  void *last_ = nullptr;
};

} // namespace v1
} // namespace tritonc
