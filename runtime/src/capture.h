// What must not disturb a capture of a graph.

#pragma once

#include "driver.h"

namespace tritonc::v1::cuda {

/// Whether the stream is being captured, or must not be used because another one is.
inline bool is_capturing(const Driver &driver, Stream stream) {
  int capturing = 0;
  // An error means: another stream of the context captures, and the default stream would break it.
  return driver.cuStreamIsCapturing &&
         (driver.cuStreamIsCapturing(stream, &capturing) != success || capturing != 0);
}

/// Loading code, making pools and allocating from them, on another stream too, is forbidden while a
/// graph is captured, on this thread or, in the strictest mode, on any, unless the thread says that
/// it knows. Drivers from 12.3 allow it then.
class CaptureAllowed {
public:
  explicit CaptureAllowed(const Driver &driver) : driver_(driver) {
    usable_ = driver.version >= 12030 && driver.cuThreadExchangeStreamCaptureMode &&
              driver.cuThreadExchangeStreamCaptureMode(&mode_) == success;
  }
  ~CaptureAllowed() {
    if (usable_)
      driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  CaptureAllowed(const CaptureAllowed &) = delete;

  bool usable() const { return usable_; }

private:
  const Driver &driver_;
  int mode_ = capture_relaxed;
  bool usable_ = false;
};

} // namespace tritonc::v1::cuda
