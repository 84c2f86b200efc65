// A machine for one test: a fresh copy of the stand-in driver and a fresh copy of the runtime.
//
// Both keep state for the life of a process; opened under a new name, they start anew.

#pragma once

#include "runtime/runtime_under_test.h"
#include "runtime/stand_in.h"

#include <memory>
#include <string>

namespace tritonc {

class Machine {
public:
  /// `as_driver`: the runtime does not learn that it is an emulator, and treats it as any driver:
  /// its images must be what the stand-in runs (sample_kernel.h). `old_driver` has no
  /// cuGetProcAddress_v2; `no_file`, `garbage`: what TRITONC_DRIVER names isn't there, is no
  /// library; `other_library`: it is a library, but no driver.
  enum Kind { as_driver, emulator, old_driver, no_file, garbage, other_library };
  explicit Machine(Kind kind = as_driver, const std::string &settings = "");
  ~Machine();
  Machine(const Machine &) = delete;

  /// Only of a machine that has one.
  StandIn &driver() { return *driver_; }
  const RuntimeFunctions &runtime() { return *runtime_; }
  std::string message(const status &status) { return runtime_->message(status).text; }

private:
  std::string folder_;
  std::unique_ptr<StandIn> driver_;
  const RuntimeFunctions *runtime_ = nullptr;
};

} // namespace tritonc
