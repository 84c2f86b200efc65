// A kernel with the arguments of a problem. See tuned_kernel.h.
//
// Tested by tests/unit/tuner/tuned_kernel_test.cpp, and by tests/end_to_end/tuning/loop_test.sh on
// the emulator.

#include "tuned_kernel.h"

#include <tritonc/hooks.hpp>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tritonc::v1::tuner {

namespace {

// Limits the size of a buffer to 8 TiB, so that it fits std::size_t. tritonc tune has the same limit
// (generator/tune/problem_sizes.cpp).
constexpr std::int64_t max_elements = std::int64_t(1) << 40;

std::string name_of(const kernel &of) {
  return std::string(of.name) + (*of.types ? " " : "") + of.types;
}

/// The last choice that `prepare` reported to the hook on_choice.
struct Observed {
  const kernel *of = nullptr;
  const variant *which = nullptr;
  std::int64_t cost = -1;
  std::string schedule = "";
};

void tell(const choice_event &what, void *data) {
  Observed &observed = *static_cast<Observed *>(data);
  const kernel &of = *observed.of;
  for (std::size_t i = 0; i < of.variant_count; i++)
    if (std::equal(what.variant.begin(), what.variant.end(), of.variants[i].values))
      observed.which = &of.variants[i];
  observed.cost = what.cost;
  observed.schedule = what.schedule;
}

/// Returns whether the error depends on the arguments or the device, so that another variant may
/// succeed.
bool is_refusal(const status &what) {
  switch (what.code()) {
  case status_code::no_image_for_device:
  case status_code::no_host_code:
  case status_code::requirement_failed:
  case status_code::unsuitable_tensor:
  case status_code::invalid_argument:
  case status_code::no_variant:
    return true;
  default:
    return false;
  }
}

/// Returns the status' message without the name of the kernel.
std::string reason_of(const status &what) {
  std::string text = what.message().c_str(), name = std::string(what.kernel()) + ": ";
  return text.compare(0, name.size(), name) == 0 ? text.substr(name.size()) : text;
}

} // namespace

void fail(const std::string &why) { throw std::runtime_error(why); }

void require(const status &what) {
  if (!what.ok())
    fail(what.message().c_str());
}

std::string name_of(const kernel &of, const Problem &problem) {
  return name_of(of) + (problem.name.empty() ? "" : " for ") + problem.name;
}

std::string memory_of(const kernel &of, const Problem &problem) {
  std::string text;
  for (std::size_t i = 0; i < of.code->parameter_count; i++) {
    auto count = problem.arguments.find(of.parameters[i].name);
    const Element *element = find_element(of.parameters[i].element);
    bool is_pointer = of.code->variants[0].parameters[i].kind == abi::parameter_kind::pointer;
    if (is_pointer && element && count != problem.arguments.end())
      text += (text.empty() ? "`" : ", `") + std::string(of.parameters[i].name) + "` " +
              std::to_string(count->second * std::int64_t(element->bytes)) + " bytes";
  }
  return text;
}

TunedKernel::TunedKernel(const kernel &of, const Problem &problem) : kernel_(of) {
  set_arguments(problem);
  use_inputs(0);
  make_ready();
}

void TunedKernel::set_arguments(const Problem &problem) {
  const abi::parameter *rows = kernel_.code->variants[0].parameters;
  std::size_t count = kernel_.code->parameter_count, size = 1;
  for (std::size_t i = 0; i < count; i++)
    size = std::max<std::size_t>(size, rows[i].offset + rows[i].bytes);
  arguments_.assign((size + 7) / 8 * 8, 0);
  for (std::size_t i = 0; i < count; i++) {
    const parameter &parameter = kernel_.parameters[i];
    if (rows[i].kind == abi::parameter_kind::pointer) {
      set_pointer(parameter, rows[i], problem, i + 1);
      continue;
    }
    auto value = problem.arguments.find(parameter.name);
    if (value == problem.arguments.end())
      fail(name_of(kernel_) + ": the problem has no value for `" + parameter.name + "`");
    const Element *element = find_element(parameter.element);
    if (!element)
      fail(name_of(kernel_) + ": `" + parameter.name + "` has an unsupported type");
    // A 64-bit integer may not fit into a double.
    if (rows[i].bytes == 8 && element->is_integer())
      std::memcpy(&arguments_[rows[i].offset], &value->second, sizeof value->second);
    else
      element->set(&arguments_[rows[i].offset], double(value->second));
  }
}

void TunedKernel::set_pointer(const parameter &parameter, const abi::parameter &row,
                              const Problem &problem, std::uint64_t seed) {
  auto count = problem.arguments.find(parameter.name);
  if (count == problem.arguments.end() && row.nullable)
    return;
  if (count == problem.arguments.end())
    fail(name_of(kernel_) + ": the problem has no number of elements for `" + parameter.name + "`");
  const Element *element = find_element(parameter.element);
  if (!element)
    fail(name_of(kernel_) + ": `" + parameter.name + "` points to an unsupported type");
  if (count->second < 0 || count->second > max_elements)
    fail(name_of(kernel_, problem) + ": `" + parameter.name + "` cannot have " +
         std::to_string(count->second) + " elements");
  Memory &memory = memory_.emplace_back();
  memory.buffer = {element, std::size_t(count->second), parameter.is_written};
  memory.seed = seed;
  std::size_t bytes = std::max<std::size_t>(memory.buffer.count * element->bytes, 1);
  status allocated = memory.device.allocate(bytes);
  if (allocated.code() == status_code::out_of_memory)
    fail(name_of(kernel_, problem) + ": cannot allocate " + std::to_string(bytes) + " bytes for `" +
         parameter.name + "`: " + allocated.message().c_str() + "; use smaller problems");
  require(allocated);
  const void *address = memory.device.data();
  std::memcpy(&arguments_[row.offset], &address, sizeof address);
}

void TunedKernel::make_ready() {
  Observed observed;
  observed.of = &kernel_;
  hooks hooks;
  hooks.on_choice = tell;
  hooks.data = &observed;
  set_hooks(&hooks);
  abi::prepared_launch ignored;
  if (abi::prepare(*kernel_.code, {}, arguments_.data(), nullptr, nullptr, ignored).ok())
    chosen_ = observed.which;
  status failed;
  for (std::size_t i = 0; i < kernel_.variant_count && failed.ok(); i++) {
    const variant &which = kernel_.variants[i];
    auto launch = std::make_unique<abi::prepared_launch>();
    observed.which = nullptr;
    // A kernel without `params` has one variant, and no choice names it.
    const std::int32_t *choice = kernel_.code->axis_count ? which.values : nullptr;
    status made = abi::prepare(*kernel_.code, {}, arguments_.data(), choice, nullptr, *launch);
    if (made.ok() && observed.which)
      ready_.push_back({&which, observed.cost, observed.schedule, std::move(launch)});
    else if (made.ok())
      refused_.push_back({&which, "the grid is empty"});
    else if (is_refusal(made))
      refused_.push_back({&which, reason_of(made)});
    else
      failed = made;
  }
  set_hooks(nullptr);
  require(failed);
}

void TunedKernel::launch(const Ready &which) const {
  require(abi::launch_prepared(*which.launch, {}, arguments_.data()));
}

std::vector<Buffer> TunedKernel::buffers() const {
  std::vector<Buffer> buffers;
  for (const Memory &memory : memory_)
    buffers.push_back(memory.buffer);
  return buffers;
}

void TunedKernel::use_inputs(int number) {
  if (number == inputs_)
    return;
  double change = change_of(buffers());
  for (Memory &memory : memory_) {
    if (memory.buffer.element->is_integer() && inputs_ >= 0) // the same in all inputs
      continue;
    std::vector<char> contents(memory.device.size());
    make_inputs(memory.buffer, contents.data(), memory.seed, number, change);
    require(memory.device.copy_from(contents.data()));
    if (memory.buffer.is_written)
      memory.contents = std::move(contents);
  }
  inputs_ = number;
}

Results TunedKernel::results_of(const Ready &which, int number) {
  use_inputs(number);
  for (Memory &memory : memory_)
    if (!memory.contents.empty())
      require(memory.device.copy_from(memory.contents.data()));
  launch(which);
  require(synchronize());
  Results results;
  for (const Memory &memory : memory_) {
    std::vector<char> &result = results.emplace_back(memory.contents.size());
    if (!result.empty())
      require(memory.device.copy_to(result.data()));
  }
  return results;
}

} // namespace tritonc::v1::tuner
