// The syntax tree of Triton-C: plain structs, made by the parser, completed by the checker.
//
// One struct for all expressions and one for all statements, with a kind; which members a kind uses
// stands beside it. After checking, every expression has a type, names have their variables, and
// `convert` nodes stand wherever a value changes its type or shape, so that the operands of an
// operation agree exactly.
//
// The tree, the parser and the checker are in tritonc::ast: the launch plan has an Expr of its own.

#pragma once

#include "language/types.h"
#include "source/diagnostics.h"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tritonc::ast {

/// What an access may tell the caches: `*?(m, __cg)p`.
struct CacheHint {
  std::string_view name; // with the `__`
  bool of_loads, of_stores;
};
/// Null if there is none of that name.
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
  const Expr *constant = nullptr; // its value, of its type, if the compiler knows it
  int constant_memory = -1;       // which of Program::constant_memory it points to; -1: none
};

/// A type as it is written; extents are constant expressions, known after checking.
struct TypeName {
  Type type; // without the shape until it is checked
  std::vector<ExprPtr> extents;
  Range range;
  bool is_const = false;    // of what is no pointer
  bool in_constant = false; // `__constant__`, of what is no pointer
  size_t extents_token = 0; // where the parser reads them again, if a `typedef` says them
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

/// One position of a subscript.
struct Subscript {
  enum class Kind : uint8_t {
    keep,
    newaxis,
    sum, // from here to argmin: reductions
    prod,
    max,
    min,
    any,
    all,
    argmax,
    argmin,
    gather, // `gather(positions)`
    axis,
    index, // the element there
  };
  Kind kind = Kind::keep;
  ExprPtr axis; // of Kind::axis, `^axis`
  Location at;
  bool scans = false;      // `scan(+)`: keeps the axis
  size_t operand = 0;      // of Kind::gather and Kind::index: which of the subscript's says where
  bool is_checked = false; // of these: that it is inside of the axis

  bool combines() const { return kind >= Kind::sum && kind <= Kind::argmin; }
  bool reduces() const { return combines() && !scans; }
  bool keeps() const { return kind == Kind::keep || kind == Kind::gather || scans; }
};

struct Expr {
  enum class Kind : uint8_t {
    error,       // reported already
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
    given,       // operands[1], in which `current` stands for operands[0]
    assign,      // operands[0] = operands[1]; is_postfix: the value is the old one
    current,     // in the value of a compound assignment: what the target holds; or see given
    cast,        // (type_name) operands[0]
    bitcast,     // bitcast<type_name>(operands[0])
    size_of,     // sizeof(type_name) or sizeof operands[0]
    subscript,   // operands[0][subscripts]; the other operands are the subscripts'
    call,        // text(operands...); type_name of the old atomic_add(TYPE, M, N)(...)
    atomic,      // a checked call: text is add, cas, ...; pointers, values, perhaps a mask
    barrier,     // a checked call
    inlined,     // a checked call: function(operands...)
    comma,       // operands[0], operands[1]
    convert,     // operands[0] as `type`; made by the checker
  };

  Kind kind = Kind::error;
  Operator op = Operator::none;
  bool is_postfix = false;
  bool has_suffix = false; // of a real literal
  int depth = 1;           // of the tree under it
  Location at;             // where a message about it points: the operator, the name
  Range range;
  uint64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<ExprPtr> operands;
  std::vector<Subscript> subscripts;
  TypeName type_name;

  Type type; // set by the checker, for literals by the parser
  Variable *variable = nullptr;
  const Function *function = nullptr;

  bool is(Kind k) const { return kind == k; }
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;

/// An argument of `print`: a text or a value.
struct Shown {
  std::string text; // of a value: as it is written
  ExprPtr value;    // null: a text
};

/// `name attributes [extents] = init`.
struct Declarator {
  TypeName type_name;
  std::string name;
  Location at;
  ExprPtr init; // may be missing

  // Of constant memory: the argument of `calloc`, or the first values.
  ExprPtr bytes; // may be missing
  std::vector<ExprPtr> values;
  bool takes_size_of_values = false; // `[]`

  // Attributes.
  ExprPtr multiple_of, aligned; // may be missing
  bool no_alias = false, read_only = false, write_only = false;
  bool is_const = false; // and no pointer

  Variable *variable = nullptr;                 // set by the checker
  int multiple_of_value = 1, aligned_value = 0; // 0: none given
};

struct Stmt {
  enum class Kind : uint8_t {
    empty,
    expression,  // value
    declare,     // declarators
    block,       // body
    branch,      // value, body[0], perhaps body[1]
    loop,        // init, value (may be missing), step (may be missing), body[0], tests_first
    choice,      // `switch`: value, body, all of them alternatives
    alternative, // labels, is_default, body: up to the next label
    jump_break,
    jump_continue,
    jump_return,
    static_assertion, // value, text
    assertion,        // value, text, which may be empty
    print,            // shown
  };
  Kind kind = Kind::empty;
  Location at;
  std::string keyword; // for, while, do: as it was written
  ExprPtr value, step;
  StmtPtr init;
  bool tests_first = true;
  bool is_default = false;
  std::vector<ExprPtr> labels; // constants, of the type of the choice's value
  std::vector<StmtPtr> body;
  std::vector<Declarator> declarators;
  std::vector<Shown> shown;
  std::string text, written; // written: the value as it is written

  bool is(Kind k) const { return kind == k; }
};

/// `#pragma tritonc grid(...)`, `require(...)`, `precision(...)`.
struct Pragma {
  std::string name;
  Location at;
  size_t token = 0; // where the parser found it
  std::vector<ExprPtr> arguments;
};

/// A kernel, or a function that is inlined where it is called.
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
  bool accesses_memory = false;     // it or what it calls; or says something. By the checker
  bool changes_memory = false;      // or waits for others
  std::vector<int> constant_memory; // of a kernel: which parts it or what it calls uses
};

/// A part of constant memory, as it was declared.
struct ConstantMemory {
  const Variable *variable = nullptr;
  Scalar scalar = Scalar::error;
  int64_t count = 0;             // of elements
  std::vector<int64_t> integers; // the first ones; or
  std::vector<double> reals;
};

struct Program {
  std::vector<Function> functions;
  std::vector<StmtPtr> declarations; // outside of functions: constants and static_assert
  std::deque<Variable> variables;
  std::vector<ConstantMemory> constant_memory;
};

/// Calls `visit(const Expr &)` for it and everything under it, outer ones first.
template <typename Visit> void for_each_expr(const Expr &expr, Visit visit) {
  visit(expr);
  for (const ExprPtr &operand : expr.operands)
    for_each_expr(*operand, visit);
}

/// The same for everything in a statement.
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

/// Takes all `assert` and `print` out, as if they had not been written, and the checks of positions
/// in tiles. Returns whether there were any.
bool remove_checks(Program &program);

/// Whether evaluating it does more than computing a value: assigns, waits, is an atomic operation
/// or a call of a function that accesses memory.
bool has_effects(const Expr &expr);
/// The first such expression in it, null if there is none.
const Expr *effect_in(const Expr &expr);
/// The same, but calls of functions count only if these change memory.
const Expr *change_in(const Expr &expr);
/// Whether evaluating it reads memory, or looks whether positions are inside of a tile.
bool has_loads(const Expr &expr);
/// A copy of a checked expression of numbers; null if it has anything else in it than operators,
/// conversions and functions of numbers, or very much of these.
ExprPtr copy_of_constant(const Expr &expr);
/// Whether all ways through a choice end in `return`.
bool always_returns(const Stmt &choice);
/// Whether control never comes to the end of a choice's alternative: it is left by a jump.
bool leaves(const Stmt &alternative);

} // namespace tritonc::ast
