// Formats a status as a sentence: the cause, then the fix.

#include "load/driver.h"

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
  case status_code::no_driver: // detail: 1 = the library is not a driver
    if (*argument())
      return say("%s%s%s `%s`, which TRITONC_DRIVER names: set it to the path of a CUDA driver or "
                 "of the TritonC emulator, or unset it",
                 detail_ ? "there is no CUDA driver in" : "cannot open", argument());
    if (detail_)
      return say("%s%slibcuda.so.1 is not a CUDA driver: reinstall the NVIDIA driver");
    return say("%s%scannot open the CUDA driver (libcuda.so.1): install the NVIDIA driver, or set "
               "TRITONC_DRIVER to the path of its library");
  case status_code::driver_too_old:
    if (*argument() && detail_ >= 12000)
      return say("%s%sthe CUDA driver (CUDA %d.%d) does not support `%s`: install a newer driver",
                 detail_ / 1000, detail_ % 1000 / 10, argument());
    return say("%s%sthe CUDA driver supports CUDA %d.%d, but CUDA 12.0 is required: install driver "
               "525 or newer",
               detail_ / 1000, detail_ % 1000 / 10);
  case status_code::wrong_emulator:
    if (detail_ == int(abi::host_code_version))
      return say("%s%sthe emulator in TRITONC_DRIVER lacks an operation of this program: use the "
                 "emulator of the TritonC version that compiled the program");
    return say("%s%sthe emulator in TRITONC_DRIVER has version %d, but this program needs version "
               "%d: use the emulator of the TritonC version that compiled the program",
               detail_, int(abi::host_code_version));
  case status_code::no_device:
    if (detail_)
      return say("%s%sno CUDA device %d", detail_ - 1);
    return say("%s%sno CUDA device found: check the driver's installation and "
               "CUDA_VISIBLE_DEVICES");
  case status_code::no_image_for_device:
    if (!detail_ || !kernel_)
      return say("%s%sthe driver found no code for this GPU");
    return say("%s%sno code for this GPU: the kernel is compiled for %s, but the GPU is sm_%d",
               kernel_->gpus, detail_);
  case status_code::no_host_code:
    return say("%s%sthe emulator in TRITONC_DRIVER cannot run this kernel, which is compiled only "
               "for GPUs: add EMULATE ON to its triton_add_kernels()");
  case status_code::no_variant:
    if (*argument())
      return say("%s%s%s names a variant that was not compiled: variants() lists the variants",
                 argument());
    return say("%s%sthis variant was not compiled: variants() lists the variants");
  case status_code::requirement_failed:
    if (detail_)
      return say("%s%snone of %d variants accepts these arguments: the last one requires `%s`",
                 detail_, argument());
    return say("%s%sthe arguments do not satisfy `%s`", argument());
  case status_code::null_pointer:
    return say("%s%sargument `%s` is null", argument());
  case status_code::misaligned_pointer:
    return say("%s%sargument `%s` is not aligned to %d bytes", argument(), detail_);
  case status_code::invalid_argument:
    return say("%s%s`%s` is negative, exceeds a limit of the device, or overflows 64 bits",
               argument());
  case status_code::unsuitable_tensor:
    return say("%s%sTMA cannot address the tensor at `%s`: its address and strides must be "
               "multiples of 16 bytes, its strides from 0 to below 2^40 bytes, and its sizes "
               "from 1 to 2^32",
               argument());
  case status_code::not_prepared:
    if (detail_)
      return say("%s%sprepared for device %d, but launched on a stream of another device: prepare "
                 "it for that device too",
                 detail_ - 1);
    return say("%s%snot prepared: call prepare() first and check its status");
  case status_code::invalid_constant:
    if (detail_)
      return say("%s%stoo many values for the constant memory `%s`: it has %d bytes", argument(),
                 detail_);
    return say("%s%sno variant has constant memory `%s`", argument());
  case status_code::capturing:
    return say("%s%scannot fill the constant memory `%s` during graph capture: fill it before the "
               "capture",
               argument());
  case status_code::corrupt_image:
    return say("%s%sthe embedded code for %s is damaged: build or install the program again",
               argument());
  case status_code::no_bundle:
    return say("%s%scannot read the kernel's code from %s: %s; put the file into the folder of the "
               "program or shared library, or add its folder to TRITONC_BUNDLE_PATH",
               argument(), std::strerror(detail_));
  case status_code::wrong_bundle:
    return say("%s%s%s is not the bundle of this program: use the file of the same build",
               argument());
  case status_code::corrupt_bundle:
    return say("%s%sthe bundle %s is damaged or truncated: build or install it again", argument());
  case status_code::not_preloaded_in_capture:
    return say("%s%sthis driver (before CUDA 12.3) cannot load a kernel during graph capture: call "
               "preload() before the capture");
  case status_code::forked_child:
    return say("%s%sthe CUDA driver cannot be used in this process, because it was in use before "
               "the fork: fork before the first launch");
  case status_code::out_of_memory:
    return say("%s%sout of memory on the device (%s)", argument());
  case status_code::device_lost:
    if (detail_ == cuda::assertion_failed)
      return say("%s%san assertion in a kernel failed (see standard error) and made the device "
                 "unusable: %s (%d) %s; restart the process",
                 error.name, detail_, error.text);
    return say("%s%san earlier failure made the device unusable: %s (%d) %s; restart the process",
               error.name, detail_, error.text);
  case status_code::cuda:
    return say("%s%s%s failed: %s (%d) %s", argument(), error.name, detail_, error.text);
  }
  return 0;
}

} // namespace v1
} // namespace tritonc
