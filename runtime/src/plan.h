// Evaluates what a launch plan says about the arguments: requirements, pointers, the grid.
//
// Pure arithmetic: nothing here touches the driver, so a wrong call is reported even on a machine
// that has none.

#pragma once

#include <tritonc/runtime.hpp>

namespace tritonc::v1::plan {

/// Whether the arguments meet the variant's integer requirements and how large its grid is.
/// `extent`: the caller's grid where the kernel declares none.
status size_grid(const abi::kernel &kernel, const abi::variant &variant, const void *arguments,
                 const grid *extent, grid &result) noexcept;

/// Whether every pointer may be dereferenced as the variant's code does. Apart from `size_grid`,
/// because an empty grid dereferences nothing.
status check_pointers(const abi::kernel &kernel, const abi::variant &variant,
                      const void *arguments) noexcept;

} // namespace tritonc::v1::plan
