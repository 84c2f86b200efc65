// Runs passes by name, one after another, and calls an observer after each.

#pragma once

#include "ir/ir.h"

#include <functional>
#include <string_view>

namespace tritonc {

/// Called after every pass: verifies, prints (--print-after), and times, so that no pass has to.
using PassObserver = std::function<void(std::string_view pass, ir::Function &)>;

class PassRunner {
public:
  PassRunner(ir::Function &fn, const PassObserver &observe) : fn_(fn), observe_(observe) {}

  template <typename Pass, typename... Arguments>
  void operator()(std::string_view name, Pass pass, const Arguments &...arguments) {
    pass(fn_, arguments...);
    if (observe_)
      observe_(name, fn_);
  }

private:
  ir::Function &fn_;
  const PassObserver &observe_;
};

} // namespace tritonc
