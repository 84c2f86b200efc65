// The loop that makes a kernel a matrix product. See product_loop.h.
//
// Tested by tests/analysis/product_loop_test.cpp.

#include "analysis/product_loop.h"

#include "analysis/launch_form.h"
#include "analysis/memory_access.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

std::optional<LoadedFactor> loaded_factor(Function &fn, const Op &loop, Value *factor) {
  LoadedFactor result;
  result.perm.resize(size_t(factor->type.rank()));
  std::iota(result.perm.begin(), result.perm.end(), 0);
  for (;;) {
    Op *op = factor->op;
    if (!op || op->parent != loop.blocks[0] || count_uses(*fn.body, factor) != 1)
      return std::nullopt;
    if (op->is(Opcode::load_) || op->is(Opcode::map_load_)) {
      result.load = op;
      return result;
    }
    if (!op->is(Opcode::trans_))
      return std::nullopt;
    std::vector<int64_t> inner = op->list("perm");
    for (int64_t &axis : result.perm)
      axis = inner[size_t(axis)];
    factor = op->operand(0);
  }
}

} // namespace

ProductLoopResult find_product_loop(Function &fn) {
  Op *dot = nullptr;
  bool several = false;
  for_each_op(*fn.body, [&](Op &op) {
    if (!op.is(Opcode::dot_))
      return;
    several |= dot != nullptr;
    dot = &op;
  });
  if (!dot)
    return {std::nullopt, NoProductLoop::no_dot};
  if (several)
    return {std::nullopt, NoProductLoop::several_dots};
  Op *loop = dot->parent->parent;
  if (!loop || !loop->is(Opcode::for_loop_))
    return {std::nullopt, NoProductLoop::not_in_a_loop};

  ProductLoop product{loop, dot, 0, {}};
  const Value *sum = dot->operand(2);
  bool is_carried = sum->block == dot->parent && sum->index > 0;
  if (is_carried) {
    product.carried = size_t(sum->index - 1);
    is_carried = dot->parent->terminator()->operand(product.carried) == dot->result() &&
                 count_uses(*fn.body, sum) == 1 && count_uses(*fn.body, dot->result()) == 1;
  }
  if (!is_carried)
    return {std::nullopt, NoProductLoop::sum_not_carried};
  for (int i : {0, 1}) {
    std::optional<LoadedFactor> factor = loaded_factor(fn, *loop, dot->operand(size_t(i)));
    if (!factor)
      return {std::nullopt, NoProductLoop::not_loaded};
    product.factors[i] = *factor;
  }
  return {product, NoProductLoop::no_dot};
}

namespace {

std::optional<bool> is_from_transposed(const Value *tile, const Value *sum,
                                       std::set<const Value *> &seen) {
  const Op *op = tile->op;
  if (sum ? tile == sum : op && op->is(Opcode::product_wait_))
    return false;
  if (!op || !seen.insert(tile).second)
    return std::nullopt;
  if (op->is(Opcode::trans_)) {
    std::optional<bool> before = is_from_transposed(op->operand(0), sum, seen);
    return before ? std::optional(*before != (op->list("perm")[0] == 1)) : std::nullopt;
  }
  if (info(op->code).effect != Effect::pure)
    return std::nullopt;
  for (const Value *operand : op->operands)
    if (operand->type.shape == tile->type.shape)
      if (std::optional<bool> found = is_from_transposed(operand, sum, seen))
        return found;
  return std::nullopt;
}

// Whether the factor moves on along K by `step` in each trip, and its mask, if any, with it.
bool moves_along_k(const ProductLoop &product, int number) {
  const Op &load = *product.factors[number].load;
  const Value *counter = product.loop->blocks[0]->arguments[0];
  size_t k = size_t(product.factors[number].perm[number == 0 ? 1 : 0]);
  int64_t step = product.dot->operand(0)->type.shape[1];
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

std::optional<bool> is_from_transposed_sum(const Value *tile, const Value *sum) {
  std::set<const Value *> seen;
  return is_from_transposed(tile, sum, seen);
}

std::optional<int> axis_of_columns(const Value *result, const Shape &shape, const Value *sum) {
  Shape own = result->type.shape;
  bool is_transposed = is_from_transposed_sum(result, sum).value_or(own != shape);
  if (is_transposed)
    std::reverse(own.begin(), own.end());
  if (own != shape)
    return std::nullopt;
  return is_transposed ? 0 : 1;
}

bool has_free_steps(Function &fn) {
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  if (!product)
    return false;
  bool changes_nothing_else =
      product->loop->results.size() == 1 && host_expression(product->loop->operand(0)).has_value();
  for (const Op *op : product->loop->blocks[0]->ops) {
    Effect effect = info(op->code).effect;
    changes_nothing_else &=
        effect == Effect::pure || effect == Effect::read || op->is(Opcode::yield_);
  }
  return changes_nothing_else && moves_along_k(*product, 0) && moves_along_k(*product, 1);
}

} // namespace tritonc
