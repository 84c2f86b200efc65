// Generates atomic operations. See generator.h.
//
// There are two kinds. Many programs and elements apply one operation to the same addresses in any
// order, and the kernel ignores the old values. Or each address is changed once, and the kernel
// uses the old value.

#include "random_kernels/generator.h"

#include <algorithm>
#include <cmath>

namespace tritonc::random {
namespace {

bool has_atomics(Scalar scalar) {
  return !is_small_float(scalar) &&
         (bits_of(scalar) >= 32 || scalar == Scalar::half || scalar == Scalar::bfloat16);
}

// Operations that may run in any order.
std::vector<Op> operations_on(Scalar scalar) {
  if (bits_of(scalar) < 32)
    return {Op::add};
  if (is_float(scalar))
    return {Op::add, Op::min, Op::max};
  return {Op::add, Op::min, Op::max, Op::bit_and, Op::bit_or, Op::bit_xor};
}

} // namespace

void Generator::atomic_statement() { draw_.chance(50) ? atomic_in_any_order() : atomic_exchange(); }

void Generator::atomic_in_any_order() {
  Scalar scalar = draw_scalar();
  Shape shape = draw_shape();
  if (!has_atomics(scalar) || !afford(4 * elements_of(shape)))
    return;
  Op op = draw_.pick(operations_on(scalar));
  Parameter parameter;
  parameter.role = Parameter::Role::both;
  parameter.data = {0, 5};
  parameter.no_alias = draw_.chance(40);
  int buffer = new_parameter("z", {scalar, true, {}}, parameter, {.is_fixed = true});
  double most = bits_of(scalar) == 16 ? 1 : draw_.pick({1, 3, 30});
  for (int count = draw_.chance(30) ? 2 : 1; count > 0; count--) {
    std::optional<Access> access = draw_.chance(50)
                                       ? gather(of(buffer).expr, shape, 1)
                                       : formula(of(buffer).expr, shape, /*is_output=*/false);
    if (!access)
      return;
    Made value = number(scalar, shape, policy_.depth);
    if (value.range.is_rounded || value.range.fraction_bits)
      value = repeated(number_literal(scalar, 1), shape);
    bool is_sum = op == Op::add && (is_signed(scalar) || draw_.chance(50));
    if (is_sum)
      value = clamped(std::move(value), is_signed(scalar) ? -most : 0, most);
    if (draw_.chance(15))
      value = number_literal(scalar, 1);
    std::vector<Expr> operands;
    operands.push_back(std::move(access->pointers));
    operands.push_back(std::move(value.expr));
    bool has_mask = draw_.chance(policy_.masks);
    if (has_mask)
      operands.push_back(mask_for(*access, shape, 1).expr);
    emit(atomic(op, std::move(operands), has_mask));
  }
}

void Generator::atomic_exchange() {
  Scalar scalar = draw_scalar();
  Shape shape = draw_shape();
  if (!has_atomics(scalar) || !afford(4 * elements_of(shape)))
    return;
  std::vector<Op> ops = operations_on(scalar);
  if (bits_of(scalar) >= 32)
    ops.insert(ops.end(), {Op::exchange, Op::exchange, Op::compare_exchange, Op::compare_exchange});
  Op op = draw_.pick(ops);
  Parameter parameter;
  parameter.role = Parameter::Role::both;
  parameter.data = {1, 5};
  parameter.no_alias = draw_.chance(40);
  int buffer = new_parameter("z", {scalar, true, {}}, parameter, {.is_fixed = true});
  std::optional<Access> access = formula(of(buffer).expr, shape, /*is_output=*/true);
  if (!access)
    return;
  std::vector<Expr> operands;
  operands.push_back(access->pointers);
  auto operand = [&](double low, double high) {
    Made value =
        clamped(number(scalar, draw_.chance(70) ? shape : operand_shape(shape), 2), low, high);
    if (value.range.is_rounded || value.range.fraction_bits)
      value = number_literal(scalar, high);
    operands.push_back(std::move(value.expr));
  };
  if (op == Op::compare_exchange)
    operand(1, 5);
  operand(is_signed(scalar) ? -50 : 0, 50);
  Made mask;
  bool has_mask = draw_.chance(policy_.masks);
  if (has_mask) {
    Made made = mask_for(*access, shape, 1);
    mask = of(declare_value("m", {Scalar::bool_, false, shape}, std::move(made)));
    operands.push_back(mask.expr);
  }
  Stmt stmt = atomic(op, std::move(operands), has_mask);
  if (draw_.chance(20))
    return emit(std::move(stmt));
  Range range{1, 5};
  stmt.variable =
      kernel_.add_variable("b" + std::to_string(kernel_.variables.size()), {scalar, false, shape});
  known_.resize(kernel_.variables.size());
  int before = stmt.variable;
  emit(std::move(stmt));
  known(before) = {.range = range, .is_fixed = true, .loops = int(loops_.size())};
  if (!has_mask) {
    visible_.push_back(before);
    return;
  }
  // Where the mask is off, the result is undefined.
  Made chosen{
      conditional(std::move(mask.expr), of(before).expr, number_literal(Scalar::int32, 0).expr),
      {0, 5}};
  declare_value("b", {scalar, false, shape}, std::move(chosen));
}

} // namespace tritonc::random
