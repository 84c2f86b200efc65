// Generates statements: variables, branches, loops. See generator.h.

#include "random_kernels/generator.h"

#include <algorithm>
#include <cmath>

namespace tritonc::random {

void Generator::statements(int count, int nesting) {
  for (int i = 0; i < count; i++)
    statement(nesting);
}

void Generator::statement(int nesting) {
  const Policy &p = policy_;
  int inner = nesting > 0 ? 1 : 0, in_loop = loops_.empty() ? 0 : 1;
  if (in_bounds_)
    return statement_of_function(nesting);
  switch (draw_.weighted({p.declarations, p.assignments, p.branches * inner,
                          p.counted_loops * inner, p.other_loops * inner, p.stores, p.products,
                          p.assignments * in_loop, 4 * in_loop + 1, p.stores / 2, p.in_place,
                          p.branches * inner / 4, p.pointers / 8, 1, p.atomics, p.checks})) {
  case 0:
    return declaration();
  case 1:
    return assignment();
  case 2:
    return branch_statement(nesting);
  case 3:
    return counted_loop(nesting);
  case 4:
    return other_loop(nesting);
  case 5: {
    Type type{draw_scalar(), false, draw_shape()};
    return store_value(number(type.scalar, type.shape, policy_.depth), type);
  }
  case 6:
    return matmul_loop();
  case 7:
    return accumulation();
  case 8:
    return jump_statement();
  case 9:
    return store_masked();
  case 10:
    return store_in_place();
  case 11:
    return late_declaration(nesting);
  case 12:
    return declare_pointer();
  case 14:
    return atomic_statement();
  case 15:
    return check_statement();
  default:
    return emit(block(collect([&] { statements(2, nesting - 1); })));
  }
}

// --- Variables. ----------------------------------------------------------------------------------

// Declares a variable: constant, or with a wider range for later assignments.
void Generator::declaration() {
  Type type{draw_scalar(), false, draw_shape()};
  Made value = convertible(type, policy_.depth);
  Known known{.range = value.range};
  known.is_fixed = draw_.chance(40) || value.range.is_rounded;
  bool is_sum = !known.is_fixed && draw_.chance(40) &&
                (is_float(type.scalar) || bits_of(type.scalar) >= 32) &&
                value.range.magnitude() < 64;
  if (is_sum) {
    int bits = is_float(type.scalar) ? std::min(precision_of(type.scalar) - 2, 30) : 24;
    known.room = std::ldexp(1, bits);
    known.range = {is_signed(type.scalar) ? -2 * known.room : 0, 2 * known.room, 0};
    value = fitted(type.scalar, std::move(value), known.range);
  } else if (!known.is_fixed && type.scalar != Scalar::bool_) {
    Range wider{value.range.low - 20, value.range.high + 20, value.range.fraction_bits};
    if (is_exact_in(type.scalar, wider))
      known.range = wider;
  }
  int variable = declare_new("v", type, known);
  emit(declare(variable, std::move(value.expr)));
}

// Declares a variable that both arms of a branch assign.
void Generator::late_declaration(int nesting) {
  Type type{draw_scalar(), false, draw_shape()};
  Made first = convertible(type, policy_.depth - 1), second = convertible(type, policy_.depth - 1);
  Known known{.range = hull(first.range, second.range), .is_fixed = true};
  int variable = kernel_.add_variable("v" + std::to_string(kernel_.variables.size()), type);
  emit(declare(variable));
  Made decides = condition(2);
  auto arm = [&](Made &value) {
    return collect([&] {
      if (nesting > 1 && draw_.chance(40))
        statement(nesting - 1);
      emit(assign(variable, std::move(value.expr)));
    });
  };
  std::vector<Stmt> yes = arm(first), no = arm(second);
  emit(branch(std::move(decides.expr), std::move(yes), std::move(no)));
  known.loops = int(loops_.size());
  known_.resize(kernel_.variables.size());
  known_[size_t(variable)] = known;
  visible_.push_back(variable);
}

void Generator::assignment() {
  std::vector<int> found = visible([](const Variable &variable, const Known &known) {
    return !known.is_fixed && !variable.type.pointer;
  });
  if (found.empty())
    return declaration();
  int variable = draw_.pick(found);
  Type to = type(variable);
  Made value = convertible(to, policy_.depth);
  value = fitted(to.scalar, std::move(value), known(variable).range);
  if (!fits(value.expr.type.shape, to.shape))
    return;
  emit(assign(variable, std::move(value.expr)));
}

// v += x, if the variable's range has room for it.
void Generator::accumulation() {
  std::vector<int> found = visible([](const Variable &variable, const Known &known) {
    return known.room > 0 && !variable.type.pointer;
  });
  if (found.empty())
    return assignment();
  int variable = draw_.pick(found);
  Known &sum = known(variable);
  Type to = type(variable);
  double times = 1;
  for (size_t i = size_t(sum.loops); i < loops_.size(); i++)
    times *= std::max(loops_[i].iterations, 1.0);
  bool is_one = to.shape.empty() && is_integer(to.scalar) && draw_.chance(25);
  if (is_one && times <= sum.room) {
    sum.room -= times;
    Stmt stmt = jump(Stmt::Kind::increment);
    stmt.variable = variable;
    stmt.op = Op::add;
    return emit(std::move(stmt));
  }
  Scalar scalar = draw_.chance(75) ? to.scalar : operand_scalar(to.scalar);
  Made value = number(scalar, operand_shape(to.shape), policy_.depth);
  double most = std::floor(known(variable).room / times);
  if (most < 1 || value.range.fraction_bits || value.range.is_rounded)
    return;
  if (value.range.magnitude() > std::min(most, 1000.0))
    value = clamped(std::move(value), is_signed(to.scalar) ? -std::min(most, 100.0) : 0,
                    std::min(most, 100.0));
  if (is_integer(to.scalar) && is_float(value.expr.type.scalar))
    value = converted(to.scalar, std::move(value));
  if (!is_signed(to.scalar) && value.range.low < 0)
    return;
  known(variable).room -= value.range.magnitude() * times;
  Op op = draw_.chance(80) || !is_signed(to.scalar) ? Op::add : Op::sub;
  if (draw_.chance(60))
    return emit(assign(variable, std::move(value.expr), op));
  emit(assign(variable, binary(op, of(variable).expr, std::move(value.expr))));
}

// --- Branches. -----------------------------------------------------------------------------------

// The scalar condition of a statement.
Made Generator::condition(int depth) {
  if (draw_.chance(35)) {
    int axis = int(draw_.between(0, 2));
    double size = kernel_.grid[size_t(axis)];
    Made id{program_id(axis), {0, size - 1}};
    Made bound = number_literal(Scalar::int32, double(draw_.between(0, 2)));
    return *join(draw_.pick({Op::eq, Op::lt, Op::ge}), std::move(id), std::move(bound));
  }
  if (!loops_.empty() && loops_.back().counter && draw_.chance(40)) {
    const Made &counter = *loops_.back().counter;
    Made bound = bound_parameter(draw_.between(0, int64_t(counter.range.high)), "n");
    return *join(draw_.pick({Op::eq, Op::lt, Op::gt, Op::ne}), counter, std::move(bound));
  }
  return number(Scalar::bool_, {}, depth);
}

void Generator::branch_statement(int nesting) {
  Made decides = condition(2);
  std::vector<Stmt> yes = collect([&] { statements(int(draw_.between(1, 3)), nesting - 1); });
  std::vector<Stmt> no;
  if (draw_.chance(50))
    no = collect([&] { statements(int(draw_.between(1, 2)), nesting - 1); });
  emit(branch(std::move(decides.expr), std::move(yes), std::move(no)));
}

void Generator::jump_statement() {
  if (loops_.empty() && !in_bounds_ && !draw_.chance(30))
    return;
  Stmt::Kind kind = loops_.empty() || draw_.chance(10) ? Stmt::Kind::finish
                    : draw_.chance(50)                 ? Stmt::Kind::leave
                                                       : Stmt::Kind::proceed;
  Made decides = condition(1);
  std::vector<Stmt> body = collect([&] {
    if (draw_.chance(35))
      statement(0);
    if (in_bounds_ && kind == Stmt::Kind::finish)
      return return_statement();
    emit(jump(kind));
  });
  std::vector<Stmt> other;
  if (draw_.chance(25))
    other = collect([&] { statement(0); });
  if (draw_.chance(20))
    std::swap(body, other);
  emit(branch(std::move(decides.expr), std::move(body), std::move(other)));
}

// --- Loops. --------------------------------------------------------------------------------------

// Increments outer pointers for the next iteration.
void Generator::walk_pointers() {
  int depth = int(loops_.size());
  std::vector<int> pointers = visible([&](const Variable &variable, const Known &known) {
    return variable.type.pointer && known.may_read && !known.is_fixed && known.loops < depth;
  });
  for (int pointer : pointers) {
    if (!draw_.chance(50))
      continue;
    Made step = draw_.chance(60) ? number_literal(Scalar::int32, double(draw_.pick({1, 8, 16, 32})))
                                 : bound_parameter(draw_.pick({1, 4, 16, 64}), "n");
    if (draw_.chance(75))
      emit(assign(pointer, std::move(step.expr), Op::add));
    else
      emit(assign(pointer, binary(Op::add, of(pointer).expr, std::move(step.expr))));
  }
}

void Generator::loop_body(int nesting, Loop loop, std::vector<Stmt> &body) {
  loops_.push_back(std::move(loop));
  std::vector<Stmt> made = collect([&] {
    statements(int(draw_.between(1, 3)), nesting - 1);
    if (draw_.chance(60))
      accumulation();
    walk_pointers();
  });
  loops_.pop_back();
  body.insert(body.end(), std::make_move_iterator(made.begin()),
              std::make_move_iterator(made.end()));
}

void Generator::counted_loop(int nesting) {
  if (draw_.chance(40))
    declare_pointer();
  Scalar scalar =
      draw_.chance(80) ? Scalar::int32 : draw_.pick({Scalar::int64, Scalar::uint32, Scalar::int16});
  int64_t count = draw_.pick({0, 1, 2, 2, 3, 3, 4, 5}), step = draw_.pick({1, 1, 1, 2, 3, 16});
  int64_t first = draw_.chance(70) ? 0 : draw_.between(0, 5), last = first + count * step;
  if (count == 0 && is_signed(scalar) && draw_.chance(50))
    last -= step; // the end is before the start
  bool is_down = is_signed(scalar) && draw_.chance(30);
  bool is_equal = last >= first && draw_.chance(8);            // k != last
  int axis = draw_.chance(20) ? int(draw_.between(0, 2)) : -1; // iterations differ between programs
  double more = axis >= 0 && !is_equal ? kernel_.grid[size_t(axis)] - 1 : 0;

  auto bound = [&](int64_t value) {
    return draw_.chance(50) ? bound_parameter(value, "n")
                            : number_literal(Scalar::int32, double(value));
  };
  // The bound is between the last counter value and the next one.
  int64_t slack = is_equal || count == 0 ? 0 : draw_.between(0, step - 1);
  Made end = bound(is_down ? first + slack : last - slack);
  Made start = bound(is_down ? last : first);
  if (more > 0) {
    Made id =
        *join(Op::mul, {program_id(axis), {0, more}}, number_literal(Scalar::int32, double(step)));
    Made &moved = is_down ? start : end;
    moved = *join(Op::add, std::move(moved), std::move(id));
  }
  double iterations = double(count) + more, highest = double(first) + iterations * double(step);
  std::vector<Stmt> around = collect([&] {
    Known known{.range = {double(first), highest}, .is_fixed = true, .is_index = true};
    int counter = declare_new("k", {scalar, false, {}}, known);
    Expr k = of(counter).expr;
    Stmt loop = jump(Stmt::Kind::for_loop);
    loop.head.push_back(declare(counter, std::move(start.expr)));
    bool includes = !is_equal && is_signed(scalar) && draw_.chance(15);
    Op compare = is_equal ? Op::ne : is_down ? Op::gt : Op::lt;
    if (includes) { // k <= last - 1
      Op by = is_down ? Op::add : Op::sub;
      end.expr = binary(by, std::move(end.expr), literal(Scalar::int32, 1));
      compare = is_down ? Op::ge : Op::le;
    }
    loop.value.push_back(draw_.chance(85) || is_equal ? binary(compare, k, std::move(end.expr))
                                                      : binary(compare == Op::lt   ? Op::gt
                                                               : compare == Op::gt ? Op::lt
                                                               : compare == Op::le ? Op::ge
                                                                                   : Op::le,
                                                               std::move(end.expr), k));
    Stmt next = assign(counter, literal(Scalar::int32, step), is_down ? Op::sub : Op::add);
    if (step == 1 && draw_.chance(60)) {
      next = jump(Stmt::Kind::increment);
      next.variable = counter;
      next.op = is_down ? Op::sub : Op::add;
    } else if (draw_.chance(20)) {
      Made by = bound_parameter(step, "n");
      next = assign(counter, binary(is_down ? Op::sub : Op::add, k, std::move(by.expr)));
    }
    loop.head.push_back(std::move(next));
    loop_body(nesting, {iterations, of(counter)}, loop.body);
    emit(std::move(loop));
  });
  for (Stmt &stmt : around)
    emit(std::move(stmt));
}

// Loops without a counted form: `while` and `do`.
void Generator::other_loop(int nesting) {
  if (draw_.chance(40))
    declare_pointer();
  int64_t count = draw_.between(0, 4);
  Made most =
      draw_.chance(50) ? bound_parameter(count, "n") : number_literal(Scalar::int32, double(count));
  bool counts_down = draw_.chance(50);
  Known known{.range = {0, double(count)}, .is_fixed = true, .is_index = true};
  int counter = declare_new("k", {Scalar::int32, false, {}}, known);
  Expr k = of(counter).expr;
  Stmt next = jump(Stmt::Kind::increment);
  next.variable = counter;
  next.op = counts_down ? Op::sub : Op::add;
  Made zero = number_literal(Scalar::int32, 0);
  emit(declare(counter, counts_down ? most.expr : zero.expr));
  // At the start of the body, so that no `continue` skips it.
  Expr goes_on = counts_down ? binary(Op::gt, k, zero.expr) : binary(Op::lt, k, most.expr);
  Made counted = of(counter);
  if (!counts_down)
    counted = {binary(Op::sub, k, literal(Scalar::int32, 1)),
               {0, std::max(double(count - 1), 0.0)}};
  else
    counted.range.high = std::max(double(count - 1), 0.0);
  Stmt loop = jump(Stmt::Kind::while_loop);
  switch (draw_.weighted({50, 25, 25})) {
  case 0:
    if (draw_.chance(35))
      goes_on = binary(Op::logical_and, std::move(goes_on), number(Scalar::bool_, {}, 1).expr);
    loop.value.push_back(std::move(goes_on));
    break;
  case 1: { // endless, until a break
    loop.value.push_back(literal(Scalar::bool_, 1));
    std::vector<Stmt> leaves;
    leaves.push_back(jump(Stmt::Kind::leave));
    loop.body.push_back(branch(unary(Op::logical_not, std::move(goes_on)), std::move(leaves)));
    break;
  }
  default: // at least once; a down counter passes zero, so addresses must not use it
    if (counts_down && count == 0)
      return;
    loop.kind = Stmt::Kind::do_loop;
    loop.value.push_back(std::move(goes_on));
  }
  loop.body.push_back(std::move(next));
  loop_body(nesting, {double(std::max<int64_t>(count, 1)), counted}, loop.body);
  emit(std::move(loop));
}

} // namespace tritonc::random
