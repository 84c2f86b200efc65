// Checks the rules of tile IR. Tests and debug builds run it after every pass.
//
// - The numbers of operands, results and blocks match ops.def.
// - An operation uses a value only where the value is available: after its definition in the same
//   block, or in a block inside that block.
// - A block has one terminator, at its end: `return` in the body of a function, `condition` in the
//   first block of a while_loop, `yield` in all other blocks. The operands of a `yield` have the
//   types of the values that the enclosing operation carries or returns.
// - Tile extents are powers of two. A tile has at most 2^20 elements and 5 axes.
// - Operand and result types match the operation's row in ops.def.
// - Channels: see channels.h.
// - A layout has the shape of its tile and covers it: some register holds every element. All
//   operands and results of an arithmetic operation have the same layout, or none has a layout.

#pragma once

#include "ir/ir.h"

namespace tritonc::ir {

/// Returns all errors, one per line: the operation and the rule. Empty: no error.
std::string verify(const Function &fn);

} // namespace tritonc::ir
