// launch, prepare, launch_prepared, preload and info: chooses variant and schedule, checks the
// arguments, and launches.

#include "launch/launch_cache.h"
#include "launch/workspace.h"
#include "load/capture.h"
#include "load/hooks.h"
#include "load/image.h"
#include "select/plan.h"
#include "select/schedule.h"
#include "select/tuning.h"
#include "select/variant_override.h"

#include <tritonc/runtime.hpp>

#include <cstring>
#include <new>
#include <optional>

namespace tritonc {
inline namespace v1 {
namespace abi {

namespace {

bool is_named(const kernel &code, std::uint32_t i, const std::int32_t *choice) {
  const std::int32_t *values = code.choices + std::size_t(i) * code.axis_count;
  return std::memcmp(values, choice, code.axis_count * sizeof *choice) == 0;
}

/// The driver's result, and the function that returned it.
struct Outcome {
  cuda::Result result = cuda::success;
  const char *call = "cuLaunchKernelEx";
  bool has_begun = false; // a part of the work is enqueued; do not retry
};

/// True if the launch may fail only because the wrong context is current. Then a retry with
/// `CurrentContext` may succeed.
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

/// Launches one launch, or `is_pair`, two that share the work. Allocates and frees their workspace.
/// `launch(i, workspace)` makes launch i with the address of the workspace, or 0.
template <typename Launch>
Outcome launch_all(const cuda::Driver &driver, cuda::Device device, CUstream_st *where,
                   std::int64_t workspace_bytes, bool is_pair, Launch launch) {
  cuda::Pointer workspace = 0;
  if (workspace_bytes) {
    if (cuda::Result result =
            cuda::allocate_workspace(driver, device, where, workspace_bytes, workspace))
      return {result, "cuMemAllocFromPoolAsync"};
  }
  Outcome outcome;
  outcome.result = launch(0, workspace);
  if (is_pair && outcome.result == cuda::success) {
    outcome.has_begun = true;
    outcome.result = launch(1, workspace);
  }
  if (!workspace_bytes)
    return outcome;
  // Also after a failure. The free is in stream order, after the launches.
  cuda::Result freed = cuda::free_workspace(driver, where, workspace);
  if (outcome.result == cuda::success && freed != cuda::success)
    return {freed, "cuMemFreeAsync", true};
  return outcome;
}

/// Repeats a recent launch or a recent pair. Returns false if it is not in the cache.
bool launch_again(const cuda::Driver &driver, const launch_cache::Key &key, cuda::Device device,
                  CUstream_st *where, Outcome &outcome) {
  launch_cache::Again first(key, cuda::representative_of(driver, device));
  if (!first)
    return false;
  if (first.takes_one_call()) {
    outcome.result = first.launch(driver);
    return true;
  }
  std::optional<launch_cache::Again> rest;
  if (first.is_first() && !rest.emplace(key.of_rest(), cuda::representative_of(driver, device)))
    return false;
  if (first.workspace_bytes() && device == cuda::any_device) { // a workspace needs a device
    device = 0;
    if (driver.devices != 1 && !cuda::ask_device(driver, where, device)) {
      outcome.result = cuda::invalid_context;
      return true;
    }
  }
  outcome = launch_all(driver, device, where, first.workspace_bytes(), rest.has_value(),
                       [&](int which, cuda::Pointer workspace) {
                         return (which ? *rest : first).launch_with(driver, workspace);
                       });
  return true;
}

/// The contents of prepared_launch::rest. It has no pointers into itself, so it may be copied.
struct Ready {
  const variant *of;
  cuda::Device device;
  bool is_empty; // the grid is empty: nothing to launch
  bool has_rest; // a pair: launches[1] shares the work
  launch_cache::Prepared launches[2];
  // The CUfunctions of the kernels in the context of `prepare`. With them the driver skips a
  // lookup. On a stream of another context, the driver refuses them as invalid handles.
  cuda::Function functions[2];
  bool has_functions; // false: `functions` are the kernels
};
static_assert(sizeof(Ready) <= sizeof(prepared_launch::rest) && alignof(Ready) <= 64,
              "what runtime.hpp leaves room for");

const Ready &ready_of(const prepared_launch &ready) {
  return *reinterpret_cast<const Ready *>(ready.rest);
}

/// Passes a prepared launch to the driver, with pointers to the caller's arguments. The attributes
/// pointer and the stream are set here, because `launch` may be a copy. `function` is the kernel,
/// or its CUfunction in the stream's context.
cuda::Result enqueue(const cuda::Driver &driver, const kernel &code, const variant &of,
                     const void *arguments, const launch_cache::Prepared &launch,
                     cuda::Function function, CUstream_st *where, cuda::Pointer workspace) {
  void *values[max_parameters + max_hidden]; // the caller's arguments, then the hidden parameters
  for (std::uint32_t i = 0; i < code.parameter_count; i++)
    values[i] = const_cast<char *>(static_cast<const char *>(arguments) + of.parameters[i].offset);
  launch_cache::find_hidden(launch.launch, launch.hidden.maps, launch.hidden.numbers, &workspace,
                            values + code.parameter_count);
  cuda::LaunchConfig config = launch.config;
  config.attributes = launch.attributes;
  config.stream = where;
  return driver.cuLaunchKernelEx(&config, function, values, nullptr);
}

/// The preparation of one launch: the best variant so far, and why the others were rejected.
class Launch {
public:
  Launch(const kernel &code, CUstream_st *where, const void *arguments)
      : code_(code), where_(where), arguments_(arguments) {}

  status run(const launch_cache::Key &key, bool is_new, const std::int32_t *choice,
             const grid *extent) {
    // A recent launch may still be in the cache: only its device or context was not known yet.
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
    return launch_chosen(key);
  }

  /// Does the same, but stops before the launch.
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
    status prepared = prepare_all(ready.launches);
    if (prepared.ok())
      prepared = find_functions(ready);
    return prepared;
  }

private:
  /// Chooses the variant and the schedule, or finds that the grid is empty.
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
        end = end_of_better_code();
    }
    if (is_empty_)
      return {};
    if (!variant_)
      return refusal();
    tell_choice();
    return {};
  }

  void tell_choice() const {
    const hooks *callbacks = get_hooks();
    if (!callbacks || !callbacks->on_choice)
      return;
    const image_info &info = variant_->infos[choice_.image - variant_->images];
    callbacks->on_choice({code_.name,
                          {code_.choices + number_ * code_.axis_count, code_.axis_count},
                          info.gpu,
                          info.schedule ? info.schedule : "",
                          info.specialization ? info.specialization : "",
                          programs_,
                          choice_.cost.known ? choice_.cost.value : -1},
                         callbacks->data);
  }

  cuda::FittingImage fitting(const variant &candidate) const {
    return cuda::choose_image(candidate, context_.facts().sm, driver_->takes_any_gpu);
  }

  /// Returns the end of the variants to consider: 1 + the index of the last variant whose code fits
  /// the device better than the best code so far.
  std::uint32_t end_of_better_code() const {
    std::uint32_t end = code_.variant_count;
    while (end > 0 && fitting(code_.variants[end - 1]).fitness <= fitness_)
      end--;
    return end;
  }

  /// Considers a variant. Sets `is_settled_` when no other variant with code for the same GPU can
  /// be better. A returned error is final.
  ///
  /// The first code that accepts the arguments represents the variant: specialized code first, then
  /// the general code. A rejection by specialized code is no error, so it is not remembered.
  status consider(const variant &candidate, const grid *extent) {
    bool takes = false;
    const status before = refusal_;
    const bool had_no_image = has_no_image_, had_image = has_image_;
    for (std::uint32_t i = 0; i < candidate.specialized_count && !takes && !is_empty_; i++) {
      status judged = judge(candidate.specialized[i], extent, takes);
      if (!judged.ok())
        return judged;
      refusal_ = before;
      has_no_image_ = had_no_image;
      has_image_ = had_image;
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
    // Code for exactly this GPU comes before compatible code: their variants may differ.
    if (variant_ && (fitting.fitness < fitness_ || (fitting.fitness == fitness_ && is_settled_)))
      return {};
    std::int64_t programs = size.x * size.y * size.z; // at most 2^63: the grid's limits
    cuda::Choice choice;
    judged = cuda::choose_schedule(*driver_, inputs(candidate, size), *fitting.image, choice);
    if (!judged.ok()) {
      if (judged.code() == status_code::no_image_for_device) {
        has_no_image_ = true;
      } else {
        has_image_ = true;
        remember(judged);
      }
      return {};
    }
    takes = has_image_ = true;
    const image_info &info = candidate.infos[choice.image - candidate.images];
    plan::Number time = measurements_.time(std::uint32_t(choice_number_),
                                           info.schedule ? info.schedule : "", choice.cost, time_);
    // Without times and costs: the first variant with at least one program per SM.
    int num_sms = context_.facts().num_sms;
    bool is_better = time.known || time_.known ? cuda::is_cheaper(time, time_)
                     : choice.cost.known || choice_.cost.known
                         ? cuda::is_cheaper(choice.cost, choice_.cost)
                         : programs > max_programs_ && max_programs_ < num_sms;
    if (variant_ && fitting.fitness == fitness_ && !is_better)
      return {};
    variant_ = &candidate;
    fitness_ = fitting.fitness;
    number_ = choice_number_;
    choice_ = choice;
    time_ = time;
    programs_ = size;
    max_programs_ = programs;
    is_settled_ = !measurements_.are_there() && !has_costs() && programs >= num_sms;
    return {};
  }

  /// Whether any schedule of any variant has a cost, also one that does not fit the arguments.
  bool has_costs() const {
    for (std::uint32_t i = 0; i < code_.variant_count; i++)
      for (std::uint32_t j = 0; j < code_.variants[i].image_count; j++)
        if (const abi::launch_config *launch = code_.variants[i].images[j].launch;
            launch && launch->cost)
          return true;
    return false;
  }

  /// Returns the values that the expressions of schedules use.
  plan::Inputs inputs(const variant &of, const grid &programs) const {
    return {code_,
            of,
            arguments_,
            &programs,
            context_.facts().num_sms,
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

  /// Remembers why a variant was rejected. Variants are ordered from strict to relaxed
  /// requirements, so the last rejection has the minimal requirement. A bad pointer takes
  /// precedence, because no variant accepts it.
  void remember(const status &refused) {
    bool by_pointer = refusal_.code() == status_code::null_pointer ||
                      refusal_.code() == status_code::misaligned_pointer;
    if (!by_pointer)
      refusal_ = refused;
  }

  status refusal() const {
    if (!tried_)
      return {status_code::no_variant, &code_};
    if (has_no_image_ && !has_image_) // some tuned variants may be too large for this GPU
      return {status_code::no_image_for_device, &code_, nullptr, context_.facts().sm};
    if (refusal_.code() == status_code::requirement_failed && tried_ > 1)
      return {refusal_.code(), &code_, refusal_.argument(), tried_};
    return refusal_;
  }

  /// Prepares the launch, or both launches of a pair.
  status prepare_all(launch_cache::Prepared (&launches)[2]) {
    status prepared = prepare(*choice_.image, choice_.blocks, launches[0]);
    if (prepared.ok() && choice_.rest)
      prepared = prepare(*choice_.rest, choice_.rest_blocks, launches[1]);
    if (prepared.ok() && launches[0].workspace_bytes)
      prepared = cuda::make_workspace_pool(*driver_, code_, context_.facts().device);
    return prepared;
  }

  status launch_chosen(const launch_cache::Key &key) {
    launch_cache::Prepared launches[2];
    status launched = prepare_all(launches);
    if (launched.ok())
      launched = status_of(*driver_, enqueue_all(launches), code_);
    if (launched.ok())
      keep(key, launches[0]);
    if (launched.ok() && choice_.rest)
      keep(key.of_rest(), launches[1]);
    return launched;
  }

  Outcome enqueue_all(const launch_cache::Prepared (&launches)[2]) {
    return launch_all(*driver_, context_.facts().device, where_, launches[0].workspace_bytes,
                      choice_.rest != nullptr, [&](int which, cuda::Pointer workspace) {
                        return enqueue(*driver_, code_, *variant_, arguments_, launches[which],
                                       launches[which].function, where_, workspace);
                      });
  }

  void keep(const launch_cache::Key &key, const launch_cache::Prepared &prepared) {
    if (key.is_usable())
      launch_cache::remember(key, cuda::representative_of(*driver_, context_.facts().device), code_,
                             prepared);
  }

  status prepare(const image &code, const grid &blocks, launch_cache::Prepared &prepared) {
    cuda::Kernel handle;
    status ready =
        cuda::make_ready(*driver_, code_, *variant_, code, context_.facts().device, where_, handle);
    if (!ready.ok())
      return ready;
    // The driver accepts a CUkernel as a CUfunction and uses the stream's context.
    prepared.function = reinterpret_cast<cuda::Function>(handle);
    prepared.launch = code.launch;
    prepared.workspace_bytes = cuda::workspace_bytes(code.launch, inputs(*variant_, programs_));
    configure(code, blocks, prepared);
    return cuda::prepare_hidden(*driver_, inputs(*variant_, programs_), code.launch,
                                prepared.hidden);
  }

  /// Loads the kernels into the stream's context and gets their CUfunctions.
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

  void configure(const image &code, const grid &blocks, launch_cache::Prepared &prepared) {
    cuda::LaunchConfig &config = prepared.config;
    config.grid_x = unsigned(blocks.x);
    config.grid_y = unsigned(blocks.y);
    config.grid_z = unsigned(blocks.z);
    config.block_x = unsigned(cuda::info_of(*variant_, code).threads);
    config.block_y = config.block_z = 1;
    config.shared_bytes = unsigned(cuda::shared_bytes(code, inputs(*variant_, programs_)).value);
    config.stream = where_;
    config.attributes = prepared.attributes;
    if (prepared.launch && prepared.launch->cluster > 1) {
      unsigned (&cluster)[3] = prepared.add(cuda::cluster_dimension).cluster;
      cluster[0] = prepared.launch->cluster;
      cluster[1] = cluster[2] = 1;
    }
    if (prepared.launch && prepared.launch->starts_early && may_start_early())
      prepared.add(cuda::programmatic_serialization).is_on = 1;
  }

  /// Drivers before CUDA 12.3 cannot capture such a launch. Without the attribute, the launch does
  /// the same work but starts later.
  bool may_start_early() const { return driver_->version >= 12030; }

  const kernel &code_;
  CUstream_st *const where_;
  const void *const arguments_;

  const cuda::Driver *driver_ = nullptr; // set when a variant accepts the arguments
  cuda::CurrentContext context_;

  const variant *variant_ = nullptr; // the best variant so far; null: none
  int fitness_ = 0;                  // of its code
  std::size_t number_ = 0;           // its index
  std::size_t choice_number_ = 0;    // index of the variant under consideration
  cuda::Choice choice_;
  cuda::Measurements measurements_; // valid if has_looked_
  bool has_looked_ = false;
  bool by_name_ = false;   // the caller names the variant
  plan::Number time_ = {}; // expected time of the best variant, from the measurements
  grid programs_;
  std::int64_t max_programs_ = 0;

  std::int32_t tried_ = 0; // number of considered variants
  bool is_settled_ = false;
  bool is_empty_ = false;
  bool has_no_image_ = false, has_image_ = false; // of variants that the arguments allow
  status refusal_;
};

/// The slow path of `launch`. Not inlined, so that the fast path does not pay for its code and
/// stack. The launch may still be in the cache:
///
/// - a pair of launches, or a launch with a workspace;
/// - a launch whose device only the driver knows;
/// - a launch that the driver `refused` with this result.
[[gnu::noinline]] status launch_otherwise(const launch_cache::Key &key, const kernel &code,
                                          stream where, const void *arguments,
                                          const std::int32_t *choice, const grid *extent,
                                          cuda::Result refused) {
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

/// Launches a prepared launch or pair with these functions.
Outcome launch_ready(const cuda::Driver &driver, const kernel &code, const Ready &ready,
                     const cuda::Function (&functions)[2], const void *arguments,
                     CUstream_st *where) {
  return launch_all(driver, ready.device, where, ready.launches[0].workspace_bytes, ready.has_rest,
                    [&](int which, cuda::Pointer workspace) {
                      return enqueue(driver, code, *ready.of, arguments, ready.launches[which],
                                     functions[which], where, workspace);
                    });
}

/// The slow path of `launch_prepared`: the context is not that of `prepare`, or the thread has no
/// context that gives the device.
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

/// Loads the image and its function.
status preload_image(const cuda::Driver &driver, const kernel &code, const variant &wanted,
                     const image &wanted_image, const cuda::DeviceFacts &device) {
  cuda::Kernel handle;
  status ready =
      cuda::make_ready(driver, code, wanted, wanted_image, device.device, nullptr, handle);
  if (!ready.ok())
    return ready;
  // The driver loads lazily: into each context at the first launch there. Load now.
  cuda::Function function = nullptr;
  if (cuda::Result result = driver.cuKernelGetFunction(&function, handle))
    return cuda::failure(driver, result, &code, "cuKernelGetFunction");
  if (!driver.cuFuncLoad)
    return {};
  if (cuda::Result result = driver.cuFuncLoad(function))
    return cuda::failure(driver, result, &code, "cuFuncLoad");
  return {};
}

/// Loads all schedules for the device, because the arguments decide which schedule runs.
status preload_schedules(const cuda::Driver &driver, const kernel &code, const variant &wanted,
                         const cuda::DeviceFacts &device, bool &found) {
  const image *fitting = cuda::choose_image(wanted, device.sm, driver.takes_any_gpu).image;
  for (std::uint32_t i = 0; fitting && i < wanted.image_count; i++) {
    if (!cuda::is_same_gpu(wanted.images[i], *fitting) ||
        !cuda::has_room(wanted, wanted.images[i], device.shared_bytes))
      continue;
    found = true;
    const image &one = wanted.images[i];
    status loaded = preload_image(driver, code, wanted, one, device);
    if (loaded.ok() && one.launch && one.launch->workspace && device.has_pools)
      loaded = cuda::make_workspace_pool(driver, code, device.device);
    if (!loaded.ok())
      return loaded;
  }
  return {};
}

/// Loads a variant with its specialized code.
status preload_variant(const cuda::Driver &driver, const kernel &code, const variant &wanted,
                       const cuda::DeviceFacts &device, bool &found) {
  for (std::uint32_t i = 0; i < wanted.specialized_count; i++) {
    status loaded = preload_schedules(driver, code, wanted.specialized[i], device, found);
    if (!loaded.ok())
      return loaded;
  }
  return preload_schedules(driver, code, wanted, device, found);
}

/// Loads one variant, or all variants if `choice` is null.
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
  launch_cache::Key key(code, where.handle(), arguments, choice, extent);
  const cuda::Driver *driver = cuda::opened_driver();
  cuda::Result result = cuda::success;
  if (driver && cuda::needs_no_device(*driver, where.handle()) && key.is_usable()) [[likely]] {
    launch_cache::Again again(key, cuda::representative);
    if (again && again.takes_one_call()) [[likely]] {
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
  // No check is needed with only one device, or if the driver refuses the functions elsewhere. A
  // workspace needs the check, because it is allocated before the first launch.
  bool is_refused_elsewhere =
      inside.has_functions && !inside.has_rest && !inside.launches[0].workspace_bytes;
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
