// Workspace. See workspace.h.

#include "launch/workspace.h"

#include "load/capture.h"
#include "load/context.h"

#include <atomic>

namespace tritonc::v1::cuda {

namespace {

/// One per device; lives until the process ends.
std::atomic<Pool> pools[remembered_devices];

} // namespace

status make_workspace_pool(const Driver &driver, const abi::kernel &kernel,
                           Device device) noexcept {
  if (pools[device].load(std::memory_order_acquire))
    return {};
  CaptureAllowed allowed(driver);
  PoolProperties properties = {};
  properties.allocation = pinned_allocation;
  properties.location_kind = location_is_device;
  properties.location = device;
  Pool pool = nullptr;
  if (Result result = driver.cuMemPoolCreate(&pool, &properties))
    return failure(driver, result, &kernel, "cuMemPoolCreate");
  std::uint64_t everything = ~std::uint64_t(0);
  Result result = driver.cuMemPoolSetAttribute(pool, release_threshold, &everything);
  Pool none = nullptr;
  if (result == success && pools[device].compare_exchange_strong(none, pool))
    return {};
  driver.cuMemPoolDestroy(pool); // another thread was faster, or the pool cannot keep memory
  return result == success ? status() : failure(driver, result, &kernel, "cuMemPoolSetAttribute");
}

Result allocate_workspace(const Driver &driver, Device device, Stream stream, std::int64_t bytes,
                          Pointer &memory) noexcept {
  Pool pool = pools[device].load(std::memory_order_acquire);
  CaptureAllowed allowed(driver);
  return driver.cuMemAllocFromPoolAsync(&memory, std::size_t(bytes), pool, stream);
}

Result free_workspace(const Driver &driver, Stream stream, Pointer memory) noexcept {
  CaptureAllowed allowed(driver);
  return driver.cuMemFreeAsync(memory, stream);
}

} // namespace tritonc::v1::cuda
