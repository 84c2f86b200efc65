/// @file
/// The C++ runtime: streams, grids, prepared launches, and the functions that generated headers
/// call.
///
/// Include the generated header of your kernels, which includes this header. Link the CMake target
/// of the kernels, or `TritonC::runtime`. C++17; the example uses C++20 for the names of arguments.
///
/// @par Example
/// The kernel is `vector_add` of `kernels/vector_add.tc`, compiled as the library `vectors`.
/// @code{.cpp}
/// #include <tritonc/device.hpp> // device memory, for programs without CUDA
/// #include <vectors.hpp> // triton_add_kernels(vectors SOURCES vector_add.tc ...)
///
/// #include <cstdio>
/// #include <cstdlib>
///
/// using vector_add = vectors::vector_add<float>;
///
/// void require(tritonc::status status) {
///   if (status.ok())
///     return;
///   std::fprintf(stderr, "%s\n", status.message().c_str());
///   std::exit(1);
/// }
///
/// int main() {
///   float x[1000];
///   for (float &element : x)
///     element = 1;
///   tritonc::buffer<float> memory;
///   require(memory.allocate(1000));
///   require(memory.copy_from(x));
///   float *data = memory.data();
///   vector_add::args args{.x = data, .y = data, .z = data, .n = 1000};
///   tritonc::stream stream; // the default stream; or any cudaStream_t
///
///   require(vector_add::launch(stream, args)); // 2 in each element
///
///   vector_add::prepared ready; // for many launches with the same arguments
///   require(vector_add::prepare(stream, args, ready));
///   for (int i = 0; i < 3; i++)
///     require(ready.launch(stream));
///
///   require(memory.copy_to(x)); // waits for the kernels
///   std::printf("%g\n", x[999]); // 16
/// }
/// @endcode
///
/// @par Driver
/// The first call that needs the CUDA driver opens it with dlopen, so a program also starts on
/// machines without a GPU. The runtime opens the library that the environment variable
/// `TRITONC_DRIVER` names. If the variable is not set, the runtime opens `libcuda.so.1`.
///
/// @par Threads and errors
/// All functions are thread-safe. A function that can fail returns a `tritonc::status`. No function
/// prints, throws, exits or allocates host memory with malloc.

#pragma once

#include <tritonc/descriptor.hpp>
#include <tritonc/numbers.hpp>
#include <tritonc/status.hpp>

#include <cstddef>
#include <cstdint>

struct CUstream_st; // the driver's; cudaStream_t and CUstream point to it

namespace tritonc {
inline namespace v1 {

/// Any CUDA stream; a launch enqueues its kernel there. A view: it does not own the stream.
class stream {
public:
  /// The legacy default stream of the thread's current context. If the thread has no current
  /// context, the legacy default stream of the primary context of device 0.
  stream() noexcept = default;
  /// A `cudaStream_t` or `CUstream`. Implicit, so that a launch takes either.
  stream(CUstream_st *handle) noexcept : handle_(handle) {}
  /// Returns the stream as `cudaStream_t`; null for the legacy default stream.
  CUstream_st *handle() const noexcept { return handle_; }

private:
  CUstream_st *handle_ = nullptr;
};

/// The number of programs along each axis.
///
/// If a member is 0, a launch succeeds and runs nothing. A launch returns `invalid_argument` if a
/// member is negative or above its maximum.
struct grid {
  std::int64_t x = 1; ///< Programs along axis 0; max 2^31 - 1.
  std::int64_t y = 1; ///< Programs along axis 1; max 65535.
  std::int64_t z = 1; ///< Programs along axis 2; max 65535.
};

/// A view of constant data, like std::span of C++20. It owns nothing.
///
/// The spans that the runtime returns are valid until the process ends.
template <typename T> class span {
public:
  constexpr span() noexcept = default; ///< Empty.
  /// The `size` elements from `data` on.
  constexpr span(const T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  /// Returns the first element's address; null if the span is empty by default.
  constexpr const T *data() const noexcept { return data_; }
  /// Returns the number of elements.
  constexpr std::size_t size() const noexcept { return size_; }
  /// Returns whether the number of elements is 0.
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// Returns the first element's address.
  constexpr const T *begin() const noexcept { return data_; }
  /// Returns the address after the last element.
  constexpr const T *end() const noexcept { return data_ + size_; }
  /// Returns element `i`, which must be less than size().
  constexpr const T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
  const T *data_ = nullptr;
  std::size_t size_ = 0;
};

/// The functions that generated headers call. Programs call the generated functions instead, for
/// example `vectors::vector_add<float>::launch`.
///
/// These parameters have the same meaning in all functions:
///
/// - `code`: the kernel object of the generated header.
/// - `where`: the stream in which the work is enqueued. It also determines device and context.
/// - `arguments`: the generated struct with the kernel's arguments. The call copies it. Memory that
///   its pointers point to must stay valid until the kernel is done.
/// - `choice`: the variant, one value per parameter of `params`, in order. Null: the runtime
///   chooses the variant. The generated header states the rule.
/// - `extent`: the number of programs. Null if the kernel declares its grid; then the call ignores
///   `extent`.
namespace abi {

/// Checks the arguments, chooses the code, loads it on first use, and enqueues the kernel.
///
/// Returns when the kernel is enqueued, not when it is done. Later calls report errors of a running
/// kernel, for example `synchronize`. An empty grid succeeds without a launch.
///
/// @return any code except `not_prepared`, `invalid_constant` and `capturing`. After an error
/// nothing runs, with one exception: some schedules enqueue two kernels, and only the second may
/// fail.
status launch(const kernel &code, stream where, const void *arguments,
              const std::int32_t *choice = nullptr, const grid *extent = nullptr) noexcept;

/// The result of `prepare`, for `launch_prepared`. Plain data of about 3 KB, aligned to 64 bytes.
/// It owns nothing and may be copied.
struct alignas(64) prepared_launch {
  const kernel *code = nullptr;              ///< The kernel. Null: not prepared.
  alignas(64) unsigned char rest[3200] = {}; ///< Private to the runtime.
};

/// Does everything that `launch` does except the launch, for the device of `where`.
///
/// `ready` holds the addresses and values of `arguments`: prepare again for other arguments.
///
/// @param ready receives the prepared launch; not prepared after an error. It stays valid until the
/// context of `where` is destroyed or reset.
/// @return the same codes as `launch`
status prepare(const kernel &code, stream where, const void *arguments, const std::int32_t *choice,
               const grid *extent, prepared_launch &ready) noexcept;

/// Launches `ready`. Checks nothing and chooses nothing, so it costs little more than the driver's
/// launch.
///
/// @param where any stream of the device of `prepare`. A stream of the same context is fastest.
/// @param arguments the same values as in `prepare`
/// @return `not_prepared` if `ready` is not prepared, or is prepared for another device; or an
/// error of the driver
status launch_prepared(const prepared_launch &ready, stream where, const void *arguments) noexcept;

/// A value for the parameter `device`: the device of the thread's current context. If the thread
/// has no current context, device 0.
inline constexpr int current = -1;

/// Loads code ahead, so that the first launch does not load it. Call it before a graph capture, or
/// if the first launch must be as fast as later launches.
///
/// Loads into the current context if it belongs to `device`. Otherwise loads into the primary
/// context of `device`, and retains this context until the process ends.
///
/// @param choice the variant; null: all variants
/// @param device a CUDA device ordinal, or `current`
/// @return `no_variant`, an error about the machine or the program, or an error of the driver
status preload(const kernel &code, const std::int32_t *choice = nullptr,
               int device = current) noexcept;

/// Copies host memory to the start of a constant array, in all variants, for the context of
/// `where`.
///
/// The copies are ordered in `where`: later launches in it read the new values. A variant with a
/// smaller array gets only the elements that fit. Loads the code that it fills, like `preload`.
///
/// @param name the array's name in the kernel's source
/// @param values host memory. Pageable memory may be reused when the call returns. Page-locked
/// memory must stay unchanged until the copies are done, as with `cudaMemcpyAsync`.
/// @param count the number of elements; 0 copies nothing
/// @param element_bytes the size of an element in bytes, greater than 0
/// @return `invalid_constant` if no variant has an array `name` with `count` elements;
/// `null_pointer` if `values` is null and `count` is not 0; `capturing` while `where` is being
/// captured; or an error of `preload`
status set_constant(const kernel &code, stream where, const char *name, const void *values,
                    std::size_t count, std::size_t element_bytes) noexcept;

/// Returns the resources of one variant: one entry per GPU, schedule and specialization. Needs no
/// driver.
///
/// @param choice the variant; null: the first variant
/// @return the entries; empty if the variant was not compiled
span<image_info> info(const kernel &code, const std::int32_t *choice) noexcept;

/// Returns the variants in order of preference. Needs no driver.
///
/// @tparam Params the generated struct of their values, all of type `std::int32_t`
template <typename Params> span<Params> variants(const kernel &code) noexcept {
  static_assert(sizeof(Params) % sizeof(std::int32_t) == 0, "one 32-bit integer per axis");
  return {reinterpret_cast<const Params *>(code.choices), code.variant_count};
}

/// Returns whether the combination of template arguments has this variant. For static_assert in
/// generated headers.
///
/// @tparam Code a class of the generated header, derived from `compiled` or `not_compiled`
/// @param values the values of `params`, in order
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

/// A launch that a kernel's `prepare` made ready. Generated headers name the type:
/// `vectors::vector_add<float>::prepared`.
///
/// The arguments are checked, the variant is chosen, the code is loaded, and the tensor maps are
/// encoded. A launch then costs only the driver's call.
///
/// The object has about 3 KB, is aligned to 64 bytes, owns nothing, and may be copied. It is valid
/// until the context of `prepare` is destroyed or reset. Any number of threads may launch one
/// object at the same time.
template <typename Args> class prepared {
public:
  /// Enqueues the kernel, like the `launch` of generated headers.
  ///
  /// @param where any stream of the device of `prepare`. A stream of the same context is fastest.
  /// @return `not_prepared` if the object is not prepared, or is prepared for another device; or an
  /// error of the driver
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

/// The `prepare` of generated headers calls this function. Stores the arguments and the result of
/// `abi::prepare` in `ready`.
template <typename Args>
status prepare(const abi::kernel &code, stream where, const Args &arguments,
               const std::int32_t *choice, const grid *extent, prepared<Args> &ready) noexcept {
  ready.arguments_ = arguments;
  return abi::prepare(code, where, &arguments, choice, extent, ready.ready_);
}

} // namespace v1
} // namespace tritonc
