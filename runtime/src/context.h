// On which device a launch will run, and what we need to know of it.

#pragma once

#include "driver.h"

namespace tritonc::v1::cuda {

struct DeviceFacts {
  Device device;
  int sm; // 90
  int multiprocessors;
};

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
  const DeviceFacts &facts() const { return facts_; }

  /// Leaves the context current instead of restoring.
  void keep() { pushed_ = false; }

private:
  Result find_device(Stream stream, Device &device);
  Result push(Context context);

  const Driver *driver_ = nullptr;
  bool pushed_ = false;
  DeviceFacts facts_ = {};
};

} // namespace tritonc::v1::cuda
