// The runtime that generated headers stand on. Include the header of your kernels; it includes
// this.
//
// A launch finds the driver (by dlopen, on first use), checks the arguments, chooses the variant
// and the code for the device, loads it the first time, and enqueues it. No function here prints,
// throws, exits or allocates; all may be called from any number of threads.

#pragma once

#include <tritonc/descriptor.hpp>
#include <tritonc/numbers.hpp>
#include <tritonc/status.hpp>

#include <cstddef>
#include <cstdint>

struct CUstream_st; // the driver's; cudaStream_t and CUstream point to it

namespace tritonc {
inline namespace v1 {

/// Where a kernel is enqueued: any CUDA stream. Default: the legacy default stream of the current
/// context, or, where the thread has none, of the primary context of device 0.
class stream {
public:
  stream() noexcept = default;
  stream(CUstream_st *handle) noexcept : handle_(handle) {} // implicit: takes a cudaStream_t
  CUstream_st *handle() const noexcept { return handle_; }

private:
  CUstream_st *handle_ = nullptr;
};

/// How many programs run along each axis.
struct grid {
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::int64_t z = 1;
};

/// A view of constant data (std::span is C++20).
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

/// What generated headers call. Use those.
namespace abi {

/// `arguments` is the generated struct; `choice` names a variant, null leaves it to the runtime, by
/// the rule that every generated header states; `extent` is null where the kernel declares its
/// grid.
status launch(const kernel &code, stream where, const void *arguments,
              const std::int32_t *choice = nullptr, const grid *extent = nullptr) noexcept;

/// What `prepare` finds out for `launch_prepared`. Plain data, which owns nothing and may be
/// copied.
struct alignas(64) prepared_launch {
  const kernel *code = nullptr; // null: nothing is prepared
  alignas(64) unsigned char rest[3200] = {};
};

/// All of a launch but the launch: `where` says the device.
status prepare(const kernel &code, stream where, const void *arguments, const std::int32_t *choice,
               const grid *extent, prepared_launch &ready) noexcept;

/// Launches what was prepared, with the same arguments, on a stream of the same device; soonest in
/// the context of `prepare`, and not once that is destroyed or reset.
status launch_prepared(const prepared_launch &ready, stream where, const void *arguments) noexcept;

/// In place of a device's number: that of the thread's current context.
inline constexpr int current = -1;

/// Loads one variant, or all, for a device.
status preload(const kernel &code, const std::int32_t *choice = nullptr,
               int device = current) noexcept;

/// Fills an array in the constant memory of all variants, by copies in the stream, for the stream's
/// context. `count` elements of `element_bytes` each from `values`; of those that a variant has no
/// room for, it gets none. `values` may be reused as behind cudaMemcpyAsync.
status set_constant(const kernel &code, stream where, const char *name, const void *values,
                    std::size_t count, std::size_t element_bytes) noexcept;

/// The variant's entries, one per GPU and form; empty if it wasn't compiled. Needs no driver.
span<image_info> info(const kernel &code, const std::int32_t *choice) noexcept;

/// The variants' values, as the header's struct of them.
template <typename Params> span<Params> variants(const kernel &code) noexcept {
  static_assert(sizeof(Params) % sizeof(std::int32_t) == 0, "one 32-bit integer per axis");
  return {reinterpret_cast<const Params *>(code.choices), code.variant_count};
}

/// Whether the combination of template arguments has this variant. `Code` is the header's.
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
  return true; // the message about the combination is enough
}

} // namespace abi

/// A launch made ready by a kernel's `prepare`: its arguments are checked, its variant is chosen,
/// its code loaded, its tensor maps made. What is left is the driver's call. It owns nothing:
/// copies are as good as the first one, and any number of threads may launch one at once. Some 3
/// KB.
template <typename Args> class prepared {
public:
  /// On any stream of the device that it was prepared for; `not_prepared` on others. Not after the
  /// end of the context that it was prepared in, which is the end of the memory, too, that the
  /// arguments point to.
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

/// What the `prepare` of generated headers calls.
template <typename Args>
status prepare(const abi::kernel &code, stream where, const Args &arguments,
               const std::int32_t *choice, const grid *extent, prepared<Args> &ready) noexcept {
  ready.arguments_ = arguments;
  return abi::prepare(code, where, &arguments, choice, extent, ready.ready_);
}

} // namespace v1
} // namespace tritonc
