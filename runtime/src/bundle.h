// Images that are not in the program but in a file beside it.

#pragma once

#include <tritonc/runtime.hpp>

namespace tritonc::v1::cuda {

/// An image of a bundle, read into memory that lasts as long as this.
class BundledImage {
public:
  BundledImage() = default;
  BundledImage(const BundledImage &) = delete;
  BundledImage &operator=(const BundledImage &) = delete;
  ~BundledImage();

  /// Looks for the bundle in each folder of TRITONC_BUNDLE_PATH, and then in that of the program or
  /// shared library which has the descriptor of the image. The first one that is what it should be
  /// is taken. What is read has as many bytes as the image; whether they are whole is for the
  /// caller to see.
  status read(const abi::kernel &kernel, const abi::image &image) noexcept;

  const char *bytes() const { return static_cast<const char *>(memory_); }

private:
  status read_from(const char *folder, std::size_t length, const abi::kernel &kernel,
                   const abi::image &image);

  void *memory_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace tritonc::v1::cuda
