// Makes the launch plan of a kernel from its pragmas. See launch_plan.h.
//
// Tested by tests/unit/translate/launch_plan_test.cpp.

#include "translate/launch_plan.h"

#include "language/constant.h"

#include <algorithm>
#include <optional>

namespace tritonc {
namespace {

using Kind = ast::Expr::Kind;

std::optional<Expr::Kind> plan_kind(ast::Operator op) {
  using ast::Operator;
  switch (op) {
  case Operator::add:
    return Expr::Kind::add;
  case Operator::subtract:
    return Expr::Kind::sub;
  case Operator::multiply:
    return Expr::Kind::mul;
  case Operator::divide:
    return Expr::Kind::div;
  case Operator::remainder:
    return Expr::Kind::rem;
  case Operator::less:
    return Expr::Kind::lt;
  case Operator::less_equal:
    return Expr::Kind::le;
  case Operator::greater:
    return Expr::Kind::gt;
  case Operator::greater_equal:
    return Expr::Kind::ge;
  case Operator::equal:
    return Expr::Kind::eq;
  case Operator::not_equal:
    return Expr::Kind::ne;
  case Operator::logical_and:
    return Expr::Kind::logical_and;
  case Operator::logical_or:
    return Expr::Kind::logical_or;
  default:
    return std::nullopt;
  }
}

class Planner {
public:
  explicit Planner(const ast::Function &function) : function_(function) {}

  LaunchPlan plan() {
    for (const ast::Pragma &pragma : function_.pragmas) {
      if (pragma.name == "precision")
        continue;
      in_grid_ = pragma.name == "grid";
      for (const ast::ExprPtr &argument : pragma.arguments) {
        Expr expr = translate(*argument);
        if (in_grid_)
          plan_.grid.push_back(std::move(expr));
        else
          require(std::move(expr));
      }
    }
    return std::move(plan_);
  }

private:
  // The host computes in 64 bits, so the types of the source do not matter.
  Expr translate(const ast::Expr &expr) {
    if (std::optional<int64_t> value = ast::constant_integer(expr))
      return Expr::constant(*value);
    std::vector<Expr> operands;
    for (const ast::ExprPtr &operand : expr.operands)
      operands.push_back(translate(*operand));
    switch (expr.kind) {
    case Kind::name:
      return Expr::parameter(parameter_index(expr.variable));
    case Kind::unary:
      return unary(expr.op, std::move(operands[0]));
    case Kind::binary:
      return binary(expr.op, std::move(operands[0]), std::move(operands[1]));
    case Kind::call:
      return Expr::binary(expr.text == "min"   ? Expr::Kind::min
                          : expr.text == "max" ? Expr::Kind::max
                                               : Expr::Kind::ceil_div,
                          std::move(operands[0]), std::move(operands[1]));
    default: // a conversion; to bool, it compares with zero
      if (expr.type.is_bool() && !expr.operands[0]->type.is_bool())
        return Expr::binary(Expr::Kind::ne, std::move(operands[0]), Expr::constant(0));
      return std::move(operands[0]);
    }
  }

  Expr unary(ast::Operator op, Expr operand) {
    if (op == ast::Operator::plus)
      return operand;
    Expr::Kind kind = op == ast::Operator::minus ? Expr::Kind::neg : Expr::Kind::logical_not;
    return {kind, 0, {std::move(operand)}};
  }

  Expr binary(ast::Operator op, Expr a, Expr b) {
    if (in_grid_ && op == ast::Operator::divide)
      require(Expr::binary(Expr::Kind::eq, Expr::binary(Expr::Kind::rem, a, b), Expr::constant(0)));
    if (op == ast::Operator::logical_and || op == ast::Operator::logical_or)
      return logical(op, std::move(a), std::move(b));
    return Expr::binary(*plan_kind(op), std::move(a), std::move(b));
  }

  // Each operand is 0 or 1. If one of them is constant, it decides, or the other one does.
  Expr logical(ast::Operator op, Expr a, Expr b) {
    const Expr decisive = Expr::constant(op == ast::Operator::logical_or);
    if (a == decisive || b == decisive)
      return decisive;
    if (a.kind == Expr::Kind::constant)
      return b;
    if (b.kind == Expr::Kind::constant)
      return a;
    return Expr::binary(*plan_kind(op), std::move(a), std::move(b));
  }

  void require(Expr condition) {
    if (condition.kind == Expr::Kind::constant && condition.value != 0)
      return; // a condition of tuned values, which holds
    std::string text = text_of(condition, 0);
    auto has_text = [&](const Requirement &known) { return known.text == text; };
    if (std::none_of(plan_.requirements.begin(), plan_.requirements.end(), has_text))
      plan_.requirements.push_back({std::move(condition), std::move(text)});
  }

  int64_t parameter_index(const ast::Variable *variable) const {
    const auto &parameters = function_.parameters;
    auto found = std::find_if(parameters.begin(), parameters.end(),
                              [&](const auto &p) { return p.variable == variable; });
    return found - parameters.begin();
  }

  // Prints `expr` as in the source, with parentheses where `outer` binds tighter.
  std::string text_of(const Expr &expr, int outer) const {
    switch (expr.kind) {
    case Expr::Kind::constant:
      return std::to_string(expr.value);
    case Expr::Kind::parameter:
      return function_.parameters[size_t(expr.value)].name;
    case Expr::Kind::neg:
      return "-" + text_of(expr.operands[0], 7);
    case Expr::Kind::logical_not:
      return "!" + text_of(expr.operands[0], 7);
    case Expr::Kind::min:
      return call("min", expr);
    case Expr::Kind::max:
      return call("max", expr);
    case Expr::Kind::ceil_div:
      return call("cdiv", expr);
    default:
      break;
    }
    struct Row {
      Expr::Kind kind;
      const char *text;
      int precedence;
    };
    constexpr Row rows[] = {
        {Expr::Kind::mul, "*", 6},         {Expr::Kind::div, "/", 6},
        {Expr::Kind::rem, "%", 6},         {Expr::Kind::add, "+", 5},
        {Expr::Kind::sub, "-", 5},         {Expr::Kind::lt, "<", 4},
        {Expr::Kind::le, "<=", 4},         {Expr::Kind::gt, ">", 4},
        {Expr::Kind::ge, ">=", 4},         {Expr::Kind::eq, "==", 3},
        {Expr::Kind::ne, "!=", 3},         {Expr::Kind::logical_and, "&&", 2},
        {Expr::Kind::logical_or, "||", 1},
    };
    const Row *row = std::find_if(std::begin(rows), std::end(rows),
                                  [&](const Row &r) { return r.kind == expr.kind; });
    std::string text = text_of(expr.operands[0], row->precedence) + " " + row->text + " " +
                       text_of(expr.operands[1], row->precedence + 1);
    return row->precedence < outer ? "(" + text + ")" : text;
  }

  std::string call(const char *name, const Expr &expr) const {
    return std::string(name) + "(" + text_of(expr.operands[0], 0) + ", " +
           text_of(expr.operands[1], 0) + ")";
  }

  const ast::Function &function_;
  LaunchPlan plan_;
  bool in_grid_ = false;
};

} // namespace

LaunchPlan launch_plan(const ast::Function &function) { return Planner(function).plan(); }

} // namespace tritonc
