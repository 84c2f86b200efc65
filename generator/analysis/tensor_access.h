// A memory access as the copy engine could do it: a box of a tensor.
//
// The view's affine form is taken apart. What every block agrees on before the launch moves the
// tensor's start; what is left of the offset is split by the strides into one coordinate per axis:
//
//     base A, offset pm*128*lda + t*64 + first, strides [lda, 1]
//     =>  tensor A + first, strides [lda, 1], box at (pm*128, t*64)
//
// Where the tensor ends. A mask `coordinate + i < bound` says it. Without a mask the program reads
// every element, so the tensor ends where the last program's last iteration reads: larger boxes
// than the source's, which reach further, then see zeros there.

#pragma once

#include "analysis/affine.h"

namespace tritonc {

/// Elements are on where i + before < 0, for their index i along `axis`.
struct Bound {
  int axis;
  Poly before;
};

/// What a mask of a tile of `rank` axes is made of; nothing if it is more than bounds.
std::optional<std::vector<Bound>> bounds_of(const ir::Value *mask, int rank);

/// The mask of a tile of `shape` that is on where all `bounds` hold; null if there are none.
ir::Value *emit_mask(ir::Builder &builder, const ir::Shape &shape,
                     const std::vector<Bound> &bounds);

/// How many elements of a tile of `shape` are on along each axis, from its start: all, or the least
/// that a bound says. A bound that holds for no element gives a negative number, or 0.
std::vector<ir::Value *> emit_limits(ir::Builder &builder, const ir::Shape &shape,
                                     const std::vector<Bound> &bounds);

/// How many elements there are along an axis, as formulas of what the host knows: the least of
/// `bounds`, if a mask says it. Else `touched` elements by the first program or iteration, and a
/// step more for each other one.
struct TensorExtent {
  std::vector<Poly> bounds;
  int64_t touched = 0;
  struct Repeated {
    const ir::Value *counter; // a program_id, a block_id, or the counter of a for_loop
    int64_t step;
  };
  std::vector<Repeated> repeated;
  bool known = true; // else: as many as there can be
};

struct TensorAccess {
  const ir::Value *base = nullptr; // a parameter
  Poly offset;                     // of the tensor's first element, in elements
  int contiguous = 0;              // the axis of stride 1
  std::vector<Poly> strides;
  std::vector<Poly> coordinates; // of the box's first element
  std::vector<TensorExtent> extents;
};

/// Why an access is none.
enum class NoTensor {
  not_affine,      // a gather, or an index that is no sum of products
  not_a_parameter, // the pointer is chosen or loaded
  no_contiguous,   // no axis has neighbours side by side
  strange_stride,  // a stride that the host does not know
  strange_offset,  // an offset that is no sum of multiples of the strides, or goes backwards
  strange_mask,    // a mask that is no comparison of coordinates with what the host knows
};

struct TensorAccessResult {
  std::optional<TensorAccess> access;
  NoTensor why = NoTensor::not_affine;
};

/// `pointers` is what the load or store accesses; `mask` may be null.
TensorAccessResult tensor_access(const ir::Value *pointers, const ir::Value *mask);

/// Whether all boxes start at a multiple of 16 bytes along the neighbours, as the copy engine
/// demands (another start is an illegal instruction on an H200).
bool starts_at_chunks(const TensorAccess &access, ir::Elem elem, const ir::Function &fn);

/// Emits a tensor_map of `access` at the top of the function, with the box that one copy moves.
ir::Value *emit_tensor_map(ir::Function &fn, size_t position, const TensorAccess &access,
                           ir::Elem elem, ir::Shape box, int swizzle_bytes);

} // namespace tritonc
