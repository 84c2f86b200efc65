// Which form of a variant runs, and what its kernel is given behind the arguments.

#pragma once

#include "driver.h"
#include "plan.h"

namespace tritonc::v1::cuda {

/// The values of a form's hidden parameters: maps and numbers, each in their order.
struct Hidden {
  std::uint32_t map_count = 0;
  std::uint32_t number_count = 0;
  TensorMapBytes maps[abi::max_tensor_maps];
  std::int64_t numbers[abi::max_hidden]; // an i32 is the first half
};

/// How much scratch memory a launch in the form has; 0: none, or it cannot be said.
std::int64_t scratch_bytes(const abi::form *form, const plan::Inputs &inputs) noexcept;

/// What one launch, or two that share the work, come to.
struct Choice {
  const abi::image *image = nullptr;
  grid blocks;
  const abi::image *rest = nullptr; // of the second launch; null: there is one
  grid rest_blocks;
  plan::Number cost = {};
};

/// Among the images for the GPU of `fitting`: that whose form costs least of those which fit the
/// arguments. If none fits, why the last doesn't.
status choose_form(const Driver &driver, const plan::Inputs &inputs, const abi::image &fitting,
                   Choice &choice) noexcept;

/// Whether to take what costs the one rather than the other: something known.
bool is_cheaper(plan::Number cost, plan::Number than) noexcept;

/// What the form, which fits, adds to the arguments.
status prepare_hidden(const Driver &driver, const plan::Inputs &inputs, const abi::form *form,
                      Hidden &hidden) noexcept;

} // namespace tritonc::v1::cuda
