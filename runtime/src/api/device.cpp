// Device memory and timing (tritonc/device.hpp), with the driver's optional functions.

#include "load/context.h"

#include <tritonc/device.hpp>

namespace tritonc {
inline namespace v1 {

namespace {

/// Opens the driver and leaves a context current. Returns null and sets `why` on failure.
const cuda::Driver *enter(status &why, int *device = nullptr) {
  const cuda::Driver *driver = cuda::open_driver(why);
  if (!driver)
    return nullptr;
  cuda::CurrentContext context;
  why = context.enter(*driver, nullptr, nullptr);
  if (!why.ok())
    return nullptr;
  context.keep();
  if (device)
    *device = context.facts().device;
  return driver;
}

/// Calls an optional function of the driver. Returns `driver_too_old` if the driver lacks it.
template <typename... Parameters, typename... Values>
status call(const cuda::Driver &driver, const char *name, cuda::Result (*function)(Parameters...),
            Values... values) {
  if (!function)
    return {status_code::driver_too_old, nullptr, name, driver.version};
  if (cuda::Result result = function(values...))
    return cuda::failure(driver, result, nullptr, name);
  return {};
}

cuda::Pointer address(const void *memory) { return reinterpret_cast<cuda::Pointer>(memory); }

} // namespace

status current_device(device_info &info) noexcept {
  info = {};
  status why;
  int device = 0;
  const cuda::Driver *driver = enter(why, &device);
  if (!driver)
    return why;
  info.emulated = driver->is_emulator;
  struct {
    int attribute;
    int *value;
  } facts[] = {{cuda::capability_major, &info.major},
               {cuda::capability_minor, &info.minor},
               {cuda::multiprocessor_count, &info.num_sms}};
  for (auto &fact : facts) {
    why = call(*driver, "cuDeviceGetAttribute", driver->cuDeviceGetAttribute, fact.value,
               fact.attribute, device);
    if (!why.ok())
      return why;
  }
  return call(*driver, "cuDeviceGetName", driver->cuDeviceGetName, info.name, int(sizeof info.name),
              device);
}

status allocate(void **memory, std::size_t bytes) noexcept {
  *memory = nullptr;
  status why;
  const cuda::Driver *driver = enter(why);
  if (!driver)
    return why;
  cuda::Pointer allocated = 0;
  why = call(*driver, "cuMemAlloc", driver->cuMemAlloc, &allocated, bytes ? bytes : 1);
  *memory = reinterpret_cast<void *>(allocated);
  return why;
}

status release(void *memory) noexcept {
  status why;
  if (!memory)
    return why;
  const cuda::Driver *driver = enter(why);
  if (!driver)
    return why;
  return call(*driver, "cuMemFree", driver->cuMemFree, address(memory));
}

status copy_to_device(void *to, const void *from, std::size_t bytes) noexcept {
  status why;
  if (bytes == 0)
    return why;
  const cuda::Driver *driver = enter(why);
  if (!driver)
    return why;
  return call(*driver, "cuMemcpyHtoD", driver->cuMemcpyHtoD, address(to), from, bytes);
}

status copy_to_host(void *to, const void *from, std::size_t bytes) noexcept {
  status why;
  if (bytes == 0)
    return why;
  const cuda::Driver *driver = enter(why);
  if (!driver)
    return why;
  return call(*driver, "cuMemcpyDtoH", driver->cuMemcpyDtoH, to, address(from), bytes);
}

status fill(void *memory, unsigned char value, std::size_t bytes) noexcept {
  status why;
  if (bytes == 0)
    return why;
  const cuda::Driver *driver = enter(why);
  if (!driver)
    return why;
  return call(*driver, "cuMemsetD8", driver->cuMemsetD8, address(memory), value, bytes);
}

status synchronize(stream where) noexcept {
  status why;
  const cuda::Driver *driver = enter(why);
  if (!driver)
    return why;
  return call(*driver, "cuStreamSynchronize", driver->cuStreamSynchronize, where.handle());
}

timer::~timer() {
  const cuda::Driver *driver = cuda::opened_driver();
  if (!driver || !driver->cuEventDestroy)
    return;
  if (first_)
    driver->cuEventDestroy(static_cast<cuda::Event>(first_));
  if (last_)
    driver->cuEventDestroy(static_cast<cuda::Event>(last_));
}

status timer::record(void *&event, stream where) noexcept {
  status why;
  const cuda::Driver *driver = enter(why);
  if (!driver)
    return why;
  if (!event) {
    cuda::Event made = nullptr;
    why = call(*driver, "cuEventCreate", driver->cuEventCreate, &made, 0u);
    if (!why.ok())
      return why;
    event = made;
  }
  return call(*driver, "cuEventRecord", driver->cuEventRecord, static_cast<cuda::Event>(event),
              where.handle());
}

status timer::start(stream where) noexcept { return record(first_, where); }
status timer::stop(stream where) noexcept { return record(last_, where); }

status timer::has_started(bool &started) noexcept {
  started = false;
  status why;
  const cuda::Driver *driver = enter(why);
  if (!driver)
    return why;
  if (!first_)
    return {status_code::invalid_argument, nullptr, "timer"};
  if (!driver->cuEventQuery)
    return {status_code::driver_too_old, nullptr, "cuEventQuery", driver->version};
  cuda::Result result = driver->cuEventQuery(static_cast<cuda::Event>(first_));
  started = result != cuda::not_ready;
  return started && result ? cuda::failure(*driver, result, nullptr, "cuEventQuery") : status();
}

status timer::milliseconds(float &elapsed) noexcept {
  elapsed = 0;
  status why;
  const cuda::Driver *driver = enter(why);
  if (!driver)
    return why;
  if (!first_ || !last_)
    return {status_code::invalid_argument, nullptr, "timer"};
  auto first = static_cast<cuda::Event>(first_), last = static_cast<cuda::Event>(last_);
  why = call(*driver, "cuEventSynchronize", driver->cuEventSynchronize, last);
  if (!why.ok())
    return why;
  return call(*driver, "cuEventElapsedTime", driver->cuEventElapsedTime, &elapsed, first, last);
}

} // namespace v1
} // namespace tritonc
