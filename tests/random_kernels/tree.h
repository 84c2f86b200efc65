// The tree of a random kernel: plain data to print, evaluate, change, and copy.
//
// Expressions have the types of the language's rules. The functions below set the correct type if
// the operands fit; `settle` checks a changed tree.

#pragma once

#include "random_kernels/data.h"
#include "random_kernels/types.h"

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace tritonc::random {

enum class Op : uint8_t {
  none,
  // binary
  add,
  sub,
  mul,
  div,
  rem,
  shl,
  shr,
  bit_and,
  bit_xor,
  bit_or,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,
  logical_or,
  min,
  max,
  // unary
  negate,
  bit_not,
  logical_not,
  abs,
  sqrt,
  exp,
  log,
  rsqrt,
  exp2,
  log2,
  sin,
  cos,
  tanh,
  erf,
  floor,
  ceil,
  trunc,
  round,
  // only in atomic operations
  exchange,
  compare_exchange,
};
const char *spelling_of(Op op); // "+", "min"
inline bool is_comparison(Op op) { return op >= Op::lt && op <= Op::ne; }
inline bool is_logical(Op op) { return op == Op::logical_and || op == Op::logical_or; }

/// A position in a subscript.
enum class Position : uint8_t {
  keep,
  newaxis,
  // reductions
  sum,
  max,
  min,
  prod,
  any,
  all,
  argmax,
  argmin,
  // scans
  scan_sum,
  scan_max,
  scan_min,
  scan_prod,
  scan_any,
  scan_all,
};
inline bool is_scan(Position position) { return position >= Position::scan_sum; }
inline bool asks_truth(Position p) {
  return p == Position::any || p == Position::all || p == Position::scan_any ||
         p == Position::scan_all;
}
inline bool is_arg(Position p) { return p == Position::argmax || p == Position::argmin; }

/// The cache hint of an access.
enum class Hint : uint8_t {
  none,
  cg,
  cs,
  no_allocate,
  evict_first,
  evict_last,
  ca, // loads
  cv,
  wb, // stores
  wt,
};

struct Expr {
  enum class Kind : uint8_t {
    literal,      // integer, or real
    variable,     // integer: the index
    program_id,   // integer: the axis
    num_programs, // integer: the axis
    range,        // integer: the first value; type.shape: the number of values
    unary,
    binary, // also min, max, and pointer plus integer
    load,   // operands: pointer, optional mask
    conditional,
    cast,    // type: the target; a scalar target keeps the shape
    bitcast, // the same
    transpose,
    permute,   // axes
    subscript, // positions
    dot,
    fma,
    gather,  // operands: a tile and indices; integer: the axis
    element, // the same with a scalar index
    philox,  // operands: seed and offset; integer: the word; -1 = not given
    uniform, // operands: seed and offset
    call,    // integer: the function's index; operands: arguments
  };
  Kind kind = Kind::literal;
  Op op = Op::none;
  Hint hint = Hint::none; // loads
  Type type;
  int64_t integer = 0;
  double real = 0;
  std::vector<int> axes;
  std::vector<Position> positions;
  std::vector<Expr> operands;

  bool is(Kind k) const { return kind == k; }
};

struct Stmt {
  enum class Kind : uint8_t {
    declare,   // variable; value: empty or one expression
    assign,    // variable, op, value
    increment, // variable, op: add or sub
    store,     // value: pointer, value, optional mask; op
    branch,    // value: condition; body, other
    for_loop,  // value: condition; head: a statement before the loop, and one per iteration
    while_loop,
    do_loop, // value: condition; body
    leave,   // break
    proceed, // continue
    finish,  // return; value: the result, in functions
    block,
    atomic, // op; variable: declared with the old value, or -1; value: pointer, the expected value
            // (compare_exchange), value, optional mask
    check,  // assert; value: the condition
  };
  Kind kind = Kind::block;
  int variable = -1;
  Op op = Op::none;
  Hint hint = Hint::none; // stores
  bool has_mask = false;  // of an atomic operation
  std::vector<Expr> value;
  std::vector<Stmt> head, body, other;

  bool is(Kind k) const { return kind == k; }
};

struct Variable {
  std::string name;
  Type type;
};

/// A variable that the host sets: a scalar, or a separate buffer. Or constant memory with values in
/// the source.
struct Parameter {
  enum class Role : uint8_t { number, input, output, both, constant };
  int variable = -1;
  Role role = Role::number;
  int64_t integer = 0; // of a scalar
  double real = 0;
  Data data;         // of an input buffer
  int64_t count = 0; // elements of constant memory

  // Assumptions, which all hold.
  int multiple_of = 0; // 0 = none
  int aligned = 0;     // in bytes; 0 = none
  bool read_only = false, write_only = false, no_alias = false;
};

/// A function that the kernel calls. Its parameters and variables are in the kernel's list, but
/// visible only in the function. The last statement of its body returns a value.
struct Function {
  std::string name;
  Type result;
  std::vector<int> parameters;
  std::vector<Stmt> body;
};

struct Kernel {
  std::deque<Variable> variables; // so that references to types stay valid
  std::vector<Parameter> parameters;
  std::deque<Function> functions; // each may call earlier functions
  std::vector<Stmt> body;
  std::array<int, 3> grid = {1, 1, 1};
  uint64_t data_seed = 0;
  bool tf32 = false;

  const Type &type_of(int variable) const { return variables[size_t(variable)].type; }
  int add_variable(std::string name, Type type);
};

// Expressions. Their operands must fit; the functions check nothing.
Expr literal(Scalar scalar, int64_t value);
Expr real_literal(Scalar scalar, double value);
Expr variable(const Kernel &kernel, int index);
Expr program_id(int axis);
Expr num_programs(int axis);
Expr range(int64_t first, int64_t count);
Expr unary(Op op, Expr a);
Expr binary(Op op, Expr a, Expr b);
Expr load(Expr pointer);
Expr load(Expr pointer, Expr mask);
Expr conditional(Expr condition, Expr yes, Expr no);
Expr cast(Type to, Expr a);
Expr bitcast(Type to, Expr a);
Expr transpose(Expr a);
Expr permute(Expr a, std::vector<int> axes);
Expr subscript(Expr a, std::vector<Position> positions);
Expr dot(Expr a, Expr b);
Expr multiply_add(Expr a, Expr b, Expr c);
Expr gather(Expr a, Expr positions, int axis);
Expr element(Expr a, Expr position, int axis);
Expr philox(Expr seed, Expr offset, int word);
Expr uniform(Expr seed, Expr offset);
Expr call(const Kernel &kernel, int function, std::vector<Expr> arguments);

// Statements.
Stmt declare(int variable);
Stmt declare(int variable, Expr init);
Stmt assign(int variable, Expr value, Op op = Op::none);
Stmt store(Expr pointer, Expr value, Op op = Op::none);
Stmt masked_store(Expr mask, Expr pointer, Expr value, Op op = Op::none);
Stmt atomic(Op op, std::vector<Expr> operands, bool has_mask);
Stmt check(Expr condition);
Stmt branch(Expr condition, std::vector<Stmt> yes, std::vector<Stmt> no = {});
Stmt jump(Stmt::Kind kind);
Stmt block(std::vector<Stmt> body);

/// Whether the literal is printed as only a number, with an optional sign. Such a literal takes the
/// type of the other arm of a `?:`.
bool is_plain_literal(const Expr &expr);

/// Recomputes the types of all expressions from the variables. Returns false if the language does
/// not allow the kernel.
bool settle(Kernel &kernel);

/// The number of expressions and statements.
int size_of(const Kernel &kernel);

/// Calls visit(Expr &) for every expression, outer expressions first.
template <typename Visit> void for_each_expr(Expr &expr, const Visit &visit) {
  visit(expr);
  for (Expr &operand : expr.operands)
    for_each_expr(operand, visit);
}

/// Calls visit(std::vector<Stmt> &) for every statement list, outer lists first.
template <typename Visit> void for_each_list(std::vector<Stmt> &list, const Visit &visit) {
  visit(list);
  for (Stmt &stmt : list)
    for (std::vector<Stmt> *inner : {&stmt.body, &stmt.other})
      for_each_list(*inner, visit);
}

/// Calls visit(Stmt &) for every statement, outer statements first; for a kernel, also in its
/// functions.
template <typename Visit> void for_each_stmt(std::vector<Stmt> &list, const Visit &visit) {
  for (Stmt &stmt : list) {
    visit(stmt);
    for (std::vector<Stmt> *inner : {&stmt.head, &stmt.body, &stmt.other})
      for_each_stmt(*inner, visit);
  }
}
template <typename Visit> void for_each_stmt(Kernel &kernel, const Visit &visit) {
  for_each_stmt(kernel.body, visit);
  for (Function &function : kernel.functions)
    for_each_stmt(function.body, visit);
}

} // namespace tritonc::random
