/// @file
/// Device memory and timing, for programs that do not use CUDA otherwise: samples, tests, tools.
///
/// A program that already uses CUDA does not need this header.
///
/// @par Example
/// @code{.cpp}
/// #include <tritonc/device.hpp>
/// #include <vectors.hpp> // triton_add_kernels(vectors SOURCES vector_add.tc ...)
///
/// #include <cstdio>
/// #include <vector>
///
/// /// Returns the last element of x + x.
/// tritonc::status add(const std::vector<float> &x, float &last) {
///   std::vector<float> z(x.size());
///   tritonc::buffer<float> x_memory, z_memory; // freed at the end of the function
///   tritonc::timer timer;
///   float milliseconds = 0;
///   tritonc::status status = x_memory.allocate(x.size());
///   if (status.ok())
///     status = z_memory.allocate(z.size());
///   if (status.ok())
///     status = x_memory.copy_from(x.data());
///   if (status.ok())
///     status = timer.start();
///   if (status.ok())
///     status = vectors::vector_add<float>::launch({}, {.x = x_memory.data(),
///                                                      .y = x_memory.data(),
///                                                      .z = z_memory.data(),
///                                                      .n = int(x.size())});
///   if (status.ok())
///     status = timer.stop();
///   if (status.ok())
///     status = timer.milliseconds(milliseconds); // waits for the kernel
///   if (status.ok())
///     status = z_memory.copy_to(z.data());
///   std::fprintf(stderr, "%.3f ms\n", milliseconds);
///   last = z.back();
///   return status;
/// }
///
/// int main() {
///   float last = 0;
///   tritonc::status status = add(std::vector<float>(1000, 1.5f), last);
///   if (!status.ok())
///     std::fprintf(stderr, "%s\n", status.message().c_str());
///   std::printf("%g\n", last); // 3
///   return status.ok() ? 0 : 1;
/// }
/// @endcode
///
/// @par Contexts
/// The functions use the thread's current context. If the thread has none, they make the primary
/// context of device 0 current and leave it current.
///
/// @par Threads and errors
/// The functions are thread-safe. One `buffer` or `timer` object is not: only one thread may use it
/// at a time. Every function may return an error about the machine (`no_driver`, `driver_too_old`,
/// `no_device`, `forked_child`), or an error of the driver, also of an earlier kernel. Hooks do not
/// get these errors.

#pragma once

#include <tritonc/runtime.hpp>

#include <cstddef>

namespace tritonc {
inline namespace v1 {

/// The properties of a device.
struct device_info {
  char name[128]; ///< The device's name, NUL-terminated: "NVIDIA H200".
  int major;      ///< Compute capability, major number.
  int minor;      ///< Compute capability, minor number.
  int num_sms;    ///< The number of SMs.
  bool emulated;  ///< True: no GPU; `TRITONC_DRIVER` names the emulator.
};

/// Describes the device of the current context.
///
/// @param info receives the properties
/// @return `no_driver` or `no_device` on a machine without a GPU
status current_device(device_info &info) noexcept;

/// Allocates device memory in the current context. Free it with `release`.
///
/// @param memory receives the device address, aligned to 256 bytes; null after an error
/// @param bytes 0 counts as 1
/// @return `out_of_memory` if the device has too little free memory
status allocate(void **memory, std::size_t bytes) noexcept;

/// Frees device memory. Call it when no enqueued work uses the memory any more.
///
/// @param memory a result of `allocate`, or null, which does nothing
status release(void *memory) noexcept;

/// Copies host memory to device memory. `from` may be reused when the call returns.
///
/// The copy runs in the legacy default stream. It waits for blocking streams, but not for streams
/// made with `cudaStreamNonBlocking`: synchronize them first.
///
/// @param to device memory with room for `bytes` bytes
/// @param from host memory
/// @param bytes 0 copies nothing and needs no driver
status copy_to_device(void *to, const void *from, std::size_t bytes) noexcept;

/// Copies device memory to host memory, and waits for the copy. The order of streams is that of
/// `copy_to_device`.
///
/// @param to host memory with room for `bytes` bytes
/// @param from device memory
/// @param bytes 0 copies nothing and needs no driver
status copy_to_host(void *to, const void *from, std::size_t bytes) noexcept;

/// Sets device memory to a value. May return before the memory has the value. The order of streams
/// is that of `copy_to_device`.
///
/// @param memory device memory
/// @param value the value of each byte
/// @param bytes 0 sets nothing and needs no driver
status fill(void *memory, unsigned char value, std::size_t bytes) noexcept;

/// Waits until all work in the stream is done. Returns errors of earlier kernels, for example
/// `device_lost`.
status synchronize(stream where = {}) noexcept;

/// Device memory for `size()` elements of type T. The destructor frees the memory.
///
/// A buffer may be moved, not copied. The elements are uninitialized after `allocate`. Do not
/// destroy a buffer while enqueued work uses its memory.
template <typename T> class buffer {
public:
  buffer() noexcept = default; ///< Empty: no memory.
  buffer(const buffer &) = delete;
  buffer &operator=(const buffer &) = delete;
  /// Takes the memory; `other` is then empty.
  buffer(buffer &&other) noexcept : data_(other.data_), size_(other.size_) { other.forget(); }
  /// Frees its own memory and takes that of `other`, which is then empty.
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

  /// Frees the old memory and allocates memory for `count` elements, aligned to 256 bytes. After an
  /// error, the buffer is empty. Returns `out_of_memory` if the device has too little free memory.
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
  /// Copies all `size()` elements from host memory, like `copy_to_device`.
  status copy_from(const T *host) noexcept {
    return copy_to_device(data_, host, size_ * sizeof(T));
  }
  /// Copies all `size()` elements to host memory, like `copy_to_host`.
  status copy_to(T *host) const noexcept { return copy_to_host(host, data_, size_ * sizeof(T)); }
  /// Sets every byte to `value`, like the function `tritonc::fill`.
  status fill(unsigned char value) noexcept {
    return tritonc::fill(data_, value, size_ * sizeof(T));
  }

  /// Returns the device address; null if the buffer is empty.
  T *data() const noexcept { return data_; }
  /// Returns the number of elements; 0 if the buffer is empty.
  std::size_t size() const noexcept { return size_; }
  /// Frees the memory. The buffer is then empty.
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

/// Measures the device's time between two points of a stream, with two CUDA events.
///
/// Use it in one context. `start` and `stop` may be called again, for the next measurement. A timer
/// cannot be copied or moved. The destructor releases the events.
class timer {
public:
  timer() noexcept = default; ///< Makes no event yet.
  timer(const timer &) = delete;
  timer &operator=(const timer &) = delete;
  ~timer();

  /// Enqueues the first point in the stream. Does not wait.
  status start(stream where = {}) noexcept;
  /// Enqueues the second point in the stream. Does not wait.
  status stop(stream where = {}) noexcept;
  /// Finds out whether the device has reached the first point. Does not wait.
  ///
  /// @param started receives the answer; meaningless after an error
  /// @return `invalid_argument` before `start`
  status has_started(bool &started) noexcept;
  /// Waits for the second point and measures the time between both points.
  ///
  /// @param elapsed receives the time in milliseconds; meaningless after an error
  /// @return `invalid_argument` before `start` and `stop`
  status milliseconds(float &elapsed) noexcept;

private:
  status record(void *&event, stream where) noexcept;
  void *first_ = nullptr;
  void *last_ = nullptr;
};

} // namespace v1
} // namespace tritonc
