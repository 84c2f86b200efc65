// On which device a launch will run, and what we need to know of it.

#pragma once

#include "driver.h"

namespace tritonc::v1::cuda {

/// Of further ones everything is asked each time, and they give no scratch memory.
inline constexpr int remembered_devices = 64;

struct DeviceFacts {
  Device device;
  int sm; // 90
  int multiprocessors;
  int shared_bytes; // the most that a block may have
  bool has_pools;   // of memory, and the driver knows how to make and use one
};

/// The default streams belong to whichever context is current: null, CU_STREAM_LEGACY and
/// CU_STREAM_PER_THREAD.
inline bool is_default(Stream stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

/// Whether all devices are of one kind, by all that decisions about a launch depend on.
bool are_alike(const Driver &driver) noexcept;

/// What nobody has asked for, since devices are alike.
inline constexpr Device any_device = -1;

/// The device for which a device's launches are remembered.
inline constexpr Device stand_in = 0; // of those that are alike
inline Device stand_in_for(const Driver &driver, Device device) noexcept {
  return driver.devices_are_alike.load(std::memory_order_relaxed) ? stand_in : device;
}

/// Whether it does not matter of which device a stream is: devices are alike, and it is no default
/// stream, whose context may be none.
inline bool needs_no_device(const Driver &driver, Stream stream) noexcept {
  return driver.devices_are_alike.load(std::memory_order_relaxed) && !is_default(stream);
}

/// What `find_device` asks.
bool ask_device(const Driver &driver, Stream stream, Device &device) noexcept;

/// The device of a stream, or `any_device`, with as few questions as will do: none, one or three.
/// False if they don't tell, or
/// if the context that is current is not the stream's: then `CurrentContext` knows what to do.
inline bool find_device(const Driver &driver, Stream stream, Device &device) noexcept {
  if (!needs_no_device(driver, stream))
    return ask_device(driver, stream, device);
  device = any_device;
  return true;
}

/// Makes sure that a context is current while it lives, and restores what was. The device is that
/// of the stream; of the default streams, that of the thread's current context; and where the
/// thread has none, device 0 with its primary context.
class CurrentContext {
public:
  CurrentContext() = default;
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;
  ~CurrentContext();

  status enter(const Driver &driver, Stream stream, const abi::kernel *kernel) noexcept;
  /// The same for a device: the current context if it is one of that, else its primary one.
  status enter_device(const Driver &driver, Device device, const abi::kernel *kernel) noexcept;
  const DeviceFacts &facts() const { return facts_; }
  /// Not if the stream is of a green context, which can't be made current: then another one is.
  bool is_of_stream() const { return is_of_stream_; }

  /// Leaves the context current instead of restoring.
  void keep() { pushed_ = false; }

private:
  Result find_device(Stream stream, Device &device);
  Result make_current(Device device);
  Result push(Context context);

  const Driver *driver_ = nullptr;
  bool pushed_ = false;
  bool is_of_stream_ = true;
  DeviceFacts facts_ = {};
};

} // namespace tritonc::v1::cuda
