// The schedules in which a block runs several programs side by side. See batched.h.
//
// Tested by tests/unit/schedule/elementwise_test.cpp.

#include "schedule/batched.h"

#include "analysis/repeated_loads.h"
#include "passes/batch_programs.h"
#include "passes/join_rows.h"
#include "passes/unroll_loops.h"
#include "schedule/cost_formulas.h"

#include <bit>

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

// The programs of a block, if the loops of each have `iterations` iterations.
int64_t programs_of_block(const Function &canonical, int64_t iterations, const Gpu &gpu) {
  const int64_t elements = elements_of_largest_tile(canonical) *
                           int64_t(std::bit_ceil(uint64_t(iterations))); // of a program
  return elements ? gpu.costs->elementwise.batch_elements / elements : 0;
}

// The schedules in which a block runs programs with loops of `iterations` iterations, if the loops
// are unrolled.
std::vector<Candidate> schedules_with(const Function &canonical, int64_t iterations,
                                      const Traffic &traffic, const Gpu &gpu) {
  const int64_t times = programs_of_block(canonical, iterations, gpu);
  Function batched = clone(canonical);
  if (times < min_times || !has_dependent_elements(batched) || !try_batching(batched, times))
    return {};
  const Expr blocks = div_up(programs(0), number(times)) * programs(1) * programs(2);
  std::vector<Candidate> candidates;
  auto add = [&](std::optional<BlockWork> work, int64_t unrolled, bool joined) {
    if (!work)
      return;
    Expr cost = cost_of_elementwise(*work, number(work->estimated_occupancy));
    candidates.push_back({.schedule = {.kind = Schedule::Kind::batched,
                                       .coarsening = {times, 1, 1},
                                       .iterations = unrolled,
                                       .joined_rows = joined},
                          .cost = std::move(cost),
                          .work = std::move(work)});
  };
  // Whole rows are joined, so loops are unrolled. Loops that load the same tiles should load them
  // once.
  Function unrolled = clone(batched);
  const bool can_unroll = try_unrolling(unrolled, iterations);
  if (!can_unroll && iterations > 1)
    return {};
  const bool once = can_unroll && find_repeated_loads(batched);
  Function joined = clone(can_unroll ? unrolled : batched);
  if (try_joining_rows(joined))
    add(work_of_blocks(joined, blocks, traffic.once, gpu), can_unroll ? iterations : 0, true);
  if (once || iterations == 1)
    add(work_of_blocks(once ? unrolled : batched, blocks, once ? traffic.once : traffic.all, gpu),
        once ? iterations : 0, false);
  return candidates;
}

} // namespace

bool has_batch(const Function &canonical, int64_t iterations, const Gpu &gpu) {
  return programs_of_block(canonical, iterations, gpu) >= min_times;
}

std::vector<Candidate> batched_schedules(const Function &canonical, const Traffic &traffic,
                                         const Gpu &gpu) {
  std::vector<Candidate> candidates;
  for (int64_t iterations : unrolled_iterations)
    for (Candidate &candidate : schedules_with(canonical, iterations, traffic, gpu))
      candidates.push_back(std::move(candidate));
  return candidates;
}

} // namespace tritonc
