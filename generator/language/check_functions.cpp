// Checks functions: parameters, results and the call graph. See checker.h.
//
// The compiler inlines every call of a function that is not a kernel. So recursion is an error, and
// the number and the depth of the inlined calls have limits. Parameters and results may be tiles.
// Arguments convert to the parameter types as in an assignment.
//
// Tested by tests/unit/language/checker_test.cpp and tests/diagnostics/diagnostics_test.cpp.

#include "language/checker.h"
#include "language/foreign_words.h"

#include <algorithm>

namespace tritonc::ast {
namespace {

using Kind = Expr::Kind;

/// Max number of calls in a kernel, including the calls in inlined functions.
constexpr int64_t max_calls = 10'000;
/// Max depth of nested calls.
constexpr int max_call_depth = 64;

// Whether every path through the statement ends in `return`.
bool returns(const Stmt &stmt) {
  auto inner_returns = [](const StmtPtr &inner) { return returns(*inner); };
  switch (stmt.kind) {
  case Stmt::Kind::jump_return:
    return true;
  case Stmt::Kind::block:
    return std::any_of(stmt.body.begin(), stmt.body.end(), inner_returns);
  case Stmt::Kind::branch:
    return stmt.body.size() == 2 && std::all_of(stmt.body.begin(), stmt.body.end(), inner_returns);
  case Stmt::Kind::choice:
    return always_returns(stmt);
  default:
    return false;
  }
}

bool says_something(const Stmt &stmt) {
  return stmt.is(Stmt::Kind::assertion) || stmt.is(Stmt::Kind::print) ||
         std::any_of(stmt.body.begin(), stmt.body.end(),
                     [](const StmtPtr &inner) { return says_something(*inner); });
}

} // namespace

Function *Checker::function_named(const std::string &name) {
  for (Function &function : program_.functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

// --- The call graph ------------------------------------------------------------------------------

void Checker::check_calls() {
  for (Function &function : program_.functions) {
    if (follow_calls(function, 0).count > max_calls && function.is_kernel)
      report(Message::too_many_calls, function.at, {function.name, std::to_string(max_calls)});
  }
}

// The checker has not checked the bodies yet, so this function finds callees by name.
Checker::Calls &Checker::follow_calls(Function &function, int depth) {
  auto [known, is_new] = calls_.emplace(&function, Calls());
  Calls &calls = known->second;
  if (!is_new)
    return calls;
  calls.is_being_followed = true;
  function.accesses_memory = says_something(*function.body);
  for_each_expr(*function.body, [&](const Expr &e) {
    function.accesses_memory |= e.is(Kind::deref);
    function.changes_memory |= e.is(Kind::assign) && e.operands[0]->is(Kind::deref);
    if (!e.is(Kind::call))
      return;
    Function *callee = function_named(e.text);
    if (!callee && (atomic_operation(e.text) || e.text == "__debug_barrier"))
      function.accesses_memory = function.changes_memory = true;
    if (!callee || callee->is_kernel)
      return;
    if (depth == max_call_depth) {
      if (calls.depth < max_call_depth)
        report(Message::too_deep, e.at, {std::to_string(max_call_depth)});
      calls.depth = max_call_depth;
      return;
    }
    const Calls &behind = follow_calls(*callee, depth + 1);
    if (behind.is_being_followed) {
      report(Message::recursion, e.at, {function.name, callee->name}, {e.range});
      report(Message::write_loop, e.at);
    }
    calls.count = std::min(calls.count + behind.count + 1, max_calls + 1);
    calls.depth = std::max(calls.depth, behind.depth + 1);
    if (calls.depth == max_call_depth)
      report(Message::too_deep, e.at, {std::to_string(max_call_depth)});
    function.accesses_memory |= callee->accesses_memory;
    function.changes_memory |= callee->changes_memory;
  });
  calls.is_being_followed = false;
  return calls;
}

// --- Parameters and results ----------------------------------------------------------------------

void Checker::check_signature(Function &function) {
  Type &result = function.result.type;
  if (!result.is_void()) {
    complete(function.result, "result");
    if (function.is_kernel && !result.is_error()) {
      report(Message::kernel_not_void, function.result.range.begin,
             {function.name, name_of(result)}, {function.result.range});
      report(Message::write_void, function.result.range.begin);
      result = Type(); // suppresses the same error at each `return`
    }
  }
  for (Declarator &parameter : function.parameters) {
    Type &type = parameter.type_name.type;
    complete(parameter.type_name, "parameter");
    if (type.is_tile() && function.is_kernel) {
      report(Message::tile_parameter, parameter.at, {parameter.name});
      report(Message::pass_pointer, parameter.at);
      type = Type();
    }
    if (parameter.type_name.in_constant) {
      report(Message::constant_in_function, parameter.at, {parameter.name});
      report(Message::declare_outside, parameter.at);
      type = Type();
    } else if (type.to_constant && function.is_kernel) {
      report(Message::constant_parameter, parameter.at, {parameter.name});
      report(Message::name_constant, parameter.at);
      type = Type();
    }
    if (parameter.init)
      report(Message::not_supported, parameter.at, {"default values of parameters"});
  }
}

// Every path through a function with a result must reach a `return`.
void Checker::check_result(Function &function) {
  const Type &result = function.result.type;
  if (result.is_void() || result.is_error() || returns(*function.body))
    return;
  report(Message::no_result, function.at, {function.name, name_of(result)});
}

void Checker::check_return(Stmt &stmt) {
  const Type &result = function_->result.type;
  if (stmt.value)
    check_expr(stmt.value);
  if (!stmt.value && !result.is_void() && !result.is_error())
    report(Message::result_missing, stmt.at, {function_->name, name_of(result)});
  else if (stmt.value && result.is_void())
    report(function_->is_kernel ? Message::return_value : Message::void_returns_value,
           stmt.value->at, {function_->name}, {stmt.value->range});
  else if (stmt.value)
    convert(stmt.value, result, stmt.value->at);
}

// Reports the call of a kernel. A kernel may have the name of the function that the call means.
void Checker::report_kernel_call(const Expr &call, const Function &kernel) {
  report(Message::kernel_called, call.at, {kernel.name}, {call.range});
  const std::vector<std::string_view> &known = language_functions();
  if (other_way(kernel.name, in_pragma_)) {
    note_other_way(call);
    report(Message::foreign_kernel_name, kernel.at, {kernel.name});
  } else if (std::find(known.begin(), known.end(), kernel.name) != known.end()) {
    report(Message::rename_kernel, kernel.at, {kernel.name});
  } else {
    report(Message::share_function, call.at);
  }
}

void Checker::check_inlined(Expr &expr, const Function &function) {
  if (function.is_kernel && other_way(function.name, in_pragma_)) // arguments may be Python's
    return report_kernel_call(expr, function);
  for (ExprPtr &operand : expr.operands)
    check_expr(operand);
  if (function.is_kernel)
    return report_kernel_call(expr, function);
  if (has_error_operand(expr) || !has_arguments(expr, function.parameters.size()))
    return;
  for (size_t i = 0; i < expr.operands.size(); i++) {
    ExprPtr &operand = expr.operands[i];
    const Declarator &parameter = function.parameters[i];
    const Type &type = parameter.type_name.type;
    if (operand->type.is_tile() && !type.is_error() && !type.is_tile() &&
        operand->type.is_pointer() == type.is_pointer()) {
      report(Message::tile_to_scalar, operand->at, {name_of(operand->type.shape)},
             {operand->range});
      return report(Message::declare_tile, parameter.at,
                    {parameter.name, name_of(type) + (type.is_pointer() ? "" : " ") +
                                         parameter.name + name_of(operand->type.shape)});
    }
    if (!convert(operand, type, operand->at))
      return;
  }
  expr.kind = Kind::inlined;
  expr.function = &function;
  expr.type = function.result.type;
}

// --- Side effects --------------------------------------------------------------------------------

// Describes a side effect for a message; `verb` says what a called function does to memory.
std::string Checker::effect_text(const Expr &effect, const std::string &verb) {
  switch (effect.kind) {
  case Kind::atomic:
    return "an atomic operation";
  case Kind::barrier:
    return "a barrier";
  case Kind::inlined:
    return "a call of `" + effect.function->name + "`, which " + verb + " memory,";
  default:
    return "an assignment";
  }
}

} // namespace tritonc::ast
