// Finds the mainloop of a matmul. See matmul_loop.h.
//
// Tested by tests/unit/analysis/matmul_loop_test.cpp.

#include "analysis/matmul_loop.h"

#include "analysis/launch_config.h"
#include "analysis/memory_access.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

std::optional<LoadedOperand> loaded_operand(Function &fn, const Op &loop, Value *operand) {
  LoadedOperand result;
  result.perm.resize(size_t(operand->type.rank()));
  std::iota(result.perm.begin(), result.perm.end(), 0);
  for (;;) {
    Op *op = operand->op;
    if (!op || op->parent != loop.blocks[0] || count_uses(*fn.body, operand) != 1)
      return std::nullopt;
    if (op->is(Opcode::load_) || op->is(Opcode::tma_load_)) {
      result.load = op;
      return result;
    }
    if (!op->is(Opcode::trans_))
      return std::nullopt;
    std::vector<int64_t> inner = op->get(attr::perm_);
    for (int64_t &axis : result.perm)
      axis = inner[size_t(axis)];
    operand = op->operand(0);
  }
}

} // namespace

std::optional<size_t> carried_accumulator(const Function &fn, const Op &dot) {
  const Block &body = *dot.parent;
  const Value *accumulator = dot.operand(2);
  if (!body.parent || !body.parent->is(Opcode::for_loop_) || accumulator->block != &body ||
      accumulator->index == 0)
    return std::nullopt;
  const size_t carried = size_t(accumulator->index - 1);
  if (body.terminator()->operand(carried) != dot.result() ||
      count_uses(*fn.body, accumulator) != 1 || count_uses(*fn.body, dot.result()) != 1)
    return std::nullopt;
  return carried;
}

bool keeps_dots_in_flight(const Function &fn) {
  bool all = true, any = false;
  for_each_op(*fn.body, [&](const Op &op) {
    if (!op.is(Opcode::dot_) || !op.parent->parent)
      return;
    any = true;
    all &= carried_accumulator(fn, op).has_value();
  });
  return any && all;
}

MatmulLoopResult find_matmul_loop(Function &fn) {
  Op *dot = nullptr;
  bool several = false;
  for_each_op(*fn.body, [&](Op &op) {
    if (!op.is(Opcode::dot_))
      return;
    several |= dot != nullptr;
    dot = &op;
  });
  if (!dot)
    return {std::nullopt, NoMatmulLoop::no_dot};
  if (several)
    return {std::nullopt, NoMatmulLoop::several_dots};
  Op *loop = dot->parent->parent;
  if (!loop || !loop->is(Opcode::for_loop_))
    return {std::nullopt, NoMatmulLoop::not_in_a_loop};

  const std::optional<size_t> carried = carried_accumulator(fn, *dot);
  if (!carried)
    return {std::nullopt, NoMatmulLoop::accumulator_not_carried};
  MatmulLoop matmul{loop, dot, *carried, {}};
  for (int i : {0, 1}) {
    std::optional<LoadedOperand> operand = loaded_operand(fn, *loop, dot->operand(size_t(i)));
    if (!operand)
      return {std::nullopt, NoMatmulLoop::not_loaded};
    matmul.operands[i] = *operand;
  }
  return {matmul, NoMatmulLoop::no_dot};
}

bool is_gathered(const MatmulLoop &matmul) {
  return std::any_of(
      std::begin(matmul.operands), std::end(matmul.operands), [](const LoadedOperand &operand) {
        return operand.load->is(Opcode::load_) && !operand.load->operand(0)->type.is_view();
      });
}

const Value *accumulator_after_loop(const Op &dot) {
  const Op *loop = dot.parent->parent;
  if (!loop || !loop->is(Opcode::for_loop_))
    return nullptr;
  const std::vector<Value *> &next = dot.parent->terminator()->operands;
  auto carried = std::find(next.begin(), next.end(), dot.result());
  return carried == next.end() ? nullptr : loop->results[size_t(carried - next.begin())];
}

namespace {

std::optional<bool> is_from_transposed(const Value *tile, const Value *accumulator,
                                       std::set<const Value *> &seen) {
  const Op *op = tile->op;
  if (accumulator ? tile == accumulator : op && op->is(Opcode::wgmma_wait_))
    return false;
  if (!op || !seen.insert(tile).second)
    return std::nullopt;
  if (op->is(Opcode::trans_)) {
    std::optional<bool> before = is_from_transposed(op->operand(0), accumulator, seen);
    return before ? std::optional(*before != (op->get(attr::perm_)[0] == 1)) : std::nullopt;
  }
  if (info(op->code).effect != Effect::pure && !op->is(Opcode::for_loop_)) // adds partials
    return std::nullopt;
  std::vector<const Value *> sources(op->operands.begin(), op->operands.end());
  if (op->is(Opcode::for_loop_))
    sources.push_back(op->blocks[0]->terminator()->operand(size_t(tile->index)));
  for (const Value *source : sources)
    if (source->type.shape == tile->type.shape)
      if (std::optional<bool> found = is_from_transposed(source, accumulator, seen))
        return found;
  return std::nullopt;
}

// Returns whether the operand and its mask, if any, advance by `step` along K in each iteration.
bool moves_along_k(const MatmulLoop &matmul, int number) {
  const Op &load = *matmul.operands[number].load;
  const Value *counter = matmul.loop->blocks[0]->arguments[0];
  size_t k = size_t(matmul.operands[number].perm[number == 0 ? 1 : 0]);
  int64_t step = matmul.dot->operand(0)->type.shape[1];
  std::optional<Affine> form = affine_of(load.operand(0));
  auto growth = [&](const Poly &poly) {
    return poly.substitute(counter, Poly::symbol(counter) + Poly::constant(1)) - poly;
  };
  if (!form || !(growth(form->offset) == form->strides[k] * Poly::constant(step)))
    return false;
  for (const Poly &stride : form->strides)
    if (!growth(stride).is_zero())
      return false;
  if (load.operand_or_null(2) && !is_zero(load.operand(2)))
    return false;
  if (!load.operand_or_null(1))
    return true;
  std::optional<std::vector<Bound>> bounds = bounds_of(load.operand(1), load.result()->type.rank());
  return bounds && std::all_of(bounds->begin(), bounds->end(), [&](const Bound &bound) {
           return growth(bound.before).is_constant(bound.axis == int(k) ? step : 0);
         });
}

} // namespace

std::optional<bool> is_from_transposed_accumulator(const Value *tile, const Value *accumulator) {
  std::set<const Value *> seen;
  return is_from_transposed(tile, accumulator, seen);
}

std::optional<int> axis_of_columns(const Value *result, const Shape &shape,
                                   const Value *accumulator) {
  Shape own = result->type.shape;
  bool is_transposed = is_from_transposed_accumulator(result, accumulator).value_or(own != shape);
  if (is_transposed)
    std::reverse(own.begin(), own.end());
  if (own != shape)
    return std::nullopt;
  return is_transposed ? 0 : 1;
}

bool has_free_steps(Function &fn) {
  std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found;
  if (!matmul)
    return false;
  bool changes_nothing_else =
      matmul->loop->results.size() == 1 && host_expression(matmul->loop->operand(0)).has_value();
  for (const Op *op : matmul->loop->blocks[0]->ops) {
    Effect effect = info(op->code).effect;
    changes_nothing_else &=
        effect == Effect::pure || effect == Effect::read || op->is(Opcode::yield_);
  }
  return changes_nothing_else && moves_along_k(*matmul, 0) && moves_along_k(*matmul, 1);
}

} // namespace tritonc
