// Chooses the schedule of a variant, and computes its hidden parameters.

#pragma once

#include "load/driver.h"
#include "select/plan.h"

namespace tritonc::v1::cuda {

/// The values of a schedule's hidden parameters: tensor maps and integers, each in order.
struct Hidden {
  std::uint32_t map_count = 0;
  std::uint32_t number_count = 0;
  TensorMapBytes maps[abi::max_tensor_maps];
  std::int64_t numbers[abi::max_hidden]; // an i32 is in the first 4 bytes
};

/// Returns the size of the schedule's workspace in bytes; 0: none; negative: not known.
std::int64_t workspace_bytes(const abi::launch_config *launch, const plan::Inputs &inputs) noexcept;

/// Returns the dynamic shared memory of a block in bytes: that of the schedule, else that of the
/// image.
plan::Number shared_bytes(const abi::image &image, const plan::Inputs &inputs) noexcept;

/// The chosen schedule: one launch, or a pair of launches that share the work.
struct Choice {
  const abi::image *image = nullptr;
  grid blocks;
  const abi::image *rest = nullptr; // the second launch of a pair; null: one launch
  grid rest_blocks;
  plan::Number cost = {};
};

/// Chooses the image with the cheapest schedule that fits the arguments, among the images for the
/// GPU of `fitting`. If no schedule fits, returns the reject reason of the last one.
status choose_schedule(const Driver &driver, const plan::Inputs &inputs, const abi::image &fitting,
                       Choice &choice) noexcept;

/// Returns whether `cost` is less than `than`. A known cost is less than an unknown one.
bool is_cheaper(plan::Number cost, plan::Number than) noexcept;

/// Computes the hidden parameters of a schedule that fits.
status prepare_hidden(const Driver &driver, const plan::Inputs &inputs,
                      const abi::launch_config *launch, Hidden &hidden) noexcept;

} // namespace tritonc::v1::cuda
