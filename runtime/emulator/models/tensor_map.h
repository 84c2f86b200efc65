// Models tensor maps (cuTensorMapEncodeTiled) and the boxes that tensor copies move.
//
// The 128 bytes of a GPU's map are opaque. The emulator's map holds the same data in its own
// encoding. Rules: CUDA Driver API, "Tensor Map Object Management"; PTX ISA, "Tensors", "Swizzling
// modes".
//
// A box is dense in shared memory: dimension 0 is contiguous, and its *rows* (along dimension 0)
// follow each other. Then `swizzled` permutes the 16-byte chunks of each span of 32, 64 or 128
// bytes by their addresses in shared memory. Box elements outside the tensor's bounds are filled on
// loads and skipped on stores; their bytes count in both cases.
//
// Much is not documented. An H200 does the following:
//
//  - Requires that the box's first coordinate times the element size is a multiple of 16. A stored
//    (or reduced) box must not start at a negative coordinate. Otherwise: illegal instruction.
//  - Stores and reductions write whole 16-byte chunks: if a tensor's row ends within a chunk, they
//    also write the rest of the chunk, after the tensor. Loads stop at the end of the tensor.
//  - Out-of-bounds elements are filled with the 16-bit words 0x7ff7, or with zero.
//  - Loads round tf32 to nearest, ties to even, and convert NaN to 0x7fffe000. They don't flush
//    subnormal values, whatever the data type's name says.
//  - Reductions don't round sums of f32 and tf32 further. The (ftz) types flush operands and sums.
//    NaN results are 0x7fffffff; for f64, a NaN operand stays unchanged.
//  - The element stride of dimension 0 has no effect.
//  - Rows shorter than the swizzle's span still start at every span. The bytes in between are not
//    written and don't count. The emulator refuses such boxes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tritonc::emulator::models {

/// CUtensorMapDataType.
enum class DataType : std::uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  packed_u4_align8,
  packed_u4_align16,
  packed_u6_align16,
};
unsigned bytes_of(DataType type); // 0 for the packed types
const char *name_of(DataType type);

/// CUtensorMapSwizzle, the modes of Hopper.
enum class Swizzle : std::uint8_t { none, span32, span64, span128 };

/// Bytes of a span, in which the swizzle permutes 16-byte chunks. 0 for `none`.
constexpr unsigned span_of(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 0 : 16u << unsigned(swizzle);
}

/// Maps an unswizzled address to its swizzled address: XORs bits 4 to 6, 4 to 5, or 4 (for 128, 64,
/// 32 bytes) with the bits from 7 on. It is its own inverse. The pattern repeats every 8 spans.
constexpr uint32_t swizzled(Swizzle swizzle, uint32_t address) {
  uint32_t mask = (1u << unsigned(swizzle)) - 1;
  return address ^ (address >> 3 & mask << 4);
}

/// CUtensorMapFloatOOBfill: the value loaded for elements outside the tensor.
enum class Fill : std::uint8_t { zero, not_a_number };

/// A tensor in global memory and the box that one copy moves. Dimension 0 is contiguous.
struct TensorMap {
  DataType type = DataType::f32;
  unsigned rank = 0;
  uint64_t address = 0;
  uint64_t sizes[5] = {};           // elements
  uint64_t strides[5] = {};         // bytes; [0] = element size
  uint32_t box[5] = {};             // elements, before element strides
  uint32_t element_strides[5] = {}; // one of this many elements is copied; [0] is 1
  Swizzle swizzle = Swizzle::none;
  Fill fill = Fill::zero;

  /// Elements of a box along a dimension.
  uint32_t count(unsigned dimension) const {
    return (box[dimension] + element_strides[dimension] - 1) / element_strides[dimension];
  }
  uint32_t row_bytes() const { return box[0] * bytes_of(type); }
  uint32_t rows() const;
  /// Bytes of the box in shared memory, including out-of-bounds elements: the mbarrier's count.
  uint32_t box_bytes() const { return rows() * row_bytes(); }
};

inline constexpr size_t tensor_map_bytes = 128, tensor_map_alignment = 64;
/// Alignment of a box in shared memory, in bytes.
inline constexpr uint32_t box_alignment = 128;

/// Arguments of cuTensorMapEncodeTiled, with enumerations as integers. Arrays have `rank` elements;
/// `strides` has `rank` - 1.
struct TensorMapArguments {
  int type = 0;
  uint32_t rank = 0;
  uint64_t address = 0;
  const uint64_t *sizes = nullptr;
  const uint64_t *strides = nullptr;
  const uint32_t *box = nullptr;
  const uint32_t *element_strides = nullptr;
  int interleave = 0;
  int swizzle = 0;
  int l2_promotion = 0;
  int fill = 0;
};

struct Problem {
  enum class Kind : std::uint8_t {
    none,
    invalid,   // the GPU or the driver refuses it
    unmodeled, // the GPU may support it, but the emulator does not
  };
  Kind kind = Kind::none;
  std::string text; // "a row of the box has 10 bytes, which is not a multiple of 16"
  explicit operator bool() const { return kind != Kind::none; }
};

/// Writes the 128 bytes at `map`, or returns a problem.
Problem encode_tensor_map(void *map, const TensorMapArguments &arguments);

/// cuTensorMapReplaceAddress.
Problem replace_address(void *map, uint64_t address);

/// Decodes a map. Problem: not a map of this emulator, damaged, or the box cannot be copied.
Problem decode_tensor_map(TensorMap &result, const void *map);

/// The direction of a copy; reductions are stores.
enum class Transfer : std::uint8_t { load, store };

/// Problem: a copy of a box must not start at `coordinates` (innermost first).
Problem check_coordinates(const TensorMap &map, const int32_t *coordinates, Transfer transfer);

/// A row of a box. Bytes `begin` to `end` are in the tensor. For a store, `end` is a multiple of 16
/// and up to 15 bytes after the end of the tensor's row.
struct BoxRow {
  uint64_t address = 0; // global address of byte 0 of the row, in bounds or not
  uint32_t offset = 0;  // in the box, before the swizzle
  uint32_t begin = 0, end = 0;
};

/// Row `i`, 0 to rows() - 1. `coordinates` of the box's first element, innermost first; they must
/// pass check_coordinates.
BoxRow box_row(const TensorMap &map, const int32_t *coordinates, uint32_t i,
               Transfer transfer = Transfer::load);

/// Writes a row to a box. `shared` points to the box's first byte; `address` is its shared address.
/// `global` points to byte `row.begin` of the row. Bytes from `row.begin` to `row.end` are read
/// from there; the other bytes are filled.
void load_row(const TensorMap &map, const BoxRow &row, std::byte *shared, uint32_t address,
              const void *global);

/// Copies bytes `row.begin` to `row.end` of a row from a box to `to`.
void store_row(const TensorMap &map, const BoxRow &row, const std::byte *shared, uint32_t address,
               void *to);

/// The swizzled offset of byte `offset` of a box at `address`. If `offset` is a multiple of 16, the
/// 16 bytes from there on are contiguous.
constexpr uint32_t place_in_box(Swizzle swizzle, uint32_t address, uint32_t offset) {
  return swizzled(swizzle, address + offset) - address;
}

/// The operation of a reducing copy to global memory.
enum class Reduction : std::uint8_t { add, min, max };

/// Problem: the type does not support this reduction.
Problem check_reduction(Reduction reduction, DataType type);

/// Combines the elements in `bytes` bytes at `from` with the elements at `to`. Updates each element
/// atomically; `to` must be aligned to its type.
void reduce(Reduction reduction, DataType type, void *to, const void *from, uint32_t bytes);

} // namespace tritonc::emulator::models
