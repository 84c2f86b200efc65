// Evaluates what launch plans and forms say about the arguments: requirements, pointers, the grid.
//
// Pure arithmetic: nothing here touches the driver, so a wrong call is reported even on a machine
// that has none.

#pragma once

#include <tritonc/runtime.hpp>

namespace tritonc::v1::plan {

/// What an expression may refer to.
struct Inputs {
  const abi::kernel &kernel;
  const abi::variant &variant;
  const void *arguments;
  // In forms:
  const grid *programs = nullptr;
  int multiprocessors = 0;
  bool has_scratch = false; // whether the device can give scratch memory
  int shared_bytes = 0;     // the most that a block may have there
  int sm = 0;               // the device
};

/// An integer, or the fact that it cannot be computed in 64 bits.
struct Number {
  std::int64_t value;
  bool known;
};

Number evaluate(const std::int64_t *code, const Inputs &inputs) noexcept;

/// Whether they all hold, and if not, the first that doesn't.
status check(const abi::requirement *requirements, std::uint32_t count,
             const Inputs &inputs) noexcept;

/// Up to three expressions, null after the last: 1.
status evaluate_grid(const std::int64_t *const (&axes)[3], const Inputs &inputs,
                     grid &result) noexcept;

/// The address that a pointer among the arguments has.
std::uint64_t address(const abi::parameter &parameter, const void *arguments) noexcept;

/// Whether the arguments meet the variant's integer requirements and how large its grid is.
/// `extent`: the caller's grid where the kernel declares none.
status size_grid(const abi::kernel &kernel, const abi::variant &variant, const void *arguments,
                 const grid *extent, grid &result) noexcept;

/// Whether every pointer may be dereferenced as the variant's code does. Apart from `size_grid`,
/// because an empty grid dereferences nothing.
status check_pointers(const abi::kernel &kernel, const abi::variant &variant,
                      const void *arguments) noexcept;

} // namespace tritonc::v1::plan
