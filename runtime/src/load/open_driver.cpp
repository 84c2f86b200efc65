// Opens the driver with dlopen.
//
// A program must start and run on machines without a GPU, so the driver is not linked. The runtime
// never closes the library, because the library has its own threads and exit handlers.

#include "load/context.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace tritonc::v1::cuda {

namespace {

constexpr int oldest_version = 12000; // for cuLibrary* and the cubins of all supported toolkits

using GetProcAddress = Result (*)(const char *, void **, int, std::uint64_t, int *);

pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
std::atomic<const Driver *> resolved{nullptr};
std::atomic<Result> first_cause{success};

// Guarded by `opening`.
Driver table;
status_code lasting_failure = status_code::ok;
std::int32_t lasting_detail = 0;
const char *lasting_argument = nullptr;

class Lock {
public:
  Lock() { pthread_mutex_lock(&opening); }
  ~Lock() { pthread_mutex_unlock(&opening); }
  Lock(const Lock &) = delete;
};

// The library that TRITONC_DRIVER named at the first call; a status refers to this copy. Guarded by
// `opening` until it is complete.
char named_library[4096];

void *open_library() {
  // secure_getenv: setuid programs must not load a library that the user names.
  if (const char *named = secure_getenv("TRITONC_DRIVER"); named && *named) {
    std::snprintf(named_library, sizeof named_library, "%s", named);
    return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  }
  // A library that is already loaded may be the fake of a profiler or debugger: use it.
  if (void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
    return library;
  if (void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
    return library;
  return dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL);
}

status lasting(status_code code, const char *argument, int detail) {
  lasting_failure = code;
  lasting_argument = argument;
  lasting_detail = detail;
  return {code, nullptr, argument, detail};
}

int version_of(void *library) {
  auto get_version = reinterpret_cast<Result (*)(int *)>(dlsym(library, "cuDriverGetVersion"));
  int version = 0;
  if (!get_version || get_version(&version) != success)
    return 0;
  return version;
}

template <typename Function>
bool resolve(GetProcAddress get, const char *name, int version, Function &function) {
  void *address = nullptr;
  int found = 0;
  if (get(name, &address, version, 0, &found) != success || found != 0 || !address)
    return false;
  function = reinterpret_cast<Function>(address);
  return true;
}

status fill_table() {
  void *library = open_library();
  if (!library)
    return lasting(status_code::no_driver, named_library, 0);
  auto get = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  int version = version_of(library);
  if (!dlsym(library, "cuDriverGetVersion"))
    return lasting(status_code::no_driver, named_library, 1);
  if (!get || version < oldest_version)
    return lasting(status_code::driver_too_old, get ? nullptr : "cuGetProcAddress_v2", version);
#define TRITONC_RESOLVE(name, since, parameters)                                                   \
  if (!resolve(get, #name, since, table.name))                                                     \
    return lasting(status_code::driver_too_old, #name, version);
  TRITONC_REQUIRED_FUNCTIONS(TRITONC_RESOLVE)
#undef TRITONC_RESOLVE
#define TRITONC_RESOLVE(name, since, parameters) resolve(get, #name, since, table.name);
  TRITONC_OPTIONAL_FUNCTIONS(TRITONC_RESOLVE)
#undef TRITONC_RESOLVE
  table.version = version;
  if (table.tritoncEmulatorVersion) {
    int emulator_version = 0, takes_any_gpu = 0;
    if (table.tritoncEmulatorVersion(&emulator_version, &takes_any_gpu) != success ||
        emulator_version != int(abi::host_code_version))
      return lasting(status_code::wrong_emulator, nullptr, emulator_version);
    table.is_emulator = true;
    table.takes_any_gpu = takes_any_gpu != 0;
  }
  resolved.store(&table, std::memory_order_release);
  return {};
}

/// Returns whether the error is sticky: all later calls in the context fail too.
bool is_sticky(Result result) {
  switch (result) {
  case 46:  // device unavailable
  case 214: // uncorrectable ECC error
  case 220: // uncorrectable NVLink error
  case 226: // contained
  case 700: // illegal address
  case 702: // time limit
  case assertion_failed:
  case 714: // hardware stack
  case 715: // illegal instruction
  case 716: // misaligned address
  case 717: // invalid address space
  case 718: // invalid program counter
  case 719: // launch failed
  case 721: // tensor memory leak
    return true;
  default:
    return false;
  }
}

} // namespace

std::atomic<const Driver *> opened{nullptr};

const Driver *open_driver(status &why) noexcept {
  if (const Driver *driver = opened_driver())
    return driver;
  Lock lock;
  if (const Driver *driver = opened_driver())
    return driver;
  if (lasting_failure != status_code::ok) {
    why = {lasting_failure, nullptr, lasting_argument, lasting_detail};
    return nullptr;
  }
  if (!resolved_driver()) {
    why = fill_table();
    if (!why.ok())
      return nullptr;
  }
  // Not remembered: a machine that is still booting may fail now and succeed later.
  if (Result result = table.cuInit(0)) {
    why = failure(table, result, nullptr, "cuInit");
    return nullptr;
  }
  int devices = 0;
  if (Result result = table.cuDeviceGetCount(&devices); result != success || devices == 0) {
    why =
        failure(table, result == success ? Result(no_device) : result, nullptr, "cuDeviceGetCount");
    return nullptr;
  }
  table.process = getpid();
  table.devices = devices;
  table.devices_are_alike = are_alike(table);
  opened.store(&table, std::memory_order_release);
  return &table;
}

const Driver *resolved_driver() noexcept { return resolved.load(std::memory_order_acquire); }

status failure(const Driver &driver, Result result, const abi::kernel *kernel,
               const char *argument) noexcept {
  if (is_sticky(result)) {
    Result none = success;
    if (!first_cause.compare_exchange_strong(none, result))
      result = none;
    return {status_code::device_lost, kernel, argument, result};
  }
  switch (result) {
  case out_of_memory:
    return {status_code::out_of_memory, kernel, argument, result};
  case no_device:
    return {status_code::no_device, kernel, argument, 0};
  case no_binary_for_gpu:
    return {status_code::no_image_for_device, kernel, argument, 0};
  case unsupported_ptx_version:
    if (driver.is_emulator) // the emulator lacks an operation of the host code
      return {status_code::wrong_emulator, kernel, argument, abi::host_code_version};
    return {status_code::driver_too_old, kernel, argument, driver.version};
  case not_initialized:
    if (driver.process != 0 && driver.process != getpid())
      return {status_code::forked_child, kernel, argument, 0};
    break;
  case context_is_destroyed: // by the program, or by an earlier failure
    if (Result cause = first_cause.load())
      return {status_code::device_lost, kernel, argument, cause};
    break;
  default:
    break;
  }
  return {status_code::cuda, kernel, argument, result};
}

} // namespace tritonc::v1::cuda
