// Kernels that have one image only, for tests that run every image.
//
// A launch chooses the variant, the specialization and the schedule. A launch of such a kernel runs
// this image, or returns why the image does not take the arguments.

#pragma once

#include <tritonc/runtime.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace tritonc::test {

struct OneImage {
  abi::variant variant;
  abi::kernel kernel;
  const std::int32_t *choice; // the values of `params`: kernel.axis_count
  const image_info *info;
};

/// Returns a kernel per image of `code`. A pair of launches that share the work is one image. The
/// kernels refer to `code`, and to themselves. They must live as long as launches are cached: until
/// the process ends.
inline std::vector<std::unique_ptr<const OneImage>> images_of(const abi::kernel &code) {
  std::vector<std::unique_ptr<const OneImage>> found;
  auto add = [&](const abi::variant &of, const std::int32_t *choice, std::uint32_t i) {
    const abi::launch_config *launch = of.images[i].launch;
    if (launch && launch->part == abi::launch_part::second)
      return;
    auto one = std::make_unique<OneImage>(OneImage{of, code, choice, of.infos + i});
    one->variant.images += i;
    one->variant.infos += i;
    one->variant.image_count = launch && launch->part == abi::launch_part::first ? 2 : 1;
    one->variant.specialized_count = 0;
    one->kernel.variants = &one->variant;
    one->kernel.variant_count = 1;
    one->kernel.choices = choice;
    one->kernel.tuning_count = 0;
    found.push_back(std::move(one));
  };
  for (std::uint32_t i = 0; i < code.variant_count; i++) {
    const abi::variant &of = code.variants[i];
    const std::int32_t *choice = code.choices + std::size_t(i) * code.axis_count;
    for (std::uint32_t s = 0; s < of.specialized_count; s++)
      for (std::uint32_t image = 0; image < of.specialized[s].image_count; image++)
        add(of.specialized[s], choice, image);
    for (std::uint32_t image = 0; image < of.image_count; image++)
      add(of, choice, image);
  }
  return found;
}

} // namespace tritonc::test
