// The launch plan: what the host must know to start a kernel, as data.
//
// The compiler emits both sides of a launch, so whatever it wants computed or checked on the host
// it writes down here as expressions over the kernel's arguments: the grid, and the requirements
// without which the kernel would read or write out of bounds. `emit/` turns the expressions into
// the constants that the runtime evaluates, with 64-bit arithmetic, before the driver sees
// anything.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc {

/// An integer expression over the kernel's scalar parameters. Division rounds towards zero, as in
/// C; `ceil_div` rounds up. Comparisons and logical operators yield 0 or 1.
struct Expr {
  enum class Kind : uint8_t {
    constant,  // value
    parameter, // value is the parameter's index, counted from 0
    neg,
    logical_not, // operands[0]
    add,
    sub,
    mul,
    div,
    rem,
    ceil_div,
    min,
    max, // operands[0], operands[1]
    lt,
    le,
    gt,
    ge,
    eq,
    ne,
    logical_and,
    logical_or,
  };
  Kind kind = Kind::constant;
  int64_t value = 0;
  std::vector<Expr> operands;

  static Expr constant(int64_t value) { return {Kind::constant, value, {}}; }
  static Expr parameter(int64_t index) { return {Kind::parameter, index, {}}; }
  static Expr binary(Kind kind, Expr a, Expr b) { return {kind, 0, {std::move(a), std::move(b)}}; }
};

/// What must hold of the arguments, and how a person would write it ("M % 128 == 0").
struct Requirement {
  Expr condition;
  std::string text;
};

struct LaunchPlan {
  std::vector<Expr> grid; // empty: the kernel declares none, the caller says it. Else 1 to 3.
  std::vector<Requirement> requirements;
};

} // namespace tritonc
