// What launches in a structure take. See structure_costs.h.
//
// Method: work comes in rounds, in each of which every multiprocessor has one piece at most. A
// round takes as long as its steps along K and what comes before and after them, as measured; a
// launch takes its rounds, but no less than memory does.
//
// Tested by tests/passes/structure_test.cpp: which structures have a cost. What the host finds the
// least is in tests/compile/structures_test.cpp.

#include "passes/structure_costs.h"

#include "analysis/launch_form.h"
#include "passes/cost_formulas.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// How many pieces of work there can be at once. The multiprocessors of an H200 are in groups of at
// most 18, and a cluster lies within one: of clusters of four there are four in each.
Expr pieces_at_once(int64_t splits = 1) {
  constexpr int64_t group = 18;
  if (splits == 1)
    return multiprocessors();
  return Expr::binary(Expr::Kind::div, multiprocessors() * number(group / splits), number(group));
}

Expr pieces_of(const std::vector<int64_t> &bundle) {
  Expr pieces = number(1);
  for (size_t axis : {0, 1, 2})
    pieces = pieces * div_up(programs(axis), number(bundle[axis]));
  return pieces;
}

constexpr int64_t row_bytes = 128; // along K, as measured

// So many bytes each. A tile whose steps have several of these takes as long for one that is
// not full.
Expr steps_of(const Problem &problem, int64_t splits = 1, int64_t k_rows = 1) {
  Expr steps = div_up(problem.k * number(problem.bytes), number(row_bytes * splits * k_rows));
  return k_rows == 1 ? steps : std::move(steps) * number(k_rows);
}

// Nanoseconds of so many rounds of blocks. Of two teams one multiplies at a time, while the other
// stores what it has: only the last round's results are waited for.
Expr cost_of_rounds(Expr rounds, const MeasuredTile &tile, const Problem &problem) {
  Expr steps = steps_of(problem, tile.tile.splits, tile.tile.k_rows) * number(tile.step);
  Expr rest = number(tile.rest);
  if (tile.teams == 1)
    return std::move(rounds) * (std::move(steps) + std::move(rest));
  Expr piece = Expr::binary(Expr::Kind::max, std::move(steps), number(tile.least));
  return std::move(rounds) * std::move(piece) + std::move(rest);
}

// Nanoseconds of a launch: as long as its steps take, but not less than reading and writing
// everything once takes. What is done sooner with its steps has more time to wait for memory in.
// Specialised blocks read 3800 bytes in a nanosecond (64 rows, 8192 columns, K = 8192, on an H200),
// fewer where some of their rows are none. They start 1300 ns after the launch, programs by
// themselves sooner.
Expr cost_of_launch(const Expr &by_steps, const Problem &problem, int64_t bytes_per_ns = 3800,
                    int64_t any_launch = 1300) {
  Expr elements = (problem.rows + problem.columns) * problem.k + problem.rows * problem.columns;
  Expr by_bytes = div_up(elements * number(problem.bytes), number(bytes_per_ns));
  return number(any_launch) + Expr::binary(Expr::Kind::max, by_steps, by_bytes) +
         Expr::binary(Expr::Kind::div, by_steps, number(16));
}

// The programs of a multiprocessor take as long one after the other as side by side.
Expr cost_of_programs(const MeasuredPrograms &measured, const Shape &sum, int64_t step,
                      const Problem &problem, int64_t bytes_per_ns) {
  constexpr int64_t picoseconds = 1000; // of a nanosecond
  const int64_t sums = sum[0] * sum[1], copied = sum[0] + sum[1];
  const int64_t k_rows = std::max<int64_t>(step * problem.bytes / row_bytes, 1);
  Expr program = steps_of(problem, 1, k_rows) *
                     number(measured.step + sums * measured.sum + copied * measured.copied) +
                 div_up(problem.k, number(step)) * number(measured.iteration) +
                 number(measured.rest + sums * measured.stored);
  Expr by_steps =
      div_up(div_up(all_programs(), pieces_at_once()) * std::move(program), number(picoseconds));
  return cost_of_launch(by_steps, problem, bytes_per_ns, measured.launch);
}

} // namespace

std::optional<Problem> problem_of(const ProductSetting &setting) {
  std::optional<Expr> trips = host_expression(setting.product.loop->operand(0));
  if (!trips || !setting.axes[0] || !setting.axes[1])
    return std::nullopt;
  const Type &a = setting.product.dot->operand(0)->type;
  return Problem{.rows = programs(*setting.axes[0]) * number(setting.sum()[0]),
                 .columns = programs(*setting.axes[1]) * number(setting.sum()[1]),
                 .k = *trips * number(a.shape[1]),
                 .bytes = bytes_of(a.elem)};
}

Expr cost_of(const Structure &structure, const MeasuredTile &tile, const Problem &problem) {
  Expr rounds = div_up(pieces_of(structure.bundle), pieces_at_once(structure.splits));
  return cost_of_launch(cost_of_rounds(std::move(rounds), tile, problem), problem);
}

Expr cost_of_shares(const std::vector<int64_t> &bundle, const MeasuredTile &large,
                    const std::vector<int64_t> &cuts, const MeasuredTile &small,
                    const Problem &problem) {
  constexpr int64_t second_launch = 3000; // nanoseconds
  Expr pieces = pieces_of(bundle), at_once = pieces_at_once();
  Expr full = Expr::binary(Expr::Kind::div, pieces, at_once);
  Expr left = Expr::binary(Expr::Kind::rem, pieces, at_once);
  for (int64_t cut : cuts)
    left = left * number(cut);
  Expr by_steps = cost_of_rounds(full, large, problem) +
                  cost_of_rounds(div_up(left, at_once), small, problem) + number(second_launch);
  return cost_of_launch(by_steps, problem);
}

// As emit_sum_parts divides it. The second launch takes a while to start, and reads what the first
// has stored; how many bytes it has under way depends on how many blocks it has.
Expr cost_of_parts(const Structure &structure, const MeasuredTile &tile, const Shape &sum,
                   const Problem &problem) {
  constexpr int64_t second_launch = 2000, bytes_per_ns = 3000, bytes_of_block_per_ns = 30;
  const int64_t part_bytes = tile.tile.elements() * 4, program_bytes = sum[0] * sum[1] * 4;
  Expr pieces = pieces_of(structure.bundle), at_once = pieces_at_once();
  Expr steps = steps_of(problem);
  auto of = [](Expr::Kind kind, Expr a, Expr b) {
    return Expr::binary(kind, std::move(a), std::move(b));
  };
  Expr most =
      of(Expr::Kind::max, of(Expr::Kind::div, steps, number(DividedSum::least_steps)), number(1));
  Expr wanted = of(Expr::Kind::max, of(Expr::Kind::div, at_once, pieces), number(1));
  wanted = of(Expr::Kind::min, wanted, most);
  Expr first = div_up(pieces * wanted, at_once) *
               (div_up(steps, wanted) * number(tile.step) + number(tile.rest));
  Expr by_bytes = of(Expr::Kind::div, pieces * wanted * number(part_bytes), number(bytes_per_ns));
  Expr rounds = div_up(all_programs(), at_once);
  Expr by_block =
      of(Expr::Kind::div, rounds * wanted * number(program_bytes), number(bytes_of_block_per_ns));
  return cost_of_launch(first + of(Expr::Kind::max, by_bytes, by_block) + number(second_launch),
                        problem);
}

Expr cost_of_plain(const Shape &sum, int64_t step, const Problem &problem) {
  constexpr int64_t bytes_per_ns = 3000;
  return cost_of_programs(programs_beside_wgmma, sum, step, problem, bytes_per_ns);
}

// A deeper ring keeps more loads under way, and takes a while longer to be filled.
Expr cost_of_alone(const Shape &sum, int64_t step, const Problem &problem) {
  constexpr int64_t bytes_per_ns = 3900, longer_start = 300;
  return cost_of_programs(programs_beside_wgmma, sum, step, problem, bytes_per_ns) +
         number(longer_start);
}

Expr cost_of_unbundled(const Shape &sum, int64_t step, const Problem &problem) {
  constexpr int64_t bytes_per_ns = 3800;
  return cost_of_programs(programs_without_wgmma, sum, step, problem, bytes_per_ns);
}

} // namespace tritonc
