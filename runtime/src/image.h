// The code of a variant: which image fits a device, whether it is whole, and loading it.

#pragma once

#include "context.h"
#include "driver.h"

namespace tritonc::v1::cuda {

/// The best image of a variant for a device. Variants whose images fit equally well are code for
/// the same GPU.
struct FittingImage {
  const abi::image *image = nullptr; // of several forms the first
  int fitness = 0;                   // more is better; 0: there is none
};

/// Code for exactly this GPU ("sm_90a") comes first, then that of the same major number and the
/// highest minor number up to the device's, and PTX only where there is neither. If the driver
/// `takes_any_gpu`, what would be refused is instead the newest that there is, preferably one with
/// host code.
FittingImage choose_image(const abi::variant &variant, int device_sm,
                          bool takes_any_gpu = false) noexcept;

/// Whether two images of a variant are its forms for one GPU.
inline bool is_same_gpu(const abi::image &a, const abi::image &b) {
  return a.sm == b.sm && a.suffix == b.suffix;
}

/// Whether a block of the image's code may have as much shared memory as it takes. A GPU runs code
/// for others that have more: sm_86 that for sm_80.
inline bool has_room(const abi::variant &variant, const abi::image &image, int shared_bytes) {
  const image_info &info = variant.infos[&image - variant.images];
  return info.shared_bytes + info.static_shared_bytes <= shared_bytes;
}

/// Makes the image ready for a launch on the device: verified and loaded by whichever thread comes
/// first, once per process; the limit of shared memory raised once per device. Cheap when it is.
/// `stream`: where it will be launched, to find out whether a graph is being captured there.
status make_ready(const Driver &driver, const abi::kernel &kernel, const abi::variant &variant,
                  const abi::image &image, Device device, Stream stream, Kernel &handle) noexcept;

} // namespace tritonc::v1::cuda
