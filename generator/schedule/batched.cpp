// The schedules in which a block runs several programs side by side. See batched.h.
//
// Tested by tests/unit/schedule/elementwise_test.cpp.

#include "schedule/batched.h"

#include "analysis/repeated_loads.h"
#include "passes/batch_programs.h"
#include "passes/join_rows.h"
#include "passes/promote_single_iterations.h"
#include "schedule/cost_formulas.h"

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t min_times = 4; // with fewer, a program alone has enough elements

// Whether a program has a loop or a reduction. A program without them has independent elements, so
// the source can choose a larger tile.
bool has_dependent_elements(Function &fn) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) {
    found |= op.is(Opcode::for_loop_) || op.is(Opcode::reduce_) || op.is(Opcode::scan_);
  });
  return found;
}

} // namespace

std::vector<Candidate> batched_schedules(const Function &canonical, const Traffic &traffic,
                                         const Gpu &gpu) {
  const int64_t elements = elements_of_largest_tile(canonical);
  const int64_t times = elements ? gpu.costs->elementwise.batch_elements / elements : 0;
  Function batched = clone(canonical);
  if (times < min_times || !has_dependent_elements(batched) || !try_batching(batched, times))
    return {};
  const Expr blocks = div_up(programs(0), number(times)) * programs(1) * programs(2);
  std::vector<Candidate> candidates;
  auto add = [&](std::optional<BlockWork> work, bool once, bool joined) {
    if (!work)
      return;
    Expr cost = cost_of_elementwise(*work, number(work->estimated_occupancy));
    candidates.push_back({.schedule = {.kind = Schedule::Kind::batched,
                                       .coarsening = {times, 1, 1},
                                       .one_iteration = once,
                                       .joined_rows = joined},
                          .cost = std::move(cost),
                          .work = std::move(work)});
  };
  // Whole rows are joined, so each loop runs once. Loops that load the same tiles should load them
  // once.
  Function promoted = clone(batched);
  const bool can_promote = try_promoting(promoted);
  const bool once = can_promote && find_repeated_loads(batched);
  const std::optional<BlockWork> work =
      work_of_blocks(once ? promoted : batched, blocks, once ? traffic.once : traffic.all, gpu);
  Function joined = clone(can_promote ? promoted : batched);
  if (work && try_joining_rows(joined))
    add(work_of_blocks(joined, blocks, traffic.once, gpu), can_promote, true);
  add(work, once, false);
  return candidates;
}

} // namespace tritonc
