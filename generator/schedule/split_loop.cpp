// The schedule in which several blocks divide the loop of a program. See split_loop.h.
//
// Tested by tests/unit/schedule/elementwise_test.cpp.

#include "schedule/split_loop.h"

#include "analysis/associative_loop.h"
#include "passes/combine_loop_partials.h"
#include "schedule/cost_formulas.h"

#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

// Its programs run everything but the loop, and combine partials, which are in L2.
Expr cost_of_second_launch(const Function &canonical, const Schedule &schedule, const Gpu &gpu) {
  Function fn = clone(canonical);
  combine_loop_partials(fn, schedule);
  std::optional<BlockWork> work = work_of_blocks(fn, all_programs(), number(0), gpu);
  assert(work && "the host computes the number of parts");
  work->times.launch = gpu.costs->reduction_launch;
  return cost_of_elementwise(*work, number(work->estimated_occupancy));
}

} // namespace

std::vector<Candidate> split_loop_schedules(const Function &canonical, const BlockWork &work,
                                            const Gpu &gpu) {
  Function fn = clone(canonical);
  if (!work.iterations || !find_associative_loop(fn))
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
  const Schedule first = {.kind = Schedule::Kind::split_loop,
                          .work = Schedule::Work::partials,
                          .blocks_per_sm = blocks_per_sm};
  Schedule second = first;
  second.work = Schedule::Work::reduction;
  part.second_launch = cost_of_second_launch(fn, second, gpu);
  Expr cost = cost_of_elementwise(part, number(blocks_per_sm));
  return {{.schedule = first, .cost = std::move(cost), .work = std::move(part)},
          {.schedule = second}};
}

} // namespace tritonc
