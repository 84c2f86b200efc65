// Reads the launch configuration from a function's host operations. See launch_config.h.
//
// Tested by tests/unit/analysis/launch_config_test.cpp.

#include "analysis/launch_config.h"

#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

std::optional<Expr::Kind> kind_of(const Op &op) {
  switch (op.code) {
  case Opcode::add_:
    return Expr::Kind::add;
  case Opcode::sub_:
    return Expr::Kind::sub;
  case Opcode::mul_:
    return Expr::Kind::mul;
  case Opcode::div_:
    return Expr::Kind::div;
  case Opcode::rem_:
    return Expr::Kind::rem;
  case Opcode::min_:
    return Expr::Kind::min;
  case Opcode::max_:
    return Expr::Kind::max;
  case Opcode::neg_:
    return Expr::Kind::neg;
  default:
    return std::nullopt;
  }
}

// Returns whether the conversion keeps the value in the host's 64 bits.
bool keeps_value(const Op &cast) {
  Elem from = cast.operand(0)->type.elem, to = cast.result()->type.elem;
  return is_integer(from) && is_integer(to) && from != Elem::i1 && bits_of(to) >= 32 &&
         !cast.has(attr::unsigned_);
}

Expr expression(const Value *scalar) {
  std::optional<Expr> expr = host_expression(scalar);
  assert(expr && "the host can compute what it is to compute");
  return *expr;
}

} // namespace

std::optional<Expr> host_expression(const Value *scalar) {
  if (!scalar->type.is_scalar() || !scalar->type.is_number() || !is_integer(scalar->type.elem))
    return std::nullopt;
  if (!scalar->op)
    return scalar->block ? std::nullopt : std::optional(Expr::parameter(scalar->index));
  const Op &op = *scalar->op;
  if (op.has(attr::unsigned_) && !op.is(Opcode::cast_))
    return std::nullopt;
  switch (op.code) {
  case Opcode::constant_:
    return Expr::constant(op.get(attr::value_));
  case Opcode::num_programs_:
    return Expr{Expr::Kind::programs, op.get(attr::axis_), {}};
  case Opcode::num_sms_:
    return Expr{Expr::Kind::num_sms, 0, {}};
  case Opcode::host_value_:
    return host_expression(op.operand(0));
  case Opcode::cast_:
    return keeps_value(op) ? host_expression(op.operand(0)) : std::nullopt;
  default:
    break;
  }
  std::optional<Expr::Kind> kind = kind_of(op);
  if (!kind)
    return std::nullopt;
  Expr expr{*kind, 0, {}};
  for (const Value *operand : op.operands) {
    std::optional<Expr> inner = host_expression(operand);
    if (!inner)
      return std::nullopt;
    expr.operands.push_back(std::move(*inner));
  }
  return expr;
}

namespace {

// The operands of `op` that its bound needs bounds of. The bound may lack the others: a minimum is not
// larger than any of its operands.
std::vector<size_t> bounded_operands(const Op &op) {
  switch (op.code) {
  case Opcode::min_:
    for (size_t i : {0, 1})
      if (has_host_bound(op.operand(i)))
        return {i};
    return {};
  case Opcode::add_:
  case Opcode::max_:
    return {0, 1};
  case Opcode::cast_:
    return keeps_value(op) ? std::vector<size_t>{0} : std::vector<size_t>();
  case Opcode::sub_:
    return host_expression(op.operand(1)) ? std::vector<size_t>{0} : std::vector<size_t>();
  case Opcode::mul_:
  case Opcode::div_: // rounds to 0, which keeps the order
    return constant_of(op.operand(1)).value_or(0) > 0 ? std::vector<size_t>{0}
                                                      : std::vector<size_t>();
  default:
    return {};
  }
}

} // namespace

bool has_host_bound(const Value *scalar) {
  if (host_expression(scalar))
    return true;
  if (!scalar->op || !scalar->type.is_scalar() || !is_integer(scalar->type.elem) ||
      scalar->op->has(attr::unsigned_))
    return false;
  const std::vector<size_t> operands = bounded_operands(*scalar->op);
  return !operands.empty() && std::all_of(operands.begin(), operands.end(), [&](size_t i) {
    return has_host_bound(scalar->op->operand(i));
  });
}

Value *emit_host_bound(Builder &builder, Value *scalar) {
  if (host_expression(scalar))
    return scalar;
  const Op &op = *scalar->op;
  const std::vector<size_t> operands = bounded_operands(op);
  if (op.is(Opcode::min_))
    return emit_host_bound(builder, op.operand(operands[0]));
  std::vector<Value *> bounds = op.operands;
  for (size_t i : operands)
    bounds[i] = emit_host_bound(builder, bounds[i]);
  Op *bound = builder.create(op.code, bounds, {scalar->type});
  bound->attributes = op.attributes;
  return bound->result();
}

bool is_hidden(const Op &op) {
  return op.is(Opcode::tensor_map_) || op.is(Opcode::host_value_) || op.is(Opcode::workspace_);
}

std::vector<const Op *> hidden_parameters(const Function &fn) {
  std::vector<const Op *> ops;
  for (const Op *op : fn.body->ops)
    if (is_hidden(*op))
      ops.push_back(op);
  return ops;
}

std::vector<int> copy_order(const Op &map) {
  int rank = map.result()->type.rank(), contiguous = rank - 1;
  for (int d = 0; d < rank; d++)
    if (constant_of(map.operand(size_t(2 + rank + d))) == 1)
      contiguous = d;
  std::vector<int> axes = {contiguous};
  for (int d = rank; d-- > 0;)
    if (d != contiguous)
      axes.push_back(d);
  return axes;
}

int contiguous_tile_axis(const Op &map, int rank) {
  return copy_order(map)[0] - (map.result()->type.rank() - rank);
}

namespace {

TensorMap tensor_map(const Op &op) {
  const Type &type = op.result()->type;
  assert(!op.operand(0)->op && !op.operand(0)->block && "the base is a parameter");
  TensorMap map;
  map.parameter = op.operand(0)->index;
  map.offset = expression(op.operand(1));
  map.elem = type.elem;
  map.swizzle_bytes = int(op.get(attr::swizzle_));
  map.to_tf32 = op.has(attr::tf32_);
  for (int axis : copy_order(op)) {
    map.sizes.push_back(expression(op.operand(size_t(2 + axis))));
    if (map.sizes.size() > 1)
      map.strides.push_back(expression(op.operand(size_t(2 + type.rank() + axis))));
    map.box.push_back(type.shape[size_t(axis)]);
  }
  return map;
}

} // namespace

namespace {

Requirement requirement(const Op &op) {
  Expr equal = Expr::binary(Expr::Kind::eq, expression(op.operand(0)), expression(op.operand(1)));
  return {std::move(equal), std::string(op.get(attr::text_))};
}

// The shared memory for the stages that a launch uses, which must exist.
void take_stages(const Op &alloc, LaunchConfig &launch) {
  const Type &type = alloc.result()->type;
  const int64_t stages = type.shape[0];
  const int64_t bytes = type.elements() / stages * bytes_of(type.elem);
  Expr used = expression(alloc.operand(0));
  launch.shared_bytes = Expr::binary(Expr::Kind::add, Expr::constant(alloc.get(attr::address_)),
                                     Expr::binary(Expr::Kind::mul, Expr::constant(bytes), used));
  Expr fits = Expr::binary(Expr::Kind::le, std::move(used), Expr::constant(stages));
  launch.guards.push_back({std::move(fits), "the tiles of all iterations fit into shared memory"});
}

} // namespace

LaunchConfig launch_config(const Function &fn) {
  LaunchConfig schedule;
  for (const Op *op : hidden_parameters(fn)) {
    HiddenParameter hidden;
    if (op->is(Opcode::tensor_map_)) {
      hidden.map = tensor_map(*op);
    } else if (op->is(Opcode::workspace_)) {
      hidden.is_workspace = true;
      schedule.workspace = expression(op->operand(0));
    } else {
      hidden.elem = op->result()->type.elem;
      hidden.value = expression(op->operand(0));
    }
    schedule.hidden.push_back(std::move(hidden));
  }
  for (const Op *op : fn.body->ops)
    if (op->is(Opcode::launch_blocks_)) {
      schedule.cluster = int(op->get(attr::cluster_, 1));
      for (const Value *count : op->operands)
        schedule.blocks.push_back(expression(count));
    } else if (op->is(Opcode::launch_warps_)) {
      const int64_t of_block = op->get(attr::programs_);
      Expr rounded =
          Expr::binary(Expr::Kind::add, expression(op->operand(0)), Expr::constant(of_block - 1));
      schedule.blocks = {
          Expr::binary(Expr::Kind::div, std::move(rounded), Expr::constant(of_block)),
          Expr{Expr::Kind::programs, 1, {}},
          Expr{Expr::Kind::programs, 2, {}},
      };
    } else if (op->is(Opcode::launch_requires_)) {
      schedule.guards.push_back(requirement(*op));
    }
  for_each_op(*fn.body, [&](const Op &op) {
    schedule.starts_early |= op.is(Opcode::dependency_wait_);
    if (op.has_variable_stages())
      take_stages(op, schedule);
  });
  return schedule;
}

} // namespace tritonc
