// Describes a memory access as TMA can do it: a box of a tensor.
//
// The analysis splits the view's affine form. Terms that the host can compute before the launch
// move the start of the tensor. The strides split the other terms of the offset into one coordinate
// per axis:
//
//     base A, offset pm*128*lda + t*64 + first, strides [lda, 1]
//     =>  tensor A + first, strides [lda, 1], box at (pm*128, t*64)
//
// A term on none of the tile's axes is on an outer axis of the tensor, along which the box has one
// element: the matrices of a batch, the heads of an attention, the groups of a convolution. Its
// stride is what the host can compute of the term, and its coordinate is the rest:
//
//     base A, offset b*batch_a + pm*128*lda + t*64, strides [lda, 1]
//     =>  tensor A, strides [batch_a, lda, 1], box at (b, pm*128, t*64)
//
// Tensor extents: a mask `coordinate + i < bound` gives the extent of its axis. Without a mask the
// program reads every element, so the tensor ends where the last iteration of the last program
// reads. Boxes that are larger than the source's tiles then read zeros beyond it.

#pragma once

#include "analysis/affine.h"

namespace tritonc {

/// An element with index i along `axis` is on if i + before < 0.
struct Bound {
  int axis;
  Poly before;
};

/// Whether the host can compute `poly`.
bool host_knows(const Poly &poly);

/// The bounds of a mask of a tile with `rank` axes; nullopt: the mask is not a conjunction of
/// bounds.
std::optional<std::vector<Bound>> bounds_of(const ir::Value *mask, int rank);

/// The mask of a tile of `shape` that is on where all `bounds` hold; null: no bounds.
ir::Value *emit_mask(ir::Builder &builder, const ir::Shape &shape,
                     const std::vector<Bound> &bounds);

/// The number of elements along each axis, from the start, that are on in a tile of `shape`: the
/// minimum over its bounds, or the extent. It is 0 or negative if a bound holds for no element.
std::vector<ir::Value *> emit_limits(ir::Builder &builder, const ir::Shape &shape,
                                     const std::vector<Bound> &bounds);

/// The extent of a tensor along an axis, in expressions that the host can compute. With a mask: the
/// minimum of `bounds`. Else: `touched` elements in the first program or iteration, plus a step for
/// each further program or iteration.
struct TensorExtent {
  std::vector<Poly> bounds;
  int64_t touched = 0;
  struct Repeated {
    /// A program_id, a block_id, the counter of a for_loop, or a quotient or remainder of one by a
    /// divisor that the host can compute.
    const ir::Value *counter;
    int64_t step;
  };
  std::vector<Repeated> repeated;
  bool known = true; // false: the maximum extent
};

/// The most axes of a tensor of TMA.
inline constexpr size_t max_tensor_axes = 5;

/// An axis along which the box has one element.
struct OuterAxis {
  Poly stride;
  Poly coordinate;
  TensorExtent extent;
};

struct TensorAccess {
  const ir::Value *base = nullptr; // a parameter
  Poly offset;                     // elements from the base to the tensor's first element
  std::vector<OuterAxis> outer;    // the axes of the tensor before those of the tile
  int contiguous = 0;              // the axis of the tile with stride 1
  // Of the axes of the tile:
  std::vector<Poly> strides;
  std::vector<Poly> coordinates; // of the box's first element
  std::vector<TensorExtent> extents;
};

/// Why an access is not a TensorAccess.
enum class NoTensor {
  not_affine,      // a gather, or an index that is not a sum of products
  not_a_parameter, // the pointer is selected or loaded
  no_contiguous,   // no axis is contiguous
  strange_stride,  // the host cannot compute a stride
  strange_offset,  // a term may be negative, or is not a counter times a stride, or too many axes
  strange_mask,    // the mask does not compare coordinates with values that the host can compute
};

struct TensorAccessResult {
  std::optional<TensorAccess> access;
  NoTensor why = NoTensor::not_affine;
};

/// `pointers`: the pointers or view of the load or store. `mask` may be null.
TensorAccessResult tensor_access(const ir::Value *pointers, const ir::Value *mask);

/// Returns whether all boxes start at a multiple of 16 bytes along the contiguous axis. TMA
/// requires it (otherwise: illegal instruction on an H200).
bool starts_at_chunks(const TensorAccess &access, ir::Elem elem, const ir::Function &fn);

/// Emits a tensor_map of `access` at the top of the function. One copy moves `box`, the extents
/// along the tile's axes.
ir::Value *emit_tensor_map(ir::Function &fn, size_t position, const TensorAccess &access,
                           ir::Elem elem, ir::Shape box, int swizzle_bytes);

} // namespace tritonc
