/// @file
/// The result of a call to the runtime: `tritonc::status`.
///
/// The runtime reports every error through a status. It never prints, throws or exits. A status
/// names the kernel, and the argument or requirement that caused the error.
///
/// @par Example
/// @code{.cpp}
/// #include <vectors.hpp> // triton_add_kernels(vectors SOURCES vector_add.tc ...)
///
/// #include <cstdio>
///
/// /// Returns whether the program must compute on the CPU.
/// bool has_no_gpu(const tritonc::status &status) {
///   return status.code() == tritonc::status_code::no_driver ||
///          status.code() == tritonc::status_code::no_device;
/// }
///
/// int main() {
///   vectors::vector_add<float>::args args{};
///   args.n = 1000; // the pointers are null
///   tritonc::status status = vectors::vector_add<float>::launch({}, args);
///   if (has_no_gpu(status))
///     std::printf("no GPU\n");
///   else if (!status.ok())
///     std::printf("%s\n", status.message().c_str()); // argument `x` is null
/// }
/// @endcode

#pragma once

#include <cstddef>
#include <cstdint>

namespace tritonc {
inline namespace v1 {

namespace abi {
struct kernel;
}

/// The kinds of results. "Argument" is the result of `status::argument()`. If a description does
/// not name it, it is "" or a driver function.
enum class status_code : std::int32_t {
  /// Success.
  ok,

  // This machine cannot run the kernel. A program may take another path.

  /// The runtime cannot open the driver library, or the library is not a driver. Argument: the
  /// library that `TRITONC_DRIVER` names; "" for `libcuda.so.1`.
  no_driver,
  /// The driver is older than CUDA 12.0, or lacks a function. Argument: the function.
  driver_too_old,
  /// `TRITONC_DRIVER` names an emulator of another TritonC version.
  wrong_emulator,
  /// No such device: none is installed, or none is visible.
  no_device,
  /// No code for this GPU, or too little shared memory for the code.
  no_image_for_device,
  /// The emulator is in use, but the kernel is compiled only for GPUs.
  no_host_code,

  // The call is wrong. The runtime enqueued nothing.

  /// The call or `TRITONC_FORCE_VARIANT` names a variant that was not compiled. Argument:
  /// "TRITONC_FORCE_VARIANT", or "".
  no_variant,
  /// The arguments do not meet a requirement. Argument: the requirement, "M % 128 == 0". If the
  /// runtime tried several variants, it is a requirement of the last variant.
  requirement_failed,
  /// A pointer is null. Argument: the parameter.
  null_pointer,
  /// A pointer is not aligned as the kernel requires. Argument: the parameter.
  misaligned_pointer,
  /// The grid or a value is out of range, or overflows 64 bits. Argument: its name.
  invalid_argument,
  /// TMA cannot address a tensor. Argument: the pointer parameter.
  unsuitable_tensor,
  /// Not prepared, or prepared for another device than the stream's.
  not_prepared,
  /// The constant memory does not exist or is too small. Argument: its name.
  invalid_constant,
  /// Constant memory cannot be filled while the stream is being captured. Argument: its name.
  capturing,

  // The program is damaged or incomplete.

  /// The embedded code is damaged. Argument: the GPU of the code.
  corrupt_image,
  /// The runtime cannot read the file with the code. Argument: the file.
  no_bundle,
  /// The file belongs to another build, or is no bundle. Argument: the file.
  wrong_bundle,
  /// The file with the code is damaged or truncated. Argument: the file.
  corrupt_bundle,

  // The driver refused.

  /// First use of the kernel during graph capture, with a driver before CUDA 12.3. Call `preload`
  /// before the capture.
  not_preloaded_in_capture,
  /// The driver was in use when this process was forked.
  forked_child,
  /// Out of device memory. Argument: the driver function.
  out_of_memory,
  /// An earlier kernel failed; `status::cuda_result()` is the first cause. Restart the process.
  device_lost,
  /// Any other error of the driver, `status::cuda_result()`. Argument: the driver function.
  cuda,
};

/// A string by value, so that a function can return it without an allocation.
struct status_text {
  char text[512]; ///< The string, NUL-terminated, at most 511 characters.
  /// Returns the string. It lives as long as this object.
  const char *c_str() const noexcept { return text; }
};

/// A code with its details: 24 bytes, trivially copyable.
///
/// Its pointers refer to constant data of the program. Only the status of `set_constant` may refer
/// to the caller's `name`. One object is not synchronized: threads may read it at the same time.
class [[nodiscard]] status {
public:
  status() noexcept = default; ///< `ok`.
  /// For the runtime and for tests.
  ///
  /// @param kernel null: no kernel
  /// @param argument must live as long as the status and its copies; null: no argument
  /// @param detail private to the runtime
  status(status_code code, const abi::kernel *kernel, const char *argument = nullptr,
         std::int32_t detail = 0) noexcept
      : kernel_(kernel), argument_(argument), code_(code), detail_(detail) {}

  /// Returns whether the call succeeded.
  bool ok() const noexcept { return code_ == status_code::ok; }
  /// Returns the kind of result.
  status_code code() const noexcept { return code_; }

  /// Returns the enumerator's name, for example "misaligned_pointer". Never null; a constant
  /// string.
  const char *name() const noexcept;
  /// Returns the kernel's name, for example "gemm::dot<half, N, T>"; "" if no kernel is involved.
  /// Never null; a constant string.
  const char *kernel() const noexcept;
  /// Returns the argument, requirement, file or driver function that caused the error; "" if none.
  /// Never null.
  const char *argument() const noexcept { return argument_ ? argument_ : ""; }
  /// Returns the driver's `CUresult` for `cuda`, `out_of_memory` and `device_lost`; 0 for all other
  /// codes.
  int cuda_result() const noexcept;

  /// Writes one sentence with kernel, cause and fix into `buffer`, like snprintf.
  ///
  /// @param buffer receives at most `size` bytes, including the final NUL; null if `size` is 0
  /// @param size bytes in `buffer`
  /// @return the length of the whole sentence in bytes, without the NUL
  std::size_t message(char *buffer, std::size_t size) const noexcept;
  /// Returns the same sentence, cut to 511 characters.
  status_text message() const noexcept {
    status_text result;
    message(result.text, sizeof result.text);
    return result;
  }

  /// Returns the same status with this kernel.
  status about(const abi::kernel &kernel) const noexcept {
    return {code_, &kernel, argument_, detail_};
  }

private:
  const abi::kernel *kernel_ = nullptr;
  const char *argument_ = nullptr;
  status_code code_ = status_code::ok;
  // A CUresult, or a number for the sentence: an alignment in bytes, a driver version, an SM
  // architecture, or 1 + a device ordinal (0 = no device).
  std::int32_t detail_ = 0;
};

} // namespace v1
} // namespace tritonc
