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
/// memory and registers, by the warps of `blocks` blocks of a cluster. `mask` may be null.
ir::LinearLayout memory_layout(const ir::Value *pointers, const ir::Value *mask,
                               const ir::Function &fn, int blocks = 1);

/// The axis along which neighbouring registers of a thread are neighbours.
int register_axis(const ir::LinearLayout &layout);

/// The layout for copying elements of 4 bytes, one at a time, from memory where neighbours along
/// `order[0]` are side by side to a buffer where others are: lanes fill sectors of memory, and
/// different banks of a swizzled buffer.
ir::LinearLayout transposing_layout(const ir::Shape &shape, const std::vector<int> &order,
                                    int warps);

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

/// Whether neighbours along `axis` of a slot's tile are side by side in the buffer.
bool has_neighbours(const ir::Type &buffer, int axis);

/// A buffer as the copy engine fills it and the tensor cores read it: rows of at most 128 bytes,
/// swizzled in 16-byte chunks over the row's length ("Asynchronous warpgroup matrix multiply",
/// section "Shared memory matrix layout" of the PTX ISA). What is longer is several panels, one
/// behind the other.
ir::LinearLayout panel_layout(const ir::Shape &shape, int contiguous, int element_bytes);

/// The bytes of a panel's row, which is also the width of the swizzle; 0 if there is none so short.
int panel_row_bytes(const ir::Shape &shape, int contiguous, int element_bytes);

/// How warpgroups share a product: {warpgroups} of an operation say how many of them divide the
/// rows of the sum, and how many its columns. An instruction has 64 rows; {rows} say which rows of
/// the sum they are, if not just 64 in order: row 2^i of an instruction is row rows[i].
struct ProductDivision {
  std::vector<int64_t> warpgroups, rows = {};
};
ProductDivision product_division(const ir::Op &op);

/// The sum of a product of this shape: 16 rows of each instruction a warp ("Register fragments for
/// wgmma.mma_async").
ir::LinearLayout product_layout(const ir::Shape &shape, const ProductDivision &division);

/// The factor on the left, rows by K, of a product whose warps hold it.
ir::LinearLayout fragment_layout(const ir::Shape &shape, int element_bytes,
                                 const ProductDivision &division);

/// {rows} such that threads which read such a factor at one time from `buffer`, a panel_layout with
/// neighbours along its axis `own`, find it in different banks.
std::vector<int64_t> rows_without_conflicts(const ir::LinearLayout &buffer, int own,
                                            int element_bytes);

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
/// {instruction}, {warps} and {vector} are chosen. Warps that are side by side have a block of
/// columns each; if {dealt}, the columns of an instruction each, in turn.
ir::LinearLayout accumulator_layout(const ir::Op &dot);
ir::LinearLayout operand_layout(const ir::Op &dot, int operand);

/// The sum of a product of this shape, by the attributes of `op` that say how warps share it: those
/// of a dot on tensor cores, or of a product by warpgroups.
ir::LinearLayout sum_layout(const ir::Shape &shape, const ir::Op &op);

/// Gives `op` these attributes of `product`.
void share_like(ir::Op &op, const ir::Op &product);

} // namespace tritonc
