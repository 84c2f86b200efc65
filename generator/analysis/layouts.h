// Computes the layouts that operations require: for global memory, for shared memory, and for the
// operands of matmuls.
//
// Fragment layouts match the figures of the PTX ISA, section "Matrix multiply-accumulate operation
// using mma instruction" (m8n8k4 to m16n8k32).

#pragma once

#include "ir/ir.h"

namespace tritonc {

/// A blocked layout. It assigns elements along `order[0]` first, then along `order[1]` and so on:
/// `vector` adjacent elements to the registers of one thread, the next elements to lanes, the next
/// to warps, and the rest to registers. `warp_order` is the order for the warps; empty: `order`.
ir::LinearLayout blocked_layout(const ir::Shape &shape, const std::vector<int> &order, int vector,
                                int warps, const std::vector<int> &warp_order = {});

/// Adjacent elements along an axis.
struct AxisVector {
  int axis, elements;
};

/// The layout for accesses of vectors `along`, for a tile that another access moves in vectors
/// `across`. In registers, threads hold blocks of both vectors, or of parts if there are too few
/// elements for all threads. Lanes are along the first axis, warps along the second. So this layout
/// and that of the other access have many registers in common.
ir::LinearLayout crossing_layout(const ir::Shape &shape, AxisVector along, AxisVector across,
                                 int warps);

/// The layout for accesses of `vector` elements along axis `contiguous`, or fewer if there are too
/// few elements for all threads, with the warps of `blocks` blocks of a cluster. If the function
/// reduces tiles of this shape along the contiguous axis, a warp has whole rows as far as there are
/// rows for all warps: then fewer reductions cross warps.
ir::LinearLayout vector_layout(const ir::Shape &shape, int contiguous, int vector,
                               const ir::Function &fn, int blocks = 1);

/// The layout that moves the tile at `pointers` (a view, or a tile of pointers) between global
/// memory and registers: the vector_layout of the widest accesses. `mask` may be null.
ir::LinearLayout memory_layout(const ir::Value *pointers, const ir::Value *mask,
                               const ir::Function &fn, int blocks = 1);

/// The layout of a tile of rows that follow one another in a buffer with `elements` elements of
/// shared memory, or of some of their columns: adjacent lanes have the elements of a row, several
/// each.
ir::LinearLayout rows_layout(const ir::Shape &shape, int64_t elements, int warps);

/// The axis along which adjacent registers of a thread hold adjacent elements.
int register_axis(const ir::LinearLayout &layout);

/// The layout that copies 4-byte elements, one at a time, between global memory that is contiguous
/// along `order[0]` and a buffer that is contiguous along another axis. Lanes fill whole sectors of
/// global memory, and access different banks of a swizzled buffer.
ir::LinearLayout transposing_layout(const ir::Shape &shape, const std::vector<int> &order,
                                    int warps);

/// The 32-bit registers of each thread that hold a tile with a layout.
int registers_per_thread(const ir::Type &tile);

/// Elements that one instruction moves between `pointers` and a value in `layout`.
int access_width(const ir::LinearLayout &layout, const ir::Value *pointers, const ir::Value *mask,
                 const ir::Function &fn);

/// Returns whether a store from `layout` fills the 32-byte sectors that it touches.
bool fills_sectors(const ir::LinearLayout &layout, const ir::Value *pointers,
                   const ir::Function &fn);

/// A buffer in shared memory for a tile of `shape`, contiguous along `contiguous`. Rows are
/// swizzled: eight rows have their 16-byte chunks of one column in different banks. So ldmatrix and
/// vector accesses along a column have no bank conflicts.
ir::LinearLayout swizzled_layout(const ir::Shape &shape, int contiguous, int element_bytes);

/// A buffer in shared memory for a tile of `shape`, in row-major order.
ir::LinearLayout row_major_layout(const ir::Shape &shape);

/// A buffer in shared memory through which a tile in layout `from` gets layout `to`. The threads of
/// both access vectors as wide as their registers allow, without bank conflicts.
ir::LinearLayout exchange_layout(const ir::LinearLayout &from, const ir::LinearLayout &to,
                                 int element_bytes);

/// Returns whether elements along `axis` of a stage are contiguous in the buffer.
bool has_neighbors(const ir::Type &buffer, int axis);

/// A buffer that TMA fills and wgmma reads: rows of at most 128 bytes, swizzled in 16-byte chunks
/// over the length of the row (PTX ISA, "Asynchronous warpgroup matrix multiply", section "Shared
/// memory matrix layout"). Longer rows become several panels, one after another.
ir::LinearLayout panel_layout(const ir::Shape &shape, int contiguous, int element_bytes);

/// Bytes of a panel's row, and of the swizzle; 0: the rows are too short for panels.
int panel_row_bytes(const ir::Shape &shape, int contiguous, int element_bytes);

/// How warpgroups divide a matmul. {warpgroups}: the number of warpgroups along the rows and along
/// the columns of the accumulator. {rows}: row 2^i of an instruction, which has 64 rows, is row
/// rows[i] of the accumulator; empty: 64 consecutive rows.
struct MatmulDivision {
  std::vector<int64_t> warpgroups, rows = {};
};
MatmulDivision matmul_division(const ir::Op &op);

/// The accumulator of a wgmma with this shape: each warp holds 16 rows of each instruction (PTX
/// ISA, "Register fragments for wgmma.mma_async").
ir::LinearLayout matmul_layout(const ir::Shape &shape, const MatmulDivision &division);

/// The left operand (rows by K) of a wgmma that reads it from registers.
ir::LinearLayout fragment_layout(const ir::Shape &shape, int element_bytes,
                                 const MatmulDivision &division);

/// Chooses {rows} so that threads read the left operand from `buffer` without bank conflicts.
/// `buffer` is a panel_layout, contiguous along its axis `own`.
std::vector<int64_t> rows_without_conflicts(const ir::LinearLayout &buffer, int own,
                                            int element_bytes);

/// The layout of a part with this shape, which starts at a multiple of its extents: the same
/// threads hold the same elements. Requires that only register bits distinguish the parts.
ir::LinearLayout part_layout(const ir::LinearLayout &whole, const ir::Shape &part);

/// The shape of the instruction that {instruction} of a dot names.
struct DotInstruction {
  int m, n, k;
  bool tensor_core; // false: k = 1, and each thread computes fma
};
DotInstruction dot_instruction(const ir::Op &dot);

/// The element type in which the dot multiplies.
ir::Elem operand_elem(const ir::Op &dot);

/// The layout of the accumulator, or of operand 0 or 1 (in its own shape), of a dot with
/// {instruction}, {warps} and {thread_tile}. Adjacent warps have a block of columns each. With
/// {interleaved}, each warp has the columns of one instruction, in turn.
ir::LinearLayout accumulator_layout(const ir::Op &dot);
ir::LinearLayout operand_layout(const ir::Op &dot, int operand);

/// The accumulator layout for this shape, from the attributes of `op` that divide it among warps:
/// of a dot on tensor cores, or of a wgmma.
ir::LinearLayout accumulator_layout(const ir::Shape &shape, const ir::Op &op);

/// Copies these attributes from `matmul` to `op`.
void share_like(ir::Op &op, const ir::Op &matmul);

} // namespace tritonc
