// The driver functions that the benchmark needs in addition to our runtime: events as marks in the
// queue, and launches without our runtime.
#pragma once

#include "alternate.h"

#include <cstddef>
#include <string>

namespace bench {

/// The driver functions, loaded at run time. Like our runtime, opens the library in TRITONC_DRIVER
/// if set. Throws std::runtime_error if a required function is missing.
class Driver {
public:
  using Handle = void *;
  using Address = unsigned long long;

  struct LaunchConfig {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    Handle stream;
    const void *attributes;
    unsigned attribute_count;
  };
  struct KernelNode { // CUDA_KERNEL_NODE_PARAMS_v2
    Handle function;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    void **parameters;
    void **extra;
    Handle kernel; // used if `function` is null
    Handle context;
  };

  Driver();

  /// "13.0".
  std::string version() const;
  /// Throws std::runtime_error with the name of the error, unless `result` is success.
  void check(int result, const char *what) const;

  int (*cuDriverGetVersion)(int *);
  int (*cuGetErrorName)(int, const char **);
  int (*cuMemsetD8Async)(Address, unsigned char, std::size_t, Handle);
  int (*cuStreamCreate)(Handle *, unsigned);
  int (*cuStreamDestroy)(Handle);
  int (*cuStreamSynchronize)(Handle);
  int (*cuEventCreate)(Handle *, unsigned);
  int (*cuEventDestroy)(Handle);
  int (*cuEventRecord)(Handle, Handle);
  int (*cuEventQuery)(Handle);
  int (*cuEventSynchronize)(Handle);
  int (*cuEventElapsedTime)(float *, Handle, Handle);
  int (*cuLaunchKernelEx)(const LaunchConfig *, Handle, void **, void **);
  int (*cuStreamBeginCapture)(Handle, int);
  int (*cuStreamEndCapture)(Handle, Handle *);
  int (*cuGraphGetNodes)(Handle, Handle *, std::size_t *);
  int (*cuGraphDestroy)(Handle);
  // Null if the driver lacks them; the emulator does.
  int (*cuGraphKernelNodeGetParams)(Handle, KernelNode *);
  int (*cuGraphKernelNodeGetAttribute)(Handle, int, void *);
};

/// The queue of the default stream.
class DeviceQueue : public Queue {
public:
  /// Needs a current context.
  explicit DeviceQueue(const Driver &driver);
  ~DeviceQueue() override;
  DeviceQueue(const DeviceQueue &) = delete;

  double now() override;
  void delay(double milliseconds) override;
  void mark(int number) override;
  bool reached(int number) override;
  void wait(int number) override;
  double between(int first, int last) override;

private:
  void fill_workspace(std::size_t bytes);

  const Driver &driver_;
  void *workspace_ = nullptr; // `delay` fills it
  double milliseconds_per_byte_ = 0;
  Driver::Handle events_[mark_count] = {};
};

} // namespace bench
