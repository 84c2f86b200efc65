// How threads get at a tile in shared memory: addresses as a linear map of the bits of register
// number, lane and warp, what one instruction moves, and how often it meets itself in a bank.

#pragma once

#include "ir/ir.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tritonc {

/// What each bit contributes to where an element is in a slot, in bytes: the address is the xor of
/// those of the bits that are set, and of the origin.
struct SharedImages {
  std::vector<uint32_t> reg, lane, warp;
  uint32_t origin = 0;
};

/// Of a tile in `layout`, in a slot of `buffer`. `perm` and `origin` as on shared_load; both empty:
/// the tile is the whole slot.
SharedImages shared_images(const ir::Type &buffer, const ir::LinearLayout &layout,
                           const std::vector<int64_t> &perm = {},
                           const std::vector<int64_t> &origin = {});

/// Of a shared_load or shared_store.
SharedImages shared_images(const ir::Op &access);

/// How ldmatrix fetches a tile, and stmatrix puts it back: what lanes 0 to 7 address (the rows of a
/// matrix, 16 bytes each), and which register bits choose between matrices.
struct MatrixAccess {
  bool trans;
  size_t packed;                   // register bits inside a 32-bit word: the lowest
  std::vector<uint32_t> rows;      // images of the lowest three bits of the lane
  std::vector<size_t> matrix_bits; // register bits

  /// The register bits that choose between the matrices of one instruction, of which there are at
  /// most four.
  std::vector<size_t> chosen() const;

  /// What the bits of a lane address.
  std::vector<uint32_t> addressed(const std::vector<uint32_t> &register_images) const;
};

/// A load is done by ldmatrix where the layout is that of its result: lane l holds the 32-bit word
/// l of 8 rows of 16 bytes (or, transposing, of 8 columns of 16-bit elements). A store of 16-bit
/// elements is done by stmatrix in the same case. Nothing if it is done by vectors, as it is where
/// the GPU does not have that instruction.
std::optional<MatrixAccess> matrix_access(const ir::Op &access, bool has_instruction);

/// The register bits that one vector spans, in the order of the addresses: those that contribute 1,
/// 2, 4... elements, which nothing else does, up to 16 bytes.
std::vector<size_t> vector_bits(const SharedImages &images, uint32_t element_bytes);

/// How many times as long an access takes because lanes want different words of a bank at one time,
/// of `bytes` (4 to 16) by each lane at `addresses`: 1 if they never do. A warp accesses 128 bytes
/// at a time: 16 bytes each by 8 lanes, 8 by 16, 4 by all.
double bank_conflicts(const std::vector<uint32_t> &addresses, uint32_t bytes);

/// What one instruction of a shared_load or shared_store does.
struct SharedAccess {
  bool by_matrix = false; // ldmatrix, stmatrix
  int lanes = 32;         // that say where something is
  uint32_t bytes = 0;     // at each of these places
  double conflicts = 1;   // see bank_conflicts
};
SharedAccess shared_access(const ir::Op &access, bool has_matrix_instruction);

} // namespace tritonc
