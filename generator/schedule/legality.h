// The requirements of schedules on a matmul: the tensor cores can multiply its tiles, TMA or
// threads can copy its operands, and nothing else in the kernel prevents it. The cost does not
// matter here.

#pragma once

#include "analysis/matmul_loop.h"
#include "analysis/tensor_access.h"
#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

namespace tritonc {

/// Whether the source fixes an order, by atomic operations or barriers. Then each block runs one
/// program, with all of its warps, in that order.
bool has_own_order(ir::Function &fn);

/// Whether the matmul is in for loops only, which the producer warps can repeat.
bool is_in_loops_only(const MatmulLoop &matmul);

/// Whether mma can multiply the tiles of the matmul of `fn`: the GPU has an instruction for the
/// element type without conversion, and each accumulator element is in one thread only.
bool fits_mma(const ir::Function &fn, const Gpu &gpu);

/// Whether operand `number` (0: A, 1: B) is contiguous along K in memory.
bool lies_along_k(const LoadedOperand &operand, const TensorAccess &access, int number);

/// Whether A may come from registers, element by element. For 8-bit types a register would have to
/// be packed from four elements.
bool fits_registers(ir::Elem elem);

/// Whether only B must come from registers. That requires swap_operands.
bool is_better_swapped(const MatmulLoop &matmul);

/// Whether TMA can load `operand`, which is A (`number` 0) or B, and the tensor cores can read it. In
/// shared memory they read operands that are contiguous along K or have 16-bit elements. A of wgmma
/// can also come from registers.
bool fits_copies(const ir::Function &fn, const LoadedOperand &operand, int number, const Gpu &gpu);

/// Whether producer warps can load operand `number` element by element, and store it in the layout
/// of the tensor cores.
bool fits_copies_by_threads(const ir::Function &fn, const MatmulLoop &matmul, int number);

/// Whether the tensor cores can read operand `number` after cp.async: 16-bit elements in rows of at
/// least 32 bytes.
bool fits_panel(const ir::Function &fn, const MatmulLoop &matmul, int number);

/// Whether the kernel may store to memory that it loads through `pointers`. The order of TMA loads
/// and such stores is undefined.
bool is_stored_to(ir::Function &fn, const ir::Value *pointers);

/// Whether all programs have the same number of K iterations, which the host can compute.
bool is_same_in_all_programs(const MatmulLoop &matmul);

/// Whether producers can compute the addresses and masks of a load, or of the operands: from parameters
/// and the counters of the loops around them.
bool can_be_followed(ir::Function &fn, const ir::Op &load);
bool can_be_followed(ir::Function &fn, const MatmulLoop &matmul);

/// Whether `value` is computed from loads in `block`, but not from a dot or a branch there.
bool is_computed_from_loads_only(const ir::Value *value, const ir::Block *block);

/// Whether the kernel can be warp-specialized with enough stages. `schedule` gives the producer
/// warps, the consumer groups and the epilogue stages.
bool can_specialize(ir::Function &fn, const Gpu &gpu, const Schedule &schedule);

/// The same for a kernel with any dots in loops: TMA loads their operands, but for an A that is
/// computed. Nothing else in such a loop accesses memory.
bool can_specialize_loads(ir::Function &fn, const Gpu &gpu, const Schedule &schedule);

/// Whether a launch may find that TMA cannot load or store a view: its alignment depends on the
/// arguments.
bool may_lack_maps(ir::Function &fn);

} // namespace tritonc
