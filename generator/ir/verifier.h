// The rules of tile IR. Run after every pass in tests and debug builds.
//
// - The numbers of operands, results and blocks are those of ops.def.
// - A value is used only where it is available: after its definition in the same block, or in a
//   block inside that one.
// - Blocks end with their terminator and have no other: the body of a function in `return`, the
//   first block of a while_loop in `condition`, all other blocks in `yield`, whose operands have
//   the types of the values that the enclosing operation carries or gives.
// - Tile extents are powers of two, at most 2^20 elements in all, rank at most 5.
// - Operand and result types agree as each operation's line in ops.def says.
// - A layout, where there is one, has the shape of its tile and covers it: every element is held
//   somewhere. Operations on numbers have operands and results in one layout, or none at all.

#pragma once

#include "ir/ir.h"

namespace tritonc::ir {

/// Everything that is wrong, a line each: the operation and the rule. Empty: nothing.
std::string verify(const Function &fn);

} // namespace tritonc::ir
