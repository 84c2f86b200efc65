// From a call to the driver: which variant in which form, whether it may run, and the launch
// itself.

#include "form.h"
#include "image.h"
#include "plan.h"
#include "recent.h"

#include <tritonc/runtime.hpp>

#include <cstring>

namespace tritonc {
inline namespace v1 {
namespace abi {

namespace {

bool is_named(const kernel &code, std::uint32_t i, const std::int32_t *choice) {
  const std::int32_t *values = code.choices + std::size_t(i) * code.axis_count;
  return std::memcmp(values, choice, code.axis_count * sizeof *choice) == 0;
}

/// One launch while it is prepared: the variant that is the best so far, and why others weren't.
class Launch {
public:
  Launch(const kernel &code, CUstream_st *where, const void *arguments)
      : code_(code), where_(where), arguments_(arguments) {}

  status run(const std::int32_t *choice, const grid *extent) {
    recent::Key key(code_, arguments_, choice, extent);
    if (key.is_usable() && recent::recall(key, decision_)) {
      int device = decision_.device;
      status entered = enter();
      if (!entered.ok())
        return entered;
      if (device == context_.facts().device)
        return enqueue();
      decision_.variant = nullptr;
    }
    status decided = decide(choice, extent);
    if (!decided.ok() || is_empty_)
      return decided;
    status launched = enqueue();
    if (launched.ok() && key.is_usable())
      recent::remember(key, decision_);
    return launched;
  }

private:
  /// Fills `decision_`, or finds that the grid is empty.
  status decide(const std::int32_t *choice, const grid *extent) {
    for (std::uint32_t i = 0; i < code_.variant_count && !decided_; i++) {
      if (choice && !is_named(code_, i, choice))
        continue;
      tried_ = true;
      status judged = consider(code_.variants[i], extent);
      if (!judged.ok())
        return judged;
    }
    if (is_empty_)
      return {};
    if (!decision_.variant)
      return refusal();
    decision_.device = context_.facts().device;
    return cuda::prepare_hidden(*driver_, inputs(*decision_.variant, programs_),
                                decision_.image->form, decision_.hidden);
  }

  /// Sets `decided_` when no other variant can be preferred. An error here is final.
  status consider(const variant &candidate, const grid *extent) {
    grid size;
    status judged = plan::size_grid(code_, candidate, arguments_, extent, size);
    if (judged.ok() && (size.x == 0 || size.y == 0 || size.z == 0)) {
      is_empty_ = decided_ = true;
      return {};
    }
    if (judged.ok())
      judged = plan::check_pointers(code_, candidate, arguments_);
    if (!judged.ok()) {
      remember(judged);
      return {};
    }
    if (!driver_) {
      status entered = enter();
      if (!entered.ok())
        return entered;
    }
    const image *fitting =
        cuda::choose_image(candidate, context_.facts().sm, driver_->takes_any_gpu);
    if (!fitting) {
      has_no_image_ = true;
      return {};
    }
    std::int64_t programs = size.x * size.y * size.z; // at most 2^63: the grid's limits
    cuda::Choice choice;
    judged = cuda::choose_form(*driver_, inputs(candidate, size), *fitting, choice);
    if (!judged.ok()) {
      remember(judged);
      return {};
    }
    // Where nobody knows what they cost, the first that gives all multiprocessors something to do.
    bool is_better = choice.cost.known || choice_.cost.known
                         ? cuda::is_cheaper(choice.cost, choice_.cost)
                         : programs > most_programs_;
    if (decision_.variant && !is_better)
      return {};
    decision_.variant = &candidate;
    decision_.image = choice.image;
    decision_.blocks = choice.blocks;
    choice_ = choice;
    programs_ = size;
    most_programs_ = programs;
    decided_ = !choice.cost.known && programs >= context_.facts().multiprocessors;
    return {};
  }

  /// What the expressions of forms refer to.
  plan::Inputs inputs(const variant &of, const grid &programs) const {
    return {code_, of, arguments_, &programs, context_.facts().multiprocessors};
  }

  status enter() {
    status why;
    driver_ = cuda::open_driver(why);
    if (!driver_)
      return why.about(code_);
    return context_.enter(*driver_, where_, &code_);
  }

  /// Variants come from demanding to modest, so the last refusal says what is needed at least. But
  /// a bad pointer is bad for all of them.
  void remember(const status &refused) {
    bool by_pointer = refusal_.code() == status_code::null_pointer ||
                      refusal_.code() == status_code::misaligned_pointer;
    if (!by_pointer)
      refusal_ = refused;
  }

  status refusal() const {
    if (!tried_)
      return {status_code::no_variant, &code_};
    if (has_no_image_)
      return {status_code::no_image_for_device, &code_, nullptr, context_.facts().sm};
    return refusal_;
  }

  status enqueue() {
    const variant &chosen = *decision_.variant;
    const image &code = *decision_.image;
    cuda::Kernel handle;
    status ready =
        cuda::make_ready(*driver_, code_, chosen, code, context_.facts().device, where_, handle);
    if (!ready.ok())
      return ready;
    const image_info &info = chosen.infos[&code - chosen.images];
    cuda::LaunchConfig config = {};
    config.grid_x = unsigned(decision_.blocks.x);
    config.grid_y = unsigned(decision_.blocks.y);
    config.grid_z = unsigned(decision_.blocks.z);
    config.block_x = unsigned(info.threads);
    config.block_y = config.block_z = 1;
    config.shared_bytes = unsigned(info.shared_bytes);
    config.stream = where_;
    cuda::LaunchAttribute cluster;
    if (code.form && code.form->cluster > 1) {
      cluster = {cuda::cluster_dimension, {}, {}};
      cluster.value.cluster[0] = code.form->cluster;
      cluster.value.cluster[1] = cluster.value.cluster[2] = 1;
      config.attributes = &cluster;
      config.attribute_count = 1;
    }
    void *values[max_parameters + max_hidden];
    find_values(values);
    // The driver takes a context-free kernel in place of a function, and the stream's context.
    auto function = reinterpret_cast<cuda::Function>(handle);
    if (cuda::Result result = driver_->cuLaunchKernelEx(&config, function, values, nullptr))
      return cuda::failure(*driver_, result, &code_, "cuLaunchKernelEx");
    return {};
  }

  /// Where each of the kernel's parameters is: the caller's, then the hidden ones.
  void find_values(void **values) {
    const char *arguments = static_cast<const char *>(arguments_);
    for (std::uint32_t i = 0; i < code_.parameter_count; i++)
      *values++ = const_cast<char *>(arguments + decision_.variant->parameters[i].offset);
    const form *form = decision_.image->form;
    cuda::TensorMapBytes *map = decision_.hidden.maps;
    std::int64_t *number = decision_.hidden.numbers;
    for (std::uint32_t i = 0; form && i < form->hidden_count; i++) {
      bool is_map = form->hidden[i].kind == hidden_kind::tensor_map;
      *values++ = is_map ? static_cast<void *>(map++) : number++;
    }
  }

  const kernel &code_;
  CUstream_st *const where_;
  const void *const arguments_;

  const cuda::Driver *driver_ = nullptr; // once a variant accepts the arguments
  cuda::CurrentContext context_;

  recent::Decision decision_; // without a variant until there is one
  cuda::Choice choice_;
  grid programs_;
  std::int64_t most_programs_ = 0;

  bool tried_ = false;
  bool decided_ = false;
  bool is_empty_ = false;
  bool has_no_image_ = false;
  status refusal_;
};

/// Loads the image down to the function.
status preload_image(const cuda::Driver &driver, const kernel &code, const variant &wanted,
                     const image &wanted_image, const cuda::DeviceFacts &device) {
  cuda::Kernel handle;
  status ready =
      cuda::make_ready(driver, code, wanted, wanted_image, device.device, nullptr, handle);
  if (!ready.ok())
    return ready;
  // The driver loads lazily, into each context at the first launch there. Ask for it now.
  cuda::Function function = nullptr;
  if (cuda::Result result = driver.cuKernelGetFunction(&function, handle))
    return cuda::failure(driver, result, &code, "cuKernelGetFunction");
  if (!driver.cuFuncLoad)
    return {};
  if (cuda::Result result = driver.cuFuncLoad(function))
    return cuda::failure(driver, result, &code, "cuFuncLoad");
  return {};
}

/// All its forms for the device: which will run depends on the arguments.
status preload_variant(const cuda::Driver &driver, const kernel &code, const variant &wanted,
                       const cuda::DeviceFacts &device, bool &found) {
  const image *fitting = cuda::choose_image(wanted, device.sm, driver.takes_any_gpu);
  for (std::uint32_t i = 0; fitting && i < wanted.image_count; i++) {
    if (!cuda::is_same_gpu(wanted.images[i], *fitting))
      continue;
    found = true;
    status loaded = preload_image(driver, code, wanted, wanted.images[i], device);
    if (!loaded.ok())
      return loaded;
  }
  return {};
}

} // namespace

status launch(const kernel &code, stream where, const void *arguments, const std::int32_t *choice,
              const grid *extent) noexcept {
  return Launch(code, where.handle(), arguments).run(choice, extent);
}

status preload(const kernel &code, const std::int32_t *choice) noexcept {
  status why;
  const cuda::Driver *driver = cuda::open_driver(why);
  if (!driver)
    return why.about(code);
  cuda::CurrentContext context;
  status entered = context.enter(*driver, nullptr, &code);
  if (!entered.ok())
    return entered;
  bool tried = false, found = false;
  for (std::uint32_t i = 0; i < code.variant_count; i++) {
    if (choice && !is_named(code, i, choice))
      continue;
    tried = true;
    status loaded = preload_variant(*driver, code, code.variants[i], context.facts(), found);
    if (!loaded.ok())
      return loaded;
  }
  if (!tried)
    return {status_code::no_variant, &code};
  if (!found)
    return {status_code::no_image_for_device, &code, nullptr, context.facts().sm};
  return {};
}

span<image_info> info(const kernel &code, const std::int32_t *choice) noexcept {
  for (std::uint32_t i = 0; i < code.variant_count; i++)
    if (!choice || is_named(code, i, choice))
      return {code.variants[i].infos, code.variants[i].image_count};
  return {};
}

} // namespace abi
} // namespace v1
} // namespace tritonc
