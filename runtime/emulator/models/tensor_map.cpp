// Checks, encodes, and decodes tensor maps, and copies the rows of their boxes. See tensor_map.h.

#include "tensor_map.h"

#include "accumulation.h"
#include "numbers.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace tritonc::emulator::models {

namespace {

constexpr struct {
  const char *name;
  unsigned bytes;
  bool floating;
} data_types[] = {
    {"u8", 1, false},
    {"u16", 2, false},
    {"u32", 4, false},
    {"s32", 4, false},
    {"u64", 8, false},
    {"s64", 8, false},
    {"f16", 2, true},
    {"f32", 4, true},
    {"f64", 8, true},
    {"bf16", 2, true},
    {"f32 (ftz)", 4, true},
    {"tf32", 4, true},
    {"tf32 (ftz)", 4, true},
    {"u4 (align 8)", 0, false},
    {"u4 (align 16)", 0, false},
    {"u6 (align 16)", 0, false},
};

// The encoding of the 128 bytes.
struct Encoded {
  char magic[8];
  uint64_t address;
  uint64_t strides[4];
  uint32_t sizes[5]; // minus 1
  uint8_t box[5];    // minus 1
  uint8_t element_strides[5];
  uint8_t type, rank, swizzle, fill;
  uint8_t unused[34];
  uint64_t check;
};
static_assert(sizeof(Encoded) == tensor_map_bytes && std::is_trivially_copyable_v<Encoded>);

constexpr char magic[8] = {'T', 'C', ' ', 't', 'm', 'a', 'p', '1'};

// FNV-1a of all bytes before `check`, to detect bytes that are not a map or were modified.
uint64_t check_of(const Encoded &map) {
  unsigned char bytes[offsetof(Encoded, check)];
  std::memcpy(bytes, &map, sizeof bytes);
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// Shared memory of an SM, in bytes; the driver for an H200 refuses larger boxes.
constexpr uint32_t max_box_bytes = 228 * 1024;

Problem invalid(std::string text) { return {Problem::Kind::invalid, std::move(text)}; }
Problem unmodeled(std::string text) { return {Problem::Kind::unmodeled, std::move(text)}; }

std::string element(const char *array, unsigned i, uint64_t value) {
  return std::string(array) + "[" + std::to_string(i) + "] is " + std::to_string(value);
}

Problem check_address(uint64_t address) {
  if (address % 16 != 0)
    return invalid("the tensor's address is not a multiple of 16");
  return {};
}

Problem check_sizes(const TensorMapArguments &arguments) {
  for (unsigned i = 0; i < arguments.rank; i++)
    if (uint64_t size = arguments.sizes[i]; size == 0 || size > uint64_t(1) << 32)
      return invalid(element("the tensor's size", i, size) + ", but must be from 1 to 2^32");
  for (unsigned i = 0; i + 1 < arguments.rank; i++) {
    uint64_t stride = arguments.strides[i];
    if (stride % 16 != 0)
      return invalid(element("the stride", i, stride) + " bytes, which is not a multiple of 16");
    if (stride >= uint64_t(1) << 40)
      return invalid(element("the stride", i, stride) + " bytes, but must be less than 2^40");
  }
  return {};
}

Problem check_box(const TensorMapArguments &arguments, DataType type, Swizzle swizzle) {
  for (unsigned i = 0; i < arguments.rank; i++) {
    if (uint32_t size = arguments.box[i]; size == 0 || size > 256)
      return invalid(element("the box's size", i, size) + ", but must be from 1 to 256");
    if (uint32_t stride = arguments.element_strides[i]; stride == 0 || stride > 8)
      return invalid(element("the element stride", i, stride) + ", but must be from 1 to 8");
  }
  uint32_t row = arguments.box[0] * bytes_of(type);
  std::string has = "a row of the box has " + std::to_string(row) + " bytes";
  if (row % 16 != 0)
    return invalid(has + ", which is not a multiple of 16");
  if (unsigned span = span_of(swizzle); span != 0 && row > span)
    return invalid(has + ", more than the " + std::to_string(span) + " bytes of the swizzle");
  // Computed as by the driver: with the stride of dimension 0, and quotients rounded down.
  uint64_t bytes = bytes_of(type);
  for (unsigned i = 0; i < arguments.rank; i++)
    bytes *= arguments.box[i] / arguments.element_strides[i];
  if (bytes > max_box_bytes)
    return invalid("the box has " + std::to_string(bytes) + " bytes, more than the " +
                   std::to_string(max_box_bytes) + " bytes of shared memory");
  return {};
}

} // namespace

unsigned bytes_of(DataType type) { return data_types[unsigned(type)].bytes; }
const char *name_of(DataType type) { return data_types[unsigned(type)].name; }

uint32_t TensorMap::rows() const {
  uint32_t result = 1;
  for (unsigned i = 1; i < rank; i++)
    result *= count(i);
  return result;
}

Problem encode_tensor_map(void *map, const TensorMapArguments &arguments) {
  if (!map || reinterpret_cast<uintptr_t>(map) % tensor_map_alignment != 0)
    return invalid("the tensor map's own address is not a multiple of 64");
  if (arguments.type < 0 || arguments.type >= int(std::size(data_types)))
    return invalid("unknown data type " + std::to_string(arguments.type));
  DataType type = DataType(arguments.type);
  if (arguments.rank < 1 || arguments.rank > 5)
    return invalid("the rank is " + std::to_string(arguments.rank) + ", but must be from 1 to 5");
  if (!arguments.sizes || !arguments.box || !arguments.element_strides ||
      (arguments.rank > 1 && !arguments.strides))
    return invalid("a required array is null");
  if (arguments.interleave < 0 || arguments.interleave > 2)
    return invalid("unknown interleave mode " + std::to_string(arguments.interleave));
  if (arguments.swizzle < 0 || arguments.swizzle > 6)
    return invalid("unknown swizzle " + std::to_string(arguments.swizzle));
  if (arguments.l2_promotion < 0 || arguments.l2_promotion > 3)
    return invalid("unknown L2 promotion " + std::to_string(arguments.l2_promotion));
  if (arguments.fill < 0 || arguments.fill > 1)
    return invalid("unknown fill mode " + std::to_string(arguments.fill));
  if (bytes_of(type) == 0)
    return unmodeled(std::string("the emulator does not support tensors of ") + name_of(type));
  if (arguments.interleave != 0)
    return unmodeled("the emulator does not support interleaved tensors");
  if (arguments.swizzle > 3)
    return unmodeled("the emulator does not support swizzle atoms larger than 16 bytes");
  if (arguments.fill != 0 && !data_types[arguments.type].floating)
    return invalid(std::string("cannot fill with NaN: the element type is ") + name_of(type));
  Swizzle swizzle = Swizzle(arguments.swizzle);
  if (Problem problem = check_address(arguments.address))
    return problem;
  if (Problem problem = check_sizes(arguments))
    return problem;
  if (Problem problem = check_box(arguments, type, swizzle))
    return problem;

  Encoded encoded = {};
  std::memcpy(encoded.magic, magic, sizeof magic);
  encoded.address = arguments.address;
  for (unsigned i = 0; i < arguments.rank; i++) {
    encoded.sizes[i] = uint32_t(arguments.sizes[i] - 1);
    encoded.box[i] = uint8_t(arguments.box[i] - 1);
    // The element stride of dimension 0 is ignored (CUDA Driver API).
    encoded.element_strides[i] = i == 0 ? 1 : uint8_t(arguments.element_strides[i]);
    if (i > 0)
      encoded.strides[i - 1] = arguments.strides[i - 1];
  }
  encoded.type = uint8_t(type);
  encoded.rank = uint8_t(arguments.rank);
  encoded.swizzle = uint8_t(swizzle);
  encoded.fill = uint8_t(arguments.fill);
  encoded.check = check_of(encoded);
  std::memcpy(map, &encoded, sizeof encoded);
  return {};
}

Problem replace_address(void *map, uint64_t address) {
  TensorMap decoded;
  if (!map || reinterpret_cast<uintptr_t>(map) % tensor_map_alignment != 0)
    return invalid("the tensor map's own address is not a multiple of 64");
  if (Problem problem = decode_tensor_map(decoded, map); problem.kind == Problem::Kind::invalid)
    return problem;
  if (Problem problem = check_address(address))
    return problem;
  Encoded encoded;
  std::memcpy(&encoded, map, sizeof encoded);
  encoded.address = address;
  encoded.check = check_of(encoded);
  std::memcpy(map, &encoded, sizeof encoded);
  return {};
}

Problem decode_tensor_map(TensorMap &result, const void *map) {
  Encoded encoded;
  std::memcpy(&encoded, map, sizeof encoded);
  if (std::memcmp(encoded.magic, magic, sizeof magic) != 0 || encoded.check != check_of(encoded))
    return invalid("the 128 bytes are not a tensor map");
  result = {};
  result.type = DataType(encoded.type);
  result.rank = encoded.rank;
  result.address = encoded.address;
  result.swizzle = Swizzle(encoded.swizzle);
  result.fill = Fill(encoded.fill);
  result.strides[0] = bytes_of(result.type);
  for (unsigned i = 0; i < result.rank; i++) {
    result.sizes[i] = uint64_t(encoded.sizes[i]) + 1;
    result.box[i] = uint32_t(encoded.box[i]) + 1;
    result.element_strides[i] = encoded.element_strides[i];
    if (i > 0)
      result.strides[i] = encoded.strides[i - 1];
  }
  if (unsigned span = span_of(result.swizzle); result.rows() > 1 && result.row_bytes() < span)
    return unmodeled("a row of the box has " + std::to_string(result.row_bytes()) +
                     " bytes, less than the " + std::to_string(span) +
                     " bytes of the swizzle: the emulator does not support boxes with gaps");
  return {};
}

Problem check_coordinates(const TensorMap &map, const int32_t *coordinates, Transfer transfer) {
  auto coordinate = [=](unsigned i) {
    return "coordinate " + std::to_string(i) + " is " + std::to_string(coordinates[i]);
  };
  int64_t first = int64_t(coordinates[0]) * bytes_of(map.type);
  if (first % 16 != 0)
    return invalid(coordinate(0) + ", an offset of " + std::to_string(first) +
                   " bytes, which is not a multiple of 16");
  if (transfer == Transfer::store)
    for (unsigned i = 0; i < map.rank; i++)
      if (coordinates[i] < 0)
        return invalid(coordinate(i) +
                       ", but a copy to a tensor cannot start at a negative coordinate");
  return {};
}

BoxRow box_row(const TensorMap &map, const int32_t *coordinates, uint32_t i, Transfer transfer) {
  BoxRow row;
  row.offset = i * map.row_bytes();
  bool inside = true;
  // Addresses may wrap around; out-of-bounds elements are never read.
  row.address = map.address + uint64_t(int64_t(coordinates[0])) * map.strides[0];
  for (unsigned d = 1; d < map.rank; d++) {
    uint32_t count = map.count(d);
    int64_t at = coordinates[d] + int64_t(i % count) * map.element_strides[d];
    i /= count;
    inside &= at >= 0 && uint64_t(at) < map.sizes[d];
    row.address += uint64_t(at) * map.strides[d];
  }
  int64_t size = int64_t(map.sizes[0]), first = coordinates[0];
  int64_t begin = std::clamp<int64_t>(-first, 0, map.box[0]);
  int64_t end = std::clamp<int64_t>(size - first, begin, map.box[0]);
  if (inside) {
    row.begin = uint32_t(begin) * bytes_of(map.type);
    row.end = uint32_t(end) * bytes_of(map.type);
  }
  if (row.begin == row.end)
    row.begin = row.end = 0;
  if (transfer == Transfer::store)
    row.end = (row.end + 15) / 16 * 16;
  return row;
}

namespace {

// Rounds floats to tf32 as loads do: to nearest, ties to even, also subnormal values.
void round_to_tf32(std::byte *elements, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; i += 4) {
    uint32_t bits;
    std::memcpy(&bits, elements + i, 4);
    bits = (bits & 0x7fff'ffffu) > 0x7f80'0000u ? 0x7fff'e000u
                                                : (bits + 0x0fffu + (bits >> 13 & 1)) & ~0x1fffu;
    std::memcpy(elements + i, &bits, 4);
  }
}

void fill(const TensorMap &map, std::byte *elements, uint32_t bytes) {
  if (map.fill == Fill::zero) {
    std::memset(elements, 0, bytes);
    return;
  }
  for (uint32_t i = 0; i < bytes; i += 2) {
    elements[i] = std::byte(0xf7);
    elements[i + 1] = std::byte(0x7f);
  }
}

} // namespace

void load_row(const TensorMap &map, const BoxRow &row, std::byte *shared, uint32_t address,
              const void *global) {
  alignas(16) std::byte buffer[256 * 8];
  uint32_t bytes = map.row_bytes();
  if (row.begin > 0)
    fill(map, buffer, row.begin);
  if (row.end > row.begin)
    std::memcpy(buffer + row.begin, global, row.end - row.begin);
  if (map.type == DataType::tf32 || map.type == DataType::tf32_ftz)
    round_to_tf32(buffer + row.begin, row.end - row.begin);
  if (row.end < bytes)
    fill(map, buffer + row.end, bytes - row.end);
  for (uint32_t i = 0; i < bytes; i += 16)
    std::memcpy(shared + place_in_box(map.swizzle, address, row.offset + i), buffer + i, 16);
}

void store_row(const TensorMap &map, const BoxRow &row, const std::byte *shared, uint32_t address,
               void *to) {
  alignas(16) std::byte buffer[256 * 8];
  uint32_t begin = row.begin / 16 * 16;
  for (uint32_t i = begin; i < row.end; i += 16)
    std::memcpy(buffer + i, shared + place_in_box(map.swizzle, address, row.offset + i), 16);
  if (row.end > row.begin)
    std::memcpy(to, buffer + row.begin, row.end - row.begin);
}

Problem check_reduction(Reduction reduction, DataType type) {
  bool ok = false;
  switch (type) {
  case DataType::u32:
  case DataType::s32:
  case DataType::u64:
  case DataType::f16:
  case DataType::bf16:
    ok = true;
    break;
  case DataType::s64:
    ok = reduction != Reduction::add;
    break;
  case DataType::f32:
  case DataType::f32_ftz:
  case DataType::tf32:
  case DataType::tf32_ftz:
  case DataType::f64:
    ok = reduction == Reduction::add;
    break;
  default:
    break;
  }
  if (ok)
    return {};
  constexpr const char *names[] = {"sum", "minimum", "maximum"};
  return invalid(std::string("TMA cannot compute the ") + names[unsigned(reduction)] + " of " +
                 name_of(type));
}

namespace {

template <typename T, typename F> void combine(void *to, const void *from, uint32_t bytes, F f) {
  T *global = static_cast<T *>(to);
  for (uint32_t i = 0; i < bytes / sizeof(T); i++) {
    T operand;
    std::memcpy(&operand, static_cast<const std::byte *>(from) + i * sizeof(T), sizeof(T));
    T old = __atomic_load_n(global + i, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(global + i, &old, f(old, operand), true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
      ;
  }
}

template <typename Unsigned, typename Number>
void combine_integers(Reduction reduction, void *to, const void *from, uint32_t bytes) {
  combine<Unsigned>(to, from, bytes, [=](Unsigned a, Unsigned b) -> Unsigned {
    if (reduction == Reduction::add)
      return a + b;
    return (reduction == Reduction::min) == (Number(a) < Number(b)) ? a : b;
  });
}

constexpr uint32_t flushed(uint32_t bits) {
  return (bits & 0x7fff'ffffu) < 0x0080'0000u ? bits & 0x8000'0000u : bits;
}

// Combines 16-bit floats. As in min.f16 and max.f16, a number wins over NaN, and -0 < +0.
template <typename Format> uint16_t combined(Reduction reduction, uint16_t a, uint16_t b) {
  float x = Format::widened(a), y = Format::widened(b);
  if (reduction == Reduction::add)
    return uint16_t(Format::narrowed(x + y, Overflow::infinity));
  if (x != x || y != y)
    return x == x ? a : y == y ? b : uint16_t(Format::not_a_number);
  bool less = x < y || (x == y && (a & Format::sign) > (b & Format::sign));
  return (reduction == Reduction::min) == less ? a : b;
}

} // namespace

void reduce(Reduction reduction, DataType type, void *to, const void *from, uint32_t bytes) {
  switch (type) {
  case DataType::u32:
    return combine_integers<uint32_t, uint32_t>(reduction, to, from, bytes);
  case DataType::s32:
    return combine_integers<uint32_t, int32_t>(reduction, to, from, bytes);
  case DataType::u64:
    return combine_integers<uint64_t, uint64_t>(reduction, to, from, bytes);
  case DataType::s64:
    return combine_integers<uint64_t, int64_t>(reduction, to, from, bytes);
  case DataType::f16:
    return combine<uint16_t>(
        to, from, bytes, [=](uint16_t a, uint16_t b) { return combined<Half>(reduction, a, b); });
  case DataType::bf16:
    return combine<uint16_t>(to, from, bytes, [=](uint16_t a, uint16_t b) {
      return combined<BFloat16>(reduction, a, b);
    });
  case DataType::f32:
  case DataType::tf32: // not rounded to tf32
    return combine<uint32_t>(to, from, bytes, [](uint32_t a, uint32_t b) {
      return std::bit_cast<uint32_t>(added(std::bit_cast<float>(a), std::bit_cast<float>(b)));
    });
  case DataType::f32_ftz:
  case DataType::tf32_ftz:
    return combine<uint32_t>(to, from, bytes, [](uint32_t a, uint32_t b) {
      float sum = added(std::bit_cast<float>(flushed(a)), std::bit_cast<float>(flushed(b)));
      return flushed(std::bit_cast<uint32_t>(sum));
    });
  case DataType::f64:
    return combine<uint64_t>(to, from, bytes, [](uint64_t a, uint64_t b) {
      double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
      if (x != x || y != y)
        return y != y ? b : a;
      double sum = x + y;
      return sum == sum ? std::bit_cast<uint64_t>(sum) : 0xfff8'0000'0000'0000u;
    });
  default:
    return; // refused by check_reduction
  }
}

} // namespace tritonc::emulator::models
