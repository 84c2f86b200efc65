// Images: chooses the image for a device, verifies it and loads it.

#pragma once

#include "load/context.h"
#include "load/driver.h"

namespace tritonc::v1::cuda {

/// The best image of a variant for a device. Images with equal fitness are code for the same GPU.
struct FittingImage {
  const abi::image *image = nullptr; // the first schedule; null: no image fits
  int fitness = 0;                   // higher is better; 0: no image fits
};

/// Chooses the best image, in this order:
///
/// 1. code for exactly this GPU ("sm_90a");
/// 2. code for the same major version and the highest minor version up to the device's;
/// 3. PTX;
/// 4. only if the driver `takes_any_gpu` (the emulator): any other image, preferably one with host
///    code, then the newest.
FittingImage choose_image(const abi::variant &variant, int device_sm,
                          bool takes_any_gpu = false) noexcept;

/// Returns whether two images of a variant are schedules for the same GPU.
inline bool is_same_gpu(const abi::image &a, const abi::image &b) {
  return a.sm == b.sm && a.suffix == b.suffix;
}

/// Returns the resources of an image of the variant.
inline const image_info &info_of(const abi::variant &variant, const abi::image &image) {
  return variant.infos[&image - variant.images];
}

/// Returns whether the device's limit of shared memory per block suffices for the image. A GPU may
/// run code for a GPU with a higher limit: sm_86 runs code for sm_80.
inline bool has_room(const abi::variant &variant, const abi::image &image, int shared_bytes) {
  const image_info &info = info_of(variant, image);
  return info.shared_bytes + info.static_shared_bytes <= shared_bytes;
}

/// Makes the image ready for a launch on the device and sets `handle`. The first thread verifies
/// and loads the image, once per process. The shared memory limit is raised once per device. Later
/// calls are cheap. `stream` is the stream of the launch, which may be being captured.
status make_ready(const Driver &driver, const abi::kernel &kernel, const abi::variant &variant,
                  const abi::image &image, Device device, Stream stream, Kernel &handle) noexcept;

} // namespace tritonc::v1::cuda
