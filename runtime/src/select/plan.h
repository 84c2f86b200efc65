// Evaluates the expressions of launch plans and schedules: requirements, pointers, the grid.
//
// Pure arithmetic without the driver. So the runtime reports wrong calls even on a machine that has
// no driver.

#pragma once

#include <tritonc/runtime.hpp>

namespace tritonc::v1::plan {

/// The values that an expression may use.
struct Inputs {
  const abi::kernel &kernel;
  const abi::variant &variant;
  const void *arguments;
  // Only in schedules:
  const grid *programs = nullptr;
  int num_sms = 0;            // number of SMs
  bool has_workspace = false; // the device supports workspace
  int shared_bytes = 0;       // max shared memory per block of the device
  int sm = 0;                 // architecture of the device: 90
};

/// An integer, or unknown: it cannot be computed in 64 bits.
struct Number {
  std::int64_t value;
  bool known;
};

Number evaluate(const std::int64_t *code, const Inputs &inputs) noexcept;

/// Checks the requirements. Returns an error with the first requirement that does not hold.
status check(const abi::requirement *requirements, std::uint32_t count,
             const Inputs &inputs) noexcept;

/// Evaluates the expressions of up to three axes; null is 1. Fails if an axis is negative, or if the
/// grid is not empty and exceeds the driver's limits.
status evaluate_grid(const std::int64_t *const (&axes)[3], const Inputs &inputs,
                     grid &result) noexcept;

/// Returns the value of a pointer argument.
std::uint64_t address(const abi::parameter &parameter, const void *arguments) noexcept;

/// Checks the variant's requirements on integers and computes its grid. `extent` is the caller's
/// grid, for kernels that declare none.
status size_grid(const abi::kernel &kernel, const abi::variant &variant, const void *arguments,
                 const grid *extent, grid &result) noexcept;

/// Checks that the pointers are not null and are aligned as the variant's code assumes. Separate
/// from `size_grid`, because an empty grid dereferences nothing.
status check_pointers(const abi::kernel &kernel, const abi::variant &variant,
                      const void *arguments) noexcept;

} // namespace tritonc::v1::plan
