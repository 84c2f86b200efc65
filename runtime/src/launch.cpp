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

/// Whether nothing may be wrong with the launch itself, but with which context is current: then
/// `CurrentContext` may help.
bool may_lack_context(cuda::Result result) {
  return result == cuda::invalid_context || result == cuda::context_is_destroyed ||
         result == cuda::invalid_handle;
}

status launched(const cuda::Driver &driver, cuda::Result result, const kernel &code) {
  return result == cuda::success ? status()
                                 : cuda::failure(driver, result, &code, "cuLaunchKernelEx");
}

/// One launch while it is prepared: the variant that is the best so far, and why others weren't.
class Launch {
public:
  Launch(const kernel &code, CUstream_st *where, const void *arguments)
      : code_(code), where_(where), arguments_(arguments) {}

  status run(const recent::Key &key, bool is_new, const std::int32_t *choice, const grid *extent) {
    // It may be a recent one, for whose device or context it takes more than to ask.
    if (!is_new && key.is_usable() && cuda::opened_driver()) {
      status entered = enter();
      if (!entered.ok())
        return entered;
      if (recent::Again again(key, context_.facts().device); again)
        return outcome(again.launch(*driver_));
    }
    status decided = decide(choice, extent);
    if (!decided.ok() || is_empty_)
      return decided;
    status launched = enqueue();
    if (launched.ok() && key.is_usable())
      recent::remember(key, context_.facts().device, code_, prepared_);
    return launched;
  }

private:
  /// Decides what runs, or finds that the grid is empty.
  status decide(const std::int32_t *choice, const grid *extent) {
    for (std::uint32_t i = 0; i < code_.variant_count && !is_decided_; i++) {
      if (choice && !is_named(code_, i, choice))
        continue;
      tried_ = true;
      status judged = consider(code_.variants[i], extent);
      if (!judged.ok())
        return judged;
    }
    if (is_empty_)
      return {};
    if (!variant_)
      return refusal();
    return cuda::prepare_hidden(*driver_, inputs(*variant_, programs_), image_->form,
                                prepared_.hidden);
  }

  /// Sets `is_decided_` when no other variant can be preferred. An error here is final.
  status consider(const variant &candidate, const grid *extent) {
    grid size;
    status judged = plan::size_grid(code_, candidate, arguments_, extent, size);
    if (judged.ok() && (size.x == 0 || size.y == 0 || size.z == 0)) {
      is_empty_ = is_decided_ = true;
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
    if (programs <= most_programs_)
      return {};
    const image *formed = nullptr;
    grid blocks;
    judged = cuda::choose_form(*driver_, inputs(candidate, size), *fitting, formed, blocks);
    if (!judged.ok()) {
      remember(judged);
      return {};
    }
    variant_ = &candidate;
    image_ = formed;
    blocks_ = blocks;
    programs_ = size;
    most_programs_ = programs;
    is_decided_ = programs >= context_.facts().multiprocessors;
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
    cuda::Kernel handle;
    status ready = cuda::make_ready(*driver_, code_, *variant_, *image_, context_.facts().device,
                                    where_, handle);
    if (!ready.ok())
      return ready;
    // The driver takes a context-free kernel in place of a function, and the stream's context.
    prepared_.function = reinterpret_cast<cuda::Function>(handle);
    prepared_.form = image_->form;
    configure();
    void *values[max_parameters + max_hidden];
    find_values(values);
    return outcome(
        driver_->cuLaunchKernelEx(&prepared_.config, prepared_.function, values, nullptr));
  }

  void configure() {
    const image_info &info = variant_->infos[image_ - variant_->images];
    cuda::LaunchConfig &config = prepared_.config;
    config.grid_x = unsigned(blocks_.x);
    config.grid_y = unsigned(blocks_.y);
    config.grid_z = unsigned(blocks_.z);
    config.block_x = unsigned(info.threads);
    config.block_y = config.block_z = 1;
    config.shared_bytes = unsigned(info.shared_bytes);
    config.stream = where_;
    const form *form = image_->form;
    if (!form || form->cluster <= 1)
      return;
    prepared_.cluster = {cuda::cluster_dimension, {}, {}};
    prepared_.cluster.value.cluster[0] = form->cluster;
    prepared_.cluster.value.cluster[1] = prepared_.cluster.value.cluster[2] = 1;
    config.attributes = &prepared_.cluster;
    config.attribute_count = 1;
  }

  /// Where each of the kernel's parameters is: the caller's, then the hidden ones.
  void find_values(void **values) {
    const char *arguments = static_cast<const char *>(arguments_);
    for (std::uint32_t i = 0; i < code_.parameter_count; i++)
      *values++ = const_cast<char *>(arguments + variant_->parameters[i].offset);
    cuda::Hidden &hidden = prepared_.hidden;
    recent::find_hidden(prepared_.form, hidden.maps, hidden.numbers, values);
  }

  status outcome(cuda::Result result) const { return launched(*driver_, result, code_); }

  const kernel &code_;
  CUstream_st *const where_;
  const void *const arguments_;

  const cuda::Driver *driver_ = nullptr; // once a variant accepts the arguments
  cuda::CurrentContext context_;

  const variant *variant_ = nullptr; // until one fits
  const image *image_ = nullptr;
  grid programs_, blocks_;
  std::int64_t most_programs_ = 0;
  recent::Prepared prepared_;

  bool tried_ = false;
  bool is_decided_ = false;
  bool is_empty_ = false;
  bool has_no_image_ = false;
  status refusal_;
};

/// Apart from a launch again, which has no use for its code and its large stack.
[[gnu::noinline]] status launch_anew(const recent::Key &key, bool is_new, const kernel &code,
                                     stream where, const void *arguments,
                                     const std::int32_t *choice, const grid *extent) {
  return Launch(code, where.handle(), arguments).run(key, is_new, choice, extent);
}

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
  recent::Key key(code, where.handle(), arguments, choice, extent);
  const cuda::Driver *driver = cuda::opened_driver();
  cuda::Device device;
  bool is_new = false;
  if (driver && key.is_usable() && cuda::find_device(*driver, where.handle(), device)) {
    recent::Again again(key, device);
    is_new = !again;
    if (again) {
      cuda::Result result = again.launch(*driver);
      if (!may_lack_context(result))
        return launched(*driver, result, code);
    }
  }
  return launch_anew(key, is_new, code, where, arguments, choice, extent);
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
