// Translates statements: branches, loops and jumps. See translator.h.
//
// Tested by tests/unit/translate/translate_statement_test.cpp.

#include "translate/translator.h"

#include "ir/checks.h"
#include "language/constant.h"

#include <algorithm>

namespace tritonc {

using ast::Stmt;
using ast::StmtPtr;
using Kind = ast::Stmt::Kind;

// --- Control flow of a statement. ----------------------------------------------------------------

void Translator::Jumps::add(const Jumps &other) {
  breaks |= other.breaks;
  continues |= other.continues;
  returns |= other.returns;
}

Translator::Jumps Translator::jumps_of(const Stmt &stmt) {
  Jumps jumps;
  jumps.breaks = stmt.is(Kind::jump_break);
  jumps.continues = stmt.is(Kind::jump_continue);
  jumps.returns = stmt.is(Kind::jump_return);
  for (const StmtPtr &inner : stmt.body)
    jumps.add(jumps_of(*inner));
  if (stmt.is(Kind::loop) || stmt.is(Kind::choice))
    jumps.breaks = false; // these leave only the statement itself
  if (stmt.is(Kind::loop))
    jumps.continues = false;
  return jumps;
}

bool Translator::always_jumps(const Stmt &stmt) {
  auto jumps = [](const StmtPtr &inner) { return always_jumps(*inner); };
  switch (stmt.kind) {
  case Kind::jump_break:
  case Kind::jump_continue:
  case Kind::jump_return:
    return true;
  case Kind::block:
    return std::any_of(stmt.body.begin(), stmt.body.end(), jumps);
  case Kind::branch:
    return stmt.body.size() == 2 && std::all_of(stmt.body.begin(), stmt.body.end(), jumps);
  case Kind::choice:
    return always_returns(stmt);
  default:
    return false;
  }
}

// Returns whether one arm always jumps and the other never does, so the rest belongs to the other
// arm.
bool Translator::takes_rest(const Stmt &stmt) {
  if (!stmt.is(Kind::branch))
    return false;
  bool yes_jumps = always_jumps(*stmt.body[0]);
  bool no_jumps = stmt.body.size() == 2 && always_jumps(*stmt.body[1]);
  if (yes_jumps == no_jumps)
    return false;
  const Stmt *other =
      yes_jumps ? (stmt.body.size() == 2 ? stmt.body[1].get() : nullptr) : stmt.body[0].get();
  if (!other)
    return true;
  Jumps jumps = jumps_of(*other);
  return !jumps.breaks && !jumps.continues && !jumps.returns;
}

// Returns whether the translation of the list reads the flag of a kind of jump.
bool Translator::reads_flag(const std::vector<StmtPtr> &list, bool Jumps::*kind) {
  for (size_t i = 0; i < list.size(); i++) {
    const Stmt &stmt = *list[i];
    bool has_rest = i + 1 < list.size();
    if (has_rest && jumps_of(stmt).*kind && !always_jumps(stmt) && !takes_rest(stmt))
      return true;
    if (reads_flag(stmt, kind))
      return true;
    if (always_jumps(stmt))
      return false;
  }
  return false;
}

bool Translator::reads_flag(const Stmt &stmt, bool Jumps::*kind) {
  if (stmt.is(Kind::loop) || stmt.is(Kind::choice))
    return false; // inside it, its own flags count
  if (stmt.is(Kind::block))
    return reads_flag(stmt.body, kind);
  return std::any_of(stmt.body.begin(), stmt.body.end(),
                     [&](const StmtPtr &inner) { return reads_flag(*inner, kind); });
}

// Returns whether a function returns before its end.
bool Translator::returns_early(const Stmt &body) {
  for (const StmtPtr &stmt : body.body)
    if (jumps_of(*stmt).returns && !stmt->is(Kind::jump_return))
      return true;
  return false;
}

// --- Statements. ---------------------------------------------------------------------------------

void Translator::list(const std::vector<StmtPtr> &list, size_t first) {
  for (size_t i = first; i < list.size(); i++) {
    const Stmt &stmt = *list[i];
    bool has_rest = i + 1 < list.size();
    if (has_rest && takes_rest(stmt))
      return branch(stmt, [&, i] { this->list(list, i + 1); });
    statement(stmt);
    if (always_jumps(stmt))
      return; // the rest is unreachable
    ir::Value *goes_on = has_rest ? flags_for(jumps_of(stmt)) : nullptr;
    if (goes_on)
      return if_else(goes_on, [&, i] { this->list(list, i + 1); }, [] {});
  }
}

// Drops variables that are declared inside.
void Translator::scope(const Fill &fill) {
  Values outside = values_;
  fill();
  for (auto variable = values_.begin(); variable != values_.end();)
    variable = outside.count(variable->first) ? std::next(variable) : values_.erase(variable);
}

void Translator::statement(const Stmt &stmt) {
  set_location(stmt.at);
  switch (stmt.kind) {
  case Kind::empty:
  case Kind::static_assertion:
    return;
  case Kind::assertion:
    return assertion(stmt);
  case Kind::print:
    return print(stmt);
  case Kind::expression:
    value(*stmt.value);
    return;
  case Kind::declare:
    return declaration(stmt);
  case Kind::block:
    return scope([&] { list(stmt.body); });
  case Kind::branch:
    return branch(stmt, [] {});
  case Kind::choice:
    return choice(stmt);
  case Kind::loop:
    return scope([&] { loop(stmt); });
  default:
    return jump(stmt);
  }
}

void Translator::declaration(const Stmt &stmt) {
  for (const ast::Declarator &declarator : stmt.declarators) {
    int variable = declarator.variable->index;
    values_[variable] = nullptr; // also while its initializer is translated
    if (!declarator.init)
      continue;
    ir::Value *init = value(*declarator.init);
    if (init->name.empty())
      init->name = declarator.name;
    values_[variable] = init;
  }
}

void Translator::assertion(const Stmt &stmt) {
  ir::Value *condition = value(*stmt.value);
  std::string text = "assertion `" + stmt.written + "` failed";
  set_location(stmt.at);
  build_->create(ir::Opcode::assert_, {condition})
      ->set(ir::attr::text_, stmt.text.empty() ? text : text + ": " + stmt.text);
}

// Separates strings and values by blanks. Without any string, each value follows its name.
void Translator::print(const Stmt &stmt) {
  bool has_text = std::any_of(stmt.shown.begin(), stmt.shown.end(),
                              [](const ast::Shown &shown) { return !shown.value; });
  std::vector<ir::Value *> values;
  std::string text;
  for (const ast::Shown &shown : stmt.shown) {
    bool is_first = &shown == &stmt.shown.front();
    text += is_first ? "" : has_text ? " " : ", ";
    if (!has_text || !shown.value)
      text += ir::without_places(shown.text) + (shown.value ? " = " : "");
    if (!shown.value)
      continue;
    const Type &type = shown.value->type;
    text += is_unsigned(type.scalar) && !type.is_bool() ? "{u}" : "{}";
    values.push_back(value(*shown.value));
  }
  set_location(stmt.at);
  build_->create(ir::Opcode::print_, values)->set(ir::attr::text_, text);
}

// Translates an `if`, with `rest` in the arm that does not jump.
void Translator::branch(const Stmt &stmt, const Fill &rest) {
  bool yes_jumps = always_jumps(*stmt.body[0]);
  auto yes = [&] {
    scope([&] { statement(*stmt.body[0]); });
    if (!yes_jumps)
      rest();
  };
  auto no = [&] {
    if (stmt.body.size() == 2)
      scope([&] { statement(*stmt.body[1]); });
    if (stmt.body.size() == 1 || !always_jumps(*stmt.body[1]))
      rest();
  };
  if (!takes_rest(stmt)) {
    auto only_yes = [&] { scope([&] { statement(*stmt.body[0]); }); };
    auto only_no = [&] {
      if (stmt.body.size() == 2)
        scope([&] { statement(*stmt.body[1]); });
    };
    if (std::optional<int64_t> known = ast::constant_integer(*stmt.value))
      return *known ? only_yes() : only_no();
    return if_else(value(*stmt.value), only_yes, only_no);
  }
  // The rest may declare variables; they are dropped at the end of this list.
  if (std::optional<int64_t> known = ast::constant_integer(*stmt.value))
    return *known ? yes() : no();
  if_else(value(*stmt.value), yes, no);
}

void Translator::jump(const Stmt &stmt) {
  if (stmt.value)
    values_[frame_.result] = value(*stmt.value);
  auto clear = [&](int flag) {
    if (flag >= 0)
      values_[flag] = build_->constant(ir::Type::scalar(ir::Elem::i1), 0);
  };
  if (stmt.is(Kind::jump_continue)) {
    auto loop = frame_.loops.rbegin();
    for (; loop->is_choice; ++loop)
      clear(loop->running);
    return clear(loop->proceeding);
  }
  if (stmt.is(Kind::jump_break))
    return clear(frame_.loops.back().running);
  for (const Loop &loop : frame_.loops)
    clear(loop.running);
  clear(frame_.alive);
}

// True until one of the jumps has happened; null: no flag to test.
ir::Value *Translator::flags_for(const Jumps &jumps) {
  ir::Value *all = nullptr;
  auto add = [&](int flag) {
    if (flag < 0)
      return;
    ir::Value *value = values_.at(flag);
    all = all ? build_->binary(ir::Opcode::and_, all, value) : value;
  };
  if (frame_.loops.empty()) {
    if (jumps.returns)
      add(frame_.alive);
    return all;
  }
  const Loop &loop = frame_.loops.back();
  if (jumps.breaks || jumps.returns || (jumps.continues && loop.is_choice))
    add(loop.running);
  if (jumps.continues && !loop.is_choice)
    add(loop.proceeding);
  return all;
}

// --- Choices. ------------------------------------------------------------------------------------

// Returns whether the value equals one of the alternative's labels; for the default: no label at
// all.
ir::Value *Translator::is_chosen(ir::Value *value, const Stmt &choice, const Stmt &alternative) {
  ir::Value *chosen = nullptr;
  auto add = [&](const ast::ExprPtr &label, bool is_default) {
    ir::Value *is = build_->cmp(is_default ? "ne" : "eq", value, this->value(*label));
    ir::Opcode how = is_default ? ir::Opcode::and_ : ir::Opcode::or_;
    chosen = chosen ? build_->binary(how, chosen, is) : is;
  };
  if (!alternative.is_default)
    for (const ast::ExprPtr &label : alternative.labels)
      add(label, false);
  else
    for (const StmtPtr &other : choice.body)
      for (const ast::ExprPtr &label : other->labels)
        if (other.get() != &alternative)
          add(label, true);
  return chosen ? chosen : build_->constant(ir::Type::scalar(ir::Elem::i1), 1);
}

// Each alternative becomes an `if_else`. It runs if it is selected, or if the previous alternative
// falls through.
void Translator::choice(const Stmt &stmt) {
  frame_.loops.emplace_back();
  frame_.loops.back().is_choice = true;
  if (needs_flag(stmt))
    frame_.loops.back().running = new_flag(build_->constant(ir::Type::scalar(ir::Elem::i1), 1));
  int running = frame_.loops.back().running;
  if (std::optional<int64_t> known = ast::constant_integer(*stmt.value))
    known_choice(stmt, *known);
  else
    alternatives(stmt, value(*stmt.value));
  if (running >= 0)
    values_.erase(running);
  frame_.loops.pop_back();
}

// Returns whether any code tests if a jump has left the `switch`. A jump at the end of an
// alternative only prevents the fall through.
bool Translator::needs_flag(const Stmt &choice) {
  for (const StmtPtr &alternative : choice.body)
    for (const StmtPtr &inner : alternative->body) {
      Jumps jumps = jumps_of(*inner);
      bool jumps_early = !(inner == alternative->body.back() && always_jumps(*inner));
      if (jumps_early && (jumps.breaks || jumps.continues || jumps.returns))
        return true;
    }
  return false;
}

void Translator::alternatives(const Stmt &choice, ir::Value *chooses) {
  int running = frame_.loops.back().running;
  ir::Value *falls = nullptr; // whether the previous alternative falls through
  for (const StmtPtr &alternative : choice.body) {
    ir::Value *enters = is_chosen(chooses, choice, *alternative);
    if (falls)
      enters = build_->binary(ir::Opcode::or_, enters, falls);
    if_else(enters, [&] { scope([&] { list(alternative->body); }); }, [] {});
    falls = leaves(*alternative) ? nullptr : enters;
    if (falls && running >= 0 && alternative != choice.body.back())
      falls = build_->binary(ir::Opcode::and_, falls, values_.at(running));
  }
}

// Translates the alternatives from the selected one to the first that leaves the `switch`.
void Translator::known_choice(const Stmt &choice, int64_t value) {
  auto has_label = [&](const StmtPtr &alternative) {
    return std::any_of(
        alternative->labels.begin(), alternative->labels.end(),
        [&](const ast::ExprPtr &label) { return ast::constant_integer(*label) == value; });
  };
  const std::vector<StmtPtr> &all = choice.body;
  auto first = std::find_if(all.begin(), all.end(), has_label);
  if (first == all.end())
    first = std::find_if(all.begin(), all.end(),
                         [](const StmtPtr &alternative) { return alternative->is_default; });
  int running = frame_.loops.back().running;
  for (auto alternative = first; alternative != all.end(); ++alternative) {
    auto body = [&] { scope([&] { list((*alternative)->body); }); };
    if (running >= 0 && alternative != first)
      if_else(values_.at(running), body, [] {});
    else
      body();
    if (leaves(**alternative))
      return;
  }
}

// --- Loops. --------------------------------------------------------------------------------------

namespace {

void add_assigned(const ast::Expr &expr, std::set<int> &variables) {
  for_each_expr(expr, [&](const ast::Expr &e) {
    if (e.is(ast::Expr::Kind::assign) && e.operands[0]->is(ast::Expr::Kind::name))
      variables.insert(e.operands[0]->variable->index);
  });
}

void add_assigned(const Stmt &stmt, std::set<int> &variables) {
  // `assert` and `print` do not assign.
  for (const ast::ExprPtr *expr : {&stmt.value, &stmt.step})
    if (*expr)
      add_assigned(**expr, variables);
  for (const ast::Declarator &declarator : stmt.declarators)
    if (declarator.init)
      add_assigned(*declarator.init, variables);
  if (stmt.init)
    add_assigned(*stmt.init, variables);
  for (const StmtPtr &inner : stmt.body)
    add_assigned(*inner, variables);
}

} // namespace

// The outer variables and flags that the loop changes.
std::set<int> Translator::assigned_in(const Stmt &stmt) const {
  std::set<int> assigned;
  add_assigned(stmt, assigned);
  Jumps inside = jumps_of(*stmt.body[0]);
  if (inside.returns) {
    for (const Loop &loop : frame_.loops)
      assigned.insert(loop.running);
    assigned.insert(frame_.alive);
    // A void function has no result value.
    if (auto result = values_.find(frame_.result); result != values_.end() && result->second)
      assigned.insert(frame_.result);
  }
  assigned.insert(frame_.loops.back().running);
  std::set<int> known;
  for (int variable : assigned)
    if (values_.count(variable))
      known.insert(variable);
  return known;
}

void Translator::loop(const Stmt &stmt) {
  if (stmt.init)
    statement(*stmt.init);
  // A condition that assigns is evaluated in the body, because a while_loop condition cannot
  // assign.
  bool tests_in_body = !stmt.tests_first || (stmt.value && has_effects(*stmt.value));
  Jumps inside = jumps_of(*stmt.body[0]);
  bool has_running = tests_in_body || inside.breaks || inside.returns;
  frame_.loops.emplace_back();
  if (has_running)
    frame_.loops.back().running = new_flag(build_->constant(ir::Type::scalar(ir::Elem::i1), 1));
  repeat(stmt, tests_in_body, has_running);
  frame_.loops.pop_back();
}

void Translator::repeat(const Stmt &stmt, bool tests_in_body, bool has_running) {
  int running = frame_.loops.back().running;
  std::set<int> carried = assigned_in(stmt);
  std::vector<ir::Value *> starts;
  std::vector<bool> are_unassigned;
  for (int variable : carried) {
    ir::Value *start = values_[variable];
    are_unassigned.push_back(!start || unassigned_.count(start));
    starts.push_back(start ? start : known(start, type_of(program_.variables[variable].type)));
  }
  ir::Op *op = build_->while_loop(starts);
  for (size_t i = 0; i < starts.size(); i++)
    for (const ir::Block *block : op->blocks)
      if (are_unassigned[i])
        unassigned_[block->arguments[i]] = block;
  auto bind = [&](const std::vector<ir::Value *> &values) {
    size_t i = 0;
    for (int variable : carried) {
      values[i]->name = name_of(variable);
      values_[variable] = values[i++];
    }
  };

  bind(op->blocks[0]->arguments);
  in_block(op->blocks[0], [&] {
    ir::Value *goes_on = has_running ? values_[running] : nullptr;
    if (!goes_on)
      goes_on = test(stmt);
    else if (!tests_in_body && stmt.value && has_loads(*stmt.value))
      goes_on = choose(goes_on, [&] { return test(stmt); }, [=] { return goes_on; });
    else if (!tests_in_body && stmt.value)
      goes_on = build_->binary(ir::Opcode::and_, goes_on, test(stmt));
    build_->condition(goes_on);
  });

  bind(op->blocks[1]->arguments);
  in_block(op->blocks[1], [&] {
    if (has_running)
      values_[running] = build_->constant(ir::Type::scalar(ir::Elem::i1), 1);
    if (stmt.tests_first && tests_in_body) {
      values_[running] = test(stmt);
      if_else(values_[running], [&] { body_and_step(stmt); }, [] {});
    } else {
      body_and_step(stmt);
    }
    if (!stmt.tests_first)
      if_running(stmt, [&] { values_[running] = test(stmt); });
    std::vector<ir::Value *> ends;
    for (int variable : carried)
      ends.push_back(values_[variable]);
    build_->yield(ends);
  });
  bind(op->results);
}

ir::Value *Translator::test(const Stmt &stmt) {
  if (!stmt.value)
    return build_->constant(ir::Type::scalar(ir::Elem::i1), 1);
  set_location(stmt.value->at);
  return value(*stmt.value);
}

// Translates code after the loop body, under the condition that the body has not left the loop.
void Translator::if_running(const Stmt &stmt, const Fill &fill) {
  Jumps jumps = jumps_of(*stmt.body[0]);
  if (jumps.breaks || jumps.returns)
    if_else(values_[frame_.loops.back().running], fill, [] {});
  else
    fill();
}

void Translator::body_and_step(const Stmt &stmt) {
  const Stmt &body = *stmt.body[0];
  // `continue` jumps to the end of the body, so only the body tests its flag.
  bool has_flag = reads_flag(body, &Jumps::continues);
  if (has_flag)
    frame_.loops.back().proceeding = new_flag(build_->constant(ir::Type::scalar(ir::Elem::i1), 1));
  scope([&] { statement(body); });
  if (has_flag)
    values_.erase(frame_.loops.back().proceeding);
  if (!stmt.step)
    return;
  if_running(stmt, [&] {
    set_location(stmt.step->at);
    value(*stmt.step);
  });
}

} // namespace tritonc
