// Implements the queries on the syntax tree: spellings of operators, cache hints, side effects,
// copies. See ast.h.
//
// Tested by tests/unit/language/parser_test.cpp and tests/unit/language/checker_test.cpp.

#include "language/ast.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tritonc::ast {

const char *spelling_of(Operator op) {
  // In the order of Operator.
  constexpr std::array<const char *, 23> spellings = {
      "",  "+",  "-", "~",  "!",  "+",  "-", "*", "/", "%",  "<<", ">>",
      "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&", "||"};
  return spellings[size_t(op)];
}

const CacheHint *cache_hint(std::string_view name) {
  static constexpr CacheHint hints[] = {
      {"__ca", true, false},         {"__cg", true, true},          {"__cs", true, true},
      {"__cv", true, false},         {"__wb", false, true},         {"__wt", false, true},
      {"__no_allocate", true, true}, {"__evict_first", true, true}, {"__evict_last", true, true},
  };
  for (const CacheHint &hint : hints)
    if (hint.name == name)
      return &hint;
  return nullptr;
}

bool is_comparison(Operator op) { return op >= Operator::less && op <= Operator::not_equal; }

namespace {

void remove_checks(Expr *expr, bool &found) {
  if (!expr)
    return;
  for (Subscript &subscript : expr->subscripts)
    found |= std::exchange(subscript.is_checked, false);
  for (ExprPtr &operand : expr->operands)
    remove_checks(operand.get(), found);
}

// Returns whether the statement is now empty. The body of an `if` or a loop keeps an empty
// statement.
bool remove_checks(Stmt &stmt, bool &found) {
  if (stmt.is(Stmt::Kind::assertion) || stmt.is(Stmt::Kind::print)) {
    found = true;
    stmt.kind = Stmt::Kind::empty;
    stmt.value.reset();
    stmt.shown.clear();
    return true;
  }
  remove_checks(stmt.value.get(), found);
  remove_checks(stmt.step.get(), found);
  for (Declarator &declarator : stmt.declarators)
    remove_checks(declarator.init.get(), found);
  if (stmt.init)
    remove_checks(*stmt.init, found);
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

// The first assignment, atomic operation, barrier, or call of a function whose flag `counts` is
// set.
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

namespace {

bool is_arithmetic(const Expr &expr, int &nodes) {
  constexpr int max_nodes = 1000; // constants that refer to constants can grow exponentially
  switch (expr.kind) {
  case Expr::Kind::integer:
  case Expr::Kind::real:
  case Expr::Kind::boolean:
  case Expr::Kind::unary:
  case Expr::Kind::binary:
  case Expr::Kind::conditional:
  case Expr::Kind::convert:
  case Expr::Kind::cast:
    break;
  case Expr::Kind::call: // the operands decide
    if (expr.text == "get_program_id" || expr.text == "get_num_programs")
      return false;
    break;
  default:
    return false;
  }
  if (++nodes > max_nodes || expr.type.is_tile() || !expr.type.is_number())
    return false;
  return std::all_of(expr.operands.begin(), expr.operands.end(),
                     [&](const ExprPtr &operand) { return is_arithmetic(*operand, nodes); });
}

ExprPtr copy(const Expr &expr) {
  auto made = std::make_unique<Expr>();
  made->kind = expr.kind;
  made->op = expr.op;
  made->has_suffix = expr.has_suffix;
  made->depth = expr.depth;
  made->at = expr.at;
  made->range = expr.range;
  made->integer = expr.integer;
  made->real = expr.real;
  made->text = expr.text;
  made->type = expr.type;
  for (const ExprPtr &operand : expr.operands)
    made->operands.push_back(copy(*operand));
  return made;
}

} // namespace

ExprPtr copy_of_constant(const Expr &expr) {
  int nodes = 0;
  return is_arithmetic(expr, nodes) ? copy(expr) : nullptr;
}

namespace {

// Whether a `break` or `continue` in the statement leaves the enclosing `switch` without a
// `return`. `continue` leaves it for the loop around the `switch`.
bool breaks(const Stmt &stmt) {
  return stmt.is(Stmt::Kind::jump_break) || stmt.is(Stmt::Kind::jump_continue) ||
         std::any_of(stmt.body.begin(), stmt.body.end(), [](const StmtPtr &inner) {
           return !inner->is(Stmt::Kind::loop) && !inner->is(Stmt::Kind::choice) && breaks(*inner);
         });
}

bool jumps_away(const Stmt &stmt) {
  auto inner_jumps = [](const StmtPtr &inner) { return jumps_away(*inner); };
  switch (stmt.kind) {
  case Stmt::Kind::jump_break:
  case Stmt::Kind::jump_continue:
  case Stmt::Kind::jump_return:
    return true;
  case Stmt::Kind::block:
    return std::any_of(stmt.body.begin(), stmt.body.end(), inner_jumps);
  case Stmt::Kind::branch:
    return stmt.body.size() == 2 && std::all_of(stmt.body.begin(), stmt.body.end(), inner_jumps);
  case Stmt::Kind::choice:
    return always_returns(stmt);
  default:
    return false;
  }
}

} // namespace

bool always_returns(const Stmt &choice) {
  auto has_default = [](const StmtPtr &alternative) { return alternative->is_default; };
  return !choice.body.empty() && leaves(*choice.body.back()) && !breaks(choice) &&
         std::any_of(choice.body.begin(), choice.body.end(), has_default);
}

bool leaves(const Stmt &alternative) {
  return std::any_of(alternative.body.begin(), alternative.body.end(),
                     [](const StmtPtr &inner) { return jumps_away(*inner); });
}

bool has_loads(const Expr &expr) {
  bool found = false;
  for_each_expr(expr, [&](const Expr &e) {
    found |= e.is(Expr::Kind::deref);
    for (const Subscript &subscript : e.subscripts)
      found |= subscript.is_checked;
  });
  return found;
}

} // namespace tritonc::ast
