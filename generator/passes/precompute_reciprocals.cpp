// precompute_reciprocals: gives divisions in loops the reciprocal of their divisor.
//
//     for_loop %n {                       %r = host_value (2^62 - 1) / max(%d, -%d, 1) + 1
//       (%t)                              for_loop %n {
//       %i = add splat %t, %k       =>      (%t)
//       %q = div %i, splat %d               %i = add splat %t, %k
//                                           %q = div %i, splat %d, %r
//
// A GPU has no instruction for the division of integers: ptxas emits about 25 instructions for a
// quotient. With the reciprocal, it is a multiplication and a shift.
//
// Method:  T. Granlund, P. Montgomery: Division by Invariant Integers using Multiplication, 1994.
//          The reciprocal r is 2^62 / |d|, rounded up. For 0 <= n < 2^31 and |d| <= 2^31, the
//          quotient n / |d| is n * r / 2^62, rounded down, since r is too large by less than 1 and
//          n * |d| <= 2^62. The host divides, once per launch. CUTLASS: FastDivmod.
// Needs:   nothing.
// Ensures: nothing that other passes need.
// Limits:  only tiles of i32 in loops. Dividends that may be negative, and divisors that the host
//          cannot compute, have no reciprocal.
//
// Tested by tests/unit/passes/precompute_reciprocals/.

#include "passes/precompute_reciprocals.h"

#include "analysis/axis_info.h"
#include "analysis/launch_config.h"
#include "ir/builder.h"

namespace tritonc {

using namespace ir;

namespace {

bool is_division(const Op &op) {
  return op.is(Opcode::div_) || op.is(Opcode::udiv_) || op.is(Opcode::rem_) || op.is(Opcode::urem_);
}

bool is_in_loop(const Op &op) {
  for (const Op *outer = op.parent->parent; outer; outer = outer->parent->parent)
    if (outer->is(Opcode::for_loop_) || outer->is(Opcode::while_loop_))
      return true;
  return false;
}

constexpr int64_t power = int64_t{1} << 62;

struct State {
  Function &fn;
  AxisInfos infos = AxisInfos(fn);
  struct Reciprocal {
    Poly divisor;
    bool is_signed;
    Value *value;
  };
  std::vector<Reciprocal> reciprocals = {};

  // The divisor, the same in all elements, if the host can compute it and it is unknown before.
  Value *divisor_of(const Op &op) {
    Value *divisor = const_cast<Value *>(scalar_of(op.operand(1)));
    const bool is_known = host_expression(divisor) && can_clone(divisor, fn.body, {});
    return is_known && !constant_of(divisor) ? divisor : nullptr;
  }

  // The absolute value of a signed divisor. An unsigned divisor of 2^31 or more is negative here:
  // then the quotient is 0, as that by 2^62.
  static Value *size_of(Builder &builder, Value *divisor, bool is_signed) {
    Value *negative = builder.unary(Opcode::neg_, divisor), *one = builder.i64(1);
    Value *other = negative;
    if (!is_signed) {
      Value *zero = builder.i64(0), *large = builder.i64(power);
      Value *at_most_one = builder.binary(Opcode::min_, negative, one);
      other = builder.mul(builder.binary(Opcode::max_, at_most_one, zero), large);
    }
    Value *size = builder.binary(Opcode::max_, divisor, other);
    return builder.binary(Opcode::max_, size, one);
  }

  Value *reciprocal_of(Value *divisor, bool is_signed) {
    const Poly poly = poly_of(divisor);
    for (const Reciprocal &known : reciprocals)
      if (known.divisor == poly && known.is_signed == is_signed)
        return known.value;
    Builder builder(fn, fn.body, size_t(0));
    builder.set_location(fn.location);
    Copies copies;
    Value *wide = builder.cast(clone_computation(builder, divisor, fn.body, copies), Elem::i64);
    Value *size = size_of(builder, wide, is_signed), *most = builder.i64(power - 1);
    Value *quotient = builder.binary(Opcode::div_, most, size);
    Value *one = builder.i64(1), *rounded = builder.add(quotient, one);
    Value *result = builder.create(Opcode::host_value_, {rounded}, {rounded->type})->result();
    result->name = "reciprocal";
    reciprocals.push_back({poly, is_signed, result});
    return result;
  }

  void run() {
    std::vector<Op *> divisions;
    for_each_op(*fn.body, [&](Op &op) {
      if (is_division(op) && op.result()->type.is_tile() && op.result()->type.elem == Elem::i32 &&
          is_in_loop(op) && divisor_of(op) && infos.is_never_negative(op.operand(0)))
        divisions.push_back(&op);
    });
    for (Op *op : divisions)
      op->operands.push_back(
          reciprocal_of(divisor_of(*op), op->is(Opcode::div_) || op->is(Opcode::rem_)));
  }
};

} // namespace

void precompute_reciprocals(Function &fn) { State{fn}.run(); }

} // namespace tritonc
