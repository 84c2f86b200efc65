// Tests runtime/src/load/context.cpp: the cache of device properties.

#include "load/context.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

/// The properties that the driver returns, and the number of its calls for them.
struct {
  int major, minor, num_sms, shared_bytes, pools;
  int queries;
} of_driver;

cuda::Device current = 0;

template <typename... Parameters> int succeed(Parameters...) { return 0; }

/// Makes a driver with `current` as the current device.
void make_driver(cuda::Driver &driver) {
  driver.version = 12030;
  driver.devices = cuda::remembered_devices + 1;
  driver.cuCtxGetCurrent = [](cuda::Context *context) {
    *context = reinterpret_cast<cuda::Context>(&current);
    return 0;
  };
  driver.cuCtxGetDevice = [](cuda::Device *device) {
    *device = current;
    return 0;
  };
  driver.cuDeviceGetAttribute = [](int *value, int attribute, cuda::Device) {
    of_driver.queries++;
    *value = attribute == cuda::capability_major       ? of_driver.major
             : attribute == cuda::capability_minor     ? of_driver.minor
             : attribute == cuda::multiprocessor_count ? of_driver.num_sms
             : attribute == cuda::max_shared_bytes     ? of_driver.shared_bytes
             : attribute == cuda::has_memory_pools     ? of_driver.pools
                                                       : -1;
    return 0;
  };
  driver.cuThreadExchangeStreamCaptureMode = succeed;
  driver.cuMemPoolCreate = succeed;
  driver.cuMemPoolDestroy = succeed;
  driver.cuMemPoolSetAttribute = succeed;
  driver.cuMemAllocFromPoolAsync = succeed;
  driver.cuMemFreeAsync = succeed;
}

} // namespace

TEST_CASE("CurrentContext: the cached properties are those of the driver") {
  static cuda::Driver driver;
  make_driver(driver);
  auto enter = [](cuda::Device device) {
    current = device;
    cuda::CurrentContext context;
    REQUIRE(context.enter_device(driver, device, nullptr).ok());
    const cuda::DeviceFacts &facts = context.facts();
    CHECK(facts.device == device);
    CHECK(facts.sm == of_driver.major * 10 + of_driver.minor);
    CHECK(facts.num_sms == of_driver.num_sms);
    CHECK(facts.shared_bytes == of_driver.shared_bytes);
    CHECK(facts.has_pools == (of_driver.pools != 0));
  };
  cuda::Device device = 1; // other tests of this program use device 0
  for (int pools : {0, 1})
    for (int shared_bytes : {49152, 232447, 232448}) {
      CAPTURE(shared_bytes);
      of_driver = {9, 0, 132, shared_bytes, pools, 0};
      enter(device);
      CHECK(of_driver.queries == 5);
      enter(device); // from the cache
      CHECK(of_driver.queries == 5);
      device++;
    }
  // A device beyond the cache is queried each time.
  of_driver.queries = 0;
  of_driver.pools = 0;
  for (int i = 1; i <= 2; i++) {
    enter(cuda::remembered_devices);
    CHECK(of_driver.queries == 4 * i); // it supports no memory pools
  }
}

TEST_CASE("CurrentContext: enters only devices that exist") {
  static cuda::Driver driver;
  make_driver(driver);
  auto enter = [](cuda::Device device) {
    current = device;
    of_driver = {9, 0, 132, 232448, 1, 0};
    cuda::CurrentContext context;
    return context.enter_device(driver, device, nullptr);
  };
  CHECK(enter(driver.devices - 1).ok());
  for (cuda::Device device : {driver.devices, driver.devices + 1, cuda::any_device, -2}) {
    CAPTURE(device);
    CHECK(enter(device).code() == status_code::no_device);
    CHECK(of_driver.queries == 0);
  }
}
