// A machine for one test: a fresh copy of the stand-in driver and a fresh copy of the runtime.
//
// Both keep state for the life of a process; opened under a new name, they start anew.

#pragma once

#include "runtime/fake_driver.h"
#include "runtime/runtime_under_test.h"

#include <string>

namespace tritonc {

class Machine {
public:
  enum Kind { with_driver, with_old_driver, without_driver };
  explicit Machine(Kind kind = with_driver);
  ~Machine();
  Machine(const Machine &) = delete;

  fake::Driver &driver() { return *driver_; }
  const RuntimeFunctions &runtime() { return *runtime_; }
  std::string message(const status &status) { return runtime_->message(status).text; }

  void make_current(fake::Context *context) { make_current_(context); }
  fake::Context *current() { return current_(); }
  fake::Context *primary() { return primary_(); }

private:
  std::string folder_;
  fake::Driver *driver_ = nullptr;
  const RuntimeFunctions *runtime_ = nullptr;
  decltype(&fake_make_current) make_current_ = nullptr;
  decltype(&fake_current) current_ = nullptr;
  decltype(&fake_primary) primary_ = nullptr;
};

} // namespace tritonc
