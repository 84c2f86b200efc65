// The schedule in which several blocks divide the loop of a program. See split_loop.h.
//
// Tested by tests/unit/schedule/elementwise_test.cpp.

#include "schedule/split_loop.h"

#include "analysis/associative_loop.h"
#include "analysis/launch_config.h"
#include "passes/combine_loop_partials.h"
#include "schedule/cost_formulas.h"
#include "schedule/loop_cost_model.h"
#include "target/cost_tables.h"

namespace tritonc {

using namespace ir;

namespace {

// Its programs run everything but the loop, and combine partials, which are in L2.
// Nothing if a dot is left.
std::optional<Expr> cost_of_second_launch(const Function &canonical, const Schedule &schedule,
                                          const Gpu &gpu) {
  Function fn = clone(canonical);
  combine_loop_partials(fn, schedule);
  std::optional<BlockWork> work = work_of_blocks(fn, all_programs(), number(0), gpu);
  if (!work)
    return std::nullopt;
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
  part.second_launch = cost_of_second_launch(fn, second, gpu); // there is no dot
  Expr cost = cost_of_elementwise(part, number(blocks_per_sm));
  return {{.schedule = first, .cost = std::move(cost), .work = std::move(part)},
          {.schedule = second}};
}

std::vector<Candidate> split_loop_of_dots(const Function &canonical, const Schedule &whole,
                                          const Gpu &gpu) {
  Function fn = clone(canonical);
  std::optional<AssociativeLoop> found = find_associative_loop(fn);
  if (!found)
    return {};
  Builder builder = Builder::before(fn, found->loop);
  const Expr iterations = *host_expression(emit_host_bound(builder, found->loop->operand(0)));
  const Expr parts =
      parts_of_loop(iterations, num_sms() * number(whole.blocks_per_sm), all_programs());
  LoopDivision division = {parts, div_up(iterations, parts), 0};
  for (const AssociativeLoop::Total &total : found->totals)
    division.partial_bytes += total.value->type.elements() * bytes_of(total.value->type.elem);
  Schedule first = whole;
  first.work = Schedule::Work::partials;
  const Schedule second = {.kind = Schedule::Kind::split_loop,
                           .work = Schedule::Work::reduction,
                           .blocks_per_sm = whole.blocks_per_sm};
  std::optional<Expr> cost = cost_of_loops(canonical, first, gpu, division);
  std::optional<Expr> of_second = cost_of_second_launch(canonical, second, gpu);
  if (!cost || !of_second)
    return {};
  return {{.schedule = first, .cost = std::move(*cost) + std::move(*of_second)},
          {.schedule = second}};
}

} // namespace tritonc
