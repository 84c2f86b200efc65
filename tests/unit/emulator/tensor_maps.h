// Makes tensor maps for test kernels.

#pragma once

#include "models/tensor_map.h"
#include "unit/emulator/kernel.h"

#include <string>
#include <vector>

namespace tritonc::emulator::test {

/// Adds a parameter that points to the map of a tensor at `begin`. Sizes are in elements, innermost
/// first. `strides` are in bytes, for dimensions 1 and up; without them the tensor is dense.
inline const void *tensor_map(Kernel &kernel, const std::string &name, const void *begin,
                              models::DataType type, const std::vector<uint64_t> &sizes,
                              const std::vector<uint32_t> &box,
                              models::Swizzle swizzle = models::Swizzle::none,
                              std::vector<uint64_t> strides = {},
                              models::Fill fill = models::Fill::zero) {
  std::vector<uint32_t> element_strides(sizes.size(), 1);
  if (strides.empty()) {
    uint64_t stride = models::bytes_of(type);
    for (size_t i = 0; i + 1 < sizes.size(); i++)
      strides.push_back(stride *= sizes[i]);
  }
  models::TensorMapArguments arguments;
  arguments.type = int(type);
  arguments.rank = uint32_t(sizes.size());
  arguments.address = reinterpret_cast<uintptr_t>(begin);
  arguments.sizes = sizes.data();
  arguments.strides = strides.data();
  arguments.box = box.data();
  arguments.element_strides = element_strides.data();
  arguments.swizzle = int(swizzle);
  arguments.fill = int(fill);
  void *map = kernel.parameter(name, std::vector<std::byte>(models::tensor_map_bytes));
  if (models::Problem problem = models::encode_tensor_map(map, arguments)) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), problem.text.c_str());
    std::abort();
  }
  return map;
}

} // namespace tritonc::emulator::test
