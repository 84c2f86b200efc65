// The checker: gives every expression its type and every name its variable, or says why it can't.
//
// C's rules, element by element, and NumPy's for shapes: a scalar fits any tile; of two tiles the
// shorter shape gets axes of extent 1 in front, and axes of extent 1 are repeated. Where we differ
// from C:
//
//   - comparisons and logical operators yield bool; `&`, `|` and `^` of two bools are bool;
//   - `&&` and `||` work on tiles, element by element;
//   - in `m ? a : b` a literal takes the other arm's type, so `m ? *p : 0.0` stays half;
//   - assignment converts the element type and repeats along axes, never the other way round;
//   - `const` numbers that the compiler can compute are constants wherever these are wanted.
//
// What holds afterwards, if no error was reported: the operands of an operation have exactly the
// types it needs, because `convert` nodes stand where they differ; tile extents, attributes and the
// ends of ranges are numbers; loads in an arm of `?:` have a shape to which its condition fits.

#pragma once

#include "language/ast.h"

#include <map>
#include <set>

namespace tritonc::ast {

class Checker {
public:
  Checker(Program &program, Diagnostics &diagnostics)
      : program_(program), diagnostics_(diagnostics) {}

  void check();

private:
  // Declarations and statements: checker.cpp.
  void check_function(Function &function);
  void check_kernel(Function &function);
  void check_parameter(Declarator &declarator);
  void check_attributes(Declarator &declarator);
  void check_pragma(Function &function, Pragma &pragma);
  void check_precision(Function &function, const Pragma &pragma);
  bool host_can_compute(const Expr &expr);
  void check_stmt(Stmt &stmt);
  void check_declaration(Stmt &stmt);
  void check_loop(Stmt &stmt);
  void check_choice(Stmt &stmt);
  void check_label(ExprPtr &label, const Type &type, std::set<int64_t> &known);
  void find_constant(Declarator &declarator);
  void check_condition(ExprPtr &condition, const std::string &keyword);
  void warn_assignment(const Expr &condition, const std::string &keyword);
  void warn_comparison(const Expr &statement);
  void check_static_assertion(Stmt &stmt);
  void check_assertion(Stmt &stmt);
  void check_print(Stmt &stmt);
  bool has_no_effects(const Expr &expr, const Stmt &stmt);
  void check_jump(Stmt &stmt);

  // Names.
  void declare(Declarator &declarator, Type type, bool is_parameter);
  Variable *find(const std::string &name);
  std::optional<std::string> most_similar(const std::string &name, bool is_call);
  void report_undeclared(const Expr &expr, bool is_extent);
  struct Scope;

  // Types: check_types.cpp.
  Type complete(TypeName &type_name, const std::string &what);
  bool check_extents(TypeName &type_name);
  bool check_extent(ExprPtr &extent, Extents &shape);
  bool is_news(const Expr &extent);
  bool convert(ExprPtr &expr, const Type &to, Location at);
  bool can_convert_elements(const Expr &expr, const Type &to, Location at);
  bool to_bool(ExprPtr &expr);
  static bool is_null(const Expr &expr);
  void wrap(ExprPtr &expr, Type to);
  std::optional<Extents> common_shape(const Expr &a, const Expr &b, const std::string &what,
                                      Location at);
  void note_shape(const Expr &expr);
  void note_turn(const Expr &a, const Expr &b);
  void note_load(const Expr &a, const Expr *b = nullptr);
  void note_not_assignable(const Expr &target);
  void note_insert_axis(const Expr &narrow, const Extents &wide);

  // Expressions: check_expression.cpp. Each sets the type, to `error` after a message.
  void check_expr(ExprPtr &expr);
  bool has_error_operand(const Expr &expr);
  void check_in_arm(ExprPtr &expr, const Expr &condition);
  void check_name(Expr &expr);
  void check_unary(Expr &expr);
  void check_transpose(Expr &expr);
  void check_binary(ExprPtr &expr);
  void check_pointer_arithmetic(Expr &expr);
  void check_pointers(Expr &expr);
  void check_logical(Expr &expr);
  void check_shift(Expr &expr, const Extents &shape);
  void check_division(const Expr &expr);
  void warn_double(const Expr &a, const Expr &b);
  void check_matmul(Expr &expr);
  void check_conditional(Expr &expr);
  void forbid_effects(const Expr &condition, const Expr &arm);
  Type conditional_type(const Expr &yes, const Expr &no);
  void narrow_arms(Expr &expr, Scalar to);
  void check_comma(Expr &expr);

  // Memory, subscripts, casts and calls: check_access.cpp.
  void check_deref(Expr &expr, bool is_store);
  void fit_to_conditions(Expr &expr);
  void check_assign(Expr &expr);
  void forbid_store(const Expr &pointer, Location at, const Range &mark);
  void check_subscript(Expr &expr);
  void find_unknown_reductions(Expr &expr);
  bool can_reduce(const Expr &expr);
  bool convert_to_reduce(Expr &expr);
  void check_permutation(Expr &expr);
  void check_gather(Expr &expr); // check_positions.cpp
  bool check_indices(Expr &expr);
  void check_range(Expr &expr);
  void check_cast(Expr &expr);
  void check_bitcast(Expr &expr);
  void check_size_of(ExprPtr &expr);
  std::optional<Extents> cast_shape(const Expr &expr, const Extents &from, const Extents &to);
  void check_call(ExprPtr &expr);
  void check_program_call(Expr &expr);
  bool check_math_call(Expr &expr);
  void check_min_max(Expr &expr);
  bool has_arguments(const Expr &expr, size_t count);

  // Constant memory: check_constant_memory.cpp.
  void check_constant_memory(Declarator &declarator);
  std::optional<int64_t> element_count_of(Declarator &declarator);
  bool add_value(ExprPtr &value, ConstantMemory &to);
  void find_users_of_constant_memory();

  // Functions that are called: check_functions.cpp.
  struct Calls { // what is behind a function's calls, once all are inlined
    bool is_being_followed = false;
    int64_t count = 0;
    int depth = 0;
  };
  void check_calls();
  Calls &follow_calls(Function &function, int depth);
  Function *function_named(const std::string &name);
  void check_signature(Function &function);
  void check_result(Function &function);
  void check_return(Stmt &stmt);
  void check_inlined(Expr &expr, const Function &function);
  static std::string effect_text(const Expr &effect, const std::string &verb);

  // Random numbers: check_random.cpp.
  bool check_random_call(Expr &expr);

  // Atomic operations: check_atomic.cpp.
  void check_atomic(Expr &expr, const std::string &operation);
  bool has_old_shape(Expr &expr);

  void report(Message id, Location at, std::vector<std::string> arguments = {},
              std::vector<Range> marks = {}, std::vector<Edit> edits = {}) {
    diagnostics_.report(id, at, std::move(arguments), std::move(marks), std::move(edits));
  }

  Program &program_;
  Diagnostics &diagnostics_;
  std::vector<std::map<std::string, Variable *>> scopes_;
  std::set<std::string> undeclared_;     // reported already
  std::set<uint32_t> bad_extents_;       // reported already: where the number is written
  std::vector<Type> current_;            // what `current` nodes stand for, innermost last
  std::vector<const Expr *> conditions_; // of the `?:`, `&&` and `||` we are in an arm of
  int64_t bad_extent_ = 0;               // the last that is no power of two
  const Expr *arm_ = nullptr;            // what is all of the arm we are in
  std::map<const Function *, Calls> calls_;
  const Function *function_ = nullptr; // that we are in
  int loops_ = 0, choices_ = 0;        // around us; choices in the innermost loop
  std::vector<ExprPtr> constants_;     // values of variables
  bool in_pragma_ = false;
  int64_t constant_bytes_ = 0; // of constant memory so far
};

/// What to write instead of a function that other languages have; nothing if it is none of these.
std::optional<Message> other_way(const std::string &name);

/// The names of all functions of the language.
const std::vector<std::string_view> &language_functions();

/// What the atomic operation of this name does: add, min, ..., exchange, cas. Nothing if it is
/// none.
std::optional<std::string> atomic_operation(const std::string &name);

} // namespace tritonc::ast
