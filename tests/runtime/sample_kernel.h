// Descriptors as the generator would write them, built by hand, for the tests of the runtime.

#pragma once

#include <tritonc/runtime.hpp>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tritonc {

/// `image` behind the header that the runtime checks. A dollar sign ends it for the stand-in
/// driver.
std::string sealed_image(const std::string &image);

struct SampleArgs {
  const void *source;
  void *target;
  std::int32_t n;
};

/// copy<>(source, target, n): programs of `tile` elements each, n a multiple of the tile. Variants
/// tile = 64 and tile = 16, each for sm_80 and sm_90a.
class SampleKernel {
public:
  SampleKernel();

  abi::kernel kernel;
  std::vector<abi::variant> variants;
  std::vector<abi::image> images[2]; // per variant
  std::vector<image_info> infos[2];
  std::vector<abi::parameter> parameters;
  std::vector<std::int32_t> choices = {64, 16};
  std::deque<std::string> bytes; // of the images, in the order of `images`

private:
  void add_image(int variant, const char *gpu, int sm, char suffix);

  std::vector<std::int64_t> grid_[2], divides_[2];
  std::vector<abi::requirement> requirements_[2];
  std::unique_ptr<abi::image_state[]> states_{new abi::image_state[4]()};
  int state_count_ = 0;
};

/// Arguments that every variant takes: 16-byte aligned pointers, n = 64 * 1000.
SampleArgs good_args();

} // namespace tritonc
