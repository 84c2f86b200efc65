// The checker gives every expression a type and every name a variable, or reports an error.
//
// Types follow C, element by element. Shapes follow NumPy broadcasting: a scalar fits any tile, the
// shorter of two shapes gets leading axes of extent 1, and axes of extent 1 broadcast. Differences
// from C:
//
//   - comparisons and logical operators yield bool; `&`, `|` and `^` of two bools yield bool;
//   - `&&` and `||` work on tiles, element by element;
//   - in `m ? a : b` a literal takes the other arm's type, so `m ? *p : 0.0` stays half;
//   - assignment converts the value to the target's element type and broadcasts it to the target's
//     shape; the target keeps its type and shape;
//   - a `const` number that the compiler can compute is a constant expression.
//
// If the checker reported no error:
//
//   - the operands of an operation have exactly the types that it needs, through `convert` nodes;
//   - tile extents, attributes and the bounds of ranges are numbers;
//   - the condition of a `?:` broadcasts to the shape of each load in its arms.

#pragma once

#include "language/ast.h"

#include <map>
#include <set>

namespace tritonc::ast {

class Checker {
public:
  Checker(Program &program, DiagnosticEngine &diagnostics)
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
  std::optional<std::string> max_similar(const std::string &name, bool is_call);
  void report_undeclared(const Expr &expr, bool is_extent);
  void note_other_way(const Expr &call);
  void note_ceiling_division(const Expr &call);
  std::string operand_text(const Expr &expr) const;
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
  bool note_range(const Expr &expr, const Extents &other, bool is_target);
  void note_failed_range(const Expr &expr);
  bool note_range_end(const Expr &expr, const Expr &range);

  // Expressions: check_expression.cpp. Each function sets the type; on an error it sets `error`.
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
  void check_gather(Expr &expr); // check_index.cpp
  bool check_indices(Expr &expr);
  void check_slice(Expr &expr, const Subscript &slice);
  std::optional<std::string> range_text(const Subscript &slice);
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

  // Function calls: check_functions.cpp.
  struct Calls { // number and depth of the calls in a function, after inlining
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
  void report_kernel_call(const Expr &call, const Function &kernel);
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
  DiagnosticEngine &diagnostics_;
  std::vector<std::map<std::string, Variable *>> scopes_;
  std::set<std::string> undeclared_;     // already reported
  std::set<uint32_t> bad_extents_;       // already reported: location of the number's token
  std::vector<Type> current_;            // types of the `current` nodes, innermost last
  std::vector<const Expr *> conditions_; // conditions of the enclosing `?:`, `&&` and `||` arms
  int64_t bad_extent_ = 0;               // the last extent that is not a power of two
  const Expr *arm_ = nullptr;            // the whole innermost enclosing arm
  std::map<const Function *, Calls> calls_;
  const Function *function_ = nullptr; // current function
  int loops_ = 0, choices_ = 0;        // enclosing loops; `switch`es inside the innermost loop
  std::vector<ExprPtr> constants_;     // owns Variable::constant
  bool in_pragma_ = false;
  int64_t constant_bytes_ = 0; // bytes of constant memory declared so far
};

/// The names of all built-in functions.
const std::vector<std::string_view> &language_functions();

/// The operation of an atomic function: add, min, ..., exchange, cas. Returns nullopt for other
/// names.
std::optional<std::string> atomic_operation(const std::string &name);

} // namespace tritonc::ast
