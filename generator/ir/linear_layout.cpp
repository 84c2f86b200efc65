// Implements LinearLayout: small GF(2) algebra on flat indices. See linear_layout.h.
//
// Tested by tests/unit/ir/linear_layout_test.cpp.

#include "ir/linear_layout.h"

#include <bit>
#include <cassert>

namespace tritonc::ir {

FlatIndex xor_of_set_bits(const std::vector<FlatIndex> &bases, uint32_t bits) {
  FlatIndex index = 0;
  for (size_t i = 0; i < bases.size(); i++)
    if (bits >> i & 1)
      index ^= bases[i];
  return index;
}

namespace {

std::string bases_text(const char *name, const Shape &shape, const std::vector<FlatIndex> &bases) {
  std::string out = name;
  for (FlatIndex basis : bases) {
    out += " (";
    std::vector<int64_t> coordinates = unflatten(shape, basis);
    for (size_t d = 0; d < coordinates.size(); d++)
      out += (d ? "," : "") + std::to_string(coordinates[d]);
    out += ")";
  }
  return out;
}

} // namespace

int log2_exact(int64_t extent) {
  assert(extent > 0 && std::has_single_bit(uint64_t(extent)));
  return std::countr_zero(uint64_t(extent));
}

int64_t element_count(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int axis_shift(const Shape &shape, int axis) {
  int shift = 0;
  for (size_t d = shape.size(); d-- > size_t(axis) + 1;)
    shift += log2_exact(shape[d]);
  return shift;
}

FlatIndex flatten(const Shape &shape, const std::vector<int64_t> &coordinates) {
  FlatIndex index = 0;
  for (size_t d = 0; d < shape.size(); d++)
    index = index << log2_exact(shape[d]) | FlatIndex(coordinates[d]);
  return index;
}

std::vector<int64_t> unflatten(const Shape &shape, FlatIndex index) {
  std::vector<int64_t> coordinates(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    coordinates[d] = index & (shape[d] - 1);
    index >>= log2_exact(shape[d]);
  }
  return coordinates;
}

FlatIndex LinearLayout::index(uint32_t r, uint32_t l, uint32_t w) const {
  return xor_of_set_bits(reg, r) ^ xor_of_set_bits(lane, l) ^ xor_of_set_bits(warp, w);
}

std::vector<uint32_t> LinearLayout::offset_bases() const {
  // Invert the matrix whose columns are `offset` by Gauss-Jordan elimination. Keep pairs of an
  // index and the offset bits that make it, and reduce until every index is a single bit.
  size_t n = offset.size();
  std::vector<FlatIndex> index = offset;
  std::vector<uint32_t> made_of(n);
  for (size_t i = 0; i < n; i++)
    made_of[i] = 1u << i;
  for (size_t bit = 0; bit < n; bit++) {
    size_t pivot = bit;
    while (pivot < n && !(index[pivot] >> bit & 1))
      pivot++;
    assert(pivot < n && "a shared layout must be a bijection");
    std::swap(index[bit], index[pivot]);
    std::swap(made_of[bit], made_of[pivot]);
    for (size_t i = 0; i < n; i++)
      if (i != bit && (index[i] >> bit & 1)) {
        index[i] ^= index[bit];
        made_of[i] ^= made_of[bit];
      }
  }
  return made_of;
}

uint32_t LinearLayout::offset_of(FlatIndex index) const {
  return xor_of_set_bits(offset_bases(), index);
}

LinearLayout LinearLayout::slice(int axis, bool keep_axis) const {
  int shift = axis_shift(shape, axis), width = log2_exact(shape[axis]);
  auto drop = [&](FlatIndex basis) -> FlatIndex {
    return (basis >> (shift + width) << shift) | (basis & ((1u << shift) - 1));
  };
  LinearLayout result;
  result.shape = shape;
  if (keep_axis)
    result.shape[axis] = 1;
  else
    result.shape.erase(result.shape.begin() + axis);
  for (FlatIndex basis : reg)
    if (drop(basis))
      result.reg.push_back(drop(basis));
  for (FlatIndex basis : lane)
    result.lane.push_back(drop(basis));
  for (FlatIndex basis : warp)
    result.warp.push_back(drop(basis));
  return result;
}

LinearLayout LinearLayout::permute(const std::vector<int> &perm) const {
  LinearLayout result;
  for (int from : perm)
    result.shape.push_back(shape[from]);
  auto move = [&](const std::vector<FlatIndex> &bases, std::vector<FlatIndex> &out) {
    for (FlatIndex basis : bases) {
      std::vector<int64_t> from = unflatten(shape, basis), to;
      for (int d : perm)
        to.push_back(from[d]);
      out.push_back(flatten(result.shape, to));
    }
  };
  move(reg, result.reg);
  move(lane, result.lane);
  move(warp, result.warp);
  move(offset, result.offset);
  return result;
}

std::string LinearLayout::text() const {
  if (is_shared())
    return bases_text("offset", shape, offset);
  return bases_text("reg", shape, reg) + " " + bases_text("lane", shape, lane) + " " +
         bases_text("warp", shape, warp);
}

} // namespace tritonc::ir
