// What structures demand of a product: that the tensor cores can multiply its tiles, that somebody
// can copy its factors, and that nothing else is in the way. Whether it is worth it is not asked.

#pragma once

#include "analysis/product_loop.h"
#include "analysis/tensor_access.h"
#include "ir/ir.h"
#include "passes/structure.h"
#include "target/gpu.h"

namespace tritonc {

/// Whether a program does things in an order of its own, by atomic operations or barriers of the
/// source: then blocks do one program each, with all their warps, and in that order.
bool has_own_order(ir::Function &fn);

/// Whether nothing but loops is around the product: the copying warps repeat them.
bool is_in_loops_only(const ProductLoop &product);

/// Whether wgmma has products of this type, with such sums.
bool is_type_of_wgmma(const ir::Op &dot);

/// Whether wgmma can multiply these tiles.
bool fits_wgmma(const ir::Op &dot, const Structure &structure = {});

/// Whether mma can multiply the tiles of the product of `fn`: the GPU has an instruction for the
/// factors as they are, and no element of the sum is in more than one thread.
bool fits_mma(const ir::Function &fn, const Gpu &gpu);

/// Whether the neighbours of factor `number` (0: left, 1: right) are neighbours along K.
bool lies_along_k(const LoadedFactor &factor, const TensorAccess &access, int number);

/// Whether the left factor may come from registers, element by element. Four numbers of 8 bits
/// would have to be put together for each of them.
bool fits_registers(ir::Elem elem);

/// Whether only the right factor must come from registers: the product has to be swapped for that.
bool is_better_swapped(const ProductLoop &product);

/// Whether the copy engine can load factor `number`, and the tensor cores read it. What they read
/// from shared memory has neighbours along K, or 16-bit elements; the left factor of wgmma can also
/// come from registers.
bool fits_copies(const ir::Function &fn, const ProductLoop &product, int number, const Gpu &gpu);

/// Whether warps that copy can load factor `number` element by element, and store it as the tensor
/// cores read it.
bool fits_copies_by_threads(const ProductLoop &product, int number);

/// Whether the tensor cores can read factor `number` where cp.async has put it: 16-bit elements in
/// rows of at least 32 bytes.
bool fits_panel(const ProductLoop &product, int number);

/// Whether something else may store to what is loaded through `pointers`: the copy engine loads
/// when it likes.
bool is_stored_to(ir::Function &fn, const ir::Value *pointers);

/// Whether whoever copies can compute where from, and what is masked off: from parameters and the
/// counters of the loops around.
bool can_be_followed(ir::Function &fn, const ProductLoop &product);

/// Whether some warps can copy and the others multiply, with a ring of enough slots. Who copies,
/// and how many pieces of results are staged, `structure` says.
bool can_specialize(ir::Function &fn, const Gpu &gpu, const Structure &structure);

/// Whether a launch may find that the copy engine does not take a view that is loaded or stored.
bool may_lack_maps(ir::Function &fn);

} // namespace tritonc
