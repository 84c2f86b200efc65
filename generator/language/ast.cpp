// The syntax tree: names of operators, questions about expressions. See ast.h.

#include "language/ast.h"

#include <array>

namespace tritonc::ast {

const char *spelling_of(Operator op) {
  // In the order of Operator.
  constexpr std::array<const char *, 23> spellings = {
      "",  "+",  "-", "~",  "!",  "+",  "-", "*", "/", "%",  "<<", ">>",
      "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||"};
  return spellings[size_t(op)];
}

bool is_comparison(Operator op) { return op >= Operator::less && op <= Operator::not_equal; }

bool has_effects(const Expr &expr) {
  bool found = false;
  for_each_expr(expr, [&](const Expr &e) { found |= e.is(Expr::Kind::assign); });
  return found;
}

bool has_loads(const Expr &expr) {
  bool found = false;
  for_each_expr(expr, [&](const Expr &e) { found |= e.is(Expr::Kind::deref); });
  return found;
}

} // namespace tritonc::ast
