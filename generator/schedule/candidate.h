// A schedule of a kernel, with its estimated cost.

#pragma once

#include "ir/launch_plan.h"
#include "ir/schedule.h"
#include "schedule/cost_model.h"
#include "schedule/elementwise_cost_model.h"

#include <optional>

namespace tritonc {

/// A schedule of a kernel, and the cost of a launch with it.
struct Candidate {
  Schedule schedule;

  /// Estimated nanoseconds of a launch; the host compares schedules by it. Nothing: unknown.
  std::optional<Expr> cost = {};

  /// The input of `cost`, if the cost also depends on the number of blocks per SM. Once the code
  /// exists, cost_of_elementwise or cost_of_copies computes the cost again from it.
  std::optional<BlockWork> work = {};
  std::optional<CopyingMatmul> copies = {};
};

/// The candidate for `schedule`, which does `work`; its cost is that of the estimated occupancy.
/// Nothing if the work is unknown.
std::optional<Candidate> with_cost(Schedule schedule, std::optional<BlockWork> work);

} // namespace tritonc
