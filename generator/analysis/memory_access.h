// What the address of a memory access allows: which axis is contiguous, and how many neighbours one
// instruction can move.

#pragma once

#include "ir/ir.h"

namespace tritonc {

/// The axis along which neighbours of `value` (a view, or a tile that comes from one through
/// element-wise operations and transpositions) are neighbours in memory; nothing if there is none.
std::optional<int> contiguous_axis(const ir::Value *value);

/// The parameter that a pointer, a tile of pointers or a view comes from; null if that is not to be
/// seen.
const ir::Value *root_of(const ir::Value *pointers);

/// The most elements along the contiguous axis that may be moved at once, so that every such group
/// is contiguous, aligned to its size, at most 16 bytes, and masked as a whole (`mask` may be
/// null). A power of two, at least 1.
int vector_elements(const ir::Value *view, const ir::Value *mask, const ir::Function &fn);

} // namespace tritonc
