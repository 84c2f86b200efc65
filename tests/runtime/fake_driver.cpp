// A stand-in for the CUDA driver. See fake_driver.h.

#include "runtime/fake_driver.h"

#include <cstddef>
#include <cstring>

namespace {

using fake::Context;
using fake::Stream;

fake::Driver driver;
Context primary;
thread_local std::vector<Context *> contexts;

struct Library {
  std::string image;
};
struct Kernel {
  Library *library;
  std::string name;
};

struct Config {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void *stream;
  const void *attributes;
  unsigned attribute_count;
};

/// Counts the call; what it shall return.
int called(const char *name) {
  std::lock_guard lock(driver.mutex);
  driver.calls[name]++;
  if (auto once = driver.fails_once.find(name); once != driver.fails_once.end()) {
    int result = once->second;
    driver.fails_once.erase(once);
    return result;
  }
  auto always = driver.fails.find(name);
  return always == driver.fails.end() ? 0 : always->second;
}

#define CALLED(name)                                                                               \
  if (int result = called(name))                                                                   \
  return result

Context *current() { return contexts.empty() ? nullptr : contexts.back(); }

bool is_default(void *stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

int cuInit(unsigned) {
  CALLED("cuInit");
  return 0;
}

int cuGetErrorName(int result, const char **name) {
  *name = result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_SOMETHING";
  return 0;
}

int cuGetErrorString(int, const char **text) {
  *text = "a text of the driver";
  return 0;
}

int cuDeviceGetCount(int *count) {
  CALLED("cuDeviceGetCount");
  *count = int(driver.devices.size());
  return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  CALLED("cuDeviceGetAttribute");
  const fake::Device &d = driver.devices.at(size_t(device));
  *value = attribute == 75   ? d.major
           : attribute == 76 ? d.minor
           : attribute == 16 ? d.multiprocessors
                             : -1;
  return 0;
}

int cuDeviceGetName(char *name, int length, int) {
  std::strncpy(name, "Fake GPU", size_t(length));
  return 0;
}

int cuDevicePrimaryCtxRetain(Context **context, int device) {
  CALLED("cuDevicePrimaryCtxRetain");
  if (device != 0)
    return 101;
  *context = &primary;
  return 0;
}

int cuCtxGetCurrent(Context **context) {
  CALLED("cuCtxGetCurrent");
  *context = current();
  return 0;
}

int cuCtxPushCurrent(Context *context) {
  CALLED("cuCtxPushCurrent");
  contexts.push_back(context);
  driver.pushed++;
  return 0;
}

int cuCtxPopCurrent(Context **context) {
  CALLED("cuCtxPopCurrent");
  *context = current();
  contexts.pop_back();
  driver.popped++;
  return 0;
}

int cuCtxGetDevice(int *device) {
  CALLED("cuCtxGetDevice");
  if (!current())
    return 201;
  *device = current()->device;
  return 0;
}

int cuStreamGetCtx(Stream *stream, Context **context) {
  CALLED("cuStreamGetCtx");
  if (stream->is_green)
    return 801;
  *context = stream->context;
  return 0;
}

int cuStreamGetDevice(Stream *stream, int *device) {
  CALLED("cuStreamGetDevice");
  *device = stream->context->device;
  return 0;
}

int cuStreamIsCapturing(Stream *stream, int *capturing) {
  CALLED("cuStreamIsCapturing");
  *capturing = !is_default(stream) && stream->is_capturing;
  return 0;
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
  CALLED("cuThreadExchangeStreamCaptureMode");
  thread_local int own = 0;
  std::lock_guard lock(driver.mutex);
  driver.capture_modes.push_back(*mode);
  std::swap(own, *mode);
  return 0;
}

/// Where the image ends only the real format says; tests use texts that end in a dollar sign.
int cuLibraryLoadData(Library **library, const void *code, int *, void **, unsigned, int *options,
                      void **values, unsigned count) {
  CALLED("cuLibraryLoadData");
  if (count != 1 || options[0] != 1 || values[0] == nullptr)
    return 1;
  const char *text = static_cast<const char *>(code);
  *library = new Library{std::string(text, std::strchr(text, '$'))};
  std::lock_guard lock(driver.mutex);
  driver.loaded.push_back((*library)->image);
  return 0;
}

int cuLibraryUnload(Library *library) {
  CALLED("cuLibraryUnload");
  delete library;
  return 0;
}

int cuLibraryGetKernel(Kernel **kernel, Library *library, const char *name) {
  CALLED("cuLibraryGetKernel");
  *kernel = new Kernel{library, name};
  return 0;
}

int cuKernelGetFunction(void **function, Kernel *kernel) {
  CALLED("cuKernelGetFunction");
  *function = kernel;
  return 0;
}

int cuFuncLoad(void *) {
  CALLED("cuFuncLoad");
  return 0;
}

int cuKernelSetAttribute(int attribute, int value, Kernel *kernel, int device) {
  CALLED("cuKernelSetAttribute");
  if (attribute != 8)
    return 1;
  std::lock_guard lock(driver.mutex);
  driver.attributes.push_back(kernel->name + " " + std::to_string(device) + " " +
                              std::to_string(value));
  return 0;
}

int cuLaunchKernelEx(const Config *config, void *function, void **parameters, void **) {
  CALLED("cuLaunchKernelEx");
  auto *kernel = static_cast<Kernel *>(function);
  fake::Launch launch{};
  launch.kernel = kernel->name;
  launch.image = kernel->library->image;
  std::memcpy(launch.grid, config->grid, sizeof launch.grid);
  std::memcpy(launch.block, config->block, sizeof launch.block);
  launch.shared_bytes = config->shared_bytes;
  launch.stream = config->stream;
  launch.context = current();
  for (size_t i = 0; i < driver.argument_sizes.size(); i++) {
    std::uint64_t value = 0;
    std::memcpy(&value, parameters[i], driver.argument_sizes[i]);
    launch.arguments.push_back(value);
  }
  std::lock_guard lock(driver.mutex);
  driver.launches.push_back(launch);
  return 0;
}

// Memory is the host's.

int cuMemAlloc(unsigned long long *memory, size_t bytes) {
  CALLED("cuMemAlloc");
  if (!current())
    return 201;
  *memory = reinterpret_cast<unsigned long long>(new char[bytes]);
  return 0;
}

int cuMemFree(unsigned long long memory) {
  CALLED("cuMemFree");
  delete[] reinterpret_cast<char *>(memory);
  return 0;
}

int cuMemcpyHtoD(unsigned long long to, const void *from, size_t bytes) {
  CALLED("cuMemcpyHtoD");
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}

int cuMemcpyDtoH(void *to, unsigned long long from, size_t bytes) {
  CALLED("cuMemcpyDtoH");
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}

int cuMemsetD8(unsigned long long memory, unsigned char value, size_t bytes) {
  CALLED("cuMemsetD8");
  std::memset(reinterpret_cast<void *>(memory), value, bytes);
  return 0;
}

int cuStreamSynchronize(Stream *) {
  CALLED("cuStreamSynchronize");
  return 0;
}

int cuEventCreate(void **event, unsigned) {
  CALLED("cuEventCreate");
  *event = new int(0);
  return 0;
}

int cuEventDestroy(void *event) {
  CALLED("cuEventDestroy");
  delete static_cast<int *>(event);
  return 0;
}

int cuEventRecord(void *, Stream *) {
  CALLED("cuEventRecord");
  return 0;
}

int cuEventSynchronize(void *) {
  CALLED("cuEventSynchronize");
  return 0;
}

int cuEventElapsedTime(float *milliseconds, void *, void *) {
  CALLED("cuEventElapsedTime");
  *milliseconds = 1.5f;
  return 0;
}

struct Entry {
  const char *name;
  int since;
  void *address;
};

#define ENTRY(name, since) {#name, since, reinterpret_cast<void *>(&name)}

extern "C" int cuDriverGetVersion(int *version);

// The version from which on this interface exists; below it another one would be given, above the
// driver's own version none.
const Entry entries[] = {
    ENTRY(cuInit, 2000),
    ENTRY(cuDriverGetVersion, 2020),
    ENTRY(cuGetErrorName, 6000),
    ENTRY(cuGetErrorString, 6000),
    ENTRY(cuDeviceGetCount, 2000),
    ENTRY(cuDeviceGetAttribute, 2000),
    ENTRY(cuDeviceGetName, 2000),
    ENTRY(cuDevicePrimaryCtxRetain, 7000),
    ENTRY(cuCtxGetCurrent, 4000),
    ENTRY(cuCtxPushCurrent, 4000),
    ENTRY(cuCtxPopCurrent, 4000),
    ENTRY(cuCtxGetDevice, 2000),
    ENTRY(cuStreamGetCtx, 9020),
    ENTRY(cuStreamGetDevice, 12080),
    ENTRY(cuStreamIsCapturing, 10000),
    ENTRY(cuThreadExchangeStreamCaptureMode, 10010),
    ENTRY(cuLibraryLoadData, 12000),
    ENTRY(cuLibraryUnload, 12000),
    ENTRY(cuLibraryGetKernel, 12000),
    ENTRY(cuKernelGetFunction, 12000),
    ENTRY(cuKernelSetAttribute, 12000),
    ENTRY(cuFuncLoad, 12040),
    ENTRY(cuLaunchKernelEx, 11060),
    ENTRY(cuMemAlloc, 3020),
    ENTRY(cuMemFree, 3020),
    ENTRY(cuMemcpyHtoD, 3020),
    ENTRY(cuMemcpyDtoH, 3020),
    ENTRY(cuMemsetD8, 3020),
    ENTRY(cuStreamSynchronize, 2000),
    ENTRY(cuEventCreate, 2000),
    ENTRY(cuEventDestroy, 4000),
    ENTRY(cuEventRecord, 2000),
    ENTRY(cuEventSynchronize, 2000),
    ENTRY(cuEventElapsedTime, 2000),
};

} // namespace

extern "C" {

fake::Driver *fake_driver() { return &driver; }
void fake_make_current(Context *context) {
  contexts.clear();
  if (context)
    contexts.push_back(context);
}
Context *fake_current() { return current(); }
Context *fake_primary() { return &primary; }

int cuDriverGetVersion(int *version) {
  CALLED("cuDriverGetVersion");
  *version = driver.version;
  return 0;
}

#ifndef FAKE_DRIVER_BEFORE_12
int cuGetProcAddress_v2(const char *name, void **address, int version, std::uint64_t, int *found) {
  CALLED("cuGetProcAddress_v2");
  *address = nullptr;
  *found = 1; // no such symbol
  if (version > driver.version) {
    *found = 2; // the version is not sufficient
    return 500;
  }
  if (driver.missing.count(name))
    return 500;
  for (const Entry &entry : entries) {
    if (std::strcmp(entry.name, name) != 0)
      continue;
    if (version != entry.since)
      return 1; // an interface that this stand-in doesn't have
    *address = entry.address;
    *found = 0;
    return 0;
  }
  return 500;
}
#endif

} // extern "C"
