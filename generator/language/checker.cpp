// Checks declarations and statements, and looks up names. See checker.h.
//
// Tested by tests/unit/language/checker_test.cpp and tests/diagnostics/diagnostics_test.cpp.

#include "language/checker.h"

#include "language/constant.h"
#include "language/foreign_words.h"
#include "language/pragma_words.h"
#include "language/spelling.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

namespace tritonc::ast {

struct Checker::Scope {
  explicit Scope(Checker &checker) : checker(checker) { checker.scopes_.emplace_back(); }
  ~Scope() { checker.scopes_.pop_back(); }
  Scope(const Scope &) = delete;
  Checker &checker;
};

void Checker::check() {
  Scope scope(*this);
  for (StmtPtr &declaration : program_.declarations)
    check_stmt(*declaration);
  std::map<std::string, Location> seen;
  for (Function &function : program_.functions) {
    auto [known, is_new] = seen.emplace(function.name, function.at);
    if (!is_new) {
      report(Message::redefined, function.at, {function.name});
      report(Message::declared_here, known->second, {function.name});
    }
    check_signature(function);
  }
  check_calls();
  for (Function &function : program_.functions)
    check_function(function);
  find_users_of_constant_memory();
}

void Checker::check_function(Function &function) {
  Scope scope(*this);
  function_ = &function;
  for (Declarator &parameter : function.parameters)
    check_parameter(parameter);
  if (function.is_kernel)
    check_kernel(function);
  // As in C, the parameters and the outermost block are one scope.
  for (StmtPtr &stmt : function.body->body)
    check_stmt(*stmt);
  check_result(function);
}

void Checker::check_kernel(Function &function) {
  bool is_ascii = std::all_of(function.name.begin(), function.name.end(),
                              [](char c) { return (unsigned char)c < 128; });
  if (!is_ascii) // PTX identifiers are ASCII
    report(Message::not_supported, function.at, {"non-ASCII letters in the name of a kernel"});
  bool has_grid = false;
  for (Pragma &pragma : function.pragmas) {
    if (pragma.name == "grid" && has_grid)
      report(Message::grid_twice, pragma.at, {function.name});
    has_grid |= pragma.name == "grid";
    check_pragma(function, pragma);
  }
}

// check_signature has already checked the type.
void Checker::check_parameter(Declarator &declarator) {
  const Type &type = declarator.type_name.type;
  check_attributes(declarator);
  declarator.read_only |= type.to_const;
  declare(declarator, type, /*is_parameter=*/true);
}

void Checker::check_attributes(Declarator &declarator) {
  auto value_of = [&](ExprPtr &argument) -> std::optional<int64_t> {
    check_expr(argument);
    return argument->type.is_error() ? std::optional<int64_t>(1) : constant_integer(*argument);
  };
  constexpr int64_t largest = std::numeric_limits<int32_t>::max();
  auto text_of = [](std::optional<int64_t> value) {
    return value ? std::to_string(*value) : std::string("...");
  };
  if (declarator.multiple_of) {
    std::optional<int64_t> value = value_of(declarator.multiple_of);
    if (value && *value > 0 && *value <= largest) {
      declarator.multiple_of_value = int(*value);
    } else {
      report(Message::bad_multiple, declarator.multiple_of->at, {text_of(value)});
      report(Message::positive_constant, declarator.multiple_of->at);
    }
  }
  if (declarator.aligned) {
    std::optional<int64_t> value = value_of(declarator.aligned);
    if (value && *value > 0 && *value <= largest && (*value & (*value - 1)) == 0) {
      declarator.aligned_value = int(*value);
    } else {
      report(Message::bad_alignment, declarator.aligned->at, {text_of(value)});
      report(Message::power_constant, declarator.aligned->at);
    }
  }
}

void Checker::check_pragma(Function &function, Pragma &pragma) {
  if (pragma.name == "precision")
    return check_precision(function, pragma);
  if (pragma.name == "grid" && pragma.arguments.size() > 3) {
    report(Message::grid_size, pragma.at, {std::to_string(pragma.arguments.size())});
    report(Message::at_most_grid, pragma.at);
  }
  if (pragma.name == "require" && pragma.arguments.size() != 1)
    report(Message::argument_count, pragma.at,
           {pragma.name, "one condition", std::to_string(pragma.arguments.size())});
  in_pragma_ = true;
  for (ExprPtr &argument : pragma.arguments) {
    check_expr(argument);
    if (!argument->type.is_error())
      host_can_compute(*argument);
  }
  in_pragma_ = false;
}

void Checker::check_precision(Function &function, const Pragma &pragma) {
  const Expr &argument = *pragma.arguments[0];
  bool is_known = pragma.arguments.size() == 1 && argument.is(Expr::Kind::name) &&
                  (argument.text == "tf32" || argument.text == "exact");
  if (!is_known) {
    std::vector<Edit> edits;
    if (auto meant = nearest(argument.text, {"tf32", "exact"}))
      edits = {Edit::replace(argument.range, std::string(*meant))};
    report(Message::bad_precision, argument.at, {argument.text}, {argument.range},
           std::move(edits));
    report(Message::known_precisions, argument.at);
    return;
  }
  function.uses_tf32 = argument.text == "tf32";
}

bool Checker::host_can_compute(const Expr &expr) {
  using Kind = Expr::Kind;
  bool can = expr.type.is_integer() && !expr.type.is_tile();
  switch (expr.kind) {
  case Kind::integer:
  case Kind::boolean:
    break;
  case Kind::name:
    can &= expr.variable && expr.variable->is_parameter;
    break;
  case Kind::unary:
    can &= expr.op != Operator::bit_not;
    break;
  case Kind::binary:
    can &= expr.op < Operator::shift_left || is_comparison(expr.op) ||
           expr.op == Operator::logical_and || expr.op == Operator::logical_or;
    break;
  case Kind::call:
    can &= expr.text == "min" || expr.text == "max" || expr.text == "cdiv";
    break;
  case Kind::convert:
  case Kind::cast:
    break;
  default:
    can = false;
  }
  if (!can) {
    report(Message::not_for_host, expr.at, {}, {expr.range});
    report(Message::host_computes, expr.at);
    return false;
  }
  return std::all_of(expr.operands.begin(), expr.operands.end(),
                     [&](const ExprPtr &operand) { return host_can_compute(*operand); });
}

void Checker::check_stmt(Stmt &stmt) {
  switch (stmt.kind) {
  case Stmt::Kind::empty:
    return;
  case Stmt::Kind::expression:
    warn_comparison(*stmt.value);
    return check_expr(stmt.value);
  case Stmt::Kind::declare:
    return check_declaration(stmt);
  case Stmt::Kind::block: {
    Scope scope(*this);
    for (StmtPtr &inner : stmt.body)
      check_stmt(*inner);
    return;
  }
  case Stmt::Kind::branch:
    check_condition(stmt.value, stmt.keyword);
    for (StmtPtr &inner : stmt.body) {
      Scope scope(*this);
      check_stmt(*inner);
    }
    return;
  case Stmt::Kind::loop:
    return check_loop(stmt);
  case Stmt::Kind::choice:
    return check_choice(stmt);
  case Stmt::Kind::static_assertion:
    return check_static_assertion(stmt);
  case Stmt::Kind::assertion:
    return check_assertion(stmt);
  case Stmt::Kind::print:
    return check_print(stmt);
  default:
    return check_jump(stmt);
  }
}

void Checker::check_declaration(Stmt &stmt) {
  for (Declarator &declarator : stmt.declarators) {
    const TypeName &written = declarator.type_name;
    if (!function_ && (written.in_constant || written.type.to_constant)) {
      check_constant_memory(declarator);
      continue;
    }
    if (written.in_constant) {
      report(Message::constant_in_function, declarator.at, {declarator.name});
      report(Message::declare_outside, declarator.at);
      declare(declarator, Type(), /*is_parameter=*/false);
      continue;
    }
    Type type = complete(declarator.type_name, "variable");
    check_attributes(declarator);
    declare(declarator, type, /*is_parameter=*/false);
    if (!declarator.init)
      continue;
    check_expr(declarator.init);
    if (convert(declarator.init, type, declarator.init->at) && declarator.is_const)
      find_constant(declarator);
  }
}

// Records the value of a `const` number if it is constant. At file scope a `const` number must be
// constant. This function computes integers; each use computes other numbers from a copy of the
// expression.
void Checker::find_constant(Declarator &declarator) {
  const Expr &init = *declarator.init;
  ExprPtr value = copy_of_constant(init);
  std::optional<int64_t> integer = constant_integer(init);
  bool is_known = value && (integer || !init.type.is_integer());
  if (!is_known && !function_)
    report(Message::not_known, init.at, {}, {init.range});
  if (!is_known)
    return;
  if (integer) {
    value->kind = Expr::Kind::integer;
    value->operands.clear();
    value->integer = uint64_t(*integer);
  }
  constants_.push_back(std::move(value));
  declarator.variable->constant = constants_.back().get();
}

void Checker::check_loop(Stmt &stmt) {
  Scope scope(*this);
  if (stmt.init)
    check_stmt(*stmt.init);
  if (stmt.value)
    check_condition(stmt.value, stmt.keyword);
  if (stmt.step)
    check_expr(stmt.step);
  loops_++;
  int choices = std::exchange(choices_, 0);
  Scope body(*this);
  check_stmt(*stmt.body[0]);
  choices_ = choices;
  loops_--;
}

// Each alternative is a separate scope, because its variables have no value in the next
// alternative.
void Checker::check_choice(Stmt &stmt) {
  check_expr(stmt.value);
  Type type = stmt.value->type;
  if (type.is_tile()) {
    report(Message::tile_condition, stmt.value->at, {name_of(type.shape), stmt.keyword},
           {stmt.value->range});
    report(Message::use_select, stmt.value->at);
    type = Type();
  } else if (!type.is_error() && !type.is_integer()) {
    report(Message::bad_operand, stmt.value->at, {stmt.keyword, name_of(type)},
           {stmt.value->range});
    type = Type();
  }
  if (!type.is_error()) {
    type = Type::of(promoted(type.scalar));
    wrap(stmt.value, type);
  }
  std::set<int64_t> known;
  bool has_default = false;
  choices_++;
  for (StmtPtr &alternative : stmt.body) {
    for (ExprPtr &label : alternative->labels)
      check_label(label, type, known);
    if (alternative->is_default && has_default)
      report(Message::case_twice, alternative->at, {"default"});
    has_default |= alternative->is_default;
    Scope scope(*this);
    for (StmtPtr &inner : alternative->body)
      check_stmt(*inner);
  }
  choices_--;
}

void Checker::check_label(ExprPtr &label, const Type &type, std::set<int64_t> &known) {
  check_expr(label);
  if (label->type.is_error())
    return;
  if (!constant_integer(*label))
    return report(Message::not_constant, label->at, {}, {label->range});
  if (type.is_error())
    return;
  wrap(label, type);
  int64_t value = *constant_integer(*label);
  if (!known.insert(value).second)
    report(Message::case_twice, label->at, {"case " + std::to_string(value)}, {label->range});
}

// Warns about `if (n = 3)`, which probably means `n == 3`.
void Checker::warn_assignment(const Expr &condition, const std::string &keyword) {
  if (!condition.is(Expr::Kind::assign))
    return;
  const Expr &target = *condition.operands[0], &value = *condition.operands[1];
  bool is_enclosed = condition.range.begin.id != target.range.begin.id;
  bool is_update = !value.operands.empty() && value.operands[0]->is(Expr::Kind::current);
  if (is_enclosed || is_update)
    return;
  report(Message::assigning_condition, condition.at, {keyword}, {target.range, value.range});
  report(Message::compare_or_enclose, condition.at, {}, {}, {Edit::replace(condition.at, "==")});
}

// Warns about `n == 3;`, which probably means `n = 3;`.
void Checker::warn_comparison(const Expr &statement) {
  if (!statement.is(Expr::Kind::binary) || statement.op != Operator::equal)
    return;
  report(Message::idle_comparison, statement.at, {},
         {statement.operands[0]->range, statement.operands[1]->range});
  report(Message::assign_instead, statement.at, {}, {}, {Edit::replace(statement.at, "=")});
}

void Checker::check_condition(ExprPtr &condition, const std::string &keyword) {
  warn_assignment(*condition, keyword);
  check_expr(condition);
  if (condition->type.is_tile()) {
    report(Message::tile_condition, condition->at, {name_of(condition->type.shape), keyword},
           {condition->range});
    report(Message::use_select, condition->at);
    return;
  }
  to_bool(condition);
}

void Checker::check_static_assertion(Stmt &stmt) {
  check_expr(stmt.value);
  if (stmt.value->type.is_error())
    return;
  std::optional<int64_t> value = constant_integer(*stmt.value);
  if (!value)
    return report(Message::not_constant, stmt.value->at, {}, {stmt.value->range});
  if (*value != 0)
    return;
  report(Message::assertion_failed, stmt.value->at, {stmt.text.empty() ? "" : ": " + stmt.text},
         {stmt.value->range});
  const Expr &condition = *stmt.value;
  if (condition.is(Expr::Kind::binary) && is_comparison(condition.op))
    report(Message::assertion_values, condition.at,
           {std::to_string(constant_integer(*condition.operands[0]).value_or(0)),
            std::to_string(constant_integer(*condition.operands[1]).value_or(0))});
}

// An assertion of a tile requires that every element is true.
void Checker::check_assertion(Stmt &stmt) {
  check_expr(stmt.value);
  if (has_no_effects(*stmt.value, stmt))
    to_bool(stmt.value);
}

void Checker::check_print(Stmt &stmt) {
  for (Shown &shown : stmt.shown) {
    if (!shown.value)
      continue;
    check_expr(shown.value);
    const Expr &value = *shown.value;
    if (has_no_effects(value, stmt) && !value.type.is_error() && !value.type.is_number())
      report(Message::not_printable, value.at, {name_of(value.type)}, {value.range});
  }
}

// Some builds remove `assert` and `print`, so their arguments must not have side effects.
bool Checker::has_no_effects(const Expr &expr, const Stmt &stmt) {
  const Expr *change = change_in(expr);
  if (!change)
    return true;
  report(Message::effect_in_check, expr.at, {effect_text(*change, "changes"), stmt.keyword},
         {expr.range});
  report(Message::assign_before, expr.at);
  return false;
}

void Checker::check_jump(Stmt &stmt) {
  if (stmt.is(Stmt::Kind::jump_return)) {
    check_return(stmt);
  } else if (loops_ == 0 && (choices_ == 0 || stmt.is(Stmt::Kind::jump_continue))) {
    report(Message::outside_loop, stmt.at, {stmt.keyword});
  }
}

void Checker::declare(Declarator &declarator, Type type, bool is_parameter) {
  int index = int(program_.variables.size());
  Variable &variable = program_.variables.emplace_back();
  variable = {declarator.name, std::move(type), declarator.at,
              is_parameter,    index,           declarator.is_const};
  declarator.variable = &variable;
  if (declarator.name.empty()) // the parser has already reported the missing name
    return;
  auto [known, is_new] = scopes_.back().emplace(declarator.name, &variable);
  if (is_new)
    return;
  report(Message::redefined, declarator.at, {declarator.name});
  report(Message::declared_here, known->second->at, {declarator.name});
}

Variable *Checker::find(const std::string &name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto found = scope->find(name);
    if (found != scope->end())
      return found->second;
  }
  return nullptr;
}

namespace {

bool is_same_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

} // namespace

// The name that the user probably meant: a function if `is_call`, else a variable in scope.
std::optional<std::string> Checker::max_similar(const std::string &name, bool is_call) {
  if (std::optional<std::string_view> here = other_name(name, is_call))
    return std::string(*here);
  std::vector<std::string_view> known = {"true", "false", "newaxis", "argmax", "argmin"};
  if (is_call)
    known = language_functions();
  for (const Function &function : program_.functions)
    if (is_call && !function.is_kernel)
      known.push_back(function.name);
  for (const auto &scope : scopes_)
    for (const auto &[variable, declaration] : scope)
      if (!is_call)
        known.push_back(variable);
  std::vector<std::string_view> same;
  for (std::string_view other : known)
    if (is_same_but_for_case(other, name) &&
        std::find(same.begin(), same.end(), other) == same.end())
      same.push_back(other);
  if (same.size() == 1)
    return std::string(same[0]);
  std::optional<std::string_view> meant = nearest(name, known);
  return meant ? std::optional(std::string(*meant)) : std::nullopt;
}

void Checker::report_undeclared(const Expr &expr, bool is_extent) {
  if (!undeclared_.insert(expr.text).second)
    return;
  Message id = is_extent ? Message::undeclared_extent : Message::undeclared;
  bool is_call = expr.is(Expr::Kind::call);
  std::optional<PragmaWord> pragma = pragma_word(expr.text);
  if (pragma && is_call) {
    report(Message::outside_pragma, expr.at, {expr.text});
    return report(Message::write_pragma, expr.at, {std::string(pragma->example)});
  }
  if (is_call && other_way(expr.text, in_pragma_)) {
    report(id, expr.at, {expr.text});
    return note_other_way(expr);
  }
  std::optional<std::string> meant = is_extent ? std::nullopt : max_similar(expr.text, is_call);
  if (!meant) {
    report(id, expr.at, {expr.text});
    return report(is_call ? Message::define_function : Message::define_it, expr.at, {expr.text});
  }
  report(id, expr.at, {expr.text}, {}, {Edit::replace(expr.at, *meant)});
  const Variable *variable = is_call ? nullptr : find(*meant);
  if (variable)
    report(Message::did_you_mean, variable->at, {*meant});
  else
    report(Message::similar_word, expr.at, {*meant});
}

// Says how to write a call of a function of another language.
void Checker::note_other_way(const Expr &call) {
  if (is_ceiling_division(call.text) && call.operands.size() == 2)
    return note_ceiling_division(call);
  std::optional<OtherWay> way = other_way(call.text, in_pragma_);
  if (way)
    report(way->note, call.at, {std::string(way->argument)});
}

// Says how to divide the first argument by the second and round up.
void Checker::note_ceiling_division(const Expr &call) {
  const Expr &a = *call.operands[0], &b = *call.operands[1];
  if (in_pragma_)
    return report(Message::write_instead, call.at,
                  {"cdiv(" + diagnostics_.text_at({a.range.begin, b.range.end}) + ")"}, {},
                  {Edit::replace(call.at, "cdiv")});
  std::string divisor = operand_text(b);
  report(Message::write_instead, call.at,
         {"(" + operand_text(a) + " + " + divisor + " - 1) / " + divisor});
}

// The source text of an expression, as an operand of any operator.
std::string Checker::operand_text(const Expr &expr) const {
  std::string text = diagnostics_.text_at(expr.range);
  if (text.empty())
    return "(...)";
  bool is_word = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c >= 128;
  });
  return is_word ? text : "(" + text + ")";
}

} // namespace tritonc::ast
