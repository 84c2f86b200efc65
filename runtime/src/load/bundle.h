// Reads images from a bundle: a file beside the program.

#pragma once

#include <tritonc/runtime.hpp>

namespace tritonc::v1::cuda {

/// An image that was read from a bundle. The object owns the memory.
class BundledImage {
public:
  BundledImage() = default;
  BundledImage(const BundledImage &) = delete;
  BundledImage &operator=(const BundledImage &) = delete;
  ~BundledImage();

  /// Reads the image from the first valid bundle. The search path is each folder of
  /// TRITONC_BUNDLE_PATH, then the folder of the program or shared library that has the image's
  /// descriptor. The result has the image's size; the caller must verify its checksum.
  status read(const abi::kernel &kernel, const abi::image &image) noexcept;

  const char *bytes() const { return static_cast<const char *>(memory_); }

private:
  status read_from(const char *folder, std::size_t length, const abi::kernel &kernel,
                   const abi::image &image);

  void *memory_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace tritonc::v1::cuda
