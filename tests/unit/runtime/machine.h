// A machine for one test: a fresh copy of the fake driver and a fresh copy of the runtime.
//
// Both libraries keep state until the process ends. A copy under a new file name has fresh state.

#pragma once

#include "unit/runtime/fake_driver.h"
#include "unit/runtime/runtime_under_test.h"

#include <memory>
#include <string>

namespace tritonc {

class Machine {
public:
  /// The library that TRITONC_DRIVER names:
  ///
  /// - `as_driver`: the fake driver, but the runtime does not know that it is an emulator. So the
  ///   bytes of an image must be its host code (sample_kernel.h).
  /// - `emulator`: the fake driver, known as an emulator.
  /// - `old_driver`: a driver without cuGetProcAddress_v2.
  /// - `no_file`: a path that does not exist.
  /// - `garbage`: a file that is no library.
  /// - `other_library`: a library that is no driver.
  enum Kind { as_driver, emulator, old_driver, no_file, garbage, other_library };
  explicit Machine(Kind kind = as_driver, const std::string &settings = "");
  ~Machine();
  Machine(const Machine &) = delete;

  /// Only for `as_driver` and `emulator`.
  StandIn &driver() { return *driver_; }
  const RuntimeFunctions &runtime() { return *runtime_; }
  std::string message(const status &status) { return runtime_->message(status).text; }

private:
  std::string folder_;
  std::unique_ptr<StandIn> driver_;
  const RuntimeFunctions *runtime_ = nullptr;
};

} // namespace tritonc
