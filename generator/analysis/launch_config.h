// Makes the LaunchConfig of a function after the passes, from its operations `tensor_map`,
// `host_value`, `workspace`, `launch_blocks` and `launch_warps`.

#pragma once

#include "ir/builder.h"

#include <optional>

namespace tritonc {

/// An integer scalar as a host expression of parameters, the grid of programs and the number of
/// SMs. nullopt: the host cannot compute it.
std::optional<Expr> host_expression(const ir::Value *scalar);

/// Whether the host can compute an upper bound of an integer scalar, because it is a minimum of something
/// that the host knows.
bool has_host_bound(const ir::Value *scalar);

/// This bound; `scalar` itself, if it is a host_expression.
ir::Value *emit_host_bound(ir::Builder &builder, ir::Value *scalar);

/// Returns whether the host passes the result of `op` to the kernel.
bool is_hidden(const ir::Op &op);

/// The operations whose results the host passes, in the order of the hidden parameters.
std::vector<const ir::Op *> hidden_parameters(const ir::Function &fn);

/// The axes of a tensor_map in TMA's order: the contiguous axis first, then the others from the
/// last to the first.
std::vector<int> copy_order(const ir::Op &map);

/// The axis of a tile with `rank` axes that is contiguous in the tensor. The tile's axes are the
/// last ones of the map.
int contiguous_tile_axis(const ir::Op &map, int rank);

/// Sets everything but the schedule, its guards and its cost. Requires that host_expression
/// succeeds for all operands of these operations.
LaunchConfig launch_config(const ir::Function &fn);

} // namespace tritonc
