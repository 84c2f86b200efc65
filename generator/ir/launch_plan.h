// The launch plan: what the host must know to start a kernel, as data.
//
// The compiler emits both sides of a launch, so whatever it wants computed or checked on the host
// it writes down here as expressions over the kernel's arguments: the grid, and the requirements
// without which the kernel would read or write out of bounds. `emit/` turns the expressions into
// the constants that the runtime evaluates, with 64-bit arithmetic, before the driver sees
// anything.

//
// The plan is the kernel's own and the same for every GPU. How the blocks of one GPU carry out its
// programs is a form: what else the kernel is given, how many blocks there are, and what must hold
// for it. A kernel may have several forms for a GPU; the launch takes the cheapest that fits.

#pragma once

#include "ir/types.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// An integer expression over the kernel's scalar parameters. Division rounds towards zero, as in
/// C; `ceil_div` rounds up. Comparisons and logical operators yield 0 or 1.
struct Expr {
  enum class Kind : uint8_t {
    constant,        // value
    parameter,       // value is the parameter's index, counted from 0
    programs,        // in forms: the size of the grid of programs along axis `value`, 0 to 2
    multiprocessors, // in forms: how many the device has
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
  /// What the code relies on besides, "lda % 8 && ldb % 8": where it is not true of the arguments,
  /// general code runs. Empty: this is the general code.
  std::string hints;
};

/// What the GPU's copy engine is told of a tensor: cuTensorMapEncodeTiled of the CUDA driver API.
/// The axis of neighbours comes first everywhere, as there.
struct TensorMap {
  int parameter = 0; // the pointer
  Expr offset;       // elements from there to the tensor's first
  ir::Elem elem = ir::Elem::f16;
  bool to_tf32 = false;      // f32 is rounded to tf32 on the way
  std::vector<Expr> sizes;   // elements along each axis, 1 to 5 of them; what is outside is zero
  std::vector<Expr> strides; // in elements, of the axes after the first
  std::vector<int64_t> box;  // elements that one copy moves, along each axis
  int swizzle_bytes = 0;     // 0, 32, 64 or 128
};

/// What a kernel is given behind its own parameters: a tensor map, a number, or where the form's
/// scratch memory is.
struct HiddenParameter {
  ir::Elem elem = ir::Elem::i32; // of a number: i32 or i64
  Expr value;                    // of a number
  std::optional<TensorMap> map;
  bool is_scratch = false;
};

/// How the blocks of a GPU carry out the programs of the grid.
struct LaunchForm {
  std::string name;                // "": a block for each program, nothing hidden
  std::vector<Requirement> guards; // besides: every tensor map must be one that the driver takes
  std::optional<Expr> cost;        // in any unit, the same for all forms of a kernel; none: last
  std::vector<Expr> blocks;        // empty: those of the grid of programs. Else 1 to 3.
  int cluster = 1;                 // blocks per cluster, along the first axis
  std::vector<HiddenParameter> hidden;

  /// Bytes of memory that nobody else has until the launch is done: of two launches that share the
  /// work, the second is done with it. Both say it.
  std::optional<Expr> scratch;

  /// Which part of the work a launch in it does: all; what two launches share, the first of which
  /// is in this form and the second in the one behind it; or that second, which nobody takes alone.
  enum class Share : uint8_t { all, first, rest };
  Share share = Share::all;

  /// Its blocks may start before the launch in front of it in the stream is done, for which they
  /// wait themselves.
  bool starts_early = false;
};

} // namespace tritonc
