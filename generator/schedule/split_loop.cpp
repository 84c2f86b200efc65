// The schedule in which several blocks divide the loop of a program. See split_loop.h.
//
// Tested by tests/unit/schedule/elementwise_test.cpp.

#include "schedule/split_loop.h"

#include "analysis/associative_loop.h"
#include "schedule/cost_formulas.h"

namespace tritonc {

using namespace ir;

std::vector<Candidate> split_loop_schedules(const Function &canonical, const BlockWork &work,
                                            const Gpu &gpu) {
  Function fn = clone(canonical);
  std::optional<AssociativeLoop> found = find_associative_loop(fn);
  if (!work.iterations || !found)
    return {};
  const int blocks_per_sm = int(work.estimated_occupancy);
  const Expr parts =
      parts_of_loop(*work.iterations, num_sms() * number(blocks_per_sm), all_programs());
  BlockWork part = work;
  part.blocks = all_programs() * parts;
  part.operations = div_up(work.operations, parts);
  part.accesses = div_up(work.accesses, parts);
  part.iterations = div_up(*work.iterations, parts);
  part.waits = div_up(work.waits, parts);
  part.second_launch = number(gpu.costs->reduction_launch) +
                       div_up(parts, number(parts_of_iteration(*found).all())) *
                           number(work.times.iteration + work.times.wait);
  Expr cost = cost_of_elementwise(part, number(blocks_per_sm));
  return {{.schedule = {.kind = Schedule::Kind::split_loop,
                        .work = Schedule::Work::partials,
                        .blocks_per_sm = blocks_per_sm},
           .cost = std::move(cost),
           .work = std::move(part)},
          {.schedule = {.kind = Schedule::Kind::split_loop,
                        .work = Schedule::Work::reduction,
                        .blocks_per_sm = blocks_per_sm}}};
}

} // namespace tritonc
