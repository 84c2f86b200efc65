// LinearLayout: which piece of hardware holds which element of a tile.
//
// A layout is a linear map over GF(2) from hardware bits to tile-index bits. It is given by where
// each hardware bit goes: the register number, the lane and the warp of a value held by threads, or
// the offset (in elements) of a buffer in shared memory. The index of an element is the xor of the
// bases of the bits that are set:
//
//     reg (0,1) (8,0)  lane (0,2) (0,4) (1,0) (2,0) (4,0)  warp (16,0)      a 32 x 8 tile
//
// says that register 3 of lane 4 in warp 0 holds element (0,1)^(8,0)^(1,0) = (9,1). A zero basis
// means that the bit does not matter: the element is there in several copies. Blocked layouts, mma
// fragments, slices, transposes and swizzled shared memory are all values of this one class, and
// vector widths, conversions and bank conflicts are computed from it (after F. Zhou et al., "Linear
// Layouts", arXiv 2505.23819).
//
// Tile extents are powers of two. An index is kept flat, the last axis in the lowest bits.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc::ir {

using Shape = std::vector<int64_t>;

/// A flat tile index: the coordinates' bits side by side, the last axis lowest.
using FlatIndex = uint32_t;

struct LinearLayout {
  Shape shape;
  std::vector<FlatIndex> reg, lane, warp; // a value held by threads; lane has 5 bits
  std::vector<FlatIndex> offset;          // a buffer in shared memory: bit i of the element offset

  bool operator==(const LinearLayout &) const = default;

  bool is_shared() const { return !offset.empty(); }
  int registers() const { return 1 << reg.size(); }
  int warps() const { return 1 << warp.size(); }

  /// Where register `r` of lane `l` in warp `w` points to.
  FlatIndex index(uint32_t r, uint32_t l, uint32_t w) const;

  /// The element offset of a flat index in a shared buffer. The layout must be a bijection.
  uint32_t offset_of(FlatIndex index) const;

  /// For each bit of the flat index, its contribution to the offset (xor of these gives
  /// `offset_of`).
  std::vector<uint32_t> offset_bases() const;

  /// The same hardware, without axis `axis` (`keep_axis`: with extent 1 there). Register bits that
  /// no longer matter are dropped; lanes and warps then hold copies.
  LinearLayout slice(int axis, bool keep_axis) const;

  /// Axis d of the result is axis perm[d] of this.
  LinearLayout permute(const std::vector<int> &perm) const;

  /// The text form of the header comment, without the shape.
  std::string text() const;
};

/// Axis sizes to bits: log2 of each extent.
int log2_exact(int64_t extent);
FlatIndex flatten(const Shape &shape, const std::vector<int64_t> &coordinates);
std::vector<int64_t> unflatten(const Shape &shape, FlatIndex index);

/// The first bit of axis `axis` in a flat index.
int axis_shift(const Shape &shape, int axis);

int64_t element_count(const Shape &shape);

} // namespace tritonc::ir
