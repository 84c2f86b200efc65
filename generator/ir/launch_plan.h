// The launch plan: everything that the host must know to launch a kernel, as data.
//
// The compiler emits both sides of a launch. It writes all host computations and host checks here,
// as expressions over the kernel's arguments: the grid, and the requirements without which the
// kernel would access memory out of bounds. `emit/` turns the expressions into constants. The
// runtime evaluates them in 64-bit arithmetic before it calls the driver.
//
// The launch plan belongs to the kernel and is the same for every GPU. A LaunchConfig belongs to
// one schedule for one GPU: the hidden parameters, the number of blocks, and the guards. A kernel
// may have several schedules for a GPU; the launch takes the schedule with the lowest cost whose
// guards hold.

#pragma once

#include "ir/schedule.h"
#include "ir/types.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// An integer expression over the kernel's scalar parameters. Division rounds toward zero, as in C;
/// `ceil_div` rounds up. Comparisons and logical operators return 0 or 1.
struct Expr {
  enum class Kind : uint8_t {
    constant,  // value
    parameter, // value: index of the parameter, from 0
    programs,  // in schedules: the size of the grid of programs along axis `value`, 0 to 2
    num_sms,   // in schedules: the number of SMs of the device
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

  bool operator==(const Expr &) const = default;

  static Expr constant(int64_t value) { return {Kind::constant, value, {}}; }
  static Expr parameter(int64_t index) { return {Kind::parameter, index, {}}; }
  static Expr binary(Kind kind, Expr a, Expr b) { return {kind, 0, {std::move(a), std::move(b)}}; }
};

/// A condition on the arguments, and its text for messages ("M % 128 == 0").
struct Requirement {
  Expr condition;
  std::string text;
};

struct LaunchPlan {
  std::vector<Expr> grid; // 1 to 3 sizes; empty: the caller passes the grid
  std::vector<Requirement> requirements;
  /// The condition of the specialization, such as "lda % 8 && ldb % 8". If the arguments do not
  /// meet it, the launch takes a more general variant. Empty: this is the general variant.
  std::string specialization;
};

/// The arguments of cuTensorMapEncodeTiled (CUDA driver API) for a tensor. As there, the axis of
/// contiguous elements comes first.
struct TensorMap {
  int parameter = 0; // index of the pointer parameter
  Expr offset;       // elements from the pointer to the tensor's first element
  ir::Elem elem = ir::Elem::f16;
  bool to_tf32 = false;      // TMA rounds f32 to tf32
  std::vector<Expr> sizes;   // elements along each of 1 to 5 axes; elements outside read as zero
  std::vector<Expr> strides; // elements; of all axes after the first
  std::vector<int64_t> box;  // elements per copy along each axis
  int swizzle_bytes = 0;     // 0, 32, 64 or 128
};

/// A parameter after the kernel's own parameters: a tensor map, an integer, or a pointer to the
/// workspace.
struct HiddenParameter {
  ir::Elem elem = ir::Elem::i32; // of an integer: i32 or i64
  Expr value;                    // of an integer
  std::optional<TensorMap> map;
  bool is_workspace = false;
};

/// How the blocks of a GPU run the programs of the grid, in one schedule.
struct LaunchConfig {
  Schedule schedule;               // schedule of the blocks
  std::vector<Requirement> guards; // additional guard: the driver accepts every tensor map
  std::optional<Expr> cost;        // same unit for all schedules; none: last choice
  std::vector<Expr> blocks;        // 1 to 3 sizes; empty: the grid of programs
  int cluster = 1;                 // blocks per cluster, along the first axis
  std::vector<HiddenParameter> hidden;

  /// Size of the workspace in bytes. The launch owns the workspace until it completes. Two launches
  /// that share the work share one workspace, until the second completes; both have the same size
  /// here.
  std::optional<Expr> workspace;

  /// Dynamic shared memory of a block in bytes, at most that of the image, which the runtime also
  /// sets as the limit; none: that of the image.
  std::optional<Expr> shared_bytes;

  /// The part of the work that a launch with this schedule does:
  /// - whole: all of it
  /// - first: the first of two launches that share the work; the next schedule is the second
  /// - second: the second of these launches; a launch never takes it alone
  enum class Part : uint8_t { whole, first, second };
  Part part = Part::whole;

  /// The blocks may start before the previous launch in the stream completes (programmatic
  /// dependent launch). They wait for its completion themselves.
  bool starts_early = false;
};

} // namespace tritonc
