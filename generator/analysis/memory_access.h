// Computes from the address of a memory access which axis is contiguous, and how many elements one
// instruction can move.

#pragma once

#include "ir/ir.h"

#include <map>

namespace tritonc {

inline constexpr int64_t widest_access_bytes = 16; // of a thread
inline constexpr int64_t sector_bytes = 32;        // the smallest memory transaction

/// The axis along which `value` is contiguous in memory. `value` is a view or a tile of pointers,
/// or a tile computed from the elements there by elementwise operations and transposes. Of several
/// axes of pointers, the one with the longest contiguous groups. nullopt: no axis.
std::optional<int> contiguous_axis(const ir::Value *value, const ir::Function &fn);

/// The number of elements in each contiguous group along `axis`. The extent of the axis for views.
int64_t contiguous_elements(const ir::Value *pointers, int axis, const ir::Function &fn);

/// The parameter (or workspace) from which a pointer, a tile of pointers or a view is computed;
/// null: unknown.
const ir::Value *root_of(const ir::Value *pointers);

/// Whether two accesses may be to the same element. The language has a rule for two parameters
/// (docs/pages/language/memory.md): only if both access tiles of the same type at the same index, so
/// in the same iteration of a loop.
enum class Overlap { none, same_index, any };
Overlap overlap_of(const ir::Function &fn, const ir::Op &a, const ir::Op &b);

/// Whether `op` is a load without an order among other loads: it does not wait for other threads.
bool is_unordered_load(const ir::Op &op);

/// The mask of a load, a store or an atomic operation; null: none.
const ir::Value *mask_of(const ir::Op &access);

/// The maximum number of elements per access along the contiguous axis: each aligned group is
/// contiguous, aligned to its size, at most 16 bytes, and masked as a whole. `mask` may be null.
/// The result is a power of two, at least 1.
int vector_elements(const ir::Value *pointers, const ir::Value *mask, const ir::Function &fn);

/// As `vector_elements`, but also of a ragged view, whose accesses move a vector where they find it
/// aligned and on.
int access_elements(const ir::Value *pointers, const ir::Value *mask, const ir::Function &fn);

/// Whether `pointers` is a view with {ragged}.
bool is_ragged(const ir::Value *pointers);

/// Which values depend on the number of the program or of the block.
class DiffersByProgram {
public:
  bool operator()(const ir::Value *value);

  /// Whether all programs load the elements of `load`, maybe shifted by align_tiles: then they are
  /// in a cache.
  bool is_cached(const ir::Op &load);

private:
  std::map<const ir::Value *, bool> known_;
};

} // namespace tritonc
