// Images: chooses the image for a device, verifies it and loads it. See image.h.

#include "load/image.h"

#include "load/bundle.h"
#include "load/capture.h"
#include "load/hooks.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

namespace tritonc::v1::cuda {

namespace {

/// Bytes. A kernel with more shared memory, static and dynamic together, must raise its limit.
constexpr int shared_bytes_for_all = 48 * 1024;

/// Base values of the fitness scale, from worst to best. Within a kind, the newest image is best.
constexpr int of_another_gpu = 1, with_host_code = 100000; // only if the driver takes any GPU
constexpr int from_ptx = 1000000, compatible = 2000000, of_exactly_this_gpu = 3000000;

bool is_ptx(const abi::image &image) { return image.suffix == abi::ptx_suffix; }

int newness(const abi::image &image) { return 2 * image.sm + (image.suffix != 0); }

/// Returns the fitness for the device. Higher is better; 0: the image cannot run.
int fitness(const abi::image &image, int device_sm, bool takes_any_gpu) {
  if (image.suffix == 'a' && image.sm == device_sm)
    return of_exactly_this_gpu;
  if (is_ptx(image) && image.sm <= device_sm)
    return from_ptx + newness(image);
  bool same_major = image.sm / 10 == device_sm / 10;
  if (!is_ptx(image) && image.suffix != 'a' && same_major && image.sm <= device_sm)
    return compatible + newness(image);
  if (!takes_any_gpu)
    return 0;
  return of_another_gpu + newness(image) + (image.host ? with_host_code : 0);
}

bool is_whole(const char *bytes, std::uint64_t size) {
  abi::image_header header;
  if (size < sizeof header)
    return false;
  std::memcpy(&header, bytes, sizeof header);
  const char unused[sizeof header.padding] = {};
  return std::memcmp(header.magic, abi::image_magic, sizeof header.magic) == 0 &&
         std::memcmp(header.padding, unused, sizeof unused) == 0 && header.reserved == 0 &&
         header.version == abi::image_version && header.length == size - sizeof header &&
         header.checksum == abi::checksum(bytes + sizeof header, header.length);
}

// Loads the function into the current context. Without one, as for streams of green contexts, the
// driver loads it at the launch.
Result load_function(const Driver &driver, Kernel handle) {
  Function function = nullptr;
  Result result = driver.cuKernelGetFunction(&function, handle);
  if (result == success && driver.cuFuncLoad)
    result = driver.cuFuncLoad(function);
  return result == invalid_context ? success : result;
}

// Loads an image. `bytes` points to its header; embedded bytes stay at their address.
//
// Only failed loads unload the library. Loaded libraries live until the process ends, because other
// threads may still launch while it ends.
//
// The driver loads lazily, but PTX is compiled here. So the runtime knows the time and the result
// of the compilation.
Result load(const Driver &driver, const char *entry, const abi::image &image, const char *bytes,
            Library &library, Kernel &handle) {
  const void *code = bytes + sizeof(abi::image_header);
  if (driver.is_emulator)
    code = image.host;
  int stays_in_place = 1; // CU_LIBRARY_BINARY_IS_PRESERVED: the driver need not copy the code
  void *yes = reinterpret_cast<void *>(1);
  unsigned options = code == bytes + sizeof(abi::image_header) && image.bundle ? 0 : 1;
  if (Result result = driver.cuLibraryLoadData(&library, code, nullptr, nullptr, 0, &stays_in_place,
                                               &yes, options))
    return result;
  Result result = driver.cuLibraryGetKernel(&handle, library, entry);
  if (result == success && is_ptx(image))
    result = load_function(driver, handle);
  if (result != success)
    driver.cuLibraryUnload(library);
  return result;
}

Result raise_shared_limit(const Driver &driver, int bytes, const abi::image &image, Device device,
                          Kernel handle) {
  Result result = driver.cuKernelSetAttribute(max_dynamic_shared_size, bytes, handle, device);
  if (result == success && device < 64)
    image.state->devices.fetch_or(std::uint64_t(1) << device, std::memory_order_release);
  return result;
}

/// Raises the limit for the device. If all devices are alike, raises it for all of them, because
/// later launches do not ask for their device. On a device without a context this takes
/// microseconds, loads nothing and creates no context.
status raise_shared_limits(const Driver &driver, const abi::kernel &kernel, int bytes,
                           const abi::image &image, Device device, Kernel handle) {
  if (Result result = raise_shared_limit(driver, bytes, image, device, handle))
    return failure(driver, result, &kernel, "cuKernelSetAttribute");
  for (Device other = 0; other < driver.devices && driver.devices_are_alike; other++)
    if (other != device && raise_shared_limit(driver, bytes, image, other, handle) != success)
      driver.devices_are_alike = false;
  return {};
}

pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

class Lock {
public:
  Lock() { pthread_mutex_lock(&loading); }
  ~Lock() { pthread_mutex_unlock(&loading); }
  Lock(const Lock &) = delete;
};

/// Its destructor calls the hooks on_load and on_jit if a load happened. The object outlives the
/// lock, so that the hooks run without it.
class Loading {
public:
  Loading(const abi::kernel &kernel, const image_info &info, const abi::image &image)
      : kernel_(kernel), info_(info), image_(image) {}
  ~Loading() {
    const hooks *callbacks = took_ >= 0 ? get_hooks() : nullptr;
    if (!callbacks)
      return;
    const load_event event = {kernel_.name,
                              info_.gpu,
                              info_.schedule ? info_.schedule : "",
                              info_.specialization ? info_.specialization : "",
                              image_.size - sizeof(abi::image_header),
                              took_};
    if (callbacks->on_load)
      callbacks->on_load(event, callbacks->data);
    if (callbacks->on_jit && is_ptx(image_))
      callbacks->on_jit(event, callbacks->data);
  }
  Loading(const Loading &) = delete;

  void begin() { began_ = now(); }
  void end() { took_ = now() - began_; }

private:
  static std::int64_t now() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * std::int64_t(1000000000) + time.tv_nsec;
  }

  const abi::kernel &kernel_;
  const image_info &info_;
  const abi::image &image_;
  std::int64_t began_ = 0;
  std::int64_t took_ = -1;
};

} // namespace

FittingImage choose_image(const abi::variant &variant, int device_sm, bool takes_any_gpu) noexcept {
  FittingImage best;
  for (std::uint32_t i = 0; i < variant.image_count; i++) {
    int fit = fitness(variant.images[i], device_sm, takes_any_gpu);
    if (fit > best.fitness)
      best = {&variant.images[i], fit};
  }
  return best;
}

status make_ready(const Driver &driver, const abi::kernel &kernel, const abi::variant &variant,
                  const abi::image &image, Device device, Stream stream, Kernel &handle) noexcept {
  const image_info &info = info_of(variant, image);
  bool raises_limit = info.shared_bytes + info.static_shared_bytes > shared_bytes_for_all;
  auto is_raised = [&] {
    return device < 64 && (image.state->devices.load(std::memory_order_acquire) >> device & 1) != 0;
  };
  handle = static_cast<Kernel>(image.state->kernel.load(std::memory_order_acquire));
  if (handle && (!raises_limit || is_raised()))
    return {};

  // A forked child has a copy of the parent's lock, which may be held, and a driver that may hang.
  if (driver.process != getpid())
    return {status_code::forked_child, &kernel};
  CaptureAllowed allowed(driver);
  if (!allowed.usable() && is_capturing(driver, stream))
    return {status_code::not_preloaded_in_capture, &kernel};
  Loading loading(kernel, info, image);
  Lock lock;
  handle = static_cast<Kernel>(image.state->kernel.load(std::memory_order_acquire));
  if (!handle) {
    BundledImage bundled;
    if (image.bundle) {
      status read = bundled.read(kernel, image);
      if (!read.ok())
        return read;
    }
    const char *bytes = image.bundle ? bundled.bytes() : image.bytes;
    if (!is_whole(bytes, image.size))
      return image.bundle ? status(status_code::corrupt_bundle, &kernel, image.bundle->name)
                          : status(status_code::corrupt_image, &kernel, info.gpu);
    if (driver.is_emulator && !image.host)
      return {status_code::no_host_code, &kernel, info.gpu};
    loading.begin();
    Library library = nullptr;
    if (Result result = load(driver, variant.entry, image, bytes, library, handle))
      return failure(driver, result, &kernel, "cuLibraryLoadData");
    loading.end();
    image.state->library.store(library, std::memory_order_release);
    image.state->kernel.store(handle, std::memory_order_release);
  }
  if (raises_limit && !is_raised())
    return raise_shared_limits(driver, kernel, info.shared_bytes, image, device, handle);
  return {};
}

} // namespace tritonc::v1::cuda
