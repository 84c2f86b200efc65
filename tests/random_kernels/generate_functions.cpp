// Generates device functions and assertions. See generator.h.
//
// A function is generated at its first call, for the ranges of these arguments. Later calls fit
// their arguments to these ranges. A function has arithmetic and control flow, but no loads or
// stores.

#include "random_kernels/generator.h"

#include <algorithm>

namespace tritonc::random {
namespace {

constexpr size_t max_functions = 4;

} // namespace

std::optional<Made> Generator::called(Scalar scalar, const Shape &shape, int depth) {
  Type result{scalar, false, shape};
  std::vector<int> fitting;
  for (size_t i = 0; i < callables_.size(); i++)
    if (kernel_.functions[i].result == result)
      fitting.push_back(int(i));
  bool makes_one = !in_bounds_ && kernel_.functions.size() < max_functions &&
                   (fitting.empty() || draw_.chance(50));
  if (!makes_one && fitting.empty())
    return std::nullopt;
  int function = makes_one ? new_function(result) : draw_.pick(fitting);
  std::vector<Expr> arguments;
  for (size_t i = 0; i < kernel_.functions[size_t(function)].parameters.size(); i++) {
    Type to = type(kernel_.functions[size_t(function)].parameters[i]);
    Range range = callables_[size_t(function)].parameters[i];
    Made argument = fitted(to.scalar, convertible(to, depth - 1), range);
    if (!fits(argument.expr.type.shape, to.shape))
      return std::nullopt;
    arguments.push_back(std::move(argument.expr));
  }
  return Made{call(kernel_, function, std::move(arguments)), callables_[size_t(function)].result};
}

// Draws the ranges of the parameters: small values.
int Generator::new_function(const Type &result) {
  std::vector<int> visible;
  std::vector<Loop> loops;
  std::vector<Shape> arms;
  std::optional<int> mask;
  std::swap(visible, visible_);
  std::swap(arms, arms_);
  std::swap(mask, partial_mask_);
  double calls = calls_;
  for (const Loop &loop : loops_)
    calls_ *= std::max(loop.iterations, 1.0);
  calls_ *= 2;
  std::swap(loops, loops_);

  Function function{"f" + std::to_string(kernel_.functions.size()), result, {}, {}};
  Callable callable;
  for (int64_t count = draw_.between(1, 3); count > 0; count--) {
    Scalar scalar = draw_scalar();
    Range range = scalar == Scalar::bool_ ? Range{0, 1}
                  : !is_signed(scalar)    ? Range{0, 7}
                                          : Range{-7, 7};
    Shape shape = draw_.chance(50) ? operand_shape(result.shape) : draw_shape();
    int variable = declare_new("a", {scalar, false, shape}, {.range = range});
    function.parameters.push_back(variable);
    callable.parameters.push_back(range);
  }
  callable.result = {0, 0};
  in_bounds_ = &callable;
  returns_ = result;
  function.body = collect([&] {
    statements(int(draw_.between(1, 3)), 2);
    if (draw_.chance(40)) {
      Made decides = condition(1);
      emit(branch(std::move(decides.expr), collect([&] { return_statement(); })));
    }
    return_statement();
  });
  in_bounds_ = nullptr;

  calls_ = calls;
  std::swap(loops, loops_);
  std::swap(mask, partial_mask_);
  std::swap(arms, arms_);
  std::swap(visible, visible_);
  kernel_.functions.push_back(std::move(function));
  callables_.push_back(std::move(callable));
  return int(kernel_.functions.size()) - 1;
}

void Generator::return_statement() {
  Made value = convertible(returns_, 2);
  Stmt stmt = jump(Stmt::Kind::finish);
  in_bounds_->result = hull(in_bounds_->result, value.range);
  stmt.value.push_back(std::move(value.expr));
  emit(std::move(stmt));
}

void Generator::statement_of_function(int nesting) {
  int inner = nesting > 0 ? 1 : 0, in_loop = loops_.empty() ? 0 : 1;
  switch (
      draw_.weighted({30, 20, 20 * inner, 12 * inner, 10 * inner, 20 * in_loop, 15, 4 * inner})) {
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
  case 5:
    return accumulation();
  case 6:
    return jump_statement();
  default:
    return late_declaration(nesting);
  }
}

// Asserts a known property of a variable.
void Generator::check_statement() {
  std::vector<int> found = visible([](const Variable &variable, const Known &known) {
    return !variable.type.pointer && variable.type.scalar != Scalar::bool_ &&
           !known.range.is_rounded && known.range.fraction_bits == 0 &&
           known.range.magnitude() < 1e6;
  });
  if (found.empty())
    return;
  int variable = draw_.pick(found);
  Scalar scalar = promoted(type(variable).scalar);
  Range range = known(variable).range;
  Expr condition = binary(Op::le, of(variable).expr, number_literal(scalar, range.high).expr);
  if (is_signed(scalar))
    condition = binary(Op::logical_and,
                       binary(Op::ge, of(variable).expr, number_literal(scalar, range.low).expr),
                       std::move(condition));
  emit(check(std::move(condition)));
}

} // namespace tritonc::random
