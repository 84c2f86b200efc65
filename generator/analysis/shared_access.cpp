// Computes the addresses, widths and bank conflicts of shared memory accesses. See shared_access.h.
//
// Tested by tests/unit/analysis/shared_access_test.cpp.

#include "analysis/shared_access.h"

#include <algorithm>
#include <map>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

constexpr uint32_t row_bytes = 16; // bytes per row of an ldmatrix matrix; also the widest vector

bool whole_rows(uint32_t image) { return image % row_bytes == 0; }
bool whole_rows(const std::vector<uint32_t> &images, size_t from = 0) {
  return std::all_of(images.begin() + from, images.end(), [](uint32_t i) { return whole_rows(i); });
}

const Value *tile_of(const Op &access) {
  return access.is(Opcode::shared_load_) ? access.result() : access.operand(0);
}

const Type &buffer_of(const Op &access) {
  return access.operand(access.is(Opcode::shared_load_) ? 0 : 1)->type;
}

} // namespace

SharedImages shared_images(const Type &buffer, const LinearLayout &layout,
                           const std::vector<int64_t> &perm, const std::vector<int64_t> &origin) {
  const Shape &shape = buffer.layout->shape;
  const std::vector<uint32_t> bases = buffer.layout->offset_bases();
  const auto bytes = uint32_t(bytes_of(buffer.elem));
  // Axis d of the tile is axis perm[d] of the stage.
  auto image_at = [&](const std::vector<int64_t> &coordinates) {
    std::vector<int64_t> moved(coordinates.size());
    for (size_t d = 0; d < coordinates.size(); d++)
      moved[perm.empty() ? d : size_t(perm[d])] = coordinates[d];
    return xor_of_set_bits(bases, flatten(shape, moved)) * bytes;
  };
  auto images_of = [&](const std::vector<FlatIndex> &bits) {
    std::vector<uint32_t> images;
    for (FlatIndex basis : bits)
      images.push_back(image_at(unflatten(layout.shape, basis)));
    return images;
  };
  return {.reg = images_of(layout.reg),
          .lane = images_of(layout.lane),
          .warp = images_of(layout.warp),
          .origin = origin.empty() ? 0 : image_at(origin)};
}

SharedImages shared_images(const Op &access) {
  return shared_images(buffer_of(access), *tile_of(access)->type.layout, access.get(attr::perm_),
                       access.get(attr::origin_));
}

std::vector<size_t> MatrixAccess::chosen() const {
  return {matrix_bits.begin(),
          matrix_bits.begin() + std::min<ptrdiff_t>(2, ptrdiff_t(matrix_bits.size()))};
}

std::vector<uint32_t> MatrixAccess::addressed(const std::vector<uint32_t> &register_images) const {
  std::vector<uint32_t> images = rows;
  for (size_t bit : chosen())
    images.push_back(register_images[bit]);
  return images;
}

std::optional<MatrixAccess> matrix_access(const Op &access, bool has_instruction) {
  const Type &tile = tile_of(access)->type;
  const int element_bytes = bytes_of(tile.elem);
  const auto &[reg, lane, warp, origin] = shared_images(access);
  // All lanes of a warp execute stmatrix, so no lane may hold only copies.
  const std::vector<FlatIndex> &lanes = tile.layout->lane;
  bool has_copies = std::find(lanes.begin(), lanes.end(), 0u) != lanes.end();
  bool fits =
      access.is(Opcode::shared_store_) ? element_bytes == 2 && !has_copies : element_bytes <= 4;
  if (!has_instruction || !fits)
    return std::nullopt;
  auto packed = size_t(log2_exact(4 / element_bytes));
  if (reg.size() < packed || !whole_rows(warp) || !whole_rows(reg, packed))
    return std::nullopt;
  MatrixAccess load{.trans = false, .packed = packed, .rows = {}, .matrix_bits = {}};
  for (size_t bit = packed; bit < reg.size(); bit++)
    load.matrix_bits.push_back(bit);
  bool plain = lane[0] == 4 && lane[1] == 8 && whole_rows(lane, 2);
  for (size_t bit = 0; bit < packed; bit++)
    plain = plain && reg[bit] == uint32_t(element_bytes) << bit;
  if (plain) {
    load.rows = {lane[2], lane[3], lane[4]};
    return load;
  }
  bool trans = element_bytes == 2 && lane[2] == 2 && lane[3] == 4 && lane[4] == 8 &&
               whole_rows(reg[0]) && whole_rows(lane[0]) && whole_rows(lane[1]);
  if (!trans)
    return std::nullopt;
  load.trans = true;
  load.rows = {reg[0], lane[0], lane[1]};
  return load;
}

std::vector<size_t> vector_bits(const SharedImages &images, uint32_t element_bytes) {
  std::vector<size_t> bits;
  for (uint32_t width = element_bytes; width < row_bytes; width *= 2) {
    auto found = std::find(images.reg.begin(), images.reg.end(), width);
    auto interferes = [&](uint32_t image) { return image & width; };
    bool others = std::any_of(images.lane.begin(), images.lane.end(), interferes) ||
                  std::any_of(images.warp.begin(), images.warp.end(), interferes) ||
                  std::count_if(images.reg.begin(), images.reg.end(), interferes) > 1;
    if (found == images.reg.end() || others)
      break;
    bits.push_back(size_t(found - images.reg.begin()));
  }
  return bits;
}

double bank_conflicts(const std::vector<uint32_t> &addresses, uint32_t bytes) {
  constexpr uint32_t word_bytes = 4, banks = 32;
  size_t lanes_at_once = bytes == 16 ? 8 : bytes == 8 ? 16 : 32;
  size_t taken = 0, times = 0;
  for (size_t first = 0; first < addresses.size(); first += lanes_at_once, times++) {
    std::map<uint32_t, std::set<uint32_t>> words_of_bank;
    for (size_t lane = first; lane < std::min(first + lanes_at_once, addresses.size()); lane++)
      for (uint32_t byte = 0; byte < bytes; byte++) {
        uint32_t word = (addresses[lane] + byte) / word_bytes;
        words_of_bank[word % banks].insert(word);
      }
    size_t max_value = 0;
    for (const auto &[bank, words] : words_of_bank)
      max_value = std::max(max_value, words.size());
    taken += max_value;
  }
  return double(taken) / double(times);
}

SharedAccess shared_access(const Op &access, bool has_matrix_instruction) {
  const SharedImages images = shared_images(access);
  const auto element_bytes = uint32_t(bytes_of(tile_of(access)->type.elem));
  SharedAccess result;
  std::vector<uint32_t> lanes = images.lane;
  if (std::optional<MatrixAccess> matrices = matrix_access(access, has_matrix_instruction)) {
    lanes = matrices->addressed(images.reg);
    result = {.by_matrix = true, .lanes = 1 << lanes.size(), .bytes = row_bytes};
  } else {
    result.bytes = element_bytes << vector_bits(images, element_bytes).size();
  }
  std::vector<uint32_t> addresses;
  for (uint32_t lane = 0; lane < uint32_t(result.lanes); lane++)
    addresses.push_back(images.origin ^ xor_of_set_bits(lanes, lane));
  result.conflicts = bank_conflicts(addresses, result.bytes);
  return result;
}

} // namespace tritonc
