// Keeps the state of the fake driver and runs the common start of its functions. See driver.h.

#include "driver.h"

#include "calls.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace tritonc::emulator::driver {

namespace {

std::atomic<bool> is_exiting{false};
thread_local bool is_in_callback = false;

/// Runs when the process ends, after the program's own destructors.
__attribute__((destructor)) void leave() { is_exiting = true; }

Driver *make_driver() {
  auto *made = new Driver;
  // secure_getenv: ignores the variable in set-user-ID programs.
  if (const char *text = secure_getenv("TRITONC_EMULATOR"))
    made->wrong_setting = apply(text, made->settings);
  return made;
}

} // namespace

Driver &driver() {
  static Driver *the_driver = make_driver();
  return *the_driver;
}

// ---- devices, contexts, memory ----

DeviceState *Driver::find_device(Device device) {
  bool is_there = device >= 0 && device < settings.devices && std::size_t(device) < devices.size();
  return is_there ? devices[std::size_t(device)].get() : nullptr;
}

GlobalMemory &Driver::memory() {
  if (!global_memory)
    global_memory = std::make_unique<GlobalMemory>();
  return *global_memory;
}

const Allocation *Driver::find(Pointer address) const {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return nullptr;
  const Allocation &before = std::prev(after)->second;
  return address - before.begin < before.bytes ? &before : nullptr;
}

void Driver::release(const Allocation &allocation) {
  if (allocation.kind != AllocationKind::host)
    device_of(*allocation.context).used_bytes -= allocation.bytes;
  memory().release(reinterpret_cast<void *>(allocation.begin));
  allocations.erase(allocation.begin);
}

Context *Driver::make_context(Device device, unsigned flags) {
  contexts.push_back(std::make_unique<Context>());
  Context &context = *contexts.back();
  context.device = device;
  context.id = ++last_id;
  context.flags = flags;
  return &context;
}

void Driver::destroy(Context &context) {
  drop_captures(context);
  for (auto i = allocations.begin(); i != allocations.end();) {
    const Allocation &allocation = (i++)->second;
    if (allocation.context == &context)
      release(allocation);
  }
  streams.remove_if([&](Stream &stream) { return stream.context == &context; });
  events.remove_if([&](Event &event) { return event.context == &context; });
  executables.remove_if([&](GraphExec &exec) { return exec.context == &context; });
  for (auto i = kernels.begin(); i != kernels.end();)
    i = (*i)->context == &context ? kernels.erase(i) : std::next(i);
  modules.remove_if([&](Module &module) {
    if (module.context != &context)
      return false;
    kernels.erase(module.library->kernel.get());
    libraries.remove(module.library);
    return true;
  });
  libraries.for_each([&](Library &library) {
    library.functions.erase(&context);
    library.modules.erase(&context);
    library.constants.erase(&context);
  });
  context.is_alive = false;
}

void Driver::revive(Context &context, unsigned flags) {
  context.id = ++last_id;
  context.flags = flags;
  context.thread_streams.clear();
  context.limits.clear();
  context.cache_config = 0;
  context.is_alive = true;
}

// ---- the start of each function ----

bool enter(std::string_view function, Needs needs, Result &result) {
  Driver &state = driver();
  auto refuse = [&](Result why) {
    result = why;
    return false;
  };
  if (is_exiting)
    return refuse(deinitialized);
  // The child of a fork inherits the parent's mutex, perhaps locked.
  if (state.process != 0 && state.process != getpid())
    return refuse(not_initialized);
  if (is_in_callback)
    return refuse(not_permitted);
  if (count_call(function, result))
    return false;
  if (needs != Needs::nothing && !state.is_initialized)
    return refuse(not_initialized);
  return true;
}

void set_in_callback(bool is_in_one) { is_in_callback = is_in_one; }

Result find_context(Needs needs, Context *&context) {
  context = current_context();
  if (!context)
    return invalid_context;
  DeviceState *device = driver().find_device(context->device);
  if (needs == Needs::device && device && device->fault)
    return device->fault;
  if (!context->is_alive)
    return context_is_destroyed;
  return success;
}

bool is_default(const Stream *handle) { return reinterpret_cast<std::uintptr_t>(handle) <= 2; }

Result find_stream(Stream *handle, Context &current, Stream *&stream) {
  auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number <= 1)
    stream = &current.default_stream;
  else if (number == 2)
    stream = &current.thread_streams.try_emplace(std::this_thread::get_id(), Stream{&current})
                  .first->second;
  else if (driver().streams.has(handle))
    stream = handle;
  else
    return invalid_handle;
  return stream->context->is_alive ? success : context_is_destroyed;
}

// ---- reports ----

void report(std::string_view text) {
  const std::string &name = driver().settings.report;
  std::FILE *file = name.empty() ? stderr : std::fopen(name.c_str(), "a");
  if (!file)
    file = stderr;
  std::fprintf(file, "%.*s\n", int(text.size()), text.data());
  if (file == stderr)
    std::fflush(file);
  else
    std::fclose(file);
}

} // namespace tritonc::emulator::driver
