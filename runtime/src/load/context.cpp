// Finds the device and context of a launch, and the device's properties. See context.h.

#include "load/context.h"

#include <atomic>

namespace tritonc::v1::cuda {

namespace {

/// Cached device properties; 0 = not queried yet. They never change, so two threads that query a
/// device at the same time store the same value. Devices beyond the table are queried each time.
std::atomic<std::uint64_t> remembered[remembered_devices];

std::uint64_t packed(const DeviceFacts &facts) {
  return std::uint64_t(facts.sm) << 48 | std::uint64_t(facts.shared_bytes) << 20 |
         std::uint64_t(facts.has_pools) << 19 | std::uint64_t(facts.num_sms);
}

void unpack(std::uint64_t packed, DeviceFacts &facts) {
  facts.sm = int(packed >> 48);
  facts.shared_bytes = int(packed >> 20 & 0xfffffff);
  facts.has_pools = (packed >> 19 & 1) != 0;
  facts.num_sms = int(packed & 0x7ffff);
}

Result read_facts(const Driver &driver, Device device, DeviceFacts &facts) {
  facts.device = device;
  bool has_place = device >= 0 && device < remembered_devices;
  if (has_place) {
    if (std::uint64_t known = remembered[device].load(std::memory_order_relaxed)) {
      unpack(known, facts);
      return success;
    }
  }
  int major = 0, minor = 0, has_pools = 0;
  if (Result result = driver.cuDeviceGetAttribute(&major, capability_major, device))
    return result;
  if (Result result = driver.cuDeviceGetAttribute(&minor, capability_minor, device))
    return result;
  if (Result result = driver.cuDeviceGetAttribute(&facts.num_sms, multiprocessor_count, device))
    return result;
  if (Result result = driver.cuDeviceGetAttribute(&facts.shared_bytes, max_shared_bytes, device))
    return result;
  if (has_place && driver.has_pools()) {
    if (Result result = driver.cuDeviceGetAttribute(&has_pools, has_memory_pools, device))
      return result;
  }
  facts.sm = major * 10 + minor;
  facts.has_pools = has_pools != 0;
  if (has_place)
    remembered[device].store(packed(facts), std::memory_order_relaxed);
  return success;
}

/// The primary contexts, retained until the process ends: a release would destroy the program's
/// allocations in them. The primary context of a device beyond the table is retained each time.
std::atomic<Context> primary[remembered_devices];

/// Returns whether the device's primary context is active. After the program resets it, it is
/// unusable until it is retained again. An extra retain is harmless.
bool is_active(const Driver &driver, Device device) {
  unsigned flags = 0;
  int is_active = 0;
  return driver.cuDevicePrimaryCtxGetState(device, &flags, &is_active) == success && is_active;
}

Result primary_context(const Driver &driver, Device device, Context &context) {
  bool has_place = device < remembered_devices;
  context = has_place ? primary[device].load(std::memory_order_acquire) : nullptr;
  if (context && is_active(driver, device))
    return success;
  if (Result result = driver.cuDevicePrimaryCtxRetain(&context, device))
    return result;
  if (has_place)
    primary[device].store(context, std::memory_order_release);
  return success;
}

} // namespace

bool are_alike(const Driver &driver) noexcept {
  if (driver.devices == 1)
    return true;
  DeviceFacts first;
  if (driver.devices > remembered_devices || read_facts(driver, 0, first))
    return false;
  for (Device device = 1; device < driver.devices; device++) {
    DeviceFacts other;
    if (read_facts(driver, device, other) || packed(other) != packed(first))
      return false;
  }
  return true;
}

// This does not use cuStreamGetDevice, which newer drivers have: on a stream that is being
// captured, it returns an error and invalidates the capture.
bool ask_device(const Driver &driver, Stream stream, Device &device) noexcept {
  if (is_default(stream))
    return driver.cuCtxGetDevice(&device) == success;
  Context current = nullptr, wanted = nullptr;
  return driver.cuCtxGetCurrent(&current) == success && current &&
         driver.cuStreamGetCtx(stream, &wanted) == success && wanted == current &&
         driver.cuCtxGetDevice(&device) == success;
}

CurrentContext::~CurrentContext() {
  Context popped;
  if (pushed_)
    driver_->cuCtxPopCurrent(&popped);
}

Result CurrentContext::push(Context context) {
  Result result = driver_->cuCtxPushCurrent(context);
  pushed_ = result == success;
  return result;
}

Result CurrentContext::find_device(Stream stream, Device &device) {
  Context current = nullptr;
  if (Result result = driver_->cuCtxGetCurrent(&current))
    return result;
  Context wanted = current;
  if (!is_default(stream) && driver_->cuStreamGetCtx(stream, &wanted) != success) {
    // A stream of a green context has no ordinary context. It has a device and accepts launches.
    is_of_stream_ = false;
    wanted = current;
    if (driver_->cuStreamGetDevice && driver_->cuStreamGetDevice(stream, &device) == success)
      return success;
  }
  bool may_be_reset = is_default(stream) && wanted == primary[0].load(std::memory_order_acquire);
  if (!wanted || may_be_reset) {
    if (Result result = primary_context(*driver_, 0, wanted))
      return result;
  }
  if (wanted != current) {
    if (Result result = push(wanted))
      return result;
  }
  return driver_->cuCtxGetDevice(&device);
}

Result CurrentContext::make_current(Device device) {
  Context context = nullptr;
  if (Result result = driver_->cuCtxGetCurrent(&context))
    return result;
  if (context) {
    Device of_current = 0;
    if (Result result = driver_->cuCtxGetDevice(&of_current))
      return result;
    if (of_current == device)
      return success;
  }
  if (Result result = primary_context(*driver_, device, context))
    return result;
  return push(context);
}

status CurrentContext::enter_device(const Driver &driver, Device device,
                                    const abi::kernel *kernel) noexcept {
  driver_ = &driver;
  if (device < 0 || device >= driver.devices)
    return {status_code::no_device, kernel, nullptr, 1 + device};
  if (Result result = make_current(device))
    return failure(driver, result, kernel, "context");
  if (Result result = read_facts(driver, device, facts_))
    return failure(driver, result, kernel, "cuDeviceGetAttribute");
  return {};
}

status CurrentContext::enter(const Driver &driver, Stream stream,
                             const abi::kernel *kernel) noexcept {
  driver_ = &driver;
  Device device = 0;
  if (Result result = find_device(stream, device))
    return failure(driver, result, kernel, "context");
  if (Result result = read_facts(driver, device, facts_))
    return failure(driver, result, kernel, "cuDeviceGetAttribute");
  return {};
}

} // namespace tritonc::v1::cuda
