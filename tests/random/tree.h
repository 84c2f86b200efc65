// A random kernel as a tree: small, plain data that can be printed, evaluated, changed and copied.
//
// Expressions have the types that the rules of the language give them. The functions below make
// expressions whose types are right if their operands fit; `settle` says so for a tree that was
// changed.

#pragma once

#include "random/data.h"
#include "random/types.h"

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
  // of atomic operations alone
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

/// What is said to the caches about an access.
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
    variable,     // integer: which
    program_id,   // integer: the axis
    num_programs, // integer: the axis
    range,        // integer: the first number; type.shape: how many
    unary,
    binary, // min and max too; the sum of a pointer and a number
    load,   // operands: pointer, perhaps a mask
    conditional,
    cast,    // type says to what; a scalar target keeps the shape
    bitcast, // the same
    transpose,
    permute,   // axes
    subscript, // positions
    dot,
    fma,
    gather,  // operands: a tile and positions; integer: along which axis
    element, // the same with a number
    philox,  // operands: seed and offset; integer: the word, -1 if it is not said
    uniform, // operands: seed and offset
    call,    // integer: which function; operands: its arguments
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
    declare,   // variable; value: none or one expression
    assign,    // variable, op, value
    increment, // variable, op: add or sub
    store,     // value: pointer, value, perhaps a mask; op
    branch,    // value: condition; body, other
    for_loop,  // value: condition; head: a statement before the loop, one per iteration
    while_loop,
    do_loop, // value: condition; body
    leave,   // break
    proceed, // continue
    finish,  // return; value: in functions, what is returned
    block,
    atomic, // op; variable: declared with what was there before, or -1; value: pointer, for
            // compare_exchange what is expected, value, perhaps a mask
    check,  // value: the condition of an assert
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

/// A parameter is a variable that the host gives a value: a number, or a buffer of its own. Or it
/// is none, but constant memory with values in the source.
struct Parameter {
  enum class Role : uint8_t { number, input, output, both, constant };
  int variable = -1;
  Role role = Role::number;
  int64_t integer = 0; // of a number
  double real = 0;
  Data data;         // of a buffer that is read
  int64_t count = 0; // elements of constant memory

  // Promises, all of them kept.
  int multiple_of = 0; // 0: not said
  int aligned = 0;     // in bytes; 0: not said
  bool read_only = false, write_only = false, no_alias = false;
};

/// A function that the kernel calls. Its parameters and variables are the kernel's, but only it can
/// see them. The last statement of its body returns a value.
struct Function {
  std::string name;
  Type result;
  std::vector<int> parameters;
  std::vector<Stmt> body;
};

struct Kernel {
  std::deque<Variable> variables; // so that references to types stay valid
  std::vector<Parameter> parameters;
  std::deque<Function> functions; // which may call those before them
  std::vector<Stmt> body;
  std::array<int, 3> grid = {1, 1, 1};
  uint64_t data_seed = 0;
  bool tf32 = false;

  const Type &type_of(int variable) const { return variables[size_t(variable)].type; }
  int add_variable(std::string name, Type type);
};

// Expressions. Their operands must fit: nothing checks it here.
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

/// Whether the literal is spelled as nothing but a number, perhaps with a sign: such a one takes
/// the type of the other arm of a `?:`.
bool is_plain_literal(const Expr &expr);

/// Works out the types of all expressions anew, from the variables. False if the kernel is not one
/// that the language allows.
bool settle(Kernel &kernel);

/// How many expressions and statements there are.
int size_of(const Kernel &kernel);

/// Calls visit(Expr &) for every expression, outer ones first.
template <typename Visit> void for_each_expr(Expr &expr, const Visit &visit) {
  visit(expr);
  for (Expr &operand : expr.operands)
    for_each_expr(operand, visit);
}

/// Calls visit(std::vector<Stmt> &) for every list of statements, outer ones first.
template <typename Visit> void for_each_list(std::vector<Stmt> &list, const Visit &visit) {
  visit(list);
  for (Stmt &stmt : list)
    for (std::vector<Stmt> *inner : {&stmt.body, &stmt.other})
      for_each_list(*inner, visit);
}

/// Calls visit(Stmt &) for every statement, outer ones first; of a kernel, those of its functions
/// too.
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
