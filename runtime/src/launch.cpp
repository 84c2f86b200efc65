// From a call to the driver: which variant in which form, whether it may run, and the launch
// itself.

#include "capture.h"
#include "forced.h"
#include "form.h"
#include "hooks.h"
#include "image.h"
#include "plan.h"
#include "recent.h"
#include "scratch.h"
#include "tuning.h"

#include <tritonc/runtime.hpp>

#include <cstring>
#include <new>

namespace tritonc {
inline namespace v1 {
namespace abi {

namespace {

bool is_named(const kernel &code, std::uint32_t i, const std::int32_t *choice) {
  const std::int32_t *values = code.choices + std::size_t(i) * code.axis_count;
  return std::memcmp(values, choice, code.axis_count * sizeof *choice) == 0;
}

/// What the driver says, and to which call.
struct Outcome {
  cuda::Result result = cuda::success;
  const char *call = "cuLaunchKernelEx";
  bool has_begun = false; // a part of the work is enqueued, so that nobody may try again
};

/// Whether nothing may be wrong with the launch itself, but with which context is current: then
/// `CurrentContext` may help.
bool may_lack_context(const Outcome &outcome) {
  cuda::Result result = outcome.result;
  return !outcome.has_begun &&
         (result == cuda::invalid_context || result == cuda::context_is_destroyed ||
          result == cuda::invalid_handle);
}

status status_of(const cuda::Driver &driver, const Outcome &outcome, const kernel &code) {
  return outcome.result == cuda::success
             ? status()
             : cuda::failure(driver, outcome.result, &code, outcome.call);
}

/// Makes two launches that share the work, and their scratch memory if they have some: each of the
/// two functions is given where that is.
template <typename First, typename Rest>
Outcome launch_pair(const cuda::Driver &driver, cuda::Device device, CUstream_st *where,
                    std::int64_t scratch_bytes, First first, Rest rest) {
  cuda::Pointer scratch = 0;
  if (scratch_bytes) {
    if (cuda::Result result = cuda::allocate_scratch(driver, device, where, scratch_bytes, scratch))
      return {result, "cuMemAllocFromPoolAsync"};
  }
  Outcome outcome;
  outcome.result = first(scratch);
  outcome.has_begun = outcome.result == cuda::success;
  if (outcome.has_begun)
    outcome.result = rest(scratch);
  if (!scratch_bytes)
    return outcome;
  // After a failure, too: it is in the order of the stream, behind what was launched.
  cuda::Result freed = cuda::free_scratch(driver, where, scratch);
  if (outcome.result == cuda::success && freed != cuda::success)
    return {freed, "cuMemFreeAsync", true};
  return outcome;
}

/// Makes a recent launch again that shares its work with another one. False if that is none.
bool launch_both_again(const cuda::Driver &driver, const recent::Key &key, cuda::Device device,
                       CUstream_st *where, const recent::Again &first, Outcome &outcome) {
  recent::Again rest(key.of_rest(), cuda::stand_in_for(driver, device));
  if (!rest)
    return false;
  if (first.scratch_bytes() && device == cuda::any_device) { // that is a device's own
    device = 0;
    if (driver.devices != 1 && !cuda::ask_device(driver, where, device)) {
      outcome.result = cuda::invalid_context;
      return true;
    }
  }
  outcome = launch_pair(
      driver, device, where, first.scratch_bytes(),
      [&](cuda::Pointer scratch) { return first.launch_with(driver, scratch); },
      [&](cuda::Pointer scratch) { return rest.launch_with(driver, scratch); });
  return true;
}

/// Makes a recent launch again, and with it the one that does the rest of its work if there is one.
/// False if it is none.
bool launch_again(const cuda::Driver &driver, const recent::Key &key, cuda::Device device,
                  CUstream_st *where, Outcome &outcome) {
  recent::Again again(key, cuda::stand_in_for(driver, device));
  if (!again)
    return false;
  if (again.shares_work())
    return launch_both_again(driver, key, device, where, again, outcome);
  outcome.result = again.launch(driver);
  return true;
}

/// What the `rest` of a `prepared_launch` holds. Nothing in it points into itself: it may be
/// copied.
struct Ready {
  const variant *of;
  cuda::Device device;
  bool is_empty; // there is nothing to launch
  bool has_rest; // the second of these shares the work
  recent::Prepared launches[2];
  // The same kernels as the context of `prepare` has them, which the driver need not look up first.
  // On a stream of another one it refuses them as invalid handles.
  cuda::Function functions[2];
  bool has_functions; // else these are the kernels
};
static_assert(sizeof(Ready) <= sizeof(prepared_launch::rest) && alignof(Ready) <= 64,
              "what runtime.hpp leaves room for");

const Ready &ready_of(const prepared_launch &ready) {
  return *reinterpret_cast<const Ready *>(ready.rest);
}

/// Hands a launch to the driver, with the arguments where they are. `launch` is as it was prepared,
/// but for its attributes, which a copy of it has elsewhere, and for the stream. `function` is the
/// kernel, or what it is in the stream's context.
cuda::Result enqueue(const cuda::Driver &driver, const kernel &code, const variant &of,
                     const void *arguments, const recent::Prepared &launch, cuda::Function function,
                     CUstream_st *where, cuda::Pointer scratch) {
  void *values[max_parameters + max_hidden]; // the caller's, then the hidden ones
  for (std::uint32_t i = 0; i < code.parameter_count; i++)
    values[i] = const_cast<char *>(static_cast<const char *>(arguments) + of.parameters[i].offset);
  recent::find_hidden(launch.form, launch.hidden.maps, launch.hidden.numbers, &scratch,
                      values + code.parameter_count);
  cuda::LaunchConfig config = launch.config;
  config.attributes = launch.attributes;
  config.stream = where;
  return driver.cuLaunchKernelEx(&config, function, values, nullptr);
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
      Outcome outcome;
      if (launch_again(*driver_, key, context_.facts().device, where_, outcome))
        return status_of(*driver_, outcome, code_);
    }
    status decided = decide(choice, extent);
    if (!decided.ok() || is_empty_)
      return decided;
    return choice_.rest ? launch_both(key) : launch_one(key);
  }

  /// The same up to the launch.
  status make_ready(const std::int32_t *choice, const grid *extent, Ready &ready) {
    status decided = decide(choice, extent);
    if (!decided.ok())
      return decided;
    ready.is_empty = is_empty_;
    if (is_empty_)
      return {};
    ready.of = variant_;
    ready.device = context_.facts().device;
    ready.has_rest = choice_.rest != nullptr;
    status prepared = prepare_all(ready.launches[0], ready.launches[1]);
    if (prepared.ok())
      prepared = find_functions(ready);
    return prepared;
  }

private:
  /// Decides what runs, or finds that the grid is empty.
  status decide(const std::int32_t *choice, const grid *extent) {
    std::uint32_t forced;
    if (!choice && find_forced(code_, forced)) {
      if (forced == code_.variant_count)
        return {status_code::no_variant, &code_, "TRITONC_FORCE_VARIANT"};
      choice = code_.choices + std::size_t(forced) * code_.axis_count;
    }
    std::uint32_t end = code_.variant_count;
    for (std::uint32_t i = 0; i < end && !is_empty_; i++) {
      if (choice && !is_named(code_, i, choice))
        continue;
      tried_++;
      bool was_settled = is_settled_;
      choice_number_ = i;
      by_name_ = choice != nullptr;
      status judged = consider(code_.variants[i], extent);
      if (!judged.ok())
        return judged;
      if (is_settled_ && !was_settled)
        end = end_of_better_code(choice);
    }
    if (is_empty_)
      return {};
    if (!variant_)
      return refusal();
    tell_choice();
    return {};
  }

  void tell_choice() const {
    const hooks *told = hooks_told();
    if (!told || !told->on_choice)
      return;
    const image_info &info = variant_->infos[choice_.image - variant_->images];
    told->on_choice({code_.name,
                     {code_.choices + number_ * code_.axis_count, code_.axis_count},
                     info.gpu,
                     info.form ? info.form : "",
                     info.hints ? info.hints : "",
                     programs_,
                     choice_.cost.known ? choice_.cost.value : -1},
                    told->data);
  }

  cuda::FittingImage fitting(const variant &candidate) const {
    return cuda::choose_image(candidate, context_.facts().sm, driver_->takes_any_gpu);
  }

  /// Behind the last variant that has code for a GPU closer to the device than the best one so far.
  std::uint32_t end_of_better_code(const std::int32_t *choice) const {
    std::uint32_t end = code_.variant_count;
    while (end > 0 && ((choice && !is_named(code_, end - 1, choice)) ||
                       fitting(code_.variants[end - 1]).fitness <= fitness_))
      end--;
    return end;
  }

  /// Sets `is_settled_` when no other variant with code for the same GPU can be preferred. An error
  /// here is final.
  ///
  /// Of what was compiled under hints and the general code, the first that takes the arguments
  /// stands for all. Why one with hints does not take them is nobody's fault, and not remembered.
  status consider(const variant &candidate, const grid *extent) {
    bool takes = false;
    const status before = refusal_;
    const bool had_no_image = has_no_image_;
    for (std::uint32_t i = 0; i < candidate.specialized_count && !takes && !is_empty_; i++) {
      status judged = judge(candidate.specialized[i], extent, takes);
      if (!judged.ok())
        return judged;
      refusal_ = before;
      has_no_image_ = had_no_image;
    }
    return takes || is_empty_ ? status() : judge(candidate, extent, takes);
  }

  status judge(const variant &candidate, const grid *extent, bool &takes) {
    grid size;
    status judged = plan::size_grid(code_, candidate, arguments_, extent, size);
    if (judged.ok() && (size.x == 0 || size.y == 0 || size.z == 0)) {
      is_empty_ = true;
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
    if (!by_name_ && code_.tuning_count && !has_looked_) {
      measurements_.find(*driver_, inputs(candidate, size), context_.facts());
      has_looked_ = true;
    }
    cuda::FittingImage fitting = this->fitting(candidate);
    if (!fitting.image) {
      has_no_image_ = true;
      return {};
    }
    // What is made for this GPU comes before what also runs on it: the variants of the one may be
    // others than those of the other.
    if (variant_ && (fitting.fitness < fitness_ || (fitting.fitness == fitness_ && is_settled_)))
      return {};
    std::int64_t programs = size.x * size.y * size.z; // at most 2^63: the grid's limits
    cuda::Choice choice;
    judged = cuda::choose_form(*driver_, inputs(candidate, size), *fitting.image, choice);
    if (!judged.ok()) {
      if (judged.code() == status_code::no_image_for_device)
        has_no_image_ = true;
      remember(judged);
      return {};
    }
    takes = true;
    const image_info &info = candidate.infos[choice.image - candidate.images];
    plan::Number time = measurements_.time(std::uint32_t(choice_number_),
                                           info.form ? info.form : "", choice.cost, time_);
    // Where nobody knows what they cost, the first that gives all multiprocessors something to do.
    int multiprocessors = context_.facts().multiprocessors;
    bool is_better = time.known || time_.known ? cuda::is_cheaper(time, time_)
                     : choice.cost.known || choice_.cost.known
                         ? cuda::is_cheaper(choice.cost, choice_.cost)
                         : programs > most_programs_ && most_programs_ < multiprocessors;
    if (variant_ && fitting.fitness == fitness_ && !is_better)
      return {};
    variant_ = &candidate;
    fitness_ = fitting.fitness;
    number_ = choice_number_;
    choice_ = choice;
    time_ = time;
    programs_ = size;
    most_programs_ = programs;
    is_settled_ = !measurements_.are_there() && !choice.cost.known && programs >= multiprocessors;
    return {};
  }

  /// What the expressions of forms refer to.
  plan::Inputs inputs(const variant &of, const grid &programs) const {
    return {code_,
            of,
            arguments_,
            &programs,
            context_.facts().multiprocessors,
            context_.facts().has_pools,
            context_.facts().shared_bytes,
            context_.facts().sm};
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
    if (refusal_.code() == status_code::requirement_failed && tried_ > 1)
      return {refusal_.code(), &code_, refusal_.subject(), tried_};
    return refusal_;
  }

  status launch_one(const recent::Key &key) {
    recent::Prepared prepared;
    status launched = prepare(*choice_.image, choice_.blocks, prepared);
    if (launched.ok())
      launched = status_of(*driver_, {enqueue(prepared, 0)}, code_);
    if (launched.ok())
      keep(key, prepared);
    return launched;
  }

  /// One launch, or two that share the work.
  status prepare_all(recent::Prepared &first, recent::Prepared &rest) {
    status prepared = prepare(*choice_.image, choice_.blocks, first);
    if (prepared.ok() && choice_.rest)
      prepared = prepare(*choice_.rest, choice_.rest_blocks, rest);
    if (prepared.ok() && choice_.rest && first.scratch_bytes)
      prepared = cuda::make_scratch_pool(*driver_, code_, context_.facts().device);
    return prepared;
  }

  /// Two that share the work, once both can be launched.
  status launch_both(const recent::Key &key) {
    recent::Prepared first, rest;
    status launched = prepare_all(first, rest);
    if (launched.ok())
      launched = status_of(*driver_, enqueue_both(first, rest), code_);
    if (launched.ok()) {
      keep(key, first);
      keep(key.of_rest(), rest);
    }
    return launched;
  }

  Outcome enqueue_both(const recent::Prepared &first, const recent::Prepared &rest) {
    return launch_pair(
        *driver_, context_.facts().device, where_, first.scratch_bytes,
        [&](cuda::Pointer scratch) { return enqueue(first, scratch); },
        [&](cuda::Pointer scratch) { return enqueue(rest, scratch); });
  }

  void keep(const recent::Key &key, const recent::Prepared &prepared) {
    if (key.is_usable())
      recent::remember(key, cuda::stand_in_for(*driver_, context_.facts().device), code_, prepared);
  }

  status prepare(const image &code, const grid &blocks, recent::Prepared &prepared) {
    cuda::Kernel handle;
    status ready =
        cuda::make_ready(*driver_, code_, *variant_, code, context_.facts().device, where_, handle);
    if (!ready.ok())
      return ready;
    // The driver takes a context-free kernel in place of a function, and the stream's context.
    prepared.function = reinterpret_cast<cuda::Function>(handle);
    prepared.form = code.form;
    prepared.scratch_bytes = cuda::scratch_bytes(code.form, inputs(*variant_, programs_));
    configure(variant_->infos[&code - variant_->images], blocks, prepared);
    return cuda::prepare_hidden(*driver_, inputs(*variant_, programs_), code.form, prepared.hidden);
  }

  /// Finds what the kernels are in the stream's context, into which they are loaded now.
  status find_functions(Ready &ready) {
    cuda::CaptureAllowed allowed(*driver_);
    ready.has_functions =
        context_.is_of_stream() && (allowed.usable() || !cuda::is_capturing(*driver_, where_));
    for (int i = 0; i < 1 + ready.has_rest; i++) {
      ready.functions[i] = ready.launches[i].function;
      if (!ready.has_functions)
        continue;
      auto kernel = reinterpret_cast<cuda::Kernel>(ready.functions[i]);
      if (cuda::Result result = driver_->cuKernelGetFunction(&ready.functions[i], kernel))
        return cuda::failure(*driver_, result, &code_, "cuKernelGetFunction");
    }
    return {};
  }

  void configure(const image_info &info, const grid &blocks, recent::Prepared &prepared) {
    cuda::LaunchConfig &config = prepared.config;
    config.grid_x = unsigned(blocks.x);
    config.grid_y = unsigned(blocks.y);
    config.grid_z = unsigned(blocks.z);
    config.block_x = unsigned(info.threads);
    config.block_y = config.block_z = 1;
    config.shared_bytes = unsigned(info.shared_bytes);
    config.stream = where_;
    config.attributes = prepared.attributes;
    if (prepared.form && prepared.form->cluster > 1) {
      unsigned (&cluster)[3] = prepared.add(cuda::cluster_dimension).cluster;
      cluster[0] = prepared.form->cluster;
      cluster[1] = cluster[2] = 1;
    }
    if (prepared.form && prepared.form->starts_early && may_start_early())
      prepared.add(cuda::programmatic_serialization).is_on = 1;
  }

  /// Drivers before CUDA 12.3 cannot capture such a launch. It does the same without, later.
  bool may_start_early() const { return driver_->version >= 12030; }

  cuda::Result enqueue(const recent::Prepared &prepared, cuda::Pointer scratch) {
    return abi::enqueue(*driver_, code_, *variant_, arguments_, prepared, prepared.function, where_,
                        scratch);
  }

  const kernel &code_;
  CUstream_st *const where_;
  const void *const arguments_;

  const cuda::Driver *driver_ = nullptr; // once a variant accepts the arguments
  cuda::CurrentContext context_;

  const variant *variant_ = nullptr; // until one fits
  int fitness_ = 0;                  // of its code
  std::size_t number_ = 0;           // of its choice of values
  std::size_t choice_number_ = 0;    // of those that are considered
  cuda::Choice choice_;
  cuda::Measurements measurements_; // once it has been looked for them
  bool has_looked_ = false;
  bool by_name_ = false;   // the caller says which
  plan::Number time_ = {}; // that the variant is expected to take, by them
  grid programs_;
  std::int64_t most_programs_ = 0;

  std::int32_t tried_ = 0; // variants
  bool is_settled_ = false;
  bool is_empty_ = false;
  bool has_no_image_ = false;
  status refusal_;
};

/// All launches but the usual one, which has no use for this code and its stack. It may be a recent
/// one all the same: one of two, or one for which the driver has to be asked something, or one that
/// the driver `refused`.
[[gnu::noinline]] status launch_otherwise(const recent::Key &key, const kernel &code, stream where,
                                          const void *arguments, const std::int32_t *choice,
                                          const grid *extent, cuda::Result refused) {
  const cuda::Driver *driver = cuda::opened_driver();
  Outcome outcome = {refused};
  cuda::Device device;
  bool is_recent = refused != cuda::success, is_new = false;
  if (!is_recent && driver && key.is_usable() &&
      cuda::find_device(*driver, where.handle(), device)) {
    is_recent = launch_again(*driver, key, device, where.handle(), outcome);
    is_new = !is_recent;
  }
  if (is_recent && !may_lack_context(outcome))
    return reported(status_of(*driver, outcome, code));
  return reported(Launch(code, where.handle(), arguments).run(key, is_new, choice, extent));
}

/// Makes the launch that was prepared, or the two that share the work, by these functions.
Outcome launch_ready(const cuda::Driver &driver, const kernel &code, const Ready &ready,
                     const cuda::Function (&functions)[2], const void *arguments,
                     CUstream_st *where) {
  auto launch = [&](int which, cuda::Pointer scratch) {
    return enqueue(driver, code, *ready.of, arguments, ready.launches[which], functions[which],
                   where, scratch);
  };
  if (!ready.has_rest) [[likely]]
    return {launch(0, 0)};
  return launch_pair(
      driver, ready.device, where, ready.launches[0].scratch_bytes,
      [&](cuda::Pointer scratch) { return launch(0, scratch); },
      [&](cuda::Pointer scratch) { return launch(1, scratch); });
}

/// What it takes in another context than that of `prepare`, or where the thread has no context of
/// which the device could be told.
[[gnu::noinline]] status launch_ready_in_context(const cuda::Driver &driver, const kernel &code,
                                                 const Ready &ready, const void *arguments,
                                                 CUstream_st *where) {
  cuda::CurrentContext context;
  status entered = context.enter(driver, where, &code);
  if (!entered.ok())
    return entered;
  if (context.facts().device != ready.device)
    return {status_code::not_prepared, &code, nullptr, 1 + ready.device};
  const cuda::Function kernels[2] = {ready.launches[0].function, ready.launches[1].function};
  return status_of(driver, launch_ready(driver, code, ready, kernels, arguments, where), code);
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
status preload_forms(const cuda::Driver &driver, const kernel &code, const variant &wanted,
                     const cuda::DeviceFacts &device, bool &found) {
  const image *fitting = cuda::choose_image(wanted, device.sm, driver.takes_any_gpu).image;
  for (std::uint32_t i = 0; fitting && i < wanted.image_count; i++) {
    if (!cuda::is_same_gpu(wanted.images[i], *fitting) ||
        !cuda::has_room(wanted, wanted.images[i], device.shared_bytes))
      continue;
    found = true;
    const image &one = wanted.images[i];
    status loaded = preload_image(driver, code, wanted, one, device);
    if (loaded.ok() && one.form && one.form->scratch && device.has_pools)
      loaded = cuda::make_scratch_pool(driver, code, device.device);
    if (!loaded.ok())
      return loaded;
  }
  return {};
}

/// What was compiled under hints, too.
status preload_variant(const cuda::Driver &driver, const kernel &code, const variant &wanted,
                       const cuda::DeviceFacts &device, bool &found) {
  for (std::uint32_t i = 0; i < wanted.specialized_count; i++) {
    status loaded = preload_forms(driver, code, wanted.specialized[i], device, found);
    if (!loaded.ok())
      return loaded;
  }
  return preload_forms(driver, code, wanted, device, found);
}

/// Of one variant, or of all.
status load_variants(const kernel &code, const std::int32_t *choice, int device) {
  status why;
  const cuda::Driver *driver = cuda::open_driver(why);
  if (!driver)
    return why.about(code);
  cuda::CurrentContext context;
  status entered = device == current ? context.enter(*driver, nullptr, &code)
                                     : context.enter_device(*driver, device, &code);
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

std::size_t info_count(const variant &of) {
  std::size_t count = of.image_count;
  for (std::uint32_t i = 0; i < of.specialized_count; i++)
    count += of.specialized[i].image_count;
  return count;
}

} // namespace

status launch(const kernel &code, stream where, const void *arguments, const std::int32_t *choice,
              const grid *extent) noexcept {
  recent::Key key(code, where.handle(), arguments, choice, extent);
  const cuda::Driver *driver = cuda::opened_driver();
  cuda::Result result = cuda::success;
  if (driver && cuda::needs_no_device(*driver, where.handle()) && key.is_usable()) [[likely]] {
    recent::Again again(key, cuda::stand_in);
    if (again && !again.shares_work()) [[likely]] {
      result = again.launch(*driver);
      if (result == cuda::success) [[likely]]
        return {};
    }
  }
  return launch_otherwise(key, code, where, arguments, choice, extent, result);
}

status prepare(const kernel &code, stream where, const void *arguments, const std::int32_t *choice,
               const grid *extent, prepared_launch &ready) noexcept {
  ready.code = nullptr;
  Ready *inside = new (ready.rest) Ready();
  status made = Launch(code, where.handle(), arguments).make_ready(choice, extent, *inside);
  if (made.ok())
    ready.code = &code;
  return reported(made);
}

status launch_prepared(const prepared_launch &ready, stream where, const void *arguments) noexcept {
  if (!ready.code)
    return reported({status_code::not_prepared, nullptr});
  const kernel &code = *ready.code;
  const Ready &inside = ready_of(ready);
  if (inside.is_empty)
    return {};
  const cuda::Driver &driver = *cuda::opened_driver(); // `prepare` has opened it
  cuda::Device device = inside.device;
  // Where there is one device only, the stream is of that; and functions are refused elsewhere.
  bool is_refused_elsewhere =
      inside.has_functions && !inside.has_rest; // before scratch memory is had
  if (driver.devices != 1 && !is_refused_elsewhere &&
      !cuda::ask_device(driver, where.handle(), device))
    return reported(launch_ready_in_context(driver, code, inside, arguments, where.handle()));
  if (device != inside.device)
    return reported({status_code::not_prepared, &code, nullptr, 1 + inside.device});
  Outcome outcome = launch_ready(driver, code, inside, inside.functions, arguments, where.handle());
  if (outcome.result == cuda::success) [[likely]]
    return {};
  if (may_lack_context(outcome))
    return reported(launch_ready_in_context(driver, code, inside, arguments, where.handle()));
  return reported(status_of(driver, outcome, code));
}

status preload(const kernel &code, const std::int32_t *choice, int device) noexcept {
  return reported(load_variants(code, choice, device));
}

span<image_info> info(const kernel &code, const std::int32_t *choice) noexcept {
  for (std::uint32_t i = 0; i < code.variant_count; i++)
    if (!choice || is_named(code, i, choice))
      return {code.variants[i].infos, info_count(code.variants[i])};
  return {};
}

} // namespace abi
} // namespace v1
} // namespace tritonc
