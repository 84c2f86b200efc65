// Memory and time on the device, for programs that have no other way to them: samples, tests,
// tools.
//
// A program that uses CUDA already needs none of this. Everything goes through the same driver that
// the launches use, found at run time, and reports by `tritonc::status` as they do. The functions
// act on the current context of the calling thread; where it has none they make the primary context
// of device 0 current.

#pragma once

#include <tritonc/runtime.hpp>

#include <cstddef>

namespace tritonc {
inline namespace v1 {

struct device_info {
  char name[128];
  int major; // compute capability
  int minor;
  int multiprocessors;
  bool emulated; // no GPU: TRITONC_DRIVER names the emulator
};

/// The device of the current context. `no_driver` or `no_device` where there is none.
status current_device(device_info &info) noexcept;

status allocate(void **memory, std::size_t bytes) noexcept;
status release(void *memory) noexcept; // null is ignored
status copy_to_device(void *to, const void *from, std::size_t bytes) noexcept;
status copy_to_host(void *to, const void *from, std::size_t bytes) noexcept;
status fill(void *memory, unsigned char value, std::size_t bytes) noexcept;

/// Waits until everything enqueued on the stream is done. Errors of earlier kernels appear here.
status synchronize(stream where = {}) noexcept;

/// Device memory for `size()` objects of type T, released at the end of its life.
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
  status copy_from(const T *host) noexcept {
    return copy_to_device(data_, host, size_ * sizeof(T));
  }
  status copy_to(T *host) const noexcept { return copy_to_host(host, data_, size_ * sizeof(T)); }
  status fill(unsigned char value) noexcept {
    return tritonc::fill(data_, value, size_ * sizeof(T));
  }

  T *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  void reset() noexcept {
    (void)release(data_); // an error here belongs to a kernel, and shows at the next call
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

/// Time on the device between two points of a stream.
class timer {
public:
  timer() noexcept = default;
  timer(const timer &) = delete;
  timer &operator=(const timer &) = delete;
  ~timer();

  status start(stream where = {}) noexcept;
  status stop(stream where = {}) noexcept;
  /// Whether the device has got to the first point already.
  status has_started(bool &started) noexcept;
  /// Waits for the second point.
  status milliseconds(float &elapsed) noexcept;

private:
  status record(void *&event, stream where) noexcept;
  void *first_ = nullptr;
  void *last_ = nullptr;
};

} // namespace v1
} // namespace tritonc
