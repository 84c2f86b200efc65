// Computes from the address of a memory access which axis is contiguous, and how many elements one
// instruction can move.

#pragma once

#include "ir/ir.h"

namespace tritonc {

/// The axis along which `value` is contiguous in memory. `value` is a view, or a tile computed from
/// a view by elementwise operations and transposes. nullopt: no axis.
std::optional<int> contiguous_axis(const ir::Value *value);

/// The parameter (or workspace) from which a pointer, a tile of pointers or a view is computed;
/// null: unknown.
const ir::Value *root_of(const ir::Value *pointers);

/// The mask of a load, a store or an atomic operation; null: none.
const ir::Value *mask_of(const ir::Op &access);

/// The maximum number of elements per access along the contiguous axis: each aligned group is
/// contiguous, aligned to its size, at most 16 bytes, and masked as a whole. `mask` may be null.
/// The result is a power of two, at least 1.
int vector_elements(const ir::Value *view, const ir::Value *mask, const ir::Function &fn);

} // namespace tritonc
