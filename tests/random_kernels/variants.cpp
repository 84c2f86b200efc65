// Makes equivalent variants of a kernel. See variants.h.
//
// Conditions that the compiler must not fold depend on parameters: `once` is 1, `never` is 0.
//
// Tested by tests/random_kernels/variants_test.cpp.

#include "random_kernels/variants.h"

#include <algorithm>

namespace tritonc::random {
namespace {

class Maker {
public:
  Maker(const Kernel &kernel, Draw &draw) : kernel_(kernel), draw_(draw) {
    once_ = add_number("once", 1);
    never_ = add_number("never", 0);
  }

  Kernel run() {
    change(kernel_.body);
    for_each_stmt(kernel_.body, [&](Stmt &stmt) {
      for (Expr &value : stmt.value)
        for_each_expr(value, [&](Expr &expr) { change(expr); });
    });
    return std::move(kernel_);
  }

private:
  int add_number(const char *name, int64_t value) {
    Parameter parameter;
    parameter.variable = kernel_.add_variable(name, {Scalar::int32, false, {}});
    parameter.integer = value;
    kernel_.parameters.push_back(parameter);
    return parameter.variable;
  }
  Expr number(int64_t value) { return literal(Scalar::int32, value); }

  // Swaps operands of commutative operators, adds 0, multiplies by 1, wraps in a `?:`.
  void change(Expr &expr) {
    constexpr Op commutative[] = {Op::add,    Op::mul,     Op::min, Op::max, Op::bit_and,
                                  Op::bit_or, Op::bit_xor, Op::eq,  Op::ne};
    bool commutes = std::count(std::begin(commutative), std::end(commutative), expr.op) > 0;
    if (expr.is(Expr::Kind::binary) && commutes && draw_.chance(20))
      std::swap(expr.operands[0], expr.operands[1]);
    bool is_int = !expr.type.pointer && expr.type.scalar == Scalar::int32;
    if (is_int && expr.is(Expr::Kind::variable) && draw_.chance(4)) {
      Expr same = expr;
      expr = draw_.chance(50) ? binary(Op::add, std::move(same), variable(kernel_, never_))
                              : binary(Op::mul, std::move(same), variable(kernel_, once_));
    }
  }

  // Wraps some statements of a list, and inserts statements that never run.
  void change(std::vector<Stmt> &list) {
    for (size_t i = 0; i < list.size(); i++) {
      for (std::vector<Stmt> *inner : {&list[i].body, &list[i].other})
        change(*inner);
      if (list[i].is(Stmt::Kind::store) && list[i].op == Op::none && draw_.chance(20))
        list[i] = split(list[i]);
      else if (can_wrap(list[i]) && draw_.chance(15))
        list[i] = wrapped(list[i]);
    }
    if (!list.empty() && draw_.chance(25))
      insert_dead_code(list);
  }

  // Not a declaration, whose variable would go out of scope, and not a jump.
  static bool can_wrap(const Stmt &stmt) {
    Kernel alone;
    alone.body = {stmt};
    bool good = !stmt.is(Stmt::Kind::declare) && !stmt.is(Stmt::Kind::atomic);
    for_each_stmt(alone.body, [&](Stmt &inner) {
      good &= !inner.is(Stmt::Kind::leave) && !inner.is(Stmt::Kind::proceed);
    });
    return good;
  }

  Stmt wrapped(const Stmt &stmt) {
    Expr once = variable(kernel_, once_);
    if (draw_.chance(40))
      return branch(binary(Op::gt, std::move(once), number(0)), {stmt});
    int counter = kernel_.add_variable("o" + std::to_string(kernel_.variables.size()),
                                       {Scalar::int32, false, {}});
    Stmt loop = jump(Stmt::Kind::for_loop);
    loop.head.push_back(declare(counter, number(0)));
    loop.value.push_back(binary(Op::lt, variable(kernel_, counter), std::move(once)));
    loop.head.push_back(assign(counter, number(1), Op::add));
    loop.body.push_back(stmt);
    return loop;
  }

  // Splits a store into two: with mask && c, and with mask && !c.
  Stmt split(const Stmt &stmt) {
    const Shape &shape = stmt.value[0].type.shape;
    Expr some = binary(Op::gt, variable(kernel_, once_), number(0));
    if (!shape.empty() && shape[0] > 1) {
      Expr row = binary(Op::lt, range(0, shape[0]), number(shape[0] / 2));
      std::vector<Position> positions(shape.size(), Position::newaxis);
      positions[0] = Position::keep;
      some = shape.size() > 1 ? subscript(std::move(row), positions) : row;
    }
    Expr others = unary(Op::logical_not, some);
    auto under = [&](Expr mask) {
      Stmt half = stmt;
      if (half.value.size() == 3)
        half.value[2] = binary(Op::logical_and, half.value[2], std::move(mask));
      else
        half.value.push_back(std::move(mask));
      return half;
    };
    return block({under(std::move(some)), under(std::move(others))});
  }

  // Inserts copies of other statements, which would change results if they ran.
  void insert_dead_code(std::vector<Stmt> &list) {
    size_t from = draw_.index(list.size()), at = draw_.index(list.size() + 1);
    Stmt copy = list[from];
    if (!can_wrap(copy) || at <= from) // the copy's variables must be declared before it
      return;
    Expr never = variable(kernel_, never_);
    list.insert(list.begin() + int64_t(at),
                draw_.chance(50) ? branch(binary(Op::ne, std::move(never), number(0)), {copy})
                                 : dead_loop(std::move(never), std::move(copy)));
  }

  Stmt dead_loop(Expr never, Stmt stmt) {
    Stmt loop = jump(Stmt::Kind::while_loop);
    loop.value.push_back(binary(Op::gt, std::move(never), number(0)));
    loop.body.push_back(std::move(stmt));
    return loop;
  }

  Kernel kernel_;
  Draw &draw_;
  int once_, never_;
};

} // namespace

Kernel variant_of(const Kernel &kernel, Draw &draw) { return Maker(kernel, draw).run(); }

} // namespace tritonc::random
