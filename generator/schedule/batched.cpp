// The schedules in which a block runs several programs side by side. See batched.h.
//
// Tested by tests/unit/schedule/elementwise_test.cpp.

#include "schedule/batched.h"

#include "analysis/memory_access.h"
#include "analysis/repeated_loads.h"
#include "passes/align_tiles.h"
#include "passes/assign_programs_to_warps.h"
#include "passes/batch_programs.h"
#include "passes/join_rows.h"
#include "passes/unroll_loops.h"
#include "schedule/cost_formulas.h"
#include "target/cost_tables.h"

#include <algorithm>
#include <bit>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t min_times = 4; // with fewer, a program alone has enough elements

constexpr int64_t min_tile_of_warp = 32 * 8; // a vector of half per lane
constexpr int64_t max_warps = 16;

// The iterations of a warp with a program, whose registers hold the elements of all iterations.
// Tiles of several vectors per lane have one: as many vectors in more iterations need fewer
// registers.
int64_t max_iterations_of_warp(int64_t tile) {
  constexpr int64_t max_elements = 32 * 64, max_tile = 32 * 32;
  const bool is_vector = tile < 2 * min_tile_of_warp;
  return tile < min_tile_of_warp || tile > max_tile ? 0 : is_vector ? max_elements / tile : 1;
}

// Whether a program has a loop or a reduction. A program without them has independent elements, so
// the source can choose a larger tile.
bool has_dependent_elements(Function &fn) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) {
    found |= op.is(Opcode::for_loop_) || op.is(Opcode::reduce_) || op.is(Opcode::scan_);
  });
  return found;
}

// The most programs of a block, if the loops of each have `iterations` iterations.
int64_t max_programs_of_block(const Function &canonical, int64_t iterations, const Gpu &gpu) {
  const int64_t elements = elements_of_largest_tile(canonical) *
                           int64_t(std::bit_ceil(uint64_t(iterations))); // of a program
  return elements ? gpu.costs->elementwise.batch_elements / elements : 0;
}

// The arrays of which a program loads its largest tiles, and other programs other elements.
int64_t loaded_arrays(const Function &canonical) {
  const int64_t elements = elements_of_largest_tile(canonical);
  DiffersByProgram differs;
  std::set<const Value *> arrays;
  for_each_op(*canonical.body, [&](const Op &op) {
    if (op.is(Opcode::load_) && op.result()->type.elements() == elements && differs(op.operand(0)))
      arrays.insert(root_of(op.operand(0)));
  });
  return std::max<int64_t>(1, int64_t(arrays.size()));
}

// The programs of a block: `most` of one array, or as many as load as much of all arrays, because a
// thread needs registers for all of them. A power of two. Fewer programs do not pay if rows have
// several tiles (H200, driver 580.159.04, 2026-11-30).
int64_t programs_of_block(int64_t most, int64_t iterations, const Function &canonical) {
  const int64_t programs = iterations == 1 ? most / loaded_arrays(canonical) : most;
  return std::max(min_times, int64_t(std::bit_floor(uint64_t(programs))));
}

// The schedules in which a block runs programs with loops of `iterations` iterations, if the loops
// are unrolled.
std::vector<Candidate> schedules_with(const Function &canonical, int64_t iterations,
                                      const Traffic &traffic, const Gpu &gpu) {
  Function batched = clone(canonical);
  if (!has_batch(canonical, iterations, gpu) || !has_dependent_elements(batched))
    return {};
  const int64_t times =
      programs_of_block(max_programs_of_block(canonical, iterations, gpu), iterations, canonical);
  if (!try_batching(batched, times))
    return {};
  const Expr blocks = div_up(programs(0), number(times)) * programs(1) * programs(2);
  std::vector<Candidate> candidates;
  auto add = [&](std::optional<BlockWork> work, int64_t unrolled, bool joined) {
    const Schedule schedule = {.kind = Schedule::Kind::batched,
                               .coarsening = {times, 1, 1},
                               .iterations = unrolled,
                               .joined_rows = joined};
    if (std::optional<Candidate> candidate = with_cost(schedule, std::move(work)))
      candidates.push_back(std::move(*candidate));
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

// The schedule in which each warp runs a program with loops of `iterations` iterations.
std::optional<Candidate> program_per_warp(const Function &canonical, int64_t iterations,
                                          const Traffic &traffic, const Gpu &gpu) {
  const int64_t elements = elements_of_largest_tile(canonical) * iterations;
  const int64_t most = gpu.costs->elementwise.batch_elements / elements;
  const int64_t warps = std::min(programs_of_block(most, iterations, canonical), max_warps);
  Function fn = clone(canonical);
  if (!has_dependent_elements(fn) || !try_assigning_programs(fn, warps))
    return std::nullopt;
  align_tiles(fn);
  const bool once = find_repeated_loads(fn) && try_unrolling(fn, iterations);
  const bool has_batch_of_rows = once && elements <= min_tile_of_warp; // a lane has one vector
  if ((!once && iterations > 1) || has_batch_of_rows)
    return std::nullopt;
  const Expr blocks = div_up(programs(0), number(warps)) * programs(1) * programs(2);
  const Schedule schedule = {.kind = Schedule::Kind::program_per_warp,
                             .coarsening = {warps, 1, 1},
                             .iterations = once ? iterations : 0};
  return with_cost(schedule, work_of_blocks(fn, blocks, once ? traffic.once : traffic.all, gpu));
}

} // namespace

bool has_batch(const Function &canonical, int64_t iterations, const Gpu &gpu) {
  const int64_t tile = elements_of_largest_tile(canonical);
  const bool has_warp = tile >= min_tile_of_warp && iterations * tile > min_tile_of_warp;
  return !has_warp && max_programs_of_block(canonical, iterations, gpu) >= min_times;
}

std::vector<Candidate> batched_schedules(const Function &canonical, const Traffic &traffic,
                                         const Gpu &gpu) {
  std::vector<Candidate> candidates;
  for (int64_t iterations : unrolled_iterations)
    for (Candidate &candidate : schedules_with(canonical, iterations, traffic, gpu))
      candidates.push_back(std::move(candidate));
  const int64_t most = max_iterations_of_warp(elements_of_largest_tile(canonical));
  for (int64_t iterations = 1; iterations <= most; iterations++)
    if (std::optional<Candidate> candidate = program_per_warp(canonical, iterations, traffic, gpu))
      candidates.push_back(std::move(*candidate));
  return candidates;
}

} // namespace tritonc
