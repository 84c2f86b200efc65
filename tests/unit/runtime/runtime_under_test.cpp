// The runtime as a shared library. See runtime_under_test.h.

#include "unit/runtime/runtime_under_test.h"

namespace {

tritonc::status time_nothing(float &milliseconds) noexcept {
  tritonc::timer timer;
  tritonc::status status = timer.start();
  if (status.ok())
    status = timer.stop();
  return status.ok() ? timer.milliseconds(milliseconds) : status;
}

tritonc::status_text message(const tritonc::status &status) noexcept { return status.message(); }

tritonc::timer *new_timer() noexcept { return new tritonc::timer; }

void delete_timer(tritonc::timer *timer) noexcept { delete timer; }

const tritonc::RuntimeFunctions functions = {
    tritonc::abi::launch,
    tritonc::abi::prepare,
    tritonc::abi::launch_prepared,
    tritonc::abi::preload,
    tritonc::abi::set_constant,
    tritonc::abi::info,
    tritonc::set_hooks,
    tritonc::current_device,
    tritonc::allocate,
    tritonc::release,
    tritonc::copy_to_device,
    tritonc::copy_to_host,
    tritonc::fill,
    tritonc::synchronize,
    time_nothing,
    message,
    new_timer,
    delete_timer,
    &tritonc::timer::start,
    &tritonc::timer::stop,
    &tritonc::timer::has_started,
    &tritonc::timer::milliseconds,
#define VALUE(name) tritonc_##name,
    {TRITONC_C_FUNCTIONS(VALUE)},
#undef VALUE
};

} // namespace

extern "C" const tritonc::RuntimeFunctions *runtime_functions() { return &functions; }
