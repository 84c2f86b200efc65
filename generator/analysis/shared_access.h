// Computes how threads access a tile in shared memory: the addresses, the bytes that one
// instruction moves, and the bank conflicts. Addresses are a linear map of the bits of the register
// number, the lane and the warp.

#pragma once

#include "ir/ir.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tritonc {

/// The contribution of each bit to the address of an element in a stage, in bytes. An address is
/// the xor of the origin and of the images of the set bits.
struct SharedImages {
  std::vector<uint32_t> reg, lane, warp;
  uint32_t origin = 0;
};

/// The images of a tile in `layout` in a stage of `buffer`. `perm` and `origin` are the attributes
/// of shared_load; both empty: the tile is the whole stage.
SharedImages shared_images(const ir::Type &buffer, const ir::LinearLayout &layout,
                           const std::vector<int64_t> &perm = {},
                           const std::vector<int64_t> &origin = {});

/// The images of a shared_load or shared_store.
SharedImages shared_images(const ir::Op &access);

/// How ldmatrix loads a tile and stmatrix stores it. Lanes 0 to 7 address the rows of a matrix (16
/// bytes each). Some register bits select the matrix.
struct MatrixAccess {
  bool trans;
  size_t packed;                   // number of register bits inside a 32-bit word: the lowest
  std::vector<uint32_t> rows;      // images of the lowest three lane bits
  std::vector<size_t> matrix_bits; // register bits

  /// The register bits that select a matrix of one instruction, which has at most four matrices.
  std::vector<size_t> chosen() const;

  /// The images of the lane bits of the addresses that the lanes pass.
  std::vector<uint32_t> addressed(const std::vector<uint32_t> &register_images) const;
};

/// The ldmatrix or stmatrix access of a tile; nullopt: vector accesses move it, or the GPU lacks
/// the instruction. ldmatrix can load a tile if its layout is that of the result of ldmatrix: lane
/// l holds 32-bit word l of 8 rows of 16 bytes (transposed: of 8 columns of 16-bit elements).
/// stmatrix can store tiles of 16-bit elements with this layout.
std::optional<MatrixAccess> matrix_access(const ir::Op &access, bool has_instruction);

/// The register bits that one vector spans, in address order: the bits that contribute 1, 2, 4...
/// elements, if no other bit contributes there, up to 16 bytes.
std::vector<size_t> vector_bits(const SharedImages &images, uint32_t element_bytes);

/// The slowdown by bank conflicts of an access of `bytes` (4 to 16) per lane at `addresses`; 1: no
/// conflicts. A warp accesses 128 bytes at a time: 16 bytes each by 8 lanes, 8 bytes by 16, or 4
/// bytes by 32.
double bank_conflicts(const std::vector<uint32_t> &addresses, uint32_t bytes);

/// One instruction of a shared_load or shared_store.
struct SharedAccess {
  bool by_matrix = false; // ldmatrix, stmatrix
  int lanes = 32;         // lanes that pass addresses
  uint32_t bytes = 0;     // per address
  double conflicts = 1;   // see bank_conflicts
};
SharedAccess shared_access(const ir::Op &access, bool has_matrix_instruction);

} // namespace tritonc
