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

namespace {

// Whether it is nothing any more. Inside of an `if` or a loop an empty statement stays.
bool remove_checks(Stmt &stmt, bool &found) {
  if (stmt.is(Stmt::Kind::assertion) || stmt.is(Stmt::Kind::print)) {
    found = true;
    stmt.kind = Stmt::Kind::empty;
    stmt.value.reset();
    stmt.shown.clear();
    return true;
  }
  if (stmt.is(Stmt::Kind::block))
    std::erase_if(stmt.body, [&](StmtPtr &inner) { return remove_checks(*inner, found); });
  else
    for (StmtPtr &inner : stmt.body)
      remove_checks(*inner, found);
  return false;
}

} // namespace

bool remove_checks(Program &program) {
  bool found = false;
  for (Function &function : program.functions)
    if (function.body)
      remove_checks(*function.body, found);
  return found;
}

namespace {

// The first assignment, atomic operation or barrier, or call of a function for which `counts`
// holds.
const Expr *first_effect(const Expr &expr, bool Function::*counts) {
  const Expr *first = nullptr;
  for_each_expr(expr, [&](const Expr &e) {
    bool is_effect = e.is(Expr::Kind::assign) || e.is(Expr::Kind::atomic) ||
                     e.is(Expr::Kind::barrier) ||
                     (e.is(Expr::Kind::inlined) && e.function->*counts);
    if (is_effect && !first)
      first = &e;
  });
  return first;
}

} // namespace

const Expr *effect_in(const Expr &expr) { return first_effect(expr, &Function::accesses_memory); }
const Expr *change_in(const Expr &expr) { return first_effect(expr, &Function::changes_memory); }
bool has_effects(const Expr &expr) { return effect_in(expr) != nullptr; }

bool has_loads(const Expr &expr) {
  bool found = false;
  for_each_expr(expr, [&](const Expr &e) { found |= e.is(Expr::Kind::deref); });
  return found;
}

} // namespace tritonc::ast
