// What became of a launch.
//
// The runtime reports everything through this value: it never prints, throws, exits or allocates. A
// status names the kernel and the argument or requirement at fault, and can say it as a sentence.

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

  // The machine cannot run kernels. A program may take another path.
  no_driver,           // the driver's library could not be opened
  driver_too_old,      // it was, but lacks what we need (CUDA 12.0)
  wrong_emulator,      // TRITONC_DRIVER names an emulator of another version than the program
  no_device,           // no GPU, or none visible
  no_image_for_device, // a GPU that the kernel wasn't compiled for
  no_host_code, // TRITONC_DRIVER names the emulator, but the kernel is compiled for GPUs only

  // The call is wrong. Nothing was enqueued.
  no_variant,         // the named variant wasn't compiled
  requirement_failed, // subject(): which, as text; of several variants, the last one's
  null_pointer,       // subject(): the argument
  misaligned_pointer, // subject(): the argument
  invalid_argument,   // the grid is too large, or cannot be computed in 64 bits
  unsuitable_tensor,  // subject(): a pointer; the GPU's copy engine cannot take what it points to
  not_prepared,       // prepare() has not succeeded, or was for another device than the stream's
  invalid_constant,   // subject(): constant memory without room for so many values, or without any
  capturing,          // subject(): constant memory, which is not filled by a graph

  // The program is damaged, or not complete.
  corrupt_image,  // subject(): the GPU whose code is damaged
  no_bundle,      // subject(): the file with the code, which cannot be read
  wrong_bundle,   // subject(): the file; it is there, but of another build, or no such file
  corrupt_bundle, // subject(): the file; it is damaged or cut off

  // The driver refused.
  not_preloaded_in_capture, // first use of the kernel during graph capture, on a driver before 12.3
  forked_child,             // the driver was in use when this process was forked
  out_of_memory,
  device_lost, // an earlier kernel failed; cuda_result() is the first cause; restart the process
  cuda,        // any other: cuda_result()
};

/// A text in a value, so that it can be returned without an allocation.
struct status_text {
  char text[512];
  const char *c_str() const noexcept { return text; }
};

class [[nodiscard]] status {
public:
  status() noexcept = default; // ok
  status(status_code code, const abi::kernel *kernel, const char *subject = nullptr,
         std::int32_t detail = 0) noexcept
      : kernel_(kernel), subject_(subject), code_(code), detail_(detail) {}

  bool ok() const noexcept { return code_ == status_code::ok; }
  status_code code() const noexcept { return code_; }

  /// The code as it is spelled above: "misaligned_pointer".
  const char *name() const noexcept;
  /// "gemm::dot<half, N, T>"; empty where no kernel is involved.
  const char *kernel() const noexcept;
  /// The argument, requirement or driver function at fault; empty where there is none.
  const char *subject() const noexcept { return subject_ ? subject_ : ""; }
  /// The driver's own CUresult, for `cuda`, `out_of_memory` and `device_lost`; else 0.
  int cuda_result() const noexcept;

  /// One sentence with kernel, cause and remedy, cut to `size` with its final zero. Returns the
  /// length of the whole sentence.
  std::size_t message(char *buffer, std::size_t size) const noexcept;
  status_text message() const noexcept {
    status_text result;
    message(result.text, sizeof result.text);
    return result;
  }

  /// The same, as what became of this kernel.
  status about(const abi::kernel &kernel) const noexcept {
    return {code_, &kernel, subject_, detail_};
  }

private:
  const abi::kernel *kernel_ = nullptr;
  const char *subject_ = nullptr;
  status_code code_ = status_code::ok;
  // A CUresult; or what the sentence needs: an alignment, a driver's version, a GPU's number. Of
  // devices it is one more: 0 is none.
  std::int32_t detail_ = 0;
};

} // namespace v1
} // namespace tritonc
