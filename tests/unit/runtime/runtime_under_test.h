// The runtime as a shared library with a table of its functions, so that each test can open a fresh
// copy.

#pragma once

#include <tritonc/device.hpp>
#include <tritonc/hooks.hpp>
#include <tritonc/runtime.hpp>

namespace tritonc {

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
};

} // namespace tritonc

extern "C" const tritonc::RuntimeFunctions *runtime_functions();
