// Finds the device and context of a launch, and the device's properties.

#pragma once

#include "load/driver.h"

namespace tritonc::v1::cuda {

/// The max number of devices whose properties are cached. Devices with higher ordinals are queried
/// each time and support no workspace.
inline constexpr int remembered_devices = 64;

struct DeviceFacts {
  Device device;
  int sm;           // 90
  int num_sms;      // number of SMs
  int shared_bytes; // max shared memory per block
  bool has_pools;   // device and driver support memory pools
};

/// Returns whether the stream is a default stream: null, CU_STREAM_LEGACY or CU_STREAM_PER_THREAD.
/// Default streams belong to the current context.
inline bool is_default(Stream stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

/// Returns whether all devices have the same properties, as far as launches depend on them.
bool are_alike(const Driver &driver) noexcept;

/// The device is unknown and irrelevant, because all devices are alike.
inline constexpr Device any_device = -1;

/// The device in the key of the launch cache: device 0 if all devices are alike, else the launch's
/// own device.
inline constexpr Device representative = 0;
inline Device representative_of(const Driver &driver, Device device) noexcept {
  return driver.devices_are_alike.load(std::memory_order_relaxed) ? representative : device;
}

/// Returns whether a launch needs no device: all devices are alike, and the stream is no default
/// stream. The thread of a default stream may have no context.
inline bool needs_no_device(const Driver &driver, Stream stream) noexcept {
  return driver.devices_are_alike.load(std::memory_order_relaxed) && !is_default(stream);
}

/// Asks the driver for the device of a stream. See `find_device`.
bool ask_device(const Driver &driver, Stream stream, Device &device) noexcept;

/// Finds the device of a stream, or sets `any_device`. Makes zero, one or three driver calls.
/// Returns false if the driver returns an error, or if the current context is not the stream's.
/// Then use `CurrentContext`.
inline bool find_device(const Driver &driver, Stream stream, Device &device) noexcept {
  if (!needs_no_device(driver, stream))
    return ask_device(driver, stream, device);
  device = any_device;
  return true;
}

/// Makes a context current while the object lives, and restores the old state. The context is:
///
/// - the stream's context;
/// - for a default stream, the thread's current context;
/// - if the thread has none, the primary context of device 0.
class CurrentContext {
public:
  CurrentContext() = default;
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;
  ~CurrentContext();

  status enter(const Driver &driver, Stream stream, const abi::kernel *kernel) noexcept;
  /// Does the same for a device: the current context if it belongs to the device, else the device's
  /// primary context.
  status enter_device(const Driver &driver, Device device, const abi::kernel *kernel) noexcept;
  const DeviceFacts &facts() const { return facts_; }
  /// False if the stream belongs to a green context: then another context is current, because a
  /// green context cannot be made current.
  bool is_of_stream() const { return is_of_stream_; }

  /// The destructor leaves the context current.
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
