// The tensor map functions; models/tensor_map.h checks and encodes the arguments.

#include "../models/tensor_map.h"
#include "driver.h"

#include <string>

namespace tritonc::emulator::driver {

namespace {

/// The driver returns only `invalid_value`; the report gives the reason.
Result result_of(std::string_view function, const models::Problem &problem) {
  if (!problem)
    return success;
  report("tritonc emulator: " + std::string(function) + ": " + problem.text);
  return problem.kind == models::Problem::Kind::unmodeled ? not_supported : invalid_value;
}

/// Whether any device supports tensor maps.
bool is_supported() {
  for (auto &device : driver().devices)
    if (device->gpu.has_tensor_maps())
      return true;
  return false;
}

} // namespace

extern "C" {

Result cuTensorMapEncodeTiled(TensorMapBytes *map, int type, std::uint32_t rank, void *address,
                              const std::uint64_t *sizes, const std::uint64_t *strides,
                              const std::uint32_t *box, const std::uint32_t *element_strides,
                              int interleave, int swizzle, int l2_promotion, int fill) {
  return call("cuTensorMapEncodeTiled", Needs::driver, [&]() -> Result {
    bool is_there = map && sizes && box && element_strides && (strides || rank <= 1);
    if (!is_there || reinterpret_cast<std::uintptr_t>(map) % alignof(TensorMapBytes) != 0)
      return invalid_value;
    if (!is_supported())
      return not_supported;
    models::TensorMapArguments arguments;
    arguments.type = type;
    arguments.rank = rank;
    arguments.address = reinterpret_cast<std::uint64_t>(address);
    arguments.sizes = sizes;
    arguments.strides = strides;
    arguments.box = box;
    arguments.element_strides = element_strides;
    arguments.interleave = interleave;
    arguments.swizzle = swizzle;
    arguments.l2_promotion = l2_promotion;
    arguments.fill = fill;
    return result_of("cuTensorMapEncodeTiled", models::encode_tensor_map(map, arguments));
  });
}

Result cuTensorMapReplaceAddress(TensorMapBytes *map, void *address) {
  return call("cuTensorMapReplaceAddress", Needs::driver, [&]() -> Result {
    if (!map || reinterpret_cast<std::uintptr_t>(map) % alignof(TensorMapBytes) != 0)
      return invalid_value;
    return result_of("cuTensorMapReplaceAddress",
                     models::replace_address(map, reinterpret_cast<std::uint64_t>(address)));
  });
}

} // extern "C"

} // namespace tritonc::emulator::driver
