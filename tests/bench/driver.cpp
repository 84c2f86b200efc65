// Types and constants are from cuda.h, the driver's binary interface.

#include "driver.h"

#include <tritonc/device.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

namespace bench {

namespace {

constexpr std::size_t workspace_bytes = std::size_t(256) << 20; // several times the L2 cache

void *open_library() {
  if (const char *named = std::getenv("TRITONC_DRIVER"); named && *named)
    return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
}

template <typename Function> void find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

template <typename Function> void require(void *library, const char *name, Function &function) {
  find(library, name, function);
  if (!function)
    throw std::runtime_error(std::string("the driver has no ") + name);
}

} // namespace

Driver::Driver() {
  void *library = open_library();
  if (!library)
    throw std::runtime_error("the driver's library cannot be opened");
  require(library, "cuDriverGetVersion", cuDriverGetVersion);
  require(library, "cuGetErrorName", cuGetErrorName);
  require(library, "cuMemsetD8Async", cuMemsetD8Async);
  require(library, "cuStreamCreate", cuStreamCreate);
  require(library, "cuStreamDestroy_v2", cuStreamDestroy);
  require(library, "cuStreamSynchronize", cuStreamSynchronize);
  require(library, "cuEventCreate", cuEventCreate);
  require(library, "cuEventDestroy_v2", cuEventDestroy);
  require(library, "cuEventRecord", cuEventRecord);
  require(library, "cuEventQuery", cuEventQuery);
  require(library, "cuEventSynchronize", cuEventSynchronize);
  require(library, "cuEventElapsedTime", cuEventElapsedTime);
  require(library, "cuLaunchKernelEx", cuLaunchKernelEx);
  require(library, "cuStreamBeginCapture_v2", cuStreamBeginCapture);
  require(library, "cuStreamEndCapture", cuStreamEndCapture);
  require(library, "cuGraphGetNodes", cuGraphGetNodes);
  require(library, "cuGraphDestroy", cuGraphDestroy);
  find(library, "cuGraphKernelNodeGetParams_v2", cuGraphKernelNodeGetParams);
  find(library, "cuGraphKernelNodeGetAttribute", cuGraphKernelNodeGetAttribute);
}

std::string Driver::version() const {
  int number = 0;
  check(cuDriverGetVersion(&number), "cuDriverGetVersion");
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

void Driver::check(int result, const char *what) const {
  if (result == 0)
    return;
  const char *name = nullptr;
  if (cuGetErrorName(result, &name) != 0 || !name)
    name = "an unknown error";
  throw std::runtime_error(std::string(what) + ": " + name);
}

DeviceQueue::DeviceQueue(const Driver &driver) : driver_(driver) {
  tritonc::status allocated = tritonc::allocate(&workspace_, workspace_bytes);
  if (!allocated.ok())
    throw std::runtime_error(allocated.message().c_str());
  for (Driver::Handle &event : events_)
    driver.check(driver.cuEventCreate(&event, 0), "cuEventCreate");
  for (int i = 0; i < 3; i++) { // the last measurement counts
    mark(0);
    fill_workspace(workspace_bytes);
    mark(1);
    wait(1);
  }
  milliseconds_per_byte_ = std::max(between(0, 1), 1e-3) / double(workspace_bytes);
}

DeviceQueue::~DeviceQueue() {
  for (Driver::Handle event : events_)
    driver_.cuEventDestroy(event);
  (void)tritonc::release(workspace_);
}

void DeviceQueue::fill_workspace(std::size_t bytes) {
  auto address = reinterpret_cast<Driver::Address>(workspace_);
  driver_.check(driver_.cuMemsetD8Async(address, 0, bytes, nullptr), "cuMemsetD8Async");
}

double DeviceQueue::now() {
  auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since_start).count();
}

void DeviceQueue::delay(double milliseconds) {
  auto bytes = std::size_t(milliseconds / milliseconds_per_byte_);
  for (; bytes > workspace_bytes; bytes -= workspace_bytes)
    fill_workspace(workspace_bytes);
  if (bytes > 0)
    fill_workspace(bytes);
}

void DeviceQueue::mark(int number) {
  driver_.check(driver_.cuEventRecord(events_[number], nullptr), "cuEventRecord");
}

bool DeviceQueue::reached(int number) {
  constexpr int not_ready = 600;
  int result = driver_.cuEventQuery(events_[number]);
  if (result == not_ready)
    return false;
  driver_.check(result, "cuEventQuery");
  return true;
}

void DeviceQueue::wait(int number) {
  driver_.check(driver_.cuEventSynchronize(events_[number]), "cuEventSynchronize");
}

double DeviceQueue::between(int first, int last) {
  float milliseconds = 0;
  driver_.check(driver_.cuEventElapsedTime(&milliseconds, events_[first], events_[last]),
                "cuEventElapsedTime");
  return milliseconds;
}

} // namespace bench
