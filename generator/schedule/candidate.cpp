// A schedule with its estimated cost. See candidate.h.
//
// Tested by tests/unit/schedule/elementwise_test.cpp.

#include "schedule/candidate.h"

#include "schedule/cost_formulas.h"

namespace tritonc {

std::optional<Candidate> with_cost(Schedule schedule, std::optional<BlockWork> work) {
  if (!work)
    return std::nullopt;
  Expr cost = cost_of_elementwise(*work, number(work->estimated_occupancy));
  return Candidate{
      .schedule = std::move(schedule), .cost = std::move(cost), .work = std::move(work)};
}

} // namespace tritonc
