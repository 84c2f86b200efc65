// Checks expressions: names, operators, matmul and `?:`. See checker.h.
//
// Tested by tests/unit/language/checker_test.cpp and tests/diagnostics/diagnostics_test.cpp.

#include "language/checker.h"
#include "language/constant.h"

#include <algorithm>
#include <limits>

namespace tritonc::ast {
namespace {

using Kind = Expr::Kind;

struct NamedReal {
  const char *name;
  Scalar scalar;
  double value;
};

constexpr NamedReal named_reals[] = {
    {"F16_INFINITY", Scalar::half, std::numeric_limits<double>::infinity()},
    {"F32_INFINITY", Scalar::float_, std::numeric_limits<double>::infinity()},
    {"INFINITY", Scalar::float_, std::numeric_limits<double>::infinity()},
    {"NAN", Scalar::float_, std::numeric_limits<double>::quiet_NaN()},
};

// Returns the literal number under optional signs; null if `expr` is not a literal.
const Expr *literal_in(const Expr &expr) {
  if (expr.is(Kind::real) || expr.is(Kind::integer))
    return &expr;
  bool has_sign = expr.is(Kind::unary) && (expr.op == Operator::minus || expr.op == Operator::plus);
  return has_sign ? literal_in(*expr.operands[0]) : nullptr;
}

// Whether `literal` is a literal integer that fits into `scalar`, an integer type below 32 bits.
bool holds(Scalar scalar, const Expr &literal) {
  if (!literal_in(literal) || !is_integer(scalar) || scalar == Scalar::bool_ ||
      bits_of(scalar) >= 32)
    return false;
  std::optional<int64_t> value = constant_integer(literal);
  int64_t end = int64_t(1) << (bits_of(scalar) - (is_unsigned(scalar) ? 0 : 1));
  return value && *value < end && *value >= (is_unsigned(scalar) ? 0 : -end);
}

} // namespace

bool Checker::has_error_operand(const Expr &expr) {
  return std::any_of(expr.operands.begin(), expr.operands.end(),
                     [](const ExprPtr &operand) { return operand->type.is_error(); });
}

void Checker::check_expr(ExprPtr &expr) {
  switch (expr->kind) {
  case Kind::error:
  case Kind::integer:
  case Kind::real:
  case Kind::boolean:
  case Kind::atomic:
  case Kind::barrier:
  case Kind::inlined:
  case Kind::convert:
    return;
  case Kind::name:
    return check_name(*expr);
  case Kind::current:
    expr->type = current_.back();
    return;
  case Kind::conditional:
    return check_conditional(*expr);
  case Kind::given:
    check_expr(expr->operands[0]);
    current_.push_back(expr->operands[0]->type);
    check_expr(expr->operands[1]);
    current_.pop_back();
    expr->type = expr->operands[1]->type;
    return;
  case Kind::assign:
    return check_assign(*expr);
  case Kind::deref:
    return check_deref(*expr, /*is_store=*/false);
  case Kind::binary:
    return check_binary(expr);
  case Kind::size_of:
    return check_size_of(expr);
  case Kind::call:
    return check_call(expr);
  default:
    break;
  }
  // All other kinds check their operands first.
  if (expr->is(Kind::subscript))
    find_unknown_reductions(*expr);
  for (ExprPtr &operand : expr->operands)
    check_expr(operand);
  if (has_error_operand(*expr))
    return;
  switch (expr->kind) {
  case Kind::unary:
    return check_unary(*expr);
  case Kind::transpose:
    return check_transpose(*expr);
  case Kind::matmul:
    return check_matmul(*expr);
  case Kind::range:
    return check_range(*expr);
  case Kind::cast:
    return check_cast(*expr);
  case Kind::bitcast:
    return check_bitcast(*expr);
  case Kind::subscript:
    return check_subscript(*expr);
  default: // comma
    expr->type = expr->operands[1]->type;
  }
}

void Checker::check_name(Expr &expr) {
  if (Variable *variable = find(expr.text)) {
    expr.variable = variable;
    expr.type = variable->type;
    if (!variable->constant)
      return;
    expr.kind = Kind::convert; // a bare literal would adapt its type to the context
    expr.operands.push_back(copy_of_constant(*variable->constant));
    return;
  }
  for (const NamedReal &named : named_reals)
    if (expr.text == named.name) {
      expr.kind = Kind::real;
      expr.real = named.value;
      expr.type = Type::of(named.scalar);
      expr.has_suffix = true;
      return;
    }
  report_undeclared(expr, /*is_extent=*/false);
}

void Checker::check_unary(Expr &expr) {
  ExprPtr &operand = expr.operands[0];
  const Type type = operand->type;
  if (expr.op == Operator::logical_not) {
    if (!to_bool(operand))
      return;
    expr.type = operand->type;
    return;
  }
  bool fits = expr.op == Operator::bit_not ? type.is_integer() : type.is_number();
  if (!fits) {
    report(Message::bad_operand, expr.at, {spelling_of(expr.op), name_of(type)}, {operand->range});
    return note_load(*operand);
  }
  expr.type = type.with_scalar(promoted(type.scalar));
  wrap(operand, expr.type);
}

// A transpose moves the first axis to the end.
void Checker::check_transpose(Expr &expr) {
  const Type &type = expr.operands[0]->type;
  if (type.shape.size() < 2)
    return report(Message::bad_operand, expr.at, {"^", name_of(type)}, {expr.operands[0]->range});
  expr.type = type;
  std::rotate(expr.type.shape.begin(), expr.type.shape.begin() + 1, expr.type.shape.end());
}

void Checker::check_binary(ExprPtr &expr) {
  if (expr->op == Operator::logical_and || expr->op == Operator::logical_or)
    return check_logical(*expr);
  ExprPtr &a = expr->operands[0], &b = expr->operands[1];
  int errors = diagnostics_.errors();
  check_expr(a);
  bool left_failed = diagnostics_.errors() > errors;
  check_expr(b);
  if (left_failed && !b->type.is_error() && diagnostics_.errors() == errors + 1)
    note_failed_range(*expr);
  bool is_plain_deref = b->is(Kind::deref) && b->operands.size() == 1; // no mask
  if (expr->op == Operator::multiply && is_plain_deref && !b->operands[0]->is(Kind::deref) &&
      b->operands[0]->type.is_number())
    diagnostics_.report(Message::write_power, b->at); // a note on `x ** y`
  if (has_error_operand(*expr))
    return;
  if (a->type.is_pointer() || b->type.is_pointer())
    return check_pointer_arithmetic(*expr);

  Operator op = expr->op;
  bool needs_integers = op == Operator::remainder || op == Operator::shift_left ||
                        op == Operator::shift_right || op == Operator::bit_and ||
                        op == Operator::bit_or || op == Operator::bit_xor;
  auto fits = [&](const Type &type) {
    return needs_integers ? type.is_integer() : type.is_number();
  };
  if (!fits(a->type) || !fits(b->type))
    return report(Message::bad_operands, expr->at,
                  {spelling_of(op), name_of(a->type), name_of(b->type)}, {a->range, b->range});
  std::optional<Extents> shape = common_shape(*a, *b, spelling_of(op), expr->at);
  if (!shape)
    return;
  if (op == Operator::shift_left || op == Operator::shift_right)
    return check_shift(*expr, *shape);
  if (op == Operator::divide || op == Operator::remainder)
    check_division(*expr);
  Scalar scalar = common(a->type.scalar, b->type.scalar);
  bool of_bits = op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
  if (of_bits && a->type.is_bool() && b->type.is_bool())
    scalar = Scalar::bool_;
  if (scalar == Scalar::double_)
    warn_double(*a, *b);
  Type operands = Type::of(scalar).with_shape(*shape);
  wrap(a, operands);
  wrap(b, operands);
  expr->type = is_comparison(op) ? operands.with_scalar(Scalar::bool_) : operands;
}

// Checks pointers plus or minus integers; swaps integer plus pointers. Unsigned offsets become
// int64, so later stages see only signed offsets.
void Checker::check_pointer_arithmetic(Expr &expr) {
  if (expr.op == Operator::add && expr.operands[0]->type.is_integer())
    std::swap(expr.operands[0], expr.operands[1]);
  ExprPtr &pointer = expr.operands[0], &offset = expr.operands[1];
  bool both = pointer->type.is_pointer() && offset->type.is_pointer();
  if (is_comparison(expr.op) || (both && expr.op == Operator::subtract))
    return check_pointers(expr);
  bool fits = (expr.op == Operator::add || expr.op == Operator::subtract) &&
              pointer->type.is_pointer() && pointer->type.scalar != Scalar::void_ &&
              offset->type.is_integer();
  if (!fits) {
    report(Message::bad_operands, expr.at,
           {spelling_of(expr.op), name_of(pointer->type), name_of(offset->type)},
           {pointer->range, offset->range});
    return note_load(*pointer, offset.get());
  }
  std::optional<Extents> shape = common_shape(*pointer, *offset, spelling_of(expr.op), expr.at);
  if (!shape)
    return;
  Scalar index = promoted(offset->type.scalar);
  if (is_unsigned(index))
    index = Scalar::int64;
  wrap(offset, Type::of(index).with_shape(*shape));
  expr.type = pointer->type.with_shape(*shape);
  wrap(pointer, expr.type);
}

// Checks comparisons and differences of two pointers to the same type. The constant 0 counts as a
// pointer. A `void *` compares with any pointer.
void Checker::check_pointers(Expr &expr) {
  ExprPtr &a = expr.operands[0], &b = expr.operands[1];
  Type type = a->type.is_pointer() ? a->type : b->type;
  bool is_void = a->type.scalar == Scalar::void_ || b->type.scalar == Scalar::void_;
  bool fits =
      a->type.to_constant != b->type.to_constant ? false
      : a->type.is_pointer() && b->type.is_pointer()
          ? (a->type.scalar == b->type.scalar && !is_void) || (is_void && is_comparison(expr.op))
          : is_null(a->type.is_pointer() ? *b : *a);
  if (!fits)
    return report(Message::bad_operands, expr.at,
                  {spelling_of(expr.op), name_of(a->type), name_of(b->type)}, {a->range, b->range});
  std::optional<Extents> shape = common_shape(*a, *b, spelling_of(expr.op), expr.at);
  if (!shape)
    return;
  type = type.with_shape(*shape);
  type.to_const = true;
  wrap(a, type);
  wrap(b, type);
  expr.type = Type::of(is_comparison(expr.op) ? Scalar::bool_ : Scalar::int64).with_shape(*shape);
}

// The left operand masks the right operand: loads happen only where the left does not decide.
void Checker::check_logical(Expr &expr) {
  ExprPtr &a = expr.operands[0], &b = expr.operands[1];
  check_expr(a);
  to_bool(a);
  check_in_arm(b, *a);
  to_bool(b);
  if (has_error_operand(expr))
    return;
  forbid_effects(*a, *b);
  std::optional<Extents> shape = common_shape(*a, *b, spelling_of(expr.op), expr.at);
  if (!shape)
    return;
  expr.type = Type::of(Scalar::bool_).with_shape(*shape);
  wrap(a, expr.type);
  wrap(b, expr.type);
}

void Checker::check_shift(Expr &expr, const Extents &shape) {
  Scalar scalar = promoted(expr.operands[0]->type.scalar);
  expr.type = Type::of(scalar).with_shape(shape);
  wrap(expr.operands[0], expr.type);
  wrap(expr.operands[1], expr.type);
}

void Checker::check_division(const Expr &expr) {
  const Expr &divisor = *expr.operands[1];
  if (expr.operands[0]->type.is_integer() && constant_integer(divisor) == 0)
    report(Message::division_by_zero, expr.at, {}, {divisor.range});
}

// Warns about `x * 0.5`: by C's rules it turns a float tile into a double tile, which is usually a
// mistake.
void Checker::warn_double(const Expr &a, const Expr &b) {
  const Expr *literal = literal_in(a) ? literal_in(a) : literal_in(b);
  const Expr &other = literal == literal_in(a) ? b : a;
  bool is_accident = literal && literal->is(Kind::real) && !literal->has_suffix &&
                     other.type.is_float() && other.type.scalar != Scalar::double_;
  if (!is_accident)
    return;
  report(Message::double_arithmetic, literal->at, {}, {other.range},
         {Edit::insert_behind(literal->at, "f")});
  report(Message::write_float_literal, literal->at, {literal->text});
}

namespace {

// The accumulator type of a matmul: double for double, float for other floats, C's promoted type
// for integers.
Scalar sum_of_products(Scalar scalar) {
  switch (scalar) {
  case Scalar::e4m3:
  case Scalar::e5m2:
  case Scalar::half:
  case Scalar::bfloat16:
  case Scalar::float_:
    return Scalar::float_;
  case Scalar::double_:
    return Scalar::double_;
  default:
    return promoted(scalar);
  }
}

} // namespace

void Checker::check_matmul(Expr &expr) {
  ExprPtr &a = expr.operands[0], &b = expr.operands[1];
  size_t rank = a->type.shape.size(), other_rank = b->type.shape.size();
  std::vector<Range> operands = {a->range, b->range};
  if (rank < 2 || rank != other_rank)
    return report(Message::matmul_rank, expr.at, {std::to_string(rank), std::to_string(other_rank)},
                  operands);
  const Extents &left = a->type.shape, &right = b->type.shape;
  if (left[1] != right[0]) {
    report(Message::matmul_depth, expr.at,
           {name_of(left), name_of(right), std::to_string(left[1]), std::to_string(right[0])},
           operands);
    note_shape(*a);
    note_shape(*b);
    return note_turn(*a, *b);
  }
  Extents batch(left.begin() + 2, left.end()), other_batch(right.begin() + 2, right.end());
  if (batch != other_batch) {
    report(Message::matmul_batch, expr.at,
           {name_of(left), name_of(right), name_of(batch), name_of(other_batch)}, operands);
    report(Message::batch_axes, expr.at);
    note_shape(*a);
    note_shape(*b);
    return;
  }
  if (a->type.scalar != b->type.scalar || !a->type.is_number() || !b->type.is_number()) {
    report(Message::matmul_types, expr.at, {name_of(a->type.scalar), name_of(b->type.scalar)},
           operands);
    report(Message::cast_operands, expr.at);
    return;
  }
  if (a->type.is_bool()) { // the matmul counts where both are true
    wrap(a, a->type.with_scalar(Scalar::uint8));
    wrap(b, b->type.with_scalar(Scalar::uint8));
  }
  Extents shape = {left[0], right[1]};
  shape.insert(shape.end(), batch.begin(), batch.end());
  expr.type = Type::of(sum_of_products(a->type.scalar)).with_shape(std::move(shape));
}

// The condition or its negation masks the loads in `expr`.
void Checker::check_in_arm(ExprPtr &expr, const Expr &condition) {
  const Expr *outer_arm = arm_;
  arm_ = expr.get();
  conditions_.push_back(&condition);
  check_expr(expr);
  conditions_.pop_back();
  arm_ = outer_arm;
}

void Checker::forbid_effects(const Expr &condition, const Expr &arm) {
  if (!condition.type.is_tile() || !has_effects(arm))
    return;
  report(Message::effect_in_arm, arm.at, {effect_text(*effect_in(arm), "accesses")},
         {condition.range});
  report(Message::use_if, arm.at);
}

void Checker::check_conditional(Expr &expr) {
  ExprPtr &condition = expr.operands[0], &yes = expr.operands[1], &no = expr.operands[2];
  check_expr(condition);
  to_bool(condition);
  check_in_arm(yes, *condition);
  check_in_arm(no, *condition);
  if (has_error_operand(expr))
    return;
  forbid_effects(*condition, *yes);
  forbid_effects(*condition, *no);
  Type type = conditional_type(*yes, *no);
  if (type.is_error())
    return report(Message::bad_operands, expr.at, {"?:", name_of(yes->type), name_of(no->type)},
                  {yes->range, no->range});
  std::optional<Extents> arms = common_shape(*yes, *no, "?:", expr.at);
  if (!arms)
    return;
  std::optional<Extents> shape = broadcast(condition->type.shape, *arms);
  if (!shape) {
    report(Message::shapes_differ, expr.at, {"?:", name_of(condition->type.shape), name_of(*arms)},
           {condition->range, yes->range, no->range});
    note_shape(*condition);
    note_shape(*yes);
    note_shape(*no);
    if (!note_range(*condition, *arms, /*is_target=*/false))
      note_insert_axis(*condition, *arms);
    return;
  }
  expr.type = type.with_shape(*shape);
  wrap(yes, expr.type);
  wrap(no, expr.type);
  if (condition->type.is_tile())
    wrap(condition, condition->type.with_shape(*shape));
}

// A literal takes the type of the other arm if that type is a float.
Type Checker::conditional_type(const Expr &yes, const Expr &no) {
  if (yes.type.to_constant != no.type.to_constant)
    return Type();
  if (yes.type.is_pointer() && no.type.is_pointer() && yes.type.scalar == no.type.scalar) {
    Type type = yes.type;
    type.to_const |= no.type.to_const;
    return type;
  }
  if (yes.type.is_pointer() && is_null(no))
    return yes.type;
  if (no.type.is_pointer() && is_null(yes))
    return no.type;
  if (!yes.type.is_number() || !no.type.is_number())
    return Type();
  if (literal_in(no) && yes.type.is_float())
    return yes.type;
  if (literal_in(yes) && no.type.is_float())
    return no.type;
  if (yes.type.is_bool() && no.type.is_bool())
    return yes.type;
  return Type::of(common(yes.type.scalar, no.type.scalar));
}

// `m ? a : b` with arms of a small type has type int or float. If the program converts the result
// back to the small type, this function removes the conversions of the arms, so that a masked load
// needs no conversion.
void Checker::narrow_arms(Expr &expr, Scalar to) {
  if (!expr.is(Kind::conditional) || !expr.type.is_number() || expr.type.scalar == to)
    return;
  for (size_t arm : {1, 2}) {
    const Expr &outer = *expr.operands[arm];
    const Expr &inner = outer.is(Kind::convert) ? *outer.operands[0] : outer;
    if (inner.type.scalar != to && !holds(to, inner))
      return;
  }
  expr.type.scalar = to;
  for (size_t arm : {1, 2}) {
    ExprPtr &outer = expr.operands[arm];
    if (outer->is(Kind::convert)) {
      ExprPtr inner = std::move(outer->operands[0]);
      outer = std::move(inner);
    }
    wrap(outer, expr.type);
  }
}

} // namespace tritonc::ast
