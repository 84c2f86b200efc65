// The runtime as a shared library with a table of its functions, so that each test can open a fresh
// copy.

#pragma once

#include <tritonc/device.hpp>
#include <tritonc/hooks.hpp>
#include <tritonc/runtime.h>
#include <tritonc/runtime.hpp>

/// The functions of tritonc/runtime.h, without the prefix tritonc_.
#define TRITONC_C_FUNCTIONS(F)                                                                     \
  F(to_half)                                                                                       \
  F(to_bfloat16)                                                                                   \
  F(to_float8_e4m3)                                                                                \
  F(to_float8_e5m2)                                                                                \
  F(from_half)                                                                                     \
  F(from_bfloat16)                                                                                 \
  F(from_float8_e4m3)                                                                              \
  F(from_float8_e5m2)                                                                              \
  F(status_name)                                                                                   \
  F(status_kernel)                                                                                 \
  F(status_argument)                                                                               \
  F(status_cuda_result)                                                                            \
  F(status_message)                                                                                \
  F(launch)                                                                                        \
  F(prepare)                                                                                       \
  F(launch_prepared)                                                                               \
  F(preload)                                                                                       \
  F(set_constant)                                                                                  \
  F(variants)                                                                                      \
  F(info)                                                                                          \
  F(set_hooks)                                                                                     \
  F(current_device)                                                                                \
  F(allocate)                                                                                      \
  F(release)                                                                                       \
  F(copy_to_device)                                                                                \
  F(copy_to_host)                                                                                  \
  F(fill)                                                                                          \
  F(synchronize)

namespace tritonc {

struct CFunctions {
#define MEMBER(name) decltype(&tritonc_##name) name;
  TRITONC_C_FUNCTIONS(MEMBER)
#undef MEMBER
};

struct RuntimeFunctions {
  decltype(&abi::launch) launch;
  decltype(&abi::prepare) prepare;
  decltype(&abi::launch_prepared) launch_prepared;
  decltype(&abi::preload) preload;
  decltype(&abi::set_constant) set_constant;
  decltype(&abi::info) info;
  decltype(&tritonc::set_hooks) set_hooks;
  decltype(&tritonc::current_device) current_device;
  decltype(&tritonc::allocate) allocate;
  decltype(&tritonc::release) release;
  decltype(&tritonc::copy_to_device) copy_to_device;
  decltype(&tritonc::copy_to_host) copy_to_host;
  decltype(&tritonc::fill) fill;
  decltype(&tritonc::synchronize) synchronize;
  status (*time_nothing)(float &milliseconds) noexcept;
  status_text (*message)(const status &) noexcept;
  timer *(*new_timer)() noexcept;
  void (*delete_timer)(timer *) noexcept;
  decltype(&timer::start) start_timer;
  decltype(&timer::stop) stop_timer;
  decltype(&timer::has_started) has_started;
  decltype(&timer::milliseconds) milliseconds;
  CFunctions c;
};

} // namespace tritonc

extern "C" const tritonc::RuntimeFunctions *runtime_functions();
