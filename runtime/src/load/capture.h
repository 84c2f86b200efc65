// Driver calls during graph capture.

#pragma once

#include "load/driver.h"

namespace tritonc::v1::cuda {

/// Returns whether the stream is being captured, or is unusable because another stream of its
/// context is being captured.
inline bool is_capturing(const Driver &driver, Stream stream) {
  int capturing = 0;
  // An error means: another stream of the context is being captured, and work on the default stream
  // would invalidate the capture.
  return driver.cuStreamIsCapturing &&
         (driver.cuStreamIsCapturing(stream, &capturing) != success || capturing != 0);
}

/// While it lives, the thread is in relaxed capture mode. The driver then allows calls that a
/// capture otherwise forbids: loading code, creating pools, and allocating from pools, also on
/// other streams. A capture on this thread forbids them; in global mode, a capture on any thread
/// does. Drivers before CUDA 12.3 do not allow them at all: then `usable` is false.
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
