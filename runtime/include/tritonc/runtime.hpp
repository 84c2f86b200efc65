// The runtime that generated headers use. Include the header of your kernels; it includes this
// header.
//
// A launch opens the driver with dlopen on first use, checks the arguments, chooses the variant and
// the code for the device, loads the code on first use, and enqueues the kernel. No function here
// prints, throws, exits or allocates host memory. All functions are thread-safe.

#pragma once

#include <tritonc/descriptor.hpp>
#include <tritonc/numbers.hpp>
#include <tritonc/status.hpp>

#include <cstddef>
#include <cstdint>

struct CUstream_st; // the driver's; cudaStream_t and CUstream point to it

namespace tritonc {
inline namespace v1 {

/// Any CUDA stream; a launch enqueues its kernel there. A view: it does not own the stream. The
/// default is the legacy default stream of the thread's current context. If the thread has no
/// current context, it is the legacy default stream of the primary context of device 0.
class stream {
public:
  stream() noexcept = default;
  stream(CUstream_st *handle) noexcept : handle_(handle) {} // implicit: takes a cudaStream_t
  CUstream_st *handle() const noexcept { return handle_; }

private:
  CUstream_st *handle_ = nullptr;
};

/// The number of programs along each axis. x is at most 2^31 - 1; y and z are at most 65535. If one
/// of them is 0, a launch succeeds and runs nothing.
struct grid {
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::int64_t z = 1;
};

/// A view of constant data; it owns nothing. (std::span is C++20.)
template <typename T> class span {
public:
  constexpr span() noexcept = default;
  constexpr span(const T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  constexpr const T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr const T *begin() const noexcept { return data_; }
  constexpr const T *end() const noexcept { return data_ + size_; }
  constexpr const T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
  const T *data_ = nullptr;
  std::size_t size_ = 0;
};

/// The functions that generated headers call. Programs call the generated functions instead.
namespace abi {

/// Checks the arguments, chooses the code, loads it on first use, and enqueues the kernel on
/// `where`. Returns when the kernel is enqueued; errors of a running kernel appear in later calls.
///
/// - `arguments`: the generated struct; the call copies it.
/// - `choice`: the variant, one value per parameter of `params`; null: the runtime chooses by the
///   rule that the generated header states.
/// - `extent`: the number of programs; null if the kernel declares its grid.
status launch(const kernel &code, stream where, const void *arguments,
              const std::int32_t *choice = nullptr, const grid *extent = nullptr) noexcept;

/// The result of `prepare`, for `launch_prepared`. Plain data; owns nothing and may be copied.
struct alignas(64) prepared_launch {
  const kernel *code = nullptr;              // null: not prepared
  alignas(64) unsigned char rest[3200] = {}; // private to the runtime
};

/// Does everything that `launch` does except the launch. The device is that of `where`. After an
/// error, `ready` is not prepared.
status prepare(const kernel &code, stream where, const void *arguments, const std::int32_t *choice,
               const grid *extent, prepared_launch &ready) noexcept;

/// Launches `ready`. `arguments` must have the same values as in `prepare`; `where` may be any
/// stream of the same device, else the call returns `not_prepared`. The context of `prepare` is
/// fastest. After that context is destroyed or reset, prepare again.
status launch_prepared(const prepared_launch &ready, stream where, const void *arguments) noexcept;

/// A value for `device`: the device of the thread's current context, or device 0 without one.
inline constexpr int current = -1;

/// Loads the code of one variant, or of all variants if `choice` is null, for a device. `device` is
/// a CUDA device ordinal or `current`.
status preload(const kernel &code, const std::int32_t *choice = nullptr,
               int device = current) noexcept;

/// Copies `count` elements of `element_bytes` bytes each (greater than 0) from host memory `values`
/// to the constant array `name` of all variants, in the context of `where` and ordered in `where`.
/// A variant with a smaller array gets only the elements that fit. `values` may be reused as after
/// cudaMemcpyAsync. Errors: `invalid_constant`, `null_pointer`, `capturing`.
status set_constant(const kernel &code, stream where, const char *name, const void *values,
                    std::size_t count, std::size_t element_bytes) noexcept;

/// Returns the variant's entries, one per GPU, schedule and specialization; a null `choice` is the
/// first variant. Empty if the variant was not compiled. Needs no driver.
span<image_info> info(const kernel &code, const std::int32_t *choice) noexcept;

/// Returns the variants in order of preference. `Params` is the header's struct of their values.
template <typename Params> span<Params> variants(const kernel &code) noexcept {
  static_assert(sizeof(Params) % sizeof(std::int32_t) == 0, "one 32-bit integer per axis");
  return {reinterpret_cast<const Params *>(code.choices), code.variant_count};
}

/// Returns whether the combination of template arguments has this variant. `Code` is a class of the
/// generated header.
template <typename Code, typename... Values> constexpr bool has_variant(Values... values) noexcept {
  if constexpr (Code::is_compiled) {
    const std::int32_t wanted[] = {std::int32_t(values)...};
    for (const auto &variant : Code::variants) {
      bool is_same = true;
      for (std::size_t i = 0; i < sizeof...(values); i++)
        is_same = is_same && variant[i] == wanted[i];
      if (is_same)
        return true;
    }
    return false;
  }
  return true; // avoids a second message beside the one about the combination
}

} // namespace abi

/// A launch that a kernel's `prepare` made ready: the arguments are checked, the variant is chosen,
/// the code is loaded, the tensor maps are encoded. A launch then costs only the driver's call. The
/// object has about 3 KB, owns nothing and may be copied. Any number of threads may launch one
/// object at the same time.
template <typename Args> class prepared {
public:
  /// Launches on any stream of the device of `prepare`; other devices return `not_prepared`. The
  /// object and the memory that its arguments point to end with the context of `prepare`.
  [[nodiscard]] status launch(stream where) const noexcept {
    return abi::launch_prepared(ready_, where, &arguments_);
  }

private:
  template <typename Other>
  friend status prepare(const abi::kernel &, stream, const Other &, const std::int32_t *,
                        const grid *, prepared<Other> &) noexcept;
  Args arguments_ = {};
  abi::prepared_launch ready_;
};

/// The `prepare` of generated headers calls this function.
template <typename Args>
status prepare(const abi::kernel &code, stream where, const Args &arguments,
               const std::int32_t *choice, const grid *extent, prepared<Args> &ready) noexcept {
  ready.arguments_ = arguments;
  return abi::prepare(code, where, &arguments, choice, extent, ready.ready_);
}

} // namespace v1
} // namespace tritonc
