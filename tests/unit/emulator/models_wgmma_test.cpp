// Tests wgmma: descriptors, operand layouts in shared memory, and matmuls against double loops.

#include "models_random.h"

#include "models/fragments.h"
#include "models/matrix_descriptor.h"
#include "models/wgmma.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <set>
#include <vector>

using namespace tritonc::emulator::models;

namespace {

constexpr uint32_t window_bytes = 256 * 1024;

MatrixDescriptor descriptor(uint32_t start, uint32_t leading, uint32_t stride, Swizzle swizzle) {
  MatrixDescriptor result;
  result.start = start;
  result.leading = leading;
  result.stride = stride;
  result.swizzle = swizzle;
  return result;
}

} // namespace

TEST_CASE("matrix descriptor: known bit patterns") {
  // Descriptors of existing kernels: K-major and MN-major operands, 128-byte swizzle.
  CHECK(encode_descriptor(descriptor(0, 16, 1024, Swizzle::span128)) == 0x4000'0040'0001'0000);
  CHECK(encode_descriptor(descriptor(0x400, 8192, 1024, Swizzle::span128)) ==
        0x4000'0040'0200'0040);

  MatrixDescriptor found;
  REQUIRE(decode_descriptor(found, 0x4000'0040'0200'0040) == nullptr);
  CHECK(found.start == 0x400);
  CHECK(found.leading == 8192);
  CHECK(found.stride == 1024);
  CHECK(found.base_offset == 0);
  CHECK(found.swizzle == Swizzle::span128);

  REQUIRE(decode_descriptor(found, uint64_t(2) << 62 | 0x3fff) == nullptr);
  CHECK(found.start == 0x3fff0);
  CHECK(found.swizzle == Swizzle::span64);
  REQUIRE(decode_descriptor(found, uint64_t(3) << 62) == nullptr);
  CHECK(found.swizzle == Swizzle::span32);
  REQUIRE(decode_descriptor(found, 0) == nullptr);
  CHECK(found.swizzle == Swizzle::none);

  for (int bit : {14, 15, 30, 31, 46, 47, 48, 52, 60, 61})
    CHECK(std::string(decode_descriptor(found, uint64_t(1) << bit)) == "reserved bits are not 0");
  REQUIRE(decode_descriptor(found, uint64_t(5) << 49) == nullptr);
  CHECK(found.base_offset == 5);

  Random random(8);
  for (int i = 0; i < 100; i++) {
    MatrixDescriptor some = descriptor(random.below(1 << 14) * 16, random.below(1 << 14) * 16,
                                       random.below(1 << 14) * 16, Swizzle(random.below(4)));
    some.base_offset = random.below(8);
    REQUIRE(decode_descriptor(found, encode_descriptor(some)) == nullptr);
    CHECK(encode_descriptor(found) == encode_descriptor(some));
  }
}

TEST_CASE("swizzled: permutes 16-byte chunks by address") {
  // 128 bytes: chunk c of line r goes to c ^ (r % 8).
  for (uint32_t address = 0; address < 4096; address++) {
    uint32_t line = address / 128, chunk = address / 16 % 8, rest = address % 16;
    CHECK(swizzled(Swizzle::span128, address) == line * 128 + (chunk ^ line % 8) * 16 + rest);
    // 64 bytes: XORs bits 4 and 5 with bits 7 and 8. 32 bytes: XORs bit 4 with bit 7.
    CHECK(swizzled(Swizzle::span64, address) == (address ^ (address >> 7 & 3) << 4));
    CHECK(swizzled(Swizzle::span32, address) == (address ^ (address >> 7 & 1) << 4));
    CHECK(swizzled(Swizzle::none, address) == address);
    for (Swizzle swizzle : {Swizzle::span32, Swizzle::span64, Swizzle::span128}) {
      CHECK(swizzled(swizzle, swizzled(swizzle, address)) == address);
      CHECK(swizzled(swizzle, address + 8 * span_of(swizzle)) ==
            swizzled(swizzle, address) + 8 * span_of(swizzle));
    }
  }
}

namespace {

// An operand stored as a program's tile: `rows` of M or N and all of K, for several wgmma. The
// element positions were copied by hand from the tables of canonical layouts.
struct Stored {
  Major major;
  Swizzle swizzle;
  unsigned rows, k; // of the tile
  unsigned element; // bytes
  uint32_t start;   // of the tile

  unsigned span() const { return span_of(swizzle); }

  // Byte address of element (row, k). Swizzled tiles consist of panels of `span` bytes along the
  // contiguous dimension, unswizzled tiles of core matrices of 8 x 16 bytes.
  uint32_t address(unsigned row, unsigned i) const {
    unsigned contiguous = major == Major::k ? i : row, other = major == Major::k ? row : i;
    unsigned others = major == Major::k ? rows : k;
    unsigned bytes = contiguous * element;
    uint32_t at = start;
    if (span() != 0)
      return swizzled(swizzle,
                      at + bytes / span() * others * span() + other * span() + bytes % span());
    // Core matrices, in columns of 16 bytes, each `others` rows long.
    return at + bytes / 16 * others * 16 + other * 16 + bytes % 16;
  }

  // For the wgmma that starts at k = `first`.
  MatrixDescriptor descriptor_at(unsigned first) const {
    MatrixDescriptor result;
    result.swizzle = swizzle;
    unsigned others = major == Major::k ? rows : k;
    if (major == Major::k && span() != 0) {
      unsigned bytes = first * element;
      result.start = start + bytes / span() * others * span() + bytes % span();
      result.leading = 16; // not used
      result.stride = 8 * span();
    } else if (major == Major::k) {
      result.start = start + first * element / 16 * others * 16;
      result.leading = others * 16;
      result.stride = 128;
    } else if (span() != 0) {
      result.start = start + first * span();
      result.leading = others * span();
      result.stride = 8 * span();
    } else {
      result.start = start + first * 16;
      result.leading = 128;
      result.stride = others * 16;
    }
    return result;
  }
};

struct Storage {
  Major major;
  Swizzle swizzle;
};
constexpr Storage storages[] = {
    {Major::k, Swizzle::none},    {Major::k, Swizzle::span32},   {Major::k, Swizzle::span64},
    {Major::k, Swizzle::span128}, {Major::mn, Swizzle::none},    {Major::mn, Swizzle::span32},
    {Major::mn, Swizzle::span64}, {Major::mn, Swizzle::span128},
};

uint32_t load_element(const std::byte *at, unsigned bytes) {
  uint32_t result = 0;
  std::memcpy(&result, at, bytes);
  return result;
}

} // namespace

TEST_CASE("chunk_addresses: every layout") {
  for (Storage storage : storages)
    for (unsigned rows : {64, 128, 256})
      for (unsigned element : {1, 2, 4}) {
        if (storage.major == Major::mn && element != 2)
          continue;
        unsigned k = 32 / element, deep = 4 * k;
        Stored stored{storage.major, storage.swizzle, rows, deep, element, 4096};
        for (unsigned first : {0u, k, 3 * k}) {
          std::vector<uint32_t> found(2 * rows);
          chunk_addresses(found.data(), stored.descriptor_at(first), storage.major, 0, rows);
          bool right = true;
          std::set<uint32_t> chunks;
          for (unsigned row = 0; row < rows; row++)
            for (unsigned i = 0; i < k; i++) {
              uint32_t address = stored.address(row, first + i);
              chunks.insert(address / 16 * 16);
              unsigned in_row = 16 / element;
              uint32_t chunk = storage.major == Major::k
                                   ? found[row * 2 + i / in_row] + i % in_row * element
                                   : found[i * (rows / 8) + row / 8] + row % 8 * element;
              right &= chunk == address;
            }
          CHECK(right);
          CHECK(chunks == std::set<uint32_t>(found.begin(), found.end()));

          // Some of the rows: a warp's part of A.
          uint32_t part[32];
          chunk_addresses(part, stored.descriptor_at(first), storage.major, 16, 16);
          std::set<uint32_t> expected;
          for (unsigned row = 16; row < 32; row++)
            for (unsigned i = 0; i < k; i++)
              expected.insert(stored.address(row, first + i) / 16 * 16);
          CHECK(std::set<uint32_t>(part, part + 32) == expected);
        }
      }
}

TEST_CASE("matrix descriptor: base offset matches an H200") {
  // The 128-byte lines and chunks from which an H200 reads chunk 0 of rows 0 to 9, K-major. The
  // operand begins `start` bytes after a multiple of 1024.
  struct {
    Swizzle swizzle;
    unsigned base;
    uint32_t start;
    struct {
      uint32_t line, chunk;
    } places[10];
  } cases[] = {
      {Swizzle::span128,
       0,
       128,
       {{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {8, 0}, {9, 1}, {10, 2}}},
      {Swizzle::span128,
       1,
       0,
       {{0, 7}, {1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}, {6, 5}, {7, 6}, {8, 7}, {9, 0}}},
      {Swizzle::span128,
       1,
       128,
       {{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}, {6, 5}, {7, 6}, {8, 7}, {9, 0}, {10, 1}}},
      {Swizzle::span128,
       3,
       640,
       {{5, 2}, {6, 3}, {7, 4}, {8, 5}, {9, 6}, {10, 7}, {11, 0}, {12, 1}, {13, 2}, {14, 3}}},
      {Swizzle::span64,
       1,
       0,
       {{0, 3}, {0, 7}, {1, 0}, {1, 4}, {2, 1}, {2, 5}, {3, 2}, {3, 6}, {4, 3}, {4, 7}}},
      {Swizzle::span64,
       4,
       128,
       {{1, 1}, {1, 5}, {2, 2}, {2, 6}, {3, 3}, {3, 7}, {4, 0}, {4, 4}, {5, 1}, {5, 5}}},
      {Swizzle::span32,
       1,
       0,
       {{0, 1}, {0, 3}, {0, 5}, {0, 7}, {1, 0}, {1, 2}, {1, 4}, {1, 6}, {2, 1}, {2, 3}}},
      {Swizzle::span32,
       2,
       128,
       {{1, 1}, {1, 3}, {1, 5}, {1, 7}, {2, 0}, {2, 2}, {2, 4}, {2, 6}, {3, 1}, {3, 3}}},
  };
  for (const auto &one : cases) {
    MatrixDescriptor b = descriptor(4096 + one.start, 16, 8 * span_of(one.swizzle), one.swizzle);
    b.base_offset = one.base;
    uint32_t found[32];
    chunk_addresses(found, b, Major::k, 0, 16);
    for (unsigned row = 0; row < 10; row++) {
      CAPTURE(row);
      CHECK(found[2 * row] == 4096 + one.places[row].line * 128 + one.places[row].chunk * 16);
    }
  }
  // A tile that begins in the middle of a pattern has the same contents.
  for (Storage storage : storages) {
    Stored stored{storage.major, storage.swizzle, 64, 16, 2, 8192};
    MatrixDescriptor here = stored.descriptor_at(0), there = here;
    there.start += 5 * 128;
    there.base_offset = storage.swizzle == Swizzle::none ? 0 : 5;
    uint32_t at_here[128], at_there[128];
    chunk_addresses(at_here, here, storage.major, 0, 64);
    chunk_addresses(at_there, there, storage.major, 0, 64);
    for (uint32_t &address : at_here)
      address += 5 * 128;
    CHECK(std::equal(at_here, at_here + 128, at_there));
  }
}

TEST_CASE("wgmma check: rejects invalid instructions") {
  auto problem = [](Input a, Input b, unsigned n, Major major_a, Major major_b, bool registers) {
    Wgmma instruction;
    instruction.a = a;
    instruction.b = b;
    instruction.n = n;
    instruction.major_a = major_a;
    instruction.major_b = major_b;
    instruction.a_in_registers = registers;
    const char *text = check(instruction);
    return std::string(text ? text : "");
  };
  for (unsigned n = 8; n <= 256; n += 8)
    CHECK(problem(Input::f16, Input::f16, n, Major::mn, Major::mn, false) == "");
  CHECK(problem(Input::bf16, Input::bf16, 256, Major::k, Major::mn, true) == "");
  CHECK(problem(Input::e4m3, Input::e5m2, 24, Major::k, Major::k, false) == "");
  CHECK(problem(Input::s8, Input::s8, 24, Major::k, Major::k, false) == "");
  CHECK(problem(Input::s8, Input::u8, 208, Major::k, Major::k, false) == "");
  CHECK(problem(Input::f16, Input::f16, 0, Major::k, Major::k, false) == "N must be from 8 to 256");
  CHECK(problem(Input::f16, Input::f16, 264, Major::k, Major::k, false) ==
        "N must be from 8 to 256");
  CHECK(problem(Input::f16, Input::f16, 12, Major::k, Major::k, false) ==
        "N must be a multiple of 8");
  CHECK(problem(Input::s8, Input::s8, 40, Major::k, Major::k, false) ==
        "for integers, N above 32 must be a multiple of 16");
  CHECK(problem(Input::f16, Input::e4m3, 8, Major::k, Major::k, false) ==
        "the element types of A and B do not match");
  CHECK(problem(Input::e4m3, Input::s8, 8, Major::k, Major::k, false) ==
        "the element types of A and B do not match");
  for (Input input : {Input::tf32, Input::e4m3, Input::s8}) {
    CHECK(problem(input, input, 8, Major::k, Major::mn, false) ==
          "only operands with 16-bit elements can be MN-major");
    CHECK(problem(input, input, 8, Major::mn, Major::k, false) ==
          "only operands with 16-bit elements can be MN-major");
    CHECK(problem(input, input, 8, Major::mn, Major::k, true) == "");
  }
}

namespace {

struct Types {
  Input a, b;
};
constexpr Types types[] = {{Input::f16, Input::f16},   {Input::bf16, Input::bf16},
                           {Input::tf32, Input::tf32}, {Input::e4m3, Input::e4m3},
                           {Input::e4m3, Input::e5m2}, {Input::s8, Input::s8},
                           {Input::u8, Input::u8}};

// One wgmma on a random window; compares everything that it should and should not change.
int wrong_results(const Wgmma &instruction, const Stored &a, const Stored &b, unsigned first,
                  Kind kind, Random &random, unsigned warps) {
  unsigned k = instruction.k(), n = instruction.n, bytes = bytes_of(instruction.a);
  bool integers = is_integer(instruction.a);
  std::vector<std::byte> window(window_bytes);
  for (unsigned row = 0; row < 64; row++)
    for (unsigned i = 0; i < a.k; i++) {
      uint32_t element = random.element(instruction.a, kind);
      std::memcpy(&window[a.address(row, i)], &element, bytes);
    }
  for (unsigned row = 0; row < n; row++)
    for (unsigned i = 0; i < b.k; i++) {
      uint32_t element = random.element(instruction.b, kind);
      std::memcpy(&window[b.address(row, i)], &element, bytes);
    }

  WgmmaOperands operands;
  operands.window = window.data();
  operands.a = a.descriptor_at(first);
  operands.b = b.descriptor_at(first);
  uint32_t registers[128][4] = {};
  const uint32_t *pointers[128];
  unsigned per_register = 4 / bytes;
  for (unsigned thread = 0; thread < 128; thread++) {
    pointers[thread] = registers[thread];
    for (unsigned r = 0; r < 4; r++)
      for (unsigned e = 0; e < per_register; e++) {
        Place place = place_in_a(16, per_register, thread % 32, r, e);
        uint32_t element = load_element(
            &window[a.address(thread / 32 * 16 + place.row, first + place.column)], bytes);
        registers[thread][r] |= element << (e * bytes * 8);
      }
  }
  if (instruction.a_in_registers) {
    operands.a_registers = pointers;
    operands.a = MatrixDescriptor();
  }

  std::vector<float> d(128 * n / 2 + 1);
  std::vector<float *> d_pointers(128);
  std::vector<int32_t *> i_pointers(128);
  for (unsigned thread = 0; thread < 128; thread++) {
    d_pointers[thread] = &d[thread * n / 2];
    i_pointers[thread] = reinterpret_cast<int32_t *>(d_pointers[thread]);
  }
  for (float &x : d)
    x = integers ? std::bit_cast<float>(random.bits()) : random.accumulator(kind);
  std::vector<float> before = d;
  Accumulation how = accumulation(90, Instruction::wgmma, integers ? Input::f16 : instruction.a);
  if (integers)
    wgmma(instruction, operands, i_pointers.data(), warps);
  else
    wgmma(instruction, how, operands, d_pointers.data(), warps);

  int wrong = std::memcmp(&d.back(), &before.back(), 4) != 0;
  std::vector<float> row(k), column(k);
  for (unsigned thread = 0; thread < 128; thread++)
    for (unsigned r = 0; r < n / 2; r++) {
      uint32_t result, start;
      std::memcpy(&result, &d[thread * n / 2 + r], 4);
      std::memcpy(&start, &before[thread * n / 2 + r], 4);
      if (!(warps >> thread / 32 & 1)) {
        wrong += result != start;
        continue;
      }
      // PTX ISA, "Register Fragments ... D": row = 16 (warp % 4) + lane / 4 (+ 8), column = 8i +
      // ...
      unsigned lane = thread % 32;
      unsigned m = 16 * (thread / 32) + lane / 4 + (r % 4 < 2 ? 0 : 8);
      unsigned col = r / 4 * 8 + lane % 4 * 2 + r % 2;
      if (!instruction.add)
        start = 0;
      for (unsigned i = 0; i < k; i++) {
        row[i] = value_of(instruction.a, load_element(&window[a.address(m, first + i)], bytes));
        column[i] =
            value_of(instruction.b, load_element(&window[b.address(col, first + i)], bytes));
      }
      uint32_t expected;
      if (integers) {
        expected = start;
        for (unsigned i = 0; i < k; i++)
          expected += uint32_t(int(row[i]) * int(column[i]));
      } else {
        expected = std::bit_cast<uint32_t>(
            fused_dot(how, k, row.data(), 1, min_exponent(instruction.a), column.data(), 1,
                      min_exponent(instruction.b), std::bit_cast<float>(start)));
      }
      wrong += result != expected;
    }
  return wrong;
}

} // namespace

TEST_CASE("wgmma: all types, layouts and sizes") {
  Random random(9);
  unsigned case_number = 0;
  for (Types type : types)
    for (Storage storage_a : storages)
      for (Storage storage_b : storages)
        for (bool registers : {false, true}) {
          bool wide = bytes_of(type.a) != 2;
          if (wide && (storage_a.major == Major::mn || storage_b.major == Major::mn))
            continue;
          if (registers && storage_a.swizzle != Swizzle::none)
            continue;
          case_number++;
          Wgmma instruction;
          instruction.a = type.a;
          instruction.b = type.b;
          constexpr unsigned sizes[] = {8, 24, 64, 96, 128, 200, 256};
          instruction.n = sizes[case_number % 7];
          if (is_integer(type.a) && instruction.n > 32)
            instruction.n = instruction.n / 16 * 16;
          instruction.a_in_registers = registers;
          instruction.major_a = storage_a.major;
          instruction.major_b = storage_b.major;
          instruction.add = case_number % 3 != 0;
          unsigned k = instruction.k(), first = case_number % 4 * k;
          // Rows of tiles fill complete spans.
          Stored a{storage_a.major, storage_a.swizzle, 64, 4 * k, bytes_of(type.a), 1024};
          Stored b{storage_b.major, storage_b.swizzle, (instruction.n + 63) / 64 * 64,
                   4 * k,           bytes_of(type.b),  64 * 1024};
          Kind kind = all_kinds[case_number % 4];
          unsigned warps = case_number % 5 == 0 ? 1 + random.below(15) : 0xf;
          CAPTURE(int(type.a));
          CAPTURE(int(storage_a.major));
          CAPTURE(int(storage_a.swizzle));
          CAPTURE(int(storage_b.major));
          CAPTURE(int(storage_b.swizzle));
          CAPTURE(instruction.n);
          CAPTURE(registers);
          CHECK(wrong_results(instruction, a, b, first, kind, random, warps) == 0);
        }
}

TEST_CASE("wgmma: all N") {
  Random random(10);
  for (unsigned n = 8; n <= 256; n += 8)
    for (Kind kind : {Kind::integers, Kind::uniform}) {
      Wgmma instruction;
      instruction.n = n;
      Stored a{Major::k, Swizzle::span128, 64, 64, 2, 0};
      Stored b{Major::k, Swizzle::span128, n, 64, 2, 16384};
      CAPTURE(n);
      CHECK(wrong_results(instruction, a, b, 16, kind, random, 0xf) == 0);
    }
}
