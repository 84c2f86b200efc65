// Which form of a variant runs, and what its kernel is given behind the arguments.
//
// A form fits if its guards hold, its numbers and blocks can be computed and are within the limits
// of their types and of the driver, its shared memory is within those of the device, and the driver
// will take its tensor maps. The last is decided
// here by the driver's rules, so that another form can run in its place; the box of a copy does not
// depend on the arguments, and is for the generator to get right.

#include "form.h"

#include "image.h"

namespace tritonc::v1::cuda {

namespace {

/// What cuTensorMapEncodeTiled is told that depends on the arguments. Strides are in bytes.
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

/// False where the driver would refuse it.
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
    if (!multiply(plan::evaluate(map.stride[i], inputs), map.element_bytes, stride) ||
        stride <= 0 || stride % 16 != 0 || stride >= std::int64_t(1) << 40)
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

status check_hidden(const Driver &driver, const plan::Inputs &inputs, const abi::form &form) {
  std::uint32_t maps = 0;
  for (std::uint32_t i = 0; i < form.hidden_count; i++) {
    const abi::hidden_parameter &parameter = form.hidden[i];
    if (parameter.kind == abi::hidden_kind::scratch) {
      if (!form.scratch)
        return {status_code::invalid_argument, &inputs.kernel, "scratch memory"};
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

/// Whether the arguments fit the form, and its blocks.
status check_form(const Driver &driver, const plan::Inputs &inputs, const abi::form *form,
                  grid &blocks) {
  blocks = *inputs.programs;
  if (!form)
    return {};
  status fits = plan::check(form->guards, form->guard_count, inputs);
  if (fits.ok() && form->blocks[0])
    fits = plan::evaluate_grid(form->blocks, inputs, blocks);
  if (!fits.ok())
    return fits;
  bool any = blocks.x > 0 && blocks.y > 0 && blocks.z > 0;
  if (!any || form->cluster == 0 || blocks.x % form->cluster != 0)
    return {status_code::invalid_argument, &inputs.kernel, "blocks"};
  if (form->hidden_count > std::uint32_t(abi::max_hidden))
    return {status_code::invalid_argument, &inputs.kernel, "hidden parameters"};
  if (form->scratch && !inputs.has_scratch)
    return {status_code::driver_too_old, &inputs.kernel, "cuMemPoolCreate", driver.version};
  if (form->scratch && scratch_bytes(form, inputs) <= 0)
    return {status_code::invalid_argument, &inputs.kernel, "scratch memory"};
  return check_hidden(driver, inputs, *form);
}

/// What cannot be computed is as good as not known.
plan::Number cost_of(const abi::form *form, const plan::Inputs &inputs) {
  return form && form->cost ? plan::evaluate(form->cost, inputs) : plan::Number{};
}

/// The image that does the rest for the one at `i`, if its form shares the work. False if that is
/// not there, or would have scratch memory that the first has not; or if a form that does not share
/// the work wants some.
bool find_rest(const abi::variant &variant, std::uint32_t i, const abi::image *&rest) {
  const abi::image &image = variant.images[i];
  rest = nullptr;
  if (!image.form || image.form->share != abi::form_share::first)
    return !image.form || !image.form->scratch;
  if (i + 1 == variant.image_count || !is_same_gpu(variant.images[i + 1], image))
    return false;
  rest = &variant.images[i + 1];
  return rest->form && rest->form->share == abi::form_share::rest &&
         (image.form->scratch || !rest->form->scratch);
}

status check_choice(const Driver &driver, const plan::Inputs &inputs, Choice &choice) {
  const abi::image *images[] = {choice.image, choice.rest};
  for (const abi::image *image : images)
    if (image && !has_room(inputs.variant, *image, inputs.shared_bytes))
      return {status_code::no_image_for_device, &inputs.kernel, nullptr, inputs.sm};
  status fits = check_form(driver, inputs, choice.image->form, choice.blocks);
  if (fits.ok() && choice.rest)
    fits = check_form(driver, inputs, choice.rest->form, choice.rest_blocks);
  return fits;
}

} // namespace

std::int64_t scratch_bytes(const abi::form *form, const plan::Inputs &inputs) noexcept {
  if (!form || !form->scratch)
    return 0;
  plan::Number bytes = plan::evaluate(form->scratch, inputs);
  return bytes.known ? bytes.value : 0;
}

bool is_cheaper(plan::Number cost, plan::Number than) noexcept {
  return cost.known && (!than.known || cost.value < than.value);
}

status choose_form(const Driver &driver, const plan::Inputs &inputs, const abi::image &fitting,
                   Choice &choice) noexcept {
  const abi::variant &variant = inputs.variant;
  status refusal;
  choice = {};
  for (std::uint32_t i = 0; i < variant.image_count; i++) {
    Choice tried;
    tried.image = &variant.images[i];
    const abi::form *form = tried.image->form;
    if (!is_same_gpu(*tried.image, fitting) || (form && form->share == abi::form_share::rest))
      continue;
    tried.cost = cost_of(form, inputs);
    if (choice.image && !is_cheaper(tried.cost, choice.cost))
      continue;
    status fits = find_rest(variant, i, tried.rest)
                      ? check_choice(driver, inputs, tried)
                      : status{status_code::invalid_argument, &inputs.kernel, "forms"};
    if (fits.ok())
      choice = tried;
    else
      refusal = fits;
  }
  return choice.image ? status() : refusal;
}

status prepare_hidden(const Driver &driver, const plan::Inputs &inputs, const abi::form *form,
                      Hidden &hidden) noexcept {
  const std::uint32_t steps[] = {1, 1, 1, 1, 1};
  hidden.map_count = hidden.number_count = 0;
  for (std::uint32_t i = 0; form && i < form->hidden_count; i++) {
    const abi::hidden_parameter &parameter = form->hidden[i];
    if (parameter.kind == abi::hidden_kind::scratch)
      continue; // is allocated for each launch
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
        interleave_none, map.swizzle, l2_promotion_256, fill_with_zero);
    if (result != success)
      return failure(driver, result, &inputs.kernel, "cuTensorMapEncodeTiled");
  }
  return {};
}

} // namespace tritonc::v1::cuda
