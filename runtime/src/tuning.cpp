// What measurements say of the variants of a launch.
//
// The problems that were measured are points, whose coordinates are the logarithms of the
// arguments. What is taken from the nearest points, the nearer ones counting more, is what changes
// slowly from one to the next: by which factor the compiler's reckoning was wrong, where there is
// one, which knows of the steps that times go up in; or else how much slower than the fastest a
// variant was. Where a variant comes in several forms, those points count at which it had the same
// one: each is wrong in its own way.

#include "tuning.h"

#include <cstring>

namespace tritonc::v1::cuda {

namespace {

std::int64_t argument(std::uint32_t index, const plan::Inputs &inputs) {
  const std::int64_t code[] = {std::int64_t(abi::op::parameter), index, std::int64_t(abi::op::end)};
  plan::Number number = plan::evaluate(code, inputs);
  return number.known ? number.value : 0;
}

/// The data of this GPU. Two GPUs of one architecture and size are told apart by their names, where
/// data of both are there.
const abi::tuning *choose_tuning(const Driver &driver, const abi::kernel &kernel,
                                 const DeviceFacts &device) {
  const abi::tuning *chosen = nullptr;
  for (std::uint32_t i = 0; i < kernel.tuning_count; i++) {
    const abi::tuning &one = kernel.tunings[i];
    if (one.sm != device.sm || one.multiprocessors != device.multiprocessors)
      continue;
    char name[128] = "";
    if (chosen && (!driver.cuDeviceGetName ||
                   driver.cuDeviceGetName(name, int(sizeof name), device.device) != success ||
                   std::strcmp(name, one.gpu) != 0))
      continue;
    chosen = &one;
  }
  return chosen;
}

} // namespace

void Measurements::find(const Driver &driver, const plan::Inputs &inputs,
                        const DeviceFacts &device) noexcept {
  const abi::tuning *tuning = choose_tuning(driver, inputs.kernel, device);
  if (!tuning)
    return;
  constexpr std::uint32_t most_axes = 16; // what more there is says nothing
  std::int32_t place[most_axes];
  std::uint32_t axes = tuning->axis_count < most_axes ? tuning->axis_count : most_axes;
  for (std::uint32_t axis = 0; axis < axes; axis++)
    place[axis] = abi::logarithm(argument(tuning->axes[axis], inputs));
  for (std::uint32_t i = 0; i < tuning->problem_count; i++) {
    const std::int32_t *problem = tuning->problems + std::size_t(i) * tuning->axis_count;
    double square = 1; // of the distance; at the point itself, next to nothing
    for (std::uint32_t axis = 0; axis < axes; axis++) {
      double apart = problem[axis] - place[axis];
      square += apart * apart;
    }
    add(i, 1 / square);
  }
  tuning_ = tuning;
  variants_ = inputs.kernel.variant_count;
}

void Measurements::add(std::uint32_t problem, double weight) noexcept {
  std::uint32_t i = count_;
  if (count_ < most)
    count_++;
  else if (weights_[--i] >= weight)
    return;
  for (; i > 0 && weights_[i - 1] < weight; i--) {
    weights_[i] = weights_[i - 1];
    problems_[i] = problems_[i - 1];
  }
  weights_[i] = weight;
  problems_[i] = problem;
}

plan::Number Measurements::time(std::uint32_t variant, const char *form,
                                plan::Number cost) const noexcept {
  if (!are_there() || (tuning_->beside_costs && !(cost.known && cost.value > 0)))
    return {};
  double sum = 0, weights = 0;
  bool in_this_form = false;
  for (std::uint32_t i = 0; i < count_; i++) {
    std::size_t at = std::size_t(problems_[i]) * variants_ + variant;
    if (tuning_->times[at] == abi::not_measured)
      continue;
    bool is_same = std::strcmp(tuning_->form_names[tuning_->forms[at]], form) == 0;
    if (in_this_form && !is_same)
      continue;
    if (is_same && !in_this_form)
      sum = weights = 0;
    in_this_form = is_same;
    sum += weights_[i] * tuning_->times[at];
    weights += weights_[i];
  }
  if (weights == 0)
    return {};
  if (tuning_->beside_costs)
    sum += weights * abi::logarithm(cost.value);
  constexpr double places = 1024; // more than the logarithms have, for what is almost equal
  return {std::int64_t(sum / weights * places), true};
}

} // namespace tritonc::v1::cuda
