// What the host has to know of a function that went through the passes: the launch form that its
// operations `tensor_map`, `host_value`, `scratch` and `launch_blocks` describe.

#pragma once

#include "ir/ir.h"

#include <optional>

namespace tritonc {

/// The host's form of an integer scalar: a formula of parameters, the grid of programs and the
/// number of multiprocessors. Nothing if it is none.
std::optional<Expr> host_expression(const ir::Value *scalar);

/// Whether the host hands over what `op` gives.
bool is_hidden(const ir::Op &op);

/// The operations whose results the host hands over, in the order of the hidden parameters.
std::vector<const ir::Op *> hidden_parameters(const ir::Function &fn);

/// The axes of a tensor_map in the copy engine's order: that of neighbours first, then the others
/// from the last to the first.
std::vector<int> copy_order(const ir::Op &map);

/// All but the form's name, guards and cost. Needs host formulas wherever the host is to compute.
LaunchForm launch_form(const ir::Function &fn);

} // namespace tritonc
