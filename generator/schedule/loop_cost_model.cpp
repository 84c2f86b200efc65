// The cost of launches whose loops have other dots than those of a matmul. See loop_cost_model.h.
//
//     launch + waves * rest + busiest * bytes / bytes_per_ns
//            + iterations * (waves * operations of a thread * of_thread_alone
//                            + busiest * (operations * of_element + products * multiplied
//                                         + loaded * of_loaded_byte))
//
// A wave is the blocks that run at the same time, and `busiest` the blocks of the SM with the most.
// The warps of an SM share its arithmetic and its tensor cores. What a thread does in order takes a
// time of its own, however few threads there are.
//
// The iterations of a program may depend on its place in the grid. The mean of the first and of the
// last program counts for all.
//
// Tested by tests/unit/schedule/loop_cost_model_test.cpp.

#include "schedule/loop_cost_model.h"

#include "analysis/launch_config.h"
#include "analysis/operand_loads.h"
#include "ir/builder.h"
#include "passes/select_mma.h"
#include "schedule/cost_formulas.h"
#include "target/cost_tables.h"

#include <algorithm>
#include <cmath>

namespace tritonc {

using namespace ir;

namespace {

// What an iteration of a loop does, for a block.
struct LoopWork {
  int64_t operations = 0; // on elements of floating-point tiles
  int64_t products = 0;   // multiplications of two elements by tensor cores
  int64_t loaded = 0;     // bytes of operands
};

bool is_arithmetic(const Op &op) {
  if (op.results.size() != 1 || op.operands.empty() || !op.blocks.empty() ||
      info(op.code).effect != Effect::pure)
    return false;
  switch (op.code) {
  case Opcode::splat_:
  case Opcode::broadcast_:
  case Opcode::expand_:
  case Opcode::trans_:
  case Opcode::dot_:
    return false;
  default:
    return !op.result()->type.is_view() && is_float(op.result()->type.elem);
  }
}

int64_t bytes_of_tile(const Value &tile) { return tile.type.elements() * bytes_of(tile.type.elem); }

LoopWork work_of(const Op &loop, const std::vector<OperandLoad> &loads) {
  LoopWork work;
  for (const OperandLoad &operand : loads)
    if (operand.load->parent == loop.blocks[0])
      work.loaded += bytes_of_tile(*operand.load->result());
  for (const Op *op : loop.blocks[0]->ops) {
    if (op->is(Opcode::dot_))
      work.products += op->result()->type.elements() * op->operand(0)->type.shape[1];
    else if (is_arithmetic(*op))
      work.operations += std::max(op->result()->type.elements(), op->operand(0)->type.elements());
  }
  return work;
}

// The iterations of a loop, in the first program of the grid plus in the last one. Loops around it must
// run equally often in all programs.
std::optional<Expr> iterations_of_two(Function &fn, const Op &loop) {
  if (!can_clone(loop.operand(0), fn.body, {}))
    return std::nullopt;
  std::vector<const Op *> ids;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::program_id_))
      ids.push_back(&op);
  });
  Builder builder(fn, fn.body, size_t(0));
  Copies first, last;
  for (const Op *id : ids) {
    first[id->result()] = builder.i32(0);
    Value *programs = builder.num_programs(int(id->get(attr::axis_)));
    last[id->result()] = builder.sub(programs, builder.i32(1));
  }
  std::optional<Expr> of_first =
      host_expression(clone_computation(builder, loop.operand(0), fn.body, first));
  std::optional<Expr> of_last =
      host_expression(clone_computation(builder, loop.operand(0), fn.body, last));
  if (!of_first || !of_last)
    return std::nullopt;
  Expr both = host_expression(loop.operand(0)) ? number(2) * *of_first : *of_first + *of_last;
  for (const Op *outer = loop.parent->parent; outer; outer = outer->parent->parent) {
    std::optional<Expr> times = host_expression(outer->operand(0));
    if (!times)
      return std::nullopt;
    both = std::move(both) * *times;
  }
  return both;
}

// Bytes that a block loads once, and the first tiles of its loops; and what it stores.
int64_t bytes_around_loops(Function &fn, const std::vector<OperandLoad> &loads) {
  int64_t bytes = 0;
  for (const OperandLoad &operand : loads)
    bytes += bytes_of_tile(*operand.load->result());
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::store_))
      bytes += bytes_of_tile(*op.operand(1));
  });
  return bytes;
}

int64_t picoseconds(double ns) { return std::llround(1000 * ns); }

} // namespace

std::optional<Expr> cost_of_loops(const Function &canonical, const Schedule &schedule,
                                  const Gpu &gpu, const std::optional<LoopDivision> &division) {
  const LoopTimes &times = gpu.costs->loops;
  Function fn = clone(canonical);
  select_mma(fn, gpu, schedule);
  const std::vector<OperandLoad> loads = operand_loads(fn);
  std::vector<const Op *> loops;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::for_loop_) && work_of(op, loads).products)
      loops.push_back(&op);
  });
  const Expr at_once = num_sms() * number(schedule.blocks_per_sm);
  const Expr blocks = division ? all_programs() * division->parts : all_programs();
  const Expr waves = div_up(blocks, at_once), busiest = div_up(blocks, num_sms());
  const int64_t bytes = bytes_around_loops(fn, loads) + (division ? division->partial_bytes : 0);
  Expr cost = waves * number(1000 * times.rest) + // picoseconds
              busiest * number(1000 * bytes / times.bytes_per_ns);
  for (const Op *loop : loops) {
    std::optional<Expr> iterations = iterations_of_two(fn, *loop);
    if (!iterations)
      return std::nullopt;
    if (division)
      iterations =
          Expr::binary(Expr::Kind::min, std::move(*iterations), number(2) * division->iterations);
    const LoopWork work = work_of(*loop, loads);
    const double of_thread = double(work.operations) / (32 * fn.warps) * times.of_thread_alone;
    const double of_block = double(work.operations) * times.of_element +
                            double(work.products) * times.multiplied +
                            double(work.loaded) * times.of_loaded_byte;
    cost = std::move(cost) + *iterations * (waves * number(picoseconds(of_thread / 2)) +
                                            busiest * number(picoseconds(of_block / 2)));
  }
  return number(times.launch) + Expr::binary(Expr::Kind::div, std::move(cost), number(1000));
}

} // namespace tritonc
