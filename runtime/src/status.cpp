// A status as a sentence: what was observed, and what to do about it.

#include "driver.h"

#include <tritonc/status.hpp>

#include <cstdio>
#include <cstring>

namespace tritonc {
inline namespace v1 {

namespace {

const char *const names[] = {
    "ok",
    "no_driver",
    "driver_too_old",
    "wrong_emulator",
    "no_device",
    "no_image_for_device",
    "no_host_code",
    "no_variant",
    "requirement_failed",
    "null_pointer",
    "misaligned_pointer",
    "invalid_argument",
    "unsuitable_tensor",
    "not_prepared",
    "invalid_constant",
    "capturing",
    "corrupt_image",
    "no_bundle",
    "wrong_bundle",
    "corrupt_bundle",
    "not_preloaded_in_capture",
    "forked_child",
    "out_of_memory",
    "device_lost",
    "cuda",
};
static_assert(sizeof names / sizeof *names == std::size_t(status_code::cuda) + 1, "one per code");

struct CudaError {
  const char *name = "";
  const char *text = "";
};

CudaError explain(int result) {
  CudaError error;
  const cuda::Driver *driver = cuda::resolved_driver();
  if (!driver)
    return error;
  if (driver->cuGetErrorName(result, &error.name) != cuda::success || !error.name)
    error.name = "";
  if (driver->cuGetErrorString(result, &error.text) != cuda::success || !error.text)
    error.text = "";
  return error;
}

} // namespace

const char *status::name() const noexcept { return names[std::size_t(code_)]; }

const char *status::kernel() const noexcept { return kernel_ ? kernel_->name : ""; }

int status::cuda_result() const noexcept {
  bool by_driver = code_ == status_code::cuda || code_ == status_code::out_of_memory ||
                   code_ == status_code::device_lost;
  return by_driver ? detail_ : 0;
}

std::size_t status::message(char *buffer, std::size_t size) const noexcept {
  const char *who = kernel();
  const char *colon = *who ? ": " : "";
  auto say = [&](const char *format, auto... values) {
    int length = std::snprintf(buffer, size, format, who, colon, values...);
    return length < 0 ? std::size_t(0) : std::size_t(length);
  };
  CudaError error = cuda_result() ? explain(cuda_result()) : CudaError();
  switch (code_) {
  case status_code::ok:
    return say("%s%sok");
  case status_code::no_driver:
    return say("%s%scannot open the CUDA driver (libcuda.so.1): install NVIDIA's driver, or name "
               "its library in TRITONC_DRIVER");
  case status_code::driver_too_old:
    if (*subject() && detail_ >= 12000)
      return say("%s%sthe CUDA driver (CUDA %d.%d) is too old for `%s`: install a newer one",
                 detail_ / 1000, detail_ % 1000 / 10, subject());
    return say(
        "%s%sthe CUDA driver is too old: it supports CUDA %d.%d, needed is 12.0 (driver 525) "
        "or newer",
        detail_ / 1000, detail_ % 1000 / 10);
  case status_code::wrong_emulator:
    if (detail_ == int(abi::host_code_version))
      return say("%s%sthe emulator in TRITONC_DRIVER lacks an operation that it needs: use the one "
                 "of the TritonC that compiled this program");
    return say("%s%sthe emulator in TRITONC_DRIVER (version %d) is not the one of this program "
               "(version %d): use the one of the TritonC that compiled it",
               detail_, int(abi::host_code_version));
  case status_code::no_device:
    if (detail_)
      return say("%s%sthere is no CUDA device %d", detail_ - 1);
    return say("%s%sno CUDA device: none is installed, or CUDA_VISIBLE_DEVICES hides it");
  case status_code::no_image_for_device:
    if (!detail_ || !kernel_)
      return say("%s%sthe driver found no code for this GPU");
    return say("%s%sno code for this GPU: compiled for %s; this is sm_%d", kernel_->gpus, detail_);
  case status_code::no_host_code:
    return say("%s%sthe emulator in TRITONC_DRIVER cannot run it, it was compiled for GPUs only: "
               "add EMULATE ON to its triton_add_kernels()");
  case status_code::no_variant:
    if (*subject())
      return say("%s%s%s names no variant that was compiled: variants() lists those", subject());
    return say("%s%sno such variant: variants() lists those that were compiled");
  case status_code::requirement_failed:
    if (detail_)
      return say("%s%snone of %d variants takes these arguments; the last one needs `%s`", detail_,
                 subject());
    return say("%s%sthe arguments do not satisfy `%s`", subject());
  case status_code::null_pointer:
    return say("%s%sargument `%s` is null", subject());
  case status_code::misaligned_pointer:
    return say("%s%sargument `%s` is not aligned to %d bytes", subject(), detail_);
  case status_code::invalid_argument:
    return say("%s%s`%s` is negative, above the device's limits, or cannot be computed in 64 bits",
               subject());
  case status_code::unsuitable_tensor:
    return say("%s%sthe GPU's copy engine cannot take the tensor at `%s`: its address and strides "
               "must be multiples of 16 bytes, strides positive and below 2^40 bytes, sizes from 1 "
               "to 2^32",
               subject());
  case status_code::not_prepared:
    if (detail_)
      return say("%s%sprepared for device %d, launched on a stream of another one: prepare it for "
                 "that, too",
                 detail_ - 1);
    return say("%s%slaunched before it was prepared: prepare() first, and look at its status");
  case status_code::invalid_constant:
    if (detail_)
      return say("%s%sthe constant memory `%s` has room for %d bytes, not for so many values",
                 subject(), detail_);
    return say("%s%sno variant that was compiled has constant memory `%s`", subject());
  case status_code::capturing:
    return say("%s%sthe constant memory `%s` cannot be filled while a graph is captured: fill it "
               "before",
               subject());
  case status_code::corrupt_image:
    return say("%s%sthe embedded code for %s is damaged: build or install the program again",
               subject());
  case status_code::no_bundle:
    return say("%s%s%s, which has its code, cannot be read: %s; put it into the folder of the "
               "program or shared library, or name its folder in TRITONC_BUNDLE_PATH",
               subject(), std::strerror(detail_));
  case status_code::wrong_bundle:
    return say("%s%s%s, which has its code, is of another build: put that there which was made "
               "with this program",
               subject());
  case status_code::corrupt_bundle:
    return say("%s%s%s, which has its code, is damaged or cut off: build or install it again",
               subject());
  case status_code::not_preloaded_in_capture:
    return say("%s%sfirst use during the capture of a graph, which this driver (before CUDA 12.3) "
               "cannot do: call preload() before the capture");
  case status_code::forked_child:
    return say("%s%sthe CUDA driver was in use when this process was forked, and cannot be used "
               "here: fork before the first launch");
  case status_code::out_of_memory:
    return say("%s%sout of memory on the device (%s)", subject());
  case status_code::device_lost:
    if (detail_ == cuda::assertion_failed)
      return say("%s%san assertion in a kernel failed, which standard error tells, and made the "
                 "device unusable: %s (%d) %s; restart the process",
                 error.name, detail_, error.text);
    return say("%s%san earlier failure made the device unusable: %s (%d) %s; restart the process",
               error.name, detail_, error.text);
  case status_code::cuda:
    return say("%s%s%s failed: %s (%d) %s", subject(), error.name, detail_, error.text);
  }
  return 0;
}

} // namespace v1
} // namespace tritonc
