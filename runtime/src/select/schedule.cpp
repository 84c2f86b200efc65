// Chooses the schedule of a variant, and computes its hidden parameters.
//
// A schedule fits if:
//
// - its guards hold;
// - its integers and blocks can be computed, and are within the limits of their types and of the
//   driver;
// - its shared memory is within the limits of the image and of the device;
// - the driver will accept its tensor maps.
//
// The runtime checks the tensor maps itself, by the driver's rules, so that another schedule can
// run instead. It does not check the box of a copy: the box does not depend on the arguments, so
// the generator must make it valid.

#include "select/schedule.h"

#include "load/image.h"

namespace tritonc::v1::cuda {

namespace {

/// The parameters of cuTensorMapEncodeTiled that depend on the arguments. Strides are in bytes.
struct TensorArguments {
  std::uint64_t address;
  std::uint64_t sizes[5];
  std::uint64_t strides[4];
};

bool multiply(plan::Number elements, unsigned bytes, std::int64_t &result) {
  return elements.known && !__builtin_mul_overflow(elements.value, std::int64_t(bytes), &result);
}

bool find_address(const abi::tensor_map &map, const plan::Inputs &inputs, std::uint64_t &address) {
  if (map.parameter >= inputs.kernel.parameter_count)
    return false;
  std::uint64_t pointer = plan::address(inputs.variant.parameters[map.parameter], inputs.arguments);
  std::int64_t offset = 0;
  return pointer != 0 && multiply(plan::evaluate(map.offset, inputs), map.element_bytes, offset) &&
         !__builtin_add_overflow(pointer, offset, &address) && address % 16 == 0;
}

/// Computes a tensor. Returns false if the driver would refuse it.
bool find_tensor(const abi::tensor_map &map, const plan::Inputs &inputs, TensorArguments &tensor) {
  if (map.rank < 1 || map.rank > 5 || !find_address(map, inputs, tensor.address))
    return false;
  for (unsigned i = 0; i < map.rank; i++) {
    plan::Number size = plan::evaluate(map.size[i], inputs);
    if (!size.known || size.value < 1 || size.value > std::int64_t(1) << 32)
      return false;
    tensor.sizes[i] = std::uint64_t(size.value);
  }
  for (unsigned i = 0; i + 1 < map.rank; i++) {
    std::int64_t stride = 0;
    if (!multiply(plan::evaluate(map.stride[i], inputs), map.element_bytes, stride) || stride < 0 ||
        stride % 16 != 0 || stride >= std::int64_t(1) << 40)
      return false;
    tensor.strides[i] = std::uint64_t(stride);
  }
  return true;
}

bool find_number(const abi::hidden_parameter &parameter, const plan::Inputs &inputs,
                 std::int64_t &value) {
  plan::Number number = plan::evaluate(parameter.value, inputs);
  value = number.value;
  return number.known && (parameter.kind == abi::hidden_kind::i64 || value == std::int32_t(value));
}

const char *name_of(const abi::tensor_map &map, const plan::Inputs &inputs) {
  bool is_there = map.parameter < inputs.kernel.parameter_count;
  return is_there ? inputs.variant.parameters[map.parameter].name : nullptr;
}

status check_hidden(const Driver &driver, const plan::Inputs &inputs,
                    const abi::launch_config &launch) {
  std::uint32_t maps = 0;
  for (std::uint32_t i = 0; i < launch.hidden_count; i++) {
    const abi::hidden_parameter &parameter = launch.hidden[i];
    if (parameter.kind == abi::hidden_kind::workspace) {
      if (!launch.workspace)
        return {status_code::invalid_argument, &inputs.kernel, "workspace"};
      continue;
    }
    if (parameter.kind != abi::hidden_kind::tensor_map) {
      std::int64_t value = 0;
      if (!find_number(parameter, inputs, value))
        return {status_code::invalid_argument, &inputs.kernel, parameter.text};
      continue;
    }
    if (!driver.cuTensorMapEncodeTiled)
      return {status_code::driver_too_old, &inputs.kernel, "cuTensorMapEncodeTiled",
              driver.version};
    TensorArguments tensor;
    if (++maps > abi::max_tensor_maps || !find_tensor(*parameter.map, inputs, tensor))
      return {status_code::unsuitable_tensor, &inputs.kernel, name_of(*parameter.map, inputs)};
  }
  return {};
}

/// Checks whether the schedule fits the arguments, and computes its blocks.
status check_schedule(const Driver &driver, const plan::Inputs &inputs, const abi::image &image,
                      grid &blocks) {
  const abi::launch_config *launch = image.launch;
  blocks = *inputs.programs;
  if (!launch)
    return {};
  status fits = plan::check(launch->guards, launch->guard_count, inputs);
  if (fits.ok() && launch->blocks[0])
    fits = plan::evaluate_grid(launch->blocks, inputs, blocks);
  if (!fits.ok())
    return fits;
  bool any = blocks.x > 0 && blocks.y > 0 && blocks.z > 0;
  if (!any || launch->cluster == 0 || blocks.x % launch->cluster != 0)
    return {status_code::invalid_argument, &inputs.kernel, "blocks"};
  if (launch->hidden_count > std::uint32_t(abi::max_hidden))
    return {status_code::invalid_argument, &inputs.kernel, "hidden parameters"};
  const std::int64_t workspace = workspace_bytes(launch, inputs);
  if (workspace < 0)
    return {status_code::invalid_argument, &inputs.kernel, "workspace"};
  if (workspace && !inputs.has_workspace)
    return {status_code::driver_too_old, &inputs.kernel, "cuMemPoolCreate", driver.version};
  plan::Number shared = shared_bytes(image, inputs);
  if (!shared.known || shared.value < 0 ||
      shared.value > info_of(inputs.variant, image).shared_bytes)
    return {status_code::invalid_argument, &inputs.kernel, "shared memory"};
  return check_hidden(driver, inputs, *launch);
}

/// Returns the schedule's cost. It is unknown if the schedule has none or if it overflows.
plan::Number cost_of(const abi::launch_config *launch, const plan::Inputs &inputs) {
  return launch && launch->cost ? plan::evaluate(launch->cost, inputs) : plan::Number{};
}

/// Finds the second image of a pair whose first image is at `i`; null if image `i` is no pair.
/// Returns false for invalid schedules:
///
/// - the second image is missing;
/// - the second launch has a workspace and the first has none.
bool find_rest(const abi::variant &variant, std::uint32_t i, const abi::image *&rest) {
  const abi::image &image = variant.images[i];
  rest = nullptr;
  if (!image.launch || image.launch->part != abi::launch_part::first)
    return true;
  if (i + 1 == variant.image_count || !is_same_gpu(variant.images[i + 1], image))
    return false;
  rest = &variant.images[i + 1];
  return rest->launch && rest->launch->part == abi::launch_part::second &&
         (image.launch->workspace || !rest->launch->workspace);
}

status check_choice(const Driver &driver, const plan::Inputs &inputs, Choice &choice) {
  const abi::image *images[] = {choice.image, choice.rest};
  for (const abi::image *image : images)
    if (image && !has_room(inputs.variant, *image, inputs.shared_bytes))
      return {status_code::no_image_for_device, &inputs.kernel, nullptr, inputs.sm};
  status fits = check_schedule(driver, inputs, *choice.image, choice.blocks);
  if (fits.ok() && choice.rest)
    fits = check_schedule(driver, inputs, *choice.rest, choice.rest_blocks);
  return fits;
}

} // namespace

std::int64_t workspace_bytes(const abi::launch_config *launch,
                             const plan::Inputs &inputs) noexcept {
  if (!launch || !launch->workspace)
    return 0;
  plan::Number bytes = plan::evaluate(launch->workspace, inputs);
  return bytes.known ? bytes.value : -1;
}

plan::Number shared_bytes(const abi::image &image, const plan::Inputs &inputs) noexcept {
  if (image.launch && image.launch->shared_bytes)
    return plan::evaluate(image.launch->shared_bytes, inputs);
  return {info_of(inputs.variant, image).shared_bytes, true};
}

bool is_cheaper(plan::Number cost, plan::Number than) noexcept {
  return cost.known && (!than.known || cost.value < than.value);
}

status choose_schedule(const Driver &driver, const plan::Inputs &inputs, const abi::image &fitting,
                       Choice &choice) noexcept {
  const abi::variant &variant = inputs.variant;
  status refusal;
  choice = {};
  for (std::uint32_t i = 0; i < variant.image_count; i++) {
    Choice tried;
    tried.image = &variant.images[i];
    const abi::launch_config *launch = tried.image->launch;
    if (!is_same_gpu(*tried.image, fitting) || (launch && launch->part == abi::launch_part::second))
      continue;
    tried.cost = cost_of(launch, inputs);
    if (choice.image && !is_cheaper(tried.cost, choice.cost))
      continue;
    status fits = find_rest(variant, i, tried.rest)
                      ? check_choice(driver, inputs, tried)
                      : status{status_code::invalid_argument, &inputs.kernel, "schedules"};
    if (fits.ok())
      choice = tried;
    else
      refusal = fits;
  }
  return choice.image ? status() : refusal;
}

status prepare_hidden(const Driver &driver, const plan::Inputs &inputs,
                      const abi::launch_config *launch, Hidden &hidden) noexcept {
  const std::uint32_t steps[] = {1, 1, 1, 1, 1};
  hidden.map_count = hidden.number_count = 0;
  for (std::uint32_t i = 0; launch && i < launch->hidden_count; i++) {
    const abi::hidden_parameter &parameter = launch->hidden[i];
    if (parameter.kind == abi::hidden_kind::workspace)
      continue; // allocated for each launch
    if (parameter.kind != abi::hidden_kind::tensor_map) {
      find_number(parameter, inputs, hidden.numbers[hidden.number_count++]);
      continue;
    }
    const abi::tensor_map &map = *parameter.map;
    TensorArguments tensor;
    find_tensor(map, inputs, tensor);
    Result result = driver.cuTensorMapEncodeTiled(
        &hidden.maps[hidden.map_count++], map.data_type, map.rank,
        reinterpret_cast<void *>(tensor.address), tensor.sizes, tensor.strides, map.box, steps,
        interleave_none, map.swizzle, l2_promotion_128, fill_with_zero);
    if (result != success)
      return failure(driver, result, &inputs.kernel, "cuTensorMapEncodeTiled");
  }
  return {};
}

} // namespace tritonc::v1::cuda
