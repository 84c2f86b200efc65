// From a call to the driver: which variant, whether it may run, and the launch itself.

#include "image.h"
#include "plan.h"

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
    for (std::uint32_t i = 0; i < code_.variant_count; i++) {
      if (choice && !is_named(code_, i, choice))
        continue;
      tried_ = true;
      status judged = consider(code_.variants[i], extent);
      if (!judged.ok())
        return judged;
      if (decided_)
        break;
    }
    if (is_empty_)
      return {};
    if (!best_)
      return refusal();
    return enqueue();
  }

private:
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
    if (programs > most_programs_) {
      best_ = &candidate;
      image_ = fitting;
      size_ = size;
      most_programs_ = programs;
    }
    decided_ = programs >= context_.facts().multiprocessors;
    return {};
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
    status ready =
        cuda::make_ready(*driver_, code_, *best_, *image_, context_.facts().device, where_, handle);
    if (!ready.ok())
      return ready;
    const image_info &info = best_->infos[image_ - best_->images];
    cuda::LaunchConfig config = {};
    config.grid_x = unsigned(size_.x);
    config.grid_y = unsigned(size_.y);
    config.grid_z = unsigned(size_.z);
    config.block_x = unsigned(info.threads);
    config.block_y = config.block_z = 1;
    config.shared_bytes = unsigned(info.shared_bytes);
    config.stream = where_;
    void *values[max_parameters];
    const char *arguments = static_cast<const char *>(arguments_);
    for (std::uint32_t i = 0; i < code_.parameter_count; i++)
      values[i] = const_cast<char *>(arguments + best_->parameters[i].offset);
    // The driver takes a context-free kernel in place of a function, and the stream's context.
    auto function = reinterpret_cast<cuda::Function>(handle);
    if (cuda::Result result = driver_->cuLaunchKernelEx(&config, function, values, nullptr))
      return cuda::failure(*driver_, result, &code_, "cuLaunchKernelEx");
    return {};
  }

  const kernel &code_;
  CUstream_st *const where_;
  const void *const arguments_;

  const cuda::Driver *driver_ = nullptr; // once a variant accepts the arguments
  cuda::CurrentContext context_;

  const variant *best_ = nullptr;
  const image *image_ = nullptr;
  grid size_;
  std::int64_t most_programs_ = 0;

  bool tried_ = false;
  bool decided_ = false;
  bool is_empty_ = false;
  bool has_no_image_ = false;
  status refusal_;
};

status preload_variant(const cuda::Driver &driver, const kernel &code, const variant &wanted,
                       const cuda::DeviceFacts &device, bool &found) {
  const image *fitting = cuda::choose_image(wanted, device.sm, driver.takes_any_gpu);
  if (!fitting)
    return {};
  found = true;
  cuda::Kernel handle;
  status ready = cuda::make_ready(driver, code, wanted, *fitting, device.device, nullptr, handle);
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
