// Tests models/tensor_map.cpp: rejected maps, and boxes against loops over coordinates.

#include "models_random.h"

#include "models/numbers.h"
#include "models/tensor_map.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace tritonc::emulator::models;

namespace {

// Valid arguments, which tests then invalidate.
struct Arguments {
  uint64_t sizes[5] = {64, 32, 16, 8, 4};
  uint64_t strides[4] = {128, 4096, 65536, 524288};
  uint32_t box[5] = {64, 8, 4, 2, 1};
  uint32_t element_strides[5] = {1, 1, 1, 1, 1};
  TensorMapArguments all;

  Arguments() {
    all.type = int(DataType::f16);
    all.rank = 5;
    all.address = 0x10000;
    all.sizes = sizes;
    all.strides = strides;
    all.box = box;
    all.element_strides = element_strides;
    all.swizzle = int(Swizzle::span128);
  }
  Arguments(const Arguments &) = delete;
};

alignas(64) std::byte map_bytes[tensor_map_bytes + 64];

std::string problem_of(const Arguments &arguments) {
  Problem problem = encode_tensor_map(map_bytes, arguments.all);
  return (problem.kind == Problem::Kind::unmodeled ? "unmodeled: " : "") + problem.text;
}

template <typename F> std::string spoilt(F f) {
  Arguments arguments;
  f(arguments);
  return problem_of(arguments);
}

} // namespace

TEST_CASE("tensor map: decodes to the encoded arguments") {
  Arguments arguments;
  arguments.sizes[1] = uint64_t(1) << 32;
  arguments.strides[2] = (uint64_t(1) << 40) - 16;
  arguments.element_strides[1] = 8;
  arguments.all.fill = 1;
  REQUIRE(problem_of(arguments) == "");
  TensorMap map;
  REQUIRE(!decode_tensor_map(map, map_bytes));
  CHECK(map.type == DataType::f16);
  CHECK(map.rank == 5);
  CHECK(map.address == 0x10000);
  for (int i = 0; i < 5; i++) {
    CHECK(map.sizes[i] == arguments.sizes[i]);
    CHECK(map.box[i] == arguments.box[i]);
    CHECK(map.element_strides[i] == arguments.element_strides[i]);
    CHECK(map.strides[i] == (i == 0 ? 2 : arguments.strides[i - 1]));
  }
  CHECK(map.swizzle == Swizzle::span128);
  CHECK(map.fill == Fill::not_a_number);
  CHECK(map.row_bytes() == 128);
  CHECK(map.rows() == 1 * 4 * 2 * 1);
  CHECK(map.box_bytes() == 8 * 128);

  REQUIRE(!replace_address(map_bytes, 0x20000));
  REQUIRE(!decode_tensor_map(map, map_bytes));
  CHECK(map.address == 0x20000);
  CHECK(map.sizes[1] == arguments.sizes[1]);
  CHECK(replace_address(map_bytes, 0x20008).text == "the tensor's address is not a multiple of 16");
}

TEST_CASE("decode_tensor_map: rejects other bytes") {
  Arguments arguments;
  REQUIRE(problem_of(arguments) == "");
  TensorMap map;
  alignas(64) std::byte bytes[tensor_map_bytes] = {};
  CHECK(decode_tensor_map(map, bytes).kind == Problem::Kind::invalid);
  for (size_t i = 0; i < tensor_map_bytes; i++) {
    std::memcpy(bytes, map_bytes, tensor_map_bytes);
    bytes[i] ^= std::byte(1);
    CHECK(decode_tensor_map(map, bytes).text == "the 128 bytes are not a tensor map");
  }
  CHECK(replace_address(bytes, 0).kind == Problem::Kind::invalid);
}

TEST_CASE("encode_tensor_map: rejects what the driver rejects") {
  CHECK(spoilt([](Arguments &) {}) == "");
  CHECK(encode_tensor_map(map_bytes + 32, Arguments().all).text ==
        "the tensor map's own address is not a multiple of 64");
  CHECK(encode_tensor_map(nullptr, Arguments().all).kind == Problem::Kind::invalid);
  CHECK(spoilt([](Arguments &a) { a.all.type = 16; }) == "unknown data type 16");
  CHECK(spoilt([](Arguments &a) { a.all.type = -1; }) == "unknown data type -1");
  CHECK(spoilt([](Arguments &a) { a.all.rank = 0; }) == "the rank is 0, but must be from 1 to 5");
  CHECK(spoilt([](Arguments &a) { a.all.rank = 6; }) == "the rank is 6, but must be from 1 to 5");
  CHECK(spoilt([](Arguments &a) { a.all.box = nullptr; }) == "a required array is null");
  CHECK(spoilt([](Arguments &a) { a.all.strides = nullptr; }) == "a required array is null");
  CHECK(spoilt([](Arguments &a) {
          a.all.strides = nullptr;
          a.all.rank = 1;
        }) == "");
  CHECK(spoilt([](Arguments &a) { a.all.interleave = 3; }) == "unknown interleave mode 3");
  CHECK(spoilt([](Arguments &a) { a.all.swizzle = 7; }) == "unknown swizzle 7");
  CHECK(spoilt([](Arguments &a) { a.all.l2_promotion = 4; }) == "unknown L2 promotion 4");
  CHECK(spoilt([](Arguments &a) { a.all.fill = 2; }) == "unknown fill mode 2");
  CHECK(spoilt([](Arguments &a) {
          a.all.fill = 1;
          a.all.type = int(DataType::u16);
        }) == "cannot fill with NaN: the element type is u16");

  CHECK(spoilt([](Arguments &a) { a.all.address = 0x10008; }) ==
        "the tensor's address is not a multiple of 16");
  CHECK(spoilt([](Arguments &a) { a.sizes[4] = 0; }) ==
        "the tensor's size[4] is 0, but must be from 1 to 2^32");
  CHECK(spoilt([](Arguments &a) { a.sizes[0] = (uint64_t(1) << 32) + 1; }) ==
        "the tensor's size[0] is 4294967297, but must be from 1 to 2^32");
  CHECK(spoilt([](Arguments &a) { a.strides[1] = 4104; }) ==
        "the stride[1] is 4104 bytes, which is not a multiple of 16");
  CHECK(spoilt([](Arguments &a) { a.strides[3] = uint64_t(1) << 40; }) ==
        "the stride[3] is 1099511627776 bytes, but must be less than 2^40");
  CHECK(spoilt([](Arguments &a) { a.box[2] = 0; }) ==
        "the box's size[2] is 0, but must be from 1 to 256");
  CHECK(spoilt([](Arguments &a) { a.box[2] = 257; }) ==
        "the box's size[2] is 257, but must be from 1 to 256");
  CHECK(spoilt([](Arguments &a) { a.element_strides[1] = 9; }) ==
        "the element stride[1] is 9, but must be from 1 to 8");
  CHECK(spoilt([](Arguments &a) { a.element_strides[4] = 0; }) ==
        "the element stride[4] is 0, but must be from 1 to 8");
  CHECK(spoilt([](Arguments &a) { a.box[0] = 60; }) ==
        "a row of the box has 120 bytes, which is not a multiple of 16");
  CHECK(spoilt([](Arguments &a) { a.box[0] = 72; }) ==
        "a row of the box has 144 bytes, more than the 128 bytes of the swizzle");
  CHECK(spoilt([](Arguments &a) {
          a.box[0] = 72;
          a.all.swizzle = 0;
        }) == "");
  CHECK(spoilt([](Arguments &a) { a.all.swizzle = int(Swizzle::span64); }) ==
        "a row of the box has 128 bytes, more than the 64 bytes of the swizzle");

  // 228 KiB of shared memory. The driver rounds divisions by element strides down.
  CHECK(spoilt([](Arguments &a) { a.box[1] = 228, a.box[2] = 8, a.box[3] = 1; }) == "");
  CHECK(spoilt([](Arguments &a) { a.box[1] = 229, a.box[2] = 8, a.box[3] = 1; }) ==
        "the box has 234496 bytes, more than the 233472 bytes of shared memory");
  CHECK(spoilt([](Arguments &a) {
          a.box[1] = 115, a.box[2] = 32, a.box[3] = 1;
          a.element_strides[1] = 2;
        }) == "");
  CHECK(spoilt([](Arguments &a) {
          a.box[1] = 116, a.box[2] = 32, a.box[3] = 1;
          a.element_strides[1] = 2;
        }) == "the box has 237568 bytes, more than the 233472 bytes of shared memory");
  CHECK(spoilt([](Arguments &a) {
          a.box[1] = 229, a.box[2] = 8, a.box[3] = 1;
          a.element_strides[0] = 2;
        }) == "");

  CHECK(spoilt([](Arguments &a) { a.all.interleave = 1; }) ==
        "unmodeled: the emulator does not support interleaved tensors");
  CHECK(spoilt([](Arguments &a) { a.all.swizzle = 4; }) ==
        "unmodeled: the emulator does not support swizzle atoms larger than 16 bytes");
  CHECK(spoilt([](Arguments &a) { a.all.type = 13; }) ==
        "unmodeled: the emulator does not support tensors of u4 (align 8)");
}

TEST_CASE("encode_tensor_map: rejects rows below the swizzle span") {
  Arguments arguments;
  arguments.box[0] = 32;
  REQUIRE(problem_of(arguments) == "");
  TensorMap map;
  Problem problem = decode_tensor_map(map, map_bytes);
  CHECK(problem.kind == Problem::Kind::unmodeled);
  CHECK(problem.text == "a row of the box has 64 bytes, less than the 128 bytes of the swizzle: "
                        "the emulator does not support boxes with gaps");
  // A single row is accepted.
  for (unsigned i = 1; i < 5; i++)
    arguments.box[i] = 1;
  REQUIRE(problem_of(arguments) == "");
  CHECK(!decode_tensor_map(map, map_bytes));
}

namespace {

struct Tensor {
  TensorMap map;
  std::vector<std::byte> memory; // of the tensor, with padding on both sides

  Tensor(DataType type, unsigned rank, Swizzle swizzle, Random &random) {
    unsigned bytes = bytes_of(type);
    map.type = type;
    map.rank = rank;
    map.swizzle = swizzle;
    map.strides[0] = bytes;
    uint64_t stride = bytes;
    unsigned span = span_of(swizzle);
    for (unsigned i = 0; i < rank; i++) {
      map.sizes[i] = i == 0 ? 16 + random.below(100) : 1 + random.below(6);
      map.element_strides[i] = i == 0 ? 1 : 1 + random.below(3);
      map.box[i] =
          i == 0 ? (span ? span : 16 * (1 + random.below(8))) / bytes : 1 + random.below(5);
      if (i > 0) {
        map.strides[i] = (stride + 15) / 16 * 16 + 16 * random.below(3);
        stride = map.strides[i];
      }
      stride *= map.sizes[i];
    }
    memory.resize(stride + 1024);
    for (std::byte &byte : memory)
      byte = std::byte(random.bits());
    map.address = (reinterpret_cast<uintptr_t>(memory.data()) + 255) / 16 * 16;
  }

  // For each element of a box: f(offset in the box, pointer to the element, or null).
  template <typename F> void each(const int32_t *coordinates, F f) const {
    uint32_t index[5] = {}, offset = 0;
    for (;;) {
      std::byte *element = reinterpret_cast<std::byte *>(map.address);
      for (unsigned i = 0; i < map.rank && element; i++) {
        int64_t at = coordinates[i] + int64_t(index[i]) * map.element_strides[i];
        if (at < 0 || uint64_t(at) >= map.sizes[i])
          element = nullptr;
        else
          element += at * int64_t(map.strides[i]);
      }
      f(offset, element);
      offset += bytes_of(map.type);
      unsigned i = 0;
      while (i < map.rank && ++index[i] == map.count(i))
        index[i++] = 0;
      if (i == map.rank)
        return;
    }
  }
};

constexpr DataType types[] = {DataType::u8,  DataType::f16, DataType::bf16, DataType::s32,
                              DataType::f32, DataType::u64, DataType::f64};

} // namespace

TEST_CASE("load_row, store_row: clip at the tensor's bounds") {
  Random random(11);
  for (DataType type : types)
    for (unsigned rank = 1; rank <= 5; rank++)
      for (Swizzle swizzle : {Swizzle::none, Swizzle::span32, Swizzle::span64, Swizzle::span128})
        for (int repetition = 0; repetition < 8; repetition++) {
          Tensor tensor(type, rank, swizzle, random);
          TensorMap &map = tensor.map;
          unsigned bytes = bytes_of(type);
          bool floating = type == DataType::f16 || type == DataType::bf16 ||
                          type == DataType::f32 || type == DataType::f64;
          map.fill = floating && repetition % 2 ? Fill::not_a_number : Fill::zero;
          int32_t coordinates[5];
          int32_t chunk = int32_t(16 / bytes); // elements
          for (unsigned i = 0; i < rank; i++)
            coordinates[i] = int32_t(random.below(uint32_t(map.sizes[i]) + 8)) - 4;
          if (repetition == 7)
            coordinates[rank - 1] = random.below(2) ? 0x7fff'fff0 : -0x7fff'fff0;
          coordinates[0] = coordinates[0] / chunk * chunk;
          CHECK(!check_coordinates(map, coordinates, Transfer::load));
          uint32_t address = 128 * random.below(64);

          std::vector<std::byte> box(map.box_bytes() + 1, std::byte(0x55));
          for (uint32_t i = 0; i < map.rows(); i++) {
            BoxRow row = box_row(map, coordinates, i);
            CHECK(row.offset == i * map.row_bytes());
            load_row(map, row, box.data(), address,
                     reinterpret_cast<const std::byte *>(row.address) + row.begin);
          }
          int wrong = box.back() != std::byte(0x55);
          tensor.each(coordinates, [&](uint32_t offset, const std::byte *element) {
            std::byte expected[8] = {};
            if (element)
              std::memcpy(expected, element, bytes);
            else if (map.fill == Fill::not_a_number)
              for (unsigned i = 0; i < bytes; i++)
                expected[i] = std::byte(i % 2 != 0 ? 0x7f : 0xf7);
            uint32_t at = swizzled(swizzle, address + offset) - address;
            wrong += std::memcmp(&box[at], expected, bytes) != 0;
          });
          CHECK(wrong == 0);

          // Store: writes the in-bounds elements and the rest of their 16-byte chunks.
          for (unsigned i = 0; i < rank; i++)
            coordinates[i] = std::max(coordinates[i], 0);
          CHECK(!check_coordinates(map, coordinates, Transfer::store));
          std::vector<std::byte> expected = tensor.memory;
          for (std::byte &byte : box)
            byte = std::byte(random.bits());
          tensor.each(coordinates, [&](uint32_t offset, const std::byte *element) {
            if (!element)
              return;
            uint32_t begin = offset / 16 * 16;
            std::memcpy(&expected[size_t(element - tensor.memory.data()) - (offset - begin)],
                        &box[swizzled(swizzle, address + begin) - address], 16);
          });
          for (uint32_t i = 0; i < map.rows(); i++) {
            BoxRow row = box_row(map, coordinates, i, Transfer::store);
            std::vector<std::byte> part(row.end - row.begin);
            store_row(map, row, box.data(), address, part.data());
            if (!part.empty())
              std::memcpy(reinterpret_cast<std::byte *>(row.address) + row.begin, part.data(),
                          part.size());
          }
          CHECK(tensor.memory == expected);
        }
}

TEST_CASE("check_coordinates: valid starts of boxes") {
  TensorMap map;
  map.type = DataType::f16;
  map.rank = 2;
  auto problem = [&](int32_t x, int32_t y, Transfer transfer) {
    int32_t coordinates[] = {x, y};
    return check_coordinates(map, coordinates, transfer).text;
  };
  for (Transfer transfer : {Transfer::load, Transfer::store}) {
    CHECK(problem(0, 0, transfer) == "");
    CHECK(problem(8, 3, transfer) == "");
    CHECK(problem(0x7fff'fff8, 0x7fff'ffff, transfer) == "");
    CHECK(problem(4, 0, transfer) ==
          "coordinate 0 is 4, an offset of 8 bytes, which is not a multiple of 16");
    CHECK(problem(-1, -1, transfer) ==
          "coordinate 0 is -1, an offset of -2 bytes, which is not a multiple of 16");
  }
  CHECK(problem(-8, -3, Transfer::load) == "");
  CHECK(problem(-8, 0, Transfer::store) ==
        "coordinate 0 is -8, but a copy to a tensor cannot start at a negative coordinate");
  CHECK(problem(8, -3, Transfer::store) ==
        "coordinate 1 is -3, but a copy to a tensor cannot start at a negative coordinate");
  map.type = DataType::f64;
  CHECK(problem(2, 0, Transfer::store) == "");
  CHECK(problem(1, 0, Transfer::load) ==
        "coordinate 0 is 1, an offset of 8 bytes, which is not a multiple of 16");
}

TEST_CASE("box_row: stores write 16-byte chunks, as on an H200") {
  // 41 bf16 elements: a box at 40 has one of them, and a store writes 8.
  TensorMap map;
  map.type = DataType::bf16;
  map.rank = 1;
  map.address = 0x1000;
  map.sizes[0] = 41;
  map.strides[0] = 2;
  map.box[0] = 32;
  map.element_strides[0] = 1;
  int32_t at = 40;
  CHECK(box_row(map, &at, 0).begin == 0);
  CHECK(box_row(map, &at, 0).end == 2);
  CHECK(box_row(map, &at, 0, Transfer::store).end == 16);
  at = 32;
  CHECK(box_row(map, &at, 0, Transfer::store).end == 32);
  at = 48; // after the tensor
  CHECK(box_row(map, &at, 0, Transfer::store).end == 0);
  map.sizes[0] = 48; // ends with a chunk
  at = 40;
  CHECK(box_row(map, &at, 0, Transfer::store).end == 16);
  at = 0;
  CHECK(box_row(map, &at, 0, Transfer::store).end == 64);
}

TEST_CASE("load_row: 64 x 64 f16 operand tile, 128-byte swizzle") {
  // The layout that wgmma reads: chunk c of row r at 128 r + 16 (c ^ r % 8).
  std::vector<uint16_t> matrix(128 * 256);
  for (size_t i = 0; i < matrix.size(); i++)
    matrix[i] = uint16_t(i);
  TensorMap map;
  map.type = DataType::f16;
  map.rank = 2;
  map.address = reinterpret_cast<uintptr_t>(matrix.data());
  map.sizes[0] = 256;
  map.sizes[1] = 128;
  map.strides[0] = 2;
  map.strides[1] = 512;
  map.box[0] = map.box[1] = 64;
  map.element_strides[0] = map.element_strides[1] = 1;
  map.swizzle = Swizzle::span128;
  std::vector<uint16_t> box(64 * 64);
  int32_t coordinates[] = {128, 64};
  for (uint32_t i = 0; i < map.rows(); i++) {
    BoxRow row = box_row(map, coordinates, i);
    load_row(map, row, reinterpret_cast<std::byte *>(box.data()), 0x2000,
             reinterpret_cast<const std::byte *>(row.address));
  }
  int wrong = 0;
  for (unsigned r = 0; r < 64; r++)
    for (unsigned c = 0; c < 64; c++)
      wrong += box[r * 64 + (c / 8 ^ r % 8) * 8 + c % 8] != matrix[(64 + r) * 256 + 128 + c];
  CHECK(wrong == 0);
}

TEST_CASE("load_row: conversions match an H200") {
  auto loaded = [](DataType type, uint32_t bits) {
    TensorMap map;
    map.type = type;
    map.rank = 1;
    map.sizes[0] = map.box[0] = 4;
    map.strides[0] = 4;
    map.element_strides[0] = 1;
    uint32_t from[4] = {bits, bits, bits, bits}, to[4];
    int32_t zero = 0;
    load_row(map, box_row(map, &zero, 0), reinterpret_cast<std::byte *>(to), 0, from);
    return to[3];
  };
  for (uint32_t bits : {0x3f80'1234u, 0x8000'0001u, 0x007f'ffffu, 0x7f80'0001u, 0xffc0'1001u}) {
    CHECK(loaded(DataType::f32, bits) == bits);
    CHECK(loaded(DataType::f32_ftz, bits) == bits);
    CHECK(loaded(DataType::u32, bits) == bits);
  }
  for (DataType type : {DataType::tf32, DataType::tf32_ftz}) {
    CHECK(loaded(type, 0x3f80'0fff) == 0x3f80'0000);
    CHECK(loaded(type, 0x3f80'1000) == 0x3f80'0000);
    CHECK(loaded(type, 0x3f80'1001) == 0x3f80'2000);
    CHECK(loaded(type, 0x3f80'3000) == 0x3f80'4000);
    CHECK(loaded(type, 0xbf80'1000) == 0xbf80'0000);
    CHECK(loaded(type, 0xbf80'3000) == 0xbf80'4000);
    CHECK(loaded(type, 0x7f7f'efff) == 0x7f7f'e000);
    CHECK(loaded(type, 0xff7f'ffff) == 0xff80'0000);
    CHECK(loaded(type, 0x7f80'0000) == 0x7f80'0000);
    CHECK(loaded(type, 0x7f80'0001) == 0x7fff'e000);
    CHECK(loaded(type, 0xffc0'1001) == 0x7fff'e000);
    CHECK(loaded(type, 0x8000'0001) == 0x8000'0000);
    CHECK(loaded(type, 0x0000'1001) == 0x0000'2000);
    CHECK(loaded(type, 0x807f'ffff) == 0x8080'0000);
  }
}

TEST_CASE("reduce: supported types and results") {
  CHECK(!check_reduction(Reduction::add, DataType::f16));
  CHECK(!check_reduction(Reduction::add, DataType::f32));
  CHECK(!check_reduction(Reduction::min, DataType::bf16));
  CHECK(!check_reduction(Reduction::max, DataType::s64));
  CHECK(!check_reduction(Reduction::add, DataType::u64));
  CHECK(check_reduction(Reduction::add, DataType::s64).text == "TMA cannot compute the sum of s64");
  CHECK(!check_reduction(Reduction::add, DataType::tf32));
  CHECK(!check_reduction(Reduction::add, DataType::tf32_ftz));
  CHECK(check_reduction(Reduction::max, DataType::tf32).text ==
        "TMA cannot compute the maximum of tf32");
  CHECK(check_reduction(Reduction::min, DataType::f32).text ==
        "TMA cannot compute the minimum of f32");
  CHECK(check_reduction(Reduction::add, DataType::u8).text == "TMA cannot compute the sum of u8");

  auto reduced = [](Reduction reduction, DataType type, auto a, auto b) {
    decltype(a) to[2] = {a, a}, from[2] = {b, b};
    reduce(reduction, type, to, from, sizeof from);
    CHECK(to[0] == to[1]);
    return to[0];
  };
  CHECK(reduced(Reduction::add, DataType::f32, 1.5f, 2.25f) == 3.75f);
  CHECK(reduced(Reduction::add, DataType::f64, 1.0, 0x1p-52) == 1 + 0x1p-52);
  // Flushed values and NaN, as on an H200.
  for (DataType type : {DataType::f32, DataType::tf32}) {
    CHECK(reduced(Reduction::add, type, 0x000f'd053u, 0x0056'5e6eu) == 0x0066'2ec1u);
    CHECK(reduced(Reduction::add, type, 0x807b'7f37u, 0x00dc'5dc4u) == 0x0060'de8du);
    CHECK(reduced(Reduction::add, type, 0x3f80'1fffu, 0x3f80'1001u) == 0x4000'1800u);
  }
  for (DataType type : {DataType::f32_ftz, DataType::tf32_ftz}) {
    CHECK(reduced(Reduction::add, type, 0x000f'd053u, 0x0056'5e6eu) == 0);
    CHECK(reduced(Reduction::add, type, 0x807b'7f37u, 0x00dc'5dc4u) == 0x00dc'5dc4u);
    CHECK(reduced(Reduction::add, type, 0x00f5'b1beu, 0x80d8'3781u) == 0);
    CHECK(reduced(Reduction::add, type, 0x806c'9e87u, 0x801f'1412u) == 0x8000'0000u);
  }
  for (DataType type : {DataType::f32, DataType::f32_ftz, DataType::tf32, DataType::tf32_ftz}) {
    CHECK(reduced(Reduction::add, type, 0xffe7'b64bu, 0x8045'735cu) == 0x7fff'ffffu);
    CHECK(reduced(Reduction::add, type, 0x3ffe'42afu, 0x7f98'fe93u) == 0x7fff'ffffu);
    CHECK(reduced(Reduction::add, type, 0xff80'0000u, 0x7f80'0000u) == 0x7fff'ffffu);
  }
  auto add_f64 = [&](uint64_t a, uint64_t b) {
    return reduced(Reduction::add, DataType::f64, a, b);
  };
  constexpr uint64_t infinity = 0x7ff0'0000'0000'0000, quiet = 0x7ff8'0000'0000'0001,
                     signaling = 0xfff4'0000'0000'0004;
  CHECK(add_f64(infinity, infinity) == infinity);
  CHECK(add_f64(infinity, infinity | uint64_t(1) << 63) == 0xfff8'0000'0000'0000);
  CHECK(add_f64(infinity, signaling) == signaling);
  CHECK(add_f64(signaling, infinity) == signaling);
  CHECK(add_f64(quiet, signaling) == signaling);
  CHECK(add_f64(signaling, quiet) == quiet);
  CHECK(reduced(Reduction::add, DataType::u32, 0xffff'ffffu, 2u) == 1u);
  CHECK(reduced(Reduction::min, DataType::u32, 0xffff'ffffu, 2u) == 2u);
  CHECK(reduced(Reduction::min, DataType::s32, -1, 2) == -1);
  CHECK(reduced(Reduction::max, DataType::s64, int64_t(-5), int64_t(-7)) == -5);
  CHECK(reduced(Reduction::max, DataType::u64, uint64_t(5), uint64_t(7)) == 7);
  auto half = [](float x) { return to_half(x); };
  CHECK(reduced(Reduction::add, DataType::f16, half(2048), half(1)) == half(2048));
  CHECK(reduced(Reduction::max, DataType::f16, half(-1), half(-2)) == half(-1));
  CHECK(reduced(Reduction::min, DataType::f16, half(0.0f), half(-0.0f)) == half(-0.0f));
  CHECK(reduced(Reduction::min, DataType::f16, half(NAN), half(3)) == half(3));
  CHECK(reduced(Reduction::max, DataType::f16, half(NAN), half(NAN)) == 0x7fff);
  CHECK(reduced(Reduction::add, DataType::bf16, to_bfloat16(256), to_bfloat16(1)) ==
        to_bfloat16(256));
}
