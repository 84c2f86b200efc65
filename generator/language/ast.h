// The syntax tree of Triton-C: plain structs that the parser builds and the checker completes.
//
// One struct holds every expression and one struct holds every statement. The `kind` says which
// members are in use; see the comment beside each kind.
//
// After checking:
//   - every expression has a type, and every name has its variable;
//   - a `convert` node stands wherever a value changes its type or shape, so the operands of an
//     operation have exactly the same type.
//
// The tree, the parser and the checker are in tritonc::ast because the launch plan has its own
// Expr.

#pragma once

#include "diagnostics/diagnostics.h"
#include "language/types.h"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tritonc::ast {

/// A cache hint of a load or a store: `*?(m, __cg)p`.
struct CacheHint {
  std::string_view name; // including the `__`
  bool of_loads, of_stores;
};
/// Returns null if the name is unknown.
const CacheHint *cache_hint(std::string_view name);

struct Expr;
struct Function;
using ExprPtr = std::unique_ptr<Expr>;

struct Variable {
  std::string name;
  Type type;
  Location at;
  bool is_parameter = false;
  int index = 0; // in Program::variables
  bool is_const = false;
  const Expr *constant = nullptr; // the value, of `type`; null = not known at compile time
  int constant_memory = -1;       // index into Program::constant_memory; -1 = none
};

/// A type as the source writes it. The extents are constant expressions; the checker computes them.
struct TypeName {
  Type type; // has no shape before checking
  std::vector<ExprPtr> extents;
  Range range;
  bool is_const = false;    // `const` on a type that is not a pointer
  bool in_constant = false; // `__constant__` on a type that is not a pointer
  size_t extents_token = 0; // token at which a `typedef` has the extents, to reparse; 0 = none
};

enum class Operator : uint8_t {
  none,
  plus,
  minus,
  bit_not,
  logical_not, // unary; minus is also binary
  add,
  subtract,
  multiply,
  divide,
  remainder,
  shift_left,
  shift_right,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  bit_and,
  bit_xor,
  bit_or,
  logical_and,
  logical_or,
};
const char *spelling_of(Operator op);
bool is_comparison(Operator op);

/// One entry of a subscript: `x[entry, entry]`.
struct Subscript {
  enum class Kind : uint8_t {
    keep,
    newaxis,
    sum, // from sum to argmin: reductions
    prod,
    max,
    min,
    any,
    all,
    argmax,
    argmin,
    gather, // `gather(indices)`
    axis,
    index, // selects one element
    slice, // Python's `first:last`, which the checker reports
  };
  Kind kind = Kind::keep;
  ExprPtr axis; // for Kind::axis: `^axis`; for Kind::slice: a range, or an error without both ends
  Location at;
  bool scans = false;      // `scan(+)`: keeps the axis
  size_t operand = 0;      // for gather and index: the subscript operand that holds the index
  bool is_checked = false; // for gather and index: whether the kernel checks the index bounds

  bool combines() const { return kind >= Kind::sum && kind <= Kind::argmin; }
  bool reduces() const { return combines() && !scans; }
  bool keeps() const { return kind == Kind::keep || kind == Kind::gather || scans; }
};

struct Expr {
  enum class Kind : uint8_t {
    error,       // already reported
    integer,     // integer
    real,        // real
    boolean,     // integer
    name,        // text, variable
    unary,       // op, operands[0]
    transpose,   // ^operands[0]
    deref,       // *operands[0], *?(operands[1]) operands[0]; text: a cache hint, or empty
    binary,      // op, operands[0], operands[1]
    matmul,      // operands[0] @ operands[1]
    range,       // operands[0] ... operands[1]
    conditional, // operands[0] ? operands[1] : operands[2]
    given,       // operands[1], where `current` means operands[0]
    assign,      // operands[0] = operands[1]; is_postfix: yields the old value
    current,     // in a compound assignment: the target's old value; in `given`: operands[0]
    cast,        // (type_name) operands[0]
    bitcast,     // bitcast<type_name>(operands[0])
    size_of,     // sizeof(type_name) or sizeof operands[0]
    subscript,   // operands[0][subscripts]; the other operands belong to the subscripts
    call,        // text(operands...); type_name: of the old atomic_add(TYPE, M, N)(...)
    atomic,      // a checked call; text: add, cas, ...; operands: pointers, values, optional mask
    barrier,     // a checked call
    inlined,     // a checked call: function(operands...)
    comma,       // operands[0], operands[1]
    convert,     // operands[0] as `type`; the checker inserts it
  };

  Kind kind = Kind::error;
  Operator op = Operator::none;
  bool is_postfix = false;
  bool has_suffix = false; // for real literals
  int depth = 1;           // height of the subtree
  Location at;             // where a diagnostic points: the operator or the name
  Range range;
  uint64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<ExprPtr> operands;
  std::vector<Subscript> subscripts;
  TypeName type_name;

  Type type; // set by the checker; for literals, by the parser
  Variable *variable = nullptr;
  const Function *function = nullptr;

  bool is(Kind k) const { return kind == k; }
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;

/// An argument of `print`: a string literal or a value.
struct Shown {
  std::string text; // the string; for a value, its source text
  ExprPtr value;    // null = a string literal
};

/// `name attributes [extents] = init`.
struct Declarator {
  TypeName type_name;
  std::string name;
  Location at;
  ExprPtr init; // null = none

  // Constant memory only: the argument of `calloc`, or the initial values.
  ExprPtr bytes; // null = none
  std::vector<ExprPtr> values;
  bool takes_size_of_values = false; // `[]`

  // Attributes.
  ExprPtr multiple_of, aligned; // null = none
  bool no_alias = false, read_only = false, write_only = false;
  bool is_const = false; // only if it is not a pointer

  Variable *variable = nullptr;                 // set by the checker
  int multiple_of_value = 1, aligned_value = 0; // 0 = not given
};

struct Stmt {
  enum class Kind : uint8_t {
    empty,
    expression,  // value
    declare,     // declarators
    block,       // body
    branch,      // value, body[0], perhaps body[1]
    loop,        // init, value (may be null), step (may be null), body[0], tests_first
    choice,      // `switch`: value, body (alternatives only)
    alternative, // labels, is_default, body: up to the next label
    jump_break,
    jump_continue,
    jump_return,
    static_assertion, // value, text
    assertion,        // value, text (may be empty)
    print,            // shown
  };
  Kind kind = Kind::empty;
  Location at;
  std::string keyword; // first token as the source writes it: for, while, do, ...
  ExprPtr value, step;
  StmtPtr init;
  bool tests_first = true;
  bool is_default = false;
  std::vector<ExprPtr> labels; // constants of the type of the switch value
  std::vector<StmtPtr> body;
  std::vector<Declarator> declarators;
  std::vector<Shown> shown;
  std::string text, written; // written: the source text of `value`

  bool is(Kind k) const { return kind == k; }
};

/// `#pragma tritonc grid(...)`, `require(...)`, `precision(...)`.
struct Pragma {
  std::string name;
  Location at;
  size_t token = 0; // index of its token
  std::vector<ExprPtr> arguments;
};

/// A kernel, or a function that the compiler inlines at each call.
struct Function {
  std::string name;
  Location at;
  bool is_kernel = false;
  bool has_body = false;
  TypeName result;
  std::vector<Declarator> parameters;
  StmtPtr body;
  std::vector<Pragma> pragmas;
  bool uses_tf32 = false;           // set by the checker
  bool accesses_memory = false;     // directly or in a call; true for assert, print; set by checker
  bool changes_memory = false;      // directly or in a call; true for barriers; set by the checker
  std::vector<int> constant_memory; // kernels: Program::constant_memory used here or in a call
};

/// One declared array in constant memory.
struct ConstantMemory {
  const Variable *variable = nullptr;
  Scalar scalar = Scalar::error;
  int64_t count = 0;             // elements
  std::vector<int64_t> integers; // initial values of an integer array
  std::vector<double> reals;     // initial values of a float array
};

struct Program {
  std::vector<Function> functions;
  std::vector<StmtPtr> declarations; // at file scope: constants and static_assert
  std::deque<Variable> variables;
  std::vector<ConstantMemory> constant_memory;
};

/// Calls `visit(const Expr &)` for `expr` and all its subexpressions, in preorder.
template <typename Visit> void for_each_expr(const Expr &expr, Visit visit) {
  visit(expr);
  for (const ExprPtr &operand : expr.operands)
    for_each_expr(*operand, visit);
}

/// Calls `visit(const Expr &)` for all expressions of a statement and of its inner statements.
template <typename Visit> void for_each_expr(const Stmt &stmt, Visit visit) {
  for (const ExprPtr *expr : {&stmt.value, &stmt.step})
    if (*expr)
      for_each_expr(**expr, visit);
  for (const Declarator &declarator : stmt.declarators)
    if (declarator.init)
      for_each_expr(*declarator.init, visit);
  for (const Shown &shown : stmt.shown)
    if (shown.value)
      for_each_expr(*shown.value, visit);
  if (stmt.init)
    for_each_expr(*stmt.init, visit);
  for (const StmtPtr &inner : stmt.body)
    for_each_expr(*inner, visit);
}

/// Removes all `assert`, `print` and tile bounds checks. Returns whether it removed anything.
bool remove_checks(Program &program);

/// Whether evaluating `expr` has a side effect: an assignment, a barrier, an atomic operation, or a
/// call of a function that accesses memory.
bool has_effects(const Expr &expr);
/// Returns the first side effect in `expr`; null if it has none.
const Expr *effect_in(const Expr &expr);
/// Like effect_in, but a call counts only if the function changes memory.
const Expr *change_in(const Expr &expr);
/// Whether evaluating `expr` loads from memory or checks an index against the bounds of a tile.
bool has_loads(const Expr &expr);
/// Copies a checked expression that consists of operators, conversions and functions of numbers.
/// Returns null if the expression contains anything else or is too large.
ExprPtr copy_of_constant(const Expr &expr);
/// Whether every path through a `switch` ends in `return`.
bool always_returns(const Stmt &choice);
/// Whether control never reaches the end of a `switch` alternative because a jump leaves it.
bool leaves(const Stmt &alternative);

} // namespace tritonc::ast
