// LinearLayout: which register, lane and warp, or which offset in shared memory, holds each element
// of a tile.
//
// A layout is a linear map over GF(2) from hardware bits to bits of the tile index. The hardware
// bits are:
// - for a tile in registers: the bits of the register number, the lane and the warp
// - for a buffer in shared memory: the bits of the offset, in elements
//
// Each hardware bit has a basis, an index. The index of an element is the xor of the bases of the
// set bits:
//
//     reg (0,1) (8,0)  lane (0,2) (0,4) (1,0) (2,0) (4,0)  warp (16,0)      a 32 x 8 tile
//
// Here register 3 of lane 4 in warp 0 holds element (0,1)^(8,0)^(1,0) = (9,1). A bit with a zero
// basis does not matter: it counts copies of the element. This one class describes blocked layouts,
// mma fragments, slices, transposes and swizzled shared memory. Vector widths, conversions and bank
// conflicts follow from it (F. Zhou et al., "Linear Layouts", arXiv 2505.23819).
//
// Tile extents are powers of two. An index is flat, with the last axis in the lowest bits.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc::ir {

using Shape = std::vector<int64_t>;

/// A flat tile index: the bits of all coordinates, the last axis lowest.
using FlatIndex = uint32_t;

/// The xor of the bases whose bit is set in `bits`.
FlatIndex xor_of_set_bits(const std::vector<FlatIndex> &bases, uint32_t bits);

struct LinearLayout {
  Shape shape;
  std::vector<FlatIndex> reg, lane, warp; // a tile in registers; lane has 5 bits
  std::vector<FlatIndex> offset;          // a buffer in shared memory: bit i of the element offset

  bool operator==(const LinearLayout &) const = default;

  bool is_shared() const { return !offset.empty(); }
  int registers() const { return 1 << reg.size(); }
  int warps() const { return 1 << warp.size(); }

  /// The flat index of the element in register `r` of lane `l` in warp `w`.
  FlatIndex index(uint32_t r, uint32_t l, uint32_t w) const;

  /// The offset of a flat index in a shared buffer, in elements. The layout must be a bijection.
  uint32_t offset_of(FlatIndex index) const;

  /// The offset contribution of each bit of the flat index. The xor of the contributions is
  /// `offset_of`.
  std::vector<uint32_t> offset_bases() const;

  /// The layout without axis `axis` (`keep_axis`: with extent 1 there). It drops register bits that
  /// no longer matter; lanes and warps then hold copies.
  LinearLayout slice(int axis, bool keep_axis) const;

  /// Axis d of the result is axis perm[d] of this layout.
  LinearLayout permute(const std::vector<int> &perm) const;

  /// The text form of the file comment, without the shape.
  std::string text() const;
};

/// The log2 of a power of two.
int log2_exact(int64_t extent);
FlatIndex flatten(const Shape &shape, const std::vector<int64_t> &coordinates);
std::vector<int64_t> unflatten(const Shape &shape, FlatIndex index);

/// The lowest bit of axis `axis` in a flat index.
int axis_shift(const Shape &shape, int axis);

int64_t element_count(const Shape &shape);

} // namespace tritonc::ir
