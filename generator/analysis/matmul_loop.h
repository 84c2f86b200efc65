// Finds the mainloop of a matmul: a loop of `acc += a @ b` with tiles that it loads.

#pragma once

#include "analysis/tensor_access.h"

namespace tritonc {

/// An operand of a dot: a loaded tile, or its transpose.
struct LoadedOperand {
  ir::Op *load = nullptr;    // load or tma_load
  std::vector<int64_t> perm; // axis d of the operand is axis perm[d] of the loaded tile
};

struct MatmulLoop {
  ir::Op *loop = nullptr; // a for_loop
  ir::Op *dot = nullptr;  // directly in the loop, which carries its result and uses it nowhere else
  size_t carried = 0;     // index of the accumulator among the carried values
  LoadedOperand operands[2];
};

/// Why a function has no MatmulLoop.
enum class NoMatmulLoop {
  no_dot,
  several_dots,
  not_in_a_loop,           // not in a for_loop, whose iteration count is known before it starts
  accumulator_not_carried, // the loop does not carry the accumulator, or has other uses of it
  not_loaded,              // an operand is computed from loaded tiles, or has other uses
};

struct MatmulLoopResult {
  std::optional<MatmulLoop> found;
  NoMatmulLoop why = NoMatmulLoop::no_dot;
};

MatmulLoopResult find_matmul_loop(ir::Function &fn);

/// Index of the accumulator of `dot` among the values that the for_loop around it carries, if the loop
/// only adds to it.
std::optional<size_t> carried_accumulator(const ir::Function &fn, const ir::Op &dot);

/// Whether all dots in loops, at least one, only add to accumulators that their loop carries. Then they
/// need not be done before the next iteration starts.
bool keeps_dots_in_flight(const ir::Function &fn);

/// Whether an operand is loaded through pointers that are not affine in the indices.
bool is_gathered(const MatmulLoop &matmul);

/// The result of the loop around `dot` that is its accumulator; null: there is none.
const ir::Value *accumulator_after_loop(const ir::Op &dot);

/// Returns whether `tile`, computed element by element from the accumulator of a matmul, is
/// computed from the accumulator's transpose. nullopt: it does not depend on an accumulator.
/// `accumulator` is the result of the loop; null: any result of a wgmma_wait.
std::optional<bool> is_from_transposed_accumulator(const ir::Value *tile,
                                                   const ir::Value *accumulator = nullptr);

/// The axis of `result` along which the accumulator's columns are. `shape` is the shape of the
/// accumulator. A `result` that does not depend on the accumulator may have either order, so only
/// its shape counts. nullopt: the shapes differ.
std::optional<int> axis_of_columns(const ir::Value *result, const ir::Shape &shape,
                                   const ir::Value *accumulator = nullptr);

/// Returns whether the K tile of the matmul may differ from the source's: the operands advance
/// along K by one K tile in each iteration, and the loop does nothing else.
bool has_free_steps(ir::Function &fn);

} // namespace tritonc
