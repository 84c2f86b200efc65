// Tensor maps and the boxes that tensor copies move: what cuTensorMapEncodeTiled describes.
//
// The 128 bytes of a map are opaque on GPUs; ours hold the same in an encoding of our own. Rules:
// CUDA Driver API, "Tensor Map Object Management"; PTX ISA, "Tensors", "Swizzling modes".
//
// A box lies in shared memory densely, dimension 0 fastest, its *rows* (along dimension 0) one
// behind the other. Then the 16-byte chunks of each span of 32, 64 or 128 bytes change places, by
// their addresses in shared memory: `swizzled`. Bounds are those of the tensor; elements of the
// box outside are filled on loads, left out on stores, and count as bytes all the same.
//
// Much isn't documented. This is what an H200 does:
//
//  - The box's first coordinate, times the bytes of an element, is a multiple of 16, and a box that
//    is stored (or reduced) begins at no negative coordinate. Else it is an illegal instruction.
//  - Stores and reductions know only 16-byte chunks: where a tensor's row ends within one, they
//    write all of it, behind the tensor. Loads end where the tensor does.
//  - All elements are filled with the 16-bit words 0x7ff7, or zero.
//  - Loads round tf32 to nearest, ties to even; of NaN they make 0x7fffe000. They don't flush
//    subnormal numbers, whatever the data type's name says.
//  - Sums of f32 and tf32 aren't rounded further; those of the types with (ftz) are flushed, as
//    their operands are. Their NaN are 0x7fffffff; of f64 an operand that is one stays as it is.
//  - The element stride of dimension 0 has no effect.
//  - Rows shorter than the swizzle's span begin at every span all the same; what lies between
//    isn't written and doesn't count. This emulator refuses such boxes.

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

/// CUtensorMapSwizzle, as far as Hopper has it.
enum class Swizzle : std::uint8_t { none, span32, span64, span128 };

/// Bytes of a span: in so many bytes chunks of 16 change places. 0 for `none`.
constexpr unsigned span_of(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 0 : 16u << unsigned(swizzle);
}

/// Where what would be at `address` is: bits 4 to 6, 5 or 4 of the address are exclusive-ored with
/// the bits from 7 on. It is its own inverse. The pattern repeats after 8 times the span.
constexpr uint32_t swizzled(Swizzle swizzle, uint32_t address) {
  uint32_t mask = (1u << unsigned(swizzle)) - 1;
  return address ^ (address >> 3 & mask << 4);
}

/// CUtensorMapFloatOOBfill: what elements outside of the tensor are loaded as.
enum class Fill : std::uint8_t { zero, not_a_number };

/// A tensor in global memory and the box that one copy moves. Dimension 0 is contiguous.
struct TensorMap {
  DataType type = DataType::f32;
  unsigned rank = 0;
  uint64_t address = 0;
  uint64_t sizes[5] = {};           // elements
  uint64_t strides[5] = {};         // bytes, [0] being an element's
  uint32_t box[5] = {};             // elements, before leaving some out
  uint32_t element_strides[5] = {}; // one of so many elements is moved; [0] is 1
  Swizzle swizzle = Swizzle::none;
  Fill fill = Fill::zero;

  /// Elements that a box has along a dimension.
  uint32_t count(unsigned dimension) const {
    return (box[dimension] + element_strides[dimension] - 1) / element_strides[dimension];
  }
  uint32_t row_bytes() const { return box[0] * bytes_of(type); }
  uint32_t rows() const;
  /// Of the box, in shared memory, those out of bounds included: what an mbarrier counts.
  uint32_t box_bytes() const { return rows() * row_bytes(); }
};

inline constexpr size_t tensor_map_bytes = 128, tensor_map_alignment = 64;
/// Of a box in shared memory.
inline constexpr uint32_t box_alignment = 128;

/// Arguments of cuTensorMapEncodeTiled, enumerations as its numbers. Arrays have `rank` elements,
/// `strides` one less.
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
    invalid,    // GPUs or the driver refuse it
    unmodelled, // they may not, but this emulator does
  };
  Kind kind = Kind::none;
  std::string text; // "box[0] has 10 bytes, which isn't a multiple of 16"
  explicit operator bool() const { return kind != Kind::none; }
};

/// Writes the 128 bytes at `map`, unless there is a problem.
Problem encode_tensor_map(void *map, const TensorMapArguments &arguments);

/// cuTensorMapReplaceAddress.
Problem replace_address(void *map, uint64_t address);

/// Reads them. Problem: they are no tensor map of ours, or damaged; the box can't be copied.
Problem decode_tensor_map(TensorMap &result, const void *map);

/// The way of a copy; reductions are stores.
enum class Transfer : std::uint8_t { load, store };

/// Problem: no copy of a box may begin at `coordinates` (innermost first).
Problem check_coordinates(const TensorMap &map, const int32_t *coordinates, Transfer transfer);

/// A row of a box that begins at `coordinates`, of which bytes `begin` to `end` are in the tensor.
/// Of a store, `end` is a multiple of 16 and up to 15 bytes behind the tensor's row.
struct BoxRow {
  uint64_t address = 0; // in global memory, of byte 0 of the row, be it in bounds or not
  uint32_t offset = 0;  // in the box, before chunks change places
  uint32_t begin = 0, end = 0;
};

/// Row `i` of 0 to rows() - 1. `coordinates` of the box's first element, innermost first, such as
/// check_coordinates accepts.
BoxRow box_row(const TensorMap &map, const int32_t *coordinates, uint32_t i,
               Transfer transfer = Transfer::load);

/// Puts a row into a box. `shared` is where the box's first byte is, `address` its address in
/// shared memory. `global` is byte `row.begin` of the row, whose bytes up to `row.end` are read;
/// the others are filled.
void load_row(const TensorMap &map, const BoxRow &row, std::byte *shared, uint32_t address,
              const void *global);

/// Takes a row out of a box: its bytes from `row.begin` to `row.end`, to `to`.
void store_row(const TensorMap &map, const BoxRow &row, const std::byte *shared, uint32_t address,
               void *to);

/// Where byte `offset` of a box lies, from its first byte on; 16 bytes from there on stay together
/// if `offset` is a multiple of 16.
constexpr uint32_t place_in_box(Swizzle swizzle, uint32_t address, uint32_t offset) {
  return swizzled(swizzle, address + offset) - address;
}

/// What copies to global memory can do with the elements that are there.
enum class Reduction : std::uint8_t { add, min, max };

/// Problem: there is no such reduction of this type.
Problem check_reduction(Reduction reduction, DataType type);

/// Combines the elements in `bytes` bytes at `from` with those at `to`. Each is changed at once, as
/// by an atomic operation; `to` is aligned as its type.
void reduce(Reduction reduction, DataType type, void *to, const void *from, uint32_t bytes);

} // namespace tritonc::emulator::models
