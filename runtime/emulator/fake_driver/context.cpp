// Contexts, and each thread's context stack.

#include "driver.h"

namespace tritonc::emulator::driver {

namespace {

/// Plain data, so that destructors that run at thread exit can use it.
struct Stack {
  static constexpr std::size_t max_depth = 256;
  Context *contexts[max_depth];
  std::size_t depth;
};
thread_local Stack stack;

constexpr std::size_t default_limits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

unsigned api_version() { return unsigned(driver().settings.version); }

bool is_known(const Context *context) {
  for (auto &known : driver().contexts)
    if (known.get() == context)
      return true;
  return false;
}

Result push(Context *context) {
  if (stack.depth == Stack::max_depth)
    return out_of_memory;
  stack.contexts[stack.depth++] = context;
  return success;
}

Result create(Context **context, unsigned flags, Device device) {
  DeviceState *state = driver().find_device(device);
  if (!context)
    return invalid_value;
  if (!state)
    return invalid_device;
  if (state->fault)
    return state->fault;
  if (Result refused = refuse_during_capture())
    return refused;
  if (stack.depth == Stack::max_depth)
    return out_of_memory;
  *context = driver().make_context(device, flags);
  return push(*context);
}

Result release_primary(Device device) {
  DeviceState *state = driver().find_device(device);
  if (!state)
    return invalid_device;
  if (state->primary_uses == 0)
    return invalid_context;
  if (--state->primary_uses == 0 && state->primary->is_alive)
    driver().destroy(*state->primary);
  return success;
}

/// Keeps the use count; the next retain revives the context for all users.
Result reset_primary(Device device) {
  DeviceState *state = driver().find_device(device);
  if (!state)
    return invalid_device;
  if (state->has_primary())
    driver().destroy(*state->primary);
  return success;
}

Result synchronize(Context &context) {
  for (auto &capture : driver().captures)
    if (capture->origin->context == &context)
      return refuse_if_capturing(*capture->origin);
  return refuse_during_capture();
}

} // namespace

Context *current_context() { return stack.depth ? stack.contexts[stack.depth - 1] : nullptr; }
std::size_t depth_of_contexts() { return stack.depth; }

extern "C" {

// ---- primary contexts ----

Result cuDevicePrimaryCtxRetain(Context **context, Device device) {
  return call("cuDevicePrimaryCtxRetain", Needs::driver, [&]() -> Result {
    DeviceState *state = driver().find_device(device);
    if (!context)
      return invalid_value;
    if (!state)
      return invalid_device;
    if (state->fault)
      return state->fault;
    if (!state->primary) {
      state->primary = driver().make_context(device, state->primary_flags);
      state->primary->is_primary = true;
    } else if (!state->has_primary()) {
      driver().revive(*state->primary, state->primary_flags);
    }
    state->primary_uses++;
    *context = state->primary;
    return success;
  });
}

Result cuDevicePrimaryCtxRelease(Device device) {
  return call("cuDevicePrimaryCtxRelease", Needs::driver, [&] { return release_primary(device); });
}

Result cuDevicePrimaryCtxRelease_v2(Device device) {
  return call("cuDevicePrimaryCtxRelease", Needs::driver, [&] { return release_primary(device); });
}

Result cuDevicePrimaryCtxReset(Device device) {
  return call("cuDevicePrimaryCtxReset", Needs::driver, [&] { return reset_primary(device); });
}

Result cuDevicePrimaryCtxReset_v2(Device device) {
  return call("cuDevicePrimaryCtxReset", Needs::driver, [&] { return reset_primary(device); });
}

Result cuDevicePrimaryCtxSetFlags_v2(Device device, unsigned flags) {
  return call("cuDevicePrimaryCtxSetFlags", Needs::driver, [&]() -> Result {
    DeviceState *state = driver().find_device(device);
    if (!state)
      return invalid_device;
    state->primary_flags = flags;
    if (state->primary)
      state->primary->flags = flags;
    return success;
  });
}

Result cuDevicePrimaryCtxGetState(Device device, unsigned *flags, int *active) {
  return call("cuDevicePrimaryCtxGetState", Needs::driver, [&]() -> Result {
    DeviceState *state = driver().find_device(device);
    if (!flags || !active)
      return invalid_value;
    if (!state)
      return invalid_device;
    *flags = state->primary_flags;
    *active = state->has_primary();
    return success;
  });
}

// ---- other contexts ----

Result cuCtxCreate_v2(Context **context, unsigned flags, Device device) {
  return call("cuCtxCreate", Needs::driver, [&] { return create(context, flags, device); });
}

Result cuCtxCreate_v3(Context **context, void *, int affinity_count, unsigned flags,
                      Device device) {
  return call("cuCtxCreate", Needs::driver, [&]() -> Result {
    return affinity_count ? not_supported : create(context, flags, device);
  });
}

Result cuCtxCreate_v4(Context **context, void *parameters, unsigned flags, Device device) {
  return call("cuCtxCreate", Needs::driver, [&]() -> Result {
    struct Parameters {
      void *affinities;
      int affinity_count;
      void *graphics;
    };
    auto *given = static_cast<const Parameters *>(parameters);
    if (given && (given->affinity_count || given->graphics))
      return not_supported;
    return create(context, flags, device);
  });
}

Result cuCtxDestroy_v2(Context *context) {
  return call("cuCtxDestroy", Needs::driver, [&]() -> Result {
    if (!context)
      return invalid_value;
    if (!is_known(context) || !context->is_alive || context->is_primary)
      return invalid_context;
    driver().destroy(*context);
    if (current_context() == context)
      stack.depth--;
    return success;
  });
}

// The next functions are on the path of every launch and concern only the calling thread. They take
// no mutex, so they don't wait while another thread's kernel runs.

Result cuCtxGetCurrent(Context **context) {
  Result result = success;
  if (!enter("cuCtxGetCurrent", Needs::driver, result))
    return result;
  if (!context)
    return invalid_value;
  *context = current_context();
  return success;
}

Result cuCtxGetDevice(Device *device) {
  Result result = success;
  if (!enter("cuCtxGetDevice", Needs::driver, result))
    return result;
  Context *context = current_context();
  if (!device)
    return invalid_value;
  if (!context)
    return invalid_context;
  *device = context->device;
  return success;
}

Result cuCtxGetDevice_v2(Device *device, Context *context) {
  if (!context)
    return cuCtxGetDevice(device);
  return call("cuCtxGetDevice", Needs::driver, [&]() -> Result {
    if (!device)
      return invalid_value;
    if (!is_known(context))
      return invalid_context;
    *device = context->device;
    return success;
  });
}

Result cuCtxPopCurrent_v2(Context **context) {
  Result result = success;
  if (!enter("cuCtxPopCurrent", Needs::driver, result))
    return result;
  if (stack.depth == 0)
    return invalid_context;
  stack.depth--;
  if (context)
    *context = stack.contexts[stack.depth];
  return success;
}

Result cuCtxPushCurrent_v2(Context *context) {
  return call("cuCtxPushCurrent", Needs::driver, [&]() -> Result {
    return is_known(context) ? push(context) : invalid_context; // also destroyed contexts
  });
}

Result cuCtxSetCurrent(Context *context) {
  return call("cuCtxSetCurrent", Needs::driver, [&]() -> Result {
    if (context && !is_known(context))
      return invalid_context;
    if (stack.depth != 0)
      stack.depth--;
    return context ? push(context) : success;
  });
}

Result cuCtxGetFlags(unsigned *flags) {
  return call("cuCtxGetFlags", Needs::context, [&](Context &context) -> Result {
    if (!flags)
      return invalid_value;
    *flags = context.flags;
    return success;
  });
}

Result cuCtxGetId(Context *context, unsigned long long *id) {
  return call("cuCtxGetId", Needs::driver, [&]() -> Result {
    if (!context)
      context = current_context();
    if (!id)
      return invalid_value;
    if (!is_known(context))
      return invalid_context;
    *id = context->id;
    return context->is_alive ? success : context_is_destroyed;
  });
}

Result cuCtxGetApiVersion(Context *context, unsigned *version) {
  return call("cuCtxGetApiVersion", Needs::driver, [&]() -> Result {
    if (!context)
      context = current_context();
    if (!version)
      return invalid_value;
    if (!is_known(context))
      return invalid_context;
    *version = api_version();
    return success;
  });
}

Result cuCtxSynchronize() { return call("cuCtxSynchronize", Needs::device, synchronize); }

Result cuCtxSynchronize_v2(Context *context) {
  if (!context)
    return cuCtxSynchronize();
  return call("cuCtxSynchronize", Needs::driver, [&]() -> Result {
    if (!is_known(context))
      return invalid_context;
    if (Result fault = driver().device_of(*context).fault)
      return fault;
    return context->is_alive ? synchronize(*context) : context_is_destroyed;
  });
}

Result cuCtxGetLimit(std::size_t *value, int limit) {
  return call("cuCtxGetLimit", Needs::context, [&](Context &context) -> Result {
    if (!value)
      return invalid_value;
    if (limit < 0 || std::size_t(limit) >= std::size(default_limits))
      return unsupported_limit;
    auto set = context.limits.find(limit);
    *value = set == context.limits.end() ? default_limits[limit] : set->second;
    return success;
  });
}

Result cuCtxSetLimit(int limit, std::size_t value) {
  return call("cuCtxSetLimit", Needs::context, [&](Context &context) -> Result {
    if (limit < 0 || std::size_t(limit) >= std::size(default_limits))
      return unsupported_limit;
    if (Result refused = refuse_during_capture())
      return refused;
    context.limits[limit] = value;
    return success;
  });
}

Result cuCtxGetCacheConfig(int *config) {
  return call("cuCtxGetCacheConfig", Needs::context, [&](Context &context) -> Result {
    if (!config)
      return invalid_value;
    *config = context.cache_config;
    return success;
  });
}

Result cuCtxSetCacheConfig(int config) {
  return call("cuCtxSetCacheConfig", Needs::context, [&](Context &context) -> Result {
    if (config < 0 || config > 3)
      return invalid_value;
    context.cache_config = config;
    return success;
  });
}

Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return call("cuCtxGetStreamPriorityRange", Needs::context, [&](Context &) -> Result {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = -5;
    return success;
  });
}

Result cuCtxEnablePeerAccess(Context *peer, unsigned) {
  return call("cuCtxEnablePeerAccess", Needs::context, [&](Context &) -> Result {
    return is_known(peer) ? peer_access_unsupported : invalid_context;
  });
}

Result cuCtxDisablePeerAccess(Context *peer) {
  return call("cuCtxDisablePeerAccess", Needs::context, [&](Context &) -> Result {
    constexpr Result peer_access_not_enabled = 705;
    return is_known(peer) ? peer_access_not_enabled : invalid_context;
  });
}

} // extern "C"

} // namespace tritonc::emulator::driver
