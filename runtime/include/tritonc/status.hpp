// The result of a call to the runtime.
//
// The runtime reports every error through a status; it never prints, throws, exits or allocates. A
// status names the kernel and the argument or requirement that caused the error, and can format
// them as a sentence.

#pragma once

#include <cstddef>
#include <cstdint>

namespace tritonc {
inline namespace v1 {

namespace abi {
struct kernel;
}

enum class status_code : std::int32_t {
  ok,

  // This machine cannot run the kernel. A program may take another path.
  no_driver,           // argument(): the library that TRITONC_DRIVER names, "" = libcuda.so.1; it
                       // cannot be opened, or is not a driver
  driver_too_old,      // the driver is older than CUDA 12.0, or lacks the function argument()
  wrong_emulator,      // TRITONC_DRIVER names an emulator of another TritonC version
  no_device,           // no such device: none is installed, or none is visible
  no_image_for_device, // no code for this GPU, or too little shared memory for the code
  no_host_code,        // the emulator is in use, but the kernel is compiled only for GPUs

  // The call is wrong. The runtime enqueued nothing.
  no_variant,         // the named variant was not compiled
  requirement_failed, // argument(): the requirement; with several variants, that of the last one
  null_pointer,       // argument(): the parameter
  misaligned_pointer, // argument(): the parameter
  invalid_argument,   // the grid or a value is out of range, or overflows 64 bits
  unsuitable_tensor,  // argument(): a pointer; TMA cannot address its tensor
  not_prepared,       // not prepared, or prepared for another device than the stream's
  invalid_constant,   // argument(): constant memory that does not exist or is too small
  capturing,          // argument(): constant memory; the stream is being captured

  // The program is damaged or incomplete.
  corrupt_image,  // argument(): the GPU whose embedded code is damaged
  no_bundle,      // argument(): the file with the code; the runtime cannot read it
  wrong_bundle,   // argument(): the file; it belongs to another build, or is no bundle
  corrupt_bundle, // argument(): the file; it is damaged or truncated

  // The driver refused.
  not_preloaded_in_capture, // first use of the kernel during graph capture, driver before CUDA 12.3
  forked_child,             // the driver was in use when this process was forked
  out_of_memory,            // argument(): the driver function
  device_lost, // an earlier kernel failed; cuda_result() is the first cause; restart the process
  cuda,        // any other driver error, cuda_result(), of the driver function argument()
};

/// A string by value, so that a function can return it without an allocation. NUL-terminated.
struct status_text {
  char text[512];
  const char *c_str() const noexcept { return text; }
};

/// A code with its details. Small (24 bytes) and trivially copyable. Its pointers refer to constant
/// data of the program, or to the `name` that the caller passed to set_constant.
class [[nodiscard]] status {
public:
  status() noexcept = default; // ok
  status(status_code code, const abi::kernel *kernel, const char *argument = nullptr,
         std::int32_t detail = 0) noexcept
      : kernel_(kernel), argument_(argument), code_(code), detail_(detail) {}

  bool ok() const noexcept { return code_ == status_code::ok; }
  status_code code() const noexcept { return code_; }

  /// Returns the enumerator's name, for example "misaligned_pointer".
  const char *name() const noexcept;
  /// Returns the kernel's name, for example "gemm::dot<half, N, T>"; "" if no kernel is involved.
  const char *kernel() const noexcept;
  /// Returns the argument, requirement, file or driver function that caused the error; "" if none.
  const char *argument() const noexcept { return argument_ ? argument_ : ""; }
  /// Returns the driver's CUresult for `cuda`, `out_of_memory` and `device_lost`; else 0.
  int cuda_result() const noexcept;

  /// Writes one sentence with kernel, cause and fix into `buffer`, like snprintf: at most `size`
  /// bytes, including the final NUL. Returns the length of the whole sentence without the NUL.
  /// `buffer` may be null if `size` is 0.
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
