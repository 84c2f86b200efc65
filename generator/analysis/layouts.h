// The layouts that operations want: global memory, shared memory, and the operands of contractions.
//
// Fragment layouts are those of the figures in the PTX ISA, section "Matrix multiply-accumulate
// operation using mma instruction" (m8n8k4 to m16n8k32).

#pragma once

#include "ir/ir.h"

namespace tritonc {

/// Neighbours along `order[0]` first: `vector` of them in one thread's registers, then across
/// lanes; then along `order[1]` and so on; then across warps; what is left goes to registers again.
ir::LinearLayout blocked_layout(const ir::Shape &shape, const std::vector<int> &order, int vector,
                                int warps);

/// The layout for moving the tile at `pointers` (a view, or a tile of pointers) between global
/// memory and registers. `mask` may be null.
ir::LinearLayout memory_layout(const ir::Value *pointers, const ir::Value *mask,
                               const ir::Function &fn);

/// How many elements one instruction moves between `pointers` and a value in `layout`.
int access_width(const ir::LinearLayout &layout, const ir::Value *pointers, const ir::Value *mask,
                 const ir::Function &fn);

/// Whether storing from `layout` fills the 32-byte sectors that it touches.
bool fills_sectors(const ir::LinearLayout &layout, const ir::Value *pointers,
                   const ir::Function &fn);

/// A buffer in shared memory for a tile of `shape`, neighbours along `contiguous` side by side.
/// Rows are swizzled: eight of them have their 16-byte chunks of one column in different banks,
/// which is what ldmatrix, and vector accesses down a column, need to run without conflicts.
ir::LinearLayout swizzled_layout(const ir::Shape &shape, int contiguous, int element_bytes);

/// A buffer as the copy engine fills it and the tensor cores read it: rows of at most 128 bytes,
/// swizzled in 16-byte chunks over the row's length ("Asynchronous warpgroup matrix multiply",
/// section "Shared memory matrix layout" of the PTX ISA). What is longer is several panels, one
/// behind the other.
ir::LinearLayout panel_layout(const ir::Shape &shape, int contiguous, int element_bytes);

/// The bytes of a panel's row, which is also the width of the swizzle; 0 if there is none so short.
int panel_row_bytes(const ir::Shape &shape, int contiguous, int element_bytes);

/// The sum of a shared_product of this shape, when `warpgroups[0]` of them divide its rows and
/// `warpgroups[1]` its columns: 16 rows a warp ("Register fragments for wgmma.mma_async").
ir::LinearLayout product_layout(const ir::Shape &shape, const std::vector<int64_t> &warpgroups);

/// Of a part of a tile, for the part of this shape that starts at a multiple of it: the same
/// threads hold the same elements. Needs the bits that tell parts apart to be register bits.
ir::LinearLayout part_layout(const ir::LinearLayout &whole, const ir::Shape &part);

/// The instruction that {instruction} of a dot names.
struct DotInstruction {
  int m, n, k;
  bool tensor_core; // else k = 1 and every thread multiplies and adds
};
DotInstruction dot_instruction(const ir::Op &dot);

/// The type that the dot's factors are multiplied in.
ir::Elem factor_elem(const ir::Op &dot);

/// Layouts of the accumulator and of operand 0 or 1 (in its own shape) of a dot whose
/// {instruction}, {warps} and {vector} are chosen.
ir::LinearLayout accumulator_layout(const ir::Op &dot);
ir::LinearLayout operand_layout(const ir::Op &dot, int operand);

} // namespace tritonc
