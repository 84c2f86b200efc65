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

/// Loads one variant, or all, for the current device.
status preload(const kernel &code, const std::int32_t *choice = nullptr) noexcept;

/// The variant's entries, one per GPU and form; empty if it wasn't compiled. Needs no driver.
span<image_info> info(const kernel &code, const std::int32_t *choice) noexcept;

/// The variants' values, as the header's struct of them.
template <typename Params> span<Params> variants(const kernel &code) noexcept {
  static_assert(sizeof(Params) % sizeof(std::int32_t) == 0, "one 32-bit integer per axis");
  return {reinterpret_cast<const Params *>(code.choices), code.variant_count};
}

} // namespace abi
} // namespace v1
} // namespace tritonc
