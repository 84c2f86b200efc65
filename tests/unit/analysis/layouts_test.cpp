// Tests the layouts of analysis/layouts.cpp for global and shared memory. fragments_test.cpp tests
// the fragments.

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

Function function(const std::string &operations, int warps) {
  Function fn = parsed(R"(
    func @f(%h: ptr<f16>, %p: i64, %x8: i64 multiple_of 8) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      )" + operations + "\n return\n}");
  fn.warps = warps;
  return fn;
}

// Extra shared memory cycles due to bank conflicts, for one access of `bytes` bytes per lane at
// `addresses`. A warp accesses 128 bytes at a time: 8 lanes of 16 bytes, 16 lanes of 8 bytes, or 32
// lanes of at most 4 bytes.
int bank_conflicts(const std::vector<uint32_t> &addresses, uint32_t bytes) {
  size_t lanes_at_once = bytes == 16 ? 8 : bytes == 8 ? 16 : 32;
  int conflicts = 0;
  for (size_t first = 0; first < addresses.size(); first += lanes_at_once) {
    std::map<uint32_t, std::set<uint32_t>> words_of_bank;
    for (size_t lane = first; lane < std::min(first + lanes_at_once, addresses.size()); lane++)
      for (uint32_t byte = 0; byte < bytes; byte++) {
        uint32_t word = (addresses[lane] + byte) / 4;
        words_of_bank[word % 32].insert(word);
      }
    size_t most = 0;
    for (const auto &[bank, words] : words_of_bank)
      most = std::max(most, words.size());
    conflicts += int(most) - 1;
  }
  return conflicts;
}

struct Buffer {
  LinearLayout layout;
  int contiguous, element_bytes;

  // The address of element `along` in row `row`. A row runs along the contiguous axis.
  uint32_t address(int64_t row, int64_t along) const {
    std::vector<int64_t> at = contiguous == 1 ? std::vector{row, along} : std::vector{along, row};
    return layout.offset_of(flatten(layout.shape, at)) * uint32_t(element_bytes);
  }
};

Buffer buffer(int64_t rows, int64_t length, int contiguous, int element_bytes) {
  Shape shape = contiguous == 1 ? Shape{rows, length} : Shape{length, rows};
  return {swizzled_layout(shape, contiguous, element_bytes), contiguous, element_bytes};
}

// Calls `body` with buffers of many shapes.
template <typename Body> void for_each_buffer(Body body) {
  for (int element_bytes : {2, 4})
    for (int64_t length = 8; length <= 128; length *= 2)
      for (int64_t rows : {8, 16, 64})
        for (int contiguous : {0, 1}) {
          CAPTURE(element_bytes);
          CAPTURE(length);
          CAPTURE(rows);
          CAPTURE(contiguous);
          body(buffer(rows, length, contiguous, element_bytes), rows, length, 16 / element_bytes);
        }
}

} // namespace

TEST_CASE("bank_conflicts: counts the extra cycles") {
  std::vector<uint32_t> together, apart, same;
  for (uint32_t lane = 0; lane < 32; lane++) {
    together.push_back(lane * 4);
    apart.push_back(lane * 128);
    same.push_back(64);
  }
  CHECK(bank_conflicts(together, 4) == 0);
  CHECK(bank_conflicts(apart, 4) == 31);
  CHECK(bank_conflicts(same, 4) == 0);
  CHECK(bank_conflicts(apart, 16) == 4 * 7);
}

TEST_CASE("blocked_layout: orders registers, lanes, then warps") {
  struct {
    Shape shape;
    std::vector<int> order;
    int vector, warps;
    std::string text;
  } cases[] = {
      {{64, 64},
       {1, 0},
       8,
       4,
       "reg (0,1) (0,2) (0,4) (16,0) (32,0) lane (0,8) (0,16) (0,32) (1,0) (2,0) warp (4,0) (8,0)"},
      {{64}, {0}, 1, 1, "reg (32) lane (1) (2) (4) (8) (16) warp"},
      {{4, 4}, {0, 1}, 2, 1, "reg (1,0) lane (2,0) (0,1) (0,2) (0,0) (0,0) warp"},
      {{2}, {0}, 1, 2, "reg lane (1) (0) (0) (0) (0) warp (0)"},
      {{1, 1}, {1, 0}, 1, 1, "reg lane (0,0) (0,0) (0,0) (0,0) (0,0) warp"},
  };
  for (const auto &[shape, order, vector, warps, text] : cases)
    CHECK(blocked_layout(shape, order, vector, warps).text() == text);
}

TEST_CASE("memory_layout: starts along the contiguous axis") {
  Function rows = function("%v = view %h, %zero, %x8, %one : view<f16>[32,64]", 4);
  CHECK(memory_layout(value_named(rows, "v"), nullptr, rows).text() ==
        "reg (0,1) (0,2) (0,4) (16,0) lane (0,8) (0,16) (0,32) (1,0) (2,0) warp (4,0) (8,0)");
  Function columns = function("%v = view %h, %zero, %one, %x8 : view<f16>[32,64]", 4);
  CHECK(memory_layout(value_named(columns, "v"), nullptr, columns).text() ==
        "reg (1,0) (2,0) (4,0) (0,32) lane (8,0) (16,0) (0,1) (0,2) (0,4) warp (0,8) (0,16)");
}

TEST_CASE("blocked_layout: warps may have another order than lanes") {
  // Each warp has whole rows.
  CHECK(blocked_layout({64, 64}, {1, 0}, 8, 4, {0, 1}).text() ==
        "reg (0,1) (0,2) (0,4) (16,0) (32,0) lane (0,8) (0,16) (0,32) (1,0) (2,0) "
        "warp (4,0) (8,0)");
  CHECK(blocked_layout({16, 128}, {1, 0}, 2, 4, {0, 1}).text() ==
        "reg (0,1) (0,64) (4,0) (8,0) lane (0,2) (0,4) (0,8) (0,16) (0,32) warp (1,0) (2,0)");
  CHECK(blocked_layout({16, 128}, {1, 0}, 2, 4).text() ==
        "reg (0,1) (2,0) (4,0) (8,0) lane (0,2) (0,4) (0,8) (0,16) (0,32) warp (0,64) (1,0)");
  // There are fewer rows than warps.
  CHECK(blocked_layout({2, 256}, {1, 0}, 1, 4, {0, 1}).text() ==
        "reg (0,64) (0,128) lane (0,1) (0,2) (0,4) (0,8) (0,16) warp (1,0) (0,32)");
  CHECK(blocked_layout({1, 64}, {1, 0}, 1, 4, {0, 1}).text() ==
        "reg lane (0,1) (0,2) (0,4) (0,8) (0,16) warp (0,32) (0,0)");
  CHECK(blocked_layout({4, 8, 64}, {2, 1, 0}, 2, 8, {1, 0, 2}).text() ==
        "reg (0,0,1) (1,0,0) (2,0,0) lane (0,0,2) (0,0,4) (0,0,8) (0,0,16) (0,0,32) "
        "warp (0,1,0) (0,2,0) (0,4,0)");
}

TEST_CASE("memory_layout: a warp has whole rows if they are reduced") {
  // A warp moves half a row at a time. STRIDES are those of the rows and of the columns.
  auto layout = [](const std::string &strides, const std::string &operations) {
    Function fn = function("%v = view %h, %zero, " + strides +
                               " : view<f16>[8,512]\n%x = load %v : f16[8,512]\n" + operations,
                           4);
    return memory_layout(value_named(fn, "v"), nullptr, fn).text();
  };
  const std::string rows = "%x8, %one", columns = "%one, %x8";
  const std::string lanes = "lane (0,8) (0,16) (0,32) (0,64) (0,128) ";
  const std::string parts_of_rows =
      "reg (0,1) (0,2) (0,4) (2,0) (4,0) " + lanes + "warp (0,256) (1,0)";
  const std::string whole_rows =
      "reg (0,1) (0,2) (0,4) (0,256) (4,0) " + lanes + "warp (1,0) (2,0)";
  CHECK(layout(rows, "") == parts_of_rows);
  CHECK(layout(rows, "%s = reduce %x {axis = 1, op = \"add\"} : f16[8]") == whole_rows);
  // Another tile of this shape, inside of a loop.
  CHECK(layout(rows,
               "%y = cast %x : f32[8,512]\n%n = constant {value = 3} : i32\n"
               "for_loop %n {\n (%t: i32)\n"
               " %s = reduce %y {axis = 1, op = \"max\"} : f32[8]\n yield\n }") == whole_rows);
  // The parts of the rows.
  CHECK(layout(rows, "%y = reshape %x : f16[8,2,256]\n"
                     "%s = reduce %y {axis = 1, op = \"add\"} : f16[8,256]") == whole_rows);
  // A reduction along the other axis, of another shape, or an operation within rows.
  CHECK(layout(rows, "%s = reduce %x {axis = 0, op = \"add\"} : f16[512]") == parts_of_rows);
  CHECK(layout(rows, "%y = reshape %x : f16[16,256]\n"
                     "%s = reduce %y {axis = 1, op = \"add\"} : f16[16]") == parts_of_rows);
  CHECK(layout(rows, "%s = scan %x {axis = 1, op = \"add\"} : f16[8,512]") == parts_of_rows);
  // Memory is contiguous along the columns: all of a column lies in one thread already.
  CHECK(layout(columns, "%s = reduce %x {axis = 0, op = \"add\"} : f16[512]") ==
        layout(columns, ""));
  CHECK(layout(columns, "%s = reduce %x {axis = 1, op = \"add\"} : f16[8]") == layout(columns, ""));
}

TEST_CASE("memory_layout: a reduced tile with fewer rows than warps") {
  auto layout = [](const std::string &shape, const std::string &strides, const std::string &sum) {
    Function fn = function("%v = view %h, %zero, " + strides + " : view<f16>[" + shape +
                               "]\n%x = load %v : f16[" + shape + "]\n%s = " + sum,
                           8);
    return memory_layout(value_named(fn, "v"), nullptr, fn).text();
  };
  CHECK(layout("2,2048", "%x8, %one", "reduce %x {axis = 1, op = \"add\"} : f16[2]") ==
        "reg (0,1) (0,2) (0,4) (0,1024) lane (0,8) (0,16) (0,32) (0,64) (0,128) "
        "warp (1,0) (0,256) (0,512)");
  CHECK(layout("2048", "%one", "reduce %x {axis = 0, op = \"add\"} : f16") ==
        "reg (1) (2) (4) lane (8) (16) (32) (64) (128) warp (256) (512) (1024)");
  // The rows of a program first, then the programs of the block.
  CHECK(layout("2,8,512", "%x8, %x8, %one", "reduce %x {axis = 2, op = \"add\"} : f16[2,8]") ==
        "reg (0,0,1) (0,0,2) (0,0,4) (0,0,256) (1,0,0) "
        "lane (0,0,8) (0,0,16) (0,0,32) (0,0,64) (0,0,128) warp (0,1,0) (0,2,0) (0,4,0)");
}

TEST_CASE("memory_layout: narrows accesses to use all threads") {
  Function fn = function("%v = view %h, %zero, %one : view<f16>[128]", 1);
  CHECK(memory_layout(value_named(fn, "v"), nullptr, fn).registers() == 4);
  fn.warps = 4;
  LinearLayout layout = memory_layout(value_named(fn, "v"), nullptr, fn);
  CHECK(layout.registers() == 1);
  CHECK(access_width(layout, value_named(fn, "v"), nullptr, fn) == 1);
}

TEST_CASE("rows_layout: adjacent lanes have a row, and all threads have elements") {
  struct {
    Shape shape;
    int64_t elements;
    int warps;
    int lanes, columns; // per row; of a thread in a row
  } cases[] = {{{128, 32}, 4096, 4, 4, 8},
               {{64, 64}, 4096, 4, 8, 8},
               {{32, 128}, 4096, 4, 16, 8},
               {{8, 512}, 4096, 4, 32, 16},
               {{4, 1024}, 4096, 4, 32, 32},
               {{1, 8}, 4096, 4, 8, 1},
               // Some columns of a row.
               {{64, 16}, 4096, 4, 8, 2},
               {{64, 8}, 4096, 4, 8, 1},
               {{8, 64}, 4096, 4, 32, 2}};
  for (const auto &[shape, elements, warps, lanes, columns] : cases) {
    CAPTURE(shape[0]);
    LinearLayout layout = rows_layout(shape, elements, warps);
    std::set<FlatIndex> all, of_row, of_thread;
    for (uint32_t warp = 0; warp < uint32_t(warps); warp++)
      for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t r = 0; r < uint32_t(layout.registers()); r++) {
          const FlatIndex index = layout.index(r, lane, warp);
          all.insert(index);
          if (warp == 0 && r == 0 && index < FlatIndex(shape[1]))
            of_row.insert(index);
          if (warp == 0 && lane == 0 && index < FlatIndex(shape[1]))
            of_thread.insert(index);
        }
    CHECK(all.size() == size_t(element_count(shape)));
    CHECK(of_row.size() == size_t(lanes));
    CHECK(of_thread.size() == size_t(columns));
    CHECK(layout.warps() == warps);
  }
}

TEST_CASE("row_major_layout: the offset is the index") {
  LinearLayout layout = row_major_layout({4, 8});
  for (FlatIndex index = 0; index < 32; index++)
    CHECK(layout.offset_of(index) == index);
}

TEST_CASE("crossing_layout: has blocks, lanes along one axis, warps along the other") {
  CHECK(crossing_layout({128, 128}, {1, 8}, {0, 8}, 8).text() ==
        "reg (0,1) (0,2) (0,4) (1,0) (2,0) (4,0) "
        "lane (0,8) (0,16) (0,32) (0,64) (8,0) warp (16,0) (32,0) (64,0)");
  // Too few elements for whole blocks: the vector of its own accesses comes first.
  CHECK(crossing_layout({16, 64}, {1, 8}, {0, 8}, 2).text() ==
        "reg (0,1) (0,2) (0,4) (1,0) lane (0,8) (0,16) (0,32) (2,0) (4,0) warp (8,0)");
  CHECK(crossing_layout({64, 64}, {0, 1}, {1, 1}, 4).text() ==
        "reg (0,4) (0,8) (0,16) (0,32) (32,0) "
        "lane (1,0) (2,0) (4,0) (8,0) (16,0) warp (0,1) (0,2)");
  // Other axes come last.
  CHECK(crossing_layout({2, 8, 16}, {2, 4}, {1, 2}, 1).text() ==
        "reg (0,0,1) (0,0,2) (0,1,0) lane (0,0,4) (0,0,8) (0,2,0) (0,4,0) (1,0,0) warp");
}

TEST_CASE("access_width: is the minimum of layout and memory width") {
  Function fn = function(R"(
    %v = view %h, %zero, %x8, %one : view<f16>[32,64]
    %u = view %h, %p, %x8, %one : view<f16>[32,64]
    %w = view %h, %zero, %x8, %x8 : view<f16>[32,64])",
                         1);
  const Value *aligned = value_named(fn, "v"), *unaligned = value_named(fn, "u");
  for (int vector : {1, 2, 4, 8, 16}) {
    LinearLayout layout = blocked_layout({32, 64}, {1, 0}, vector, 1);
    CHECK(access_width(layout, aligned, nullptr, fn) == (vector == 16 ? 8 : vector));
    CHECK(access_width(layout, unaligned, nullptr, fn) == 1);
    CHECK(access_width(layout, value_named(fn, "w"), nullptr, fn) == 1);
  }
  // Registers along the other axis.
  CHECK(access_width(blocked_layout({32, 64}, {0, 1}, 8, 1), aligned, nullptr, fn) == 1);
}

TEST_CASE("fills_sectors: checks for full 32-byte sectors") {
  Function fn = function(R"(
    %v = view %h, %zero, %x8, %one : view<f16>[32,64]
    %narrow = view %h, %zero, %x8, %one : view<f16>[32,4]
    %w = view %h, %zero, %x8, %x8 : view<f16>[32,64])",
                         1);
  auto fills = [&](const char *view, const LinearLayout &layout) {
    return fills_sectors(layout, value_named(fn, view), fn);
  };
  CHECK(fills("v", blocked_layout({32, 64}, {1, 0}, 8, 1)));
  CHECK(fills("v", blocked_layout({32, 64}, {1, 0}, 1, 1)));
  CHECK_FALSE(fills("v", blocked_layout({32, 64}, {0, 1}, 1, 1)));
  CHECK_FALSE(fills("v", blocked_layout({32, 64}, {0, 1}, 8, 1)));
  // Two contiguous f16 in each of four lanes are 16 bytes.
  LinearLayout fragment{{32, 64}, {1, 512, 8, 16, 32, 1024}, {2, 4, 64, 128, 256}, {}, {}};
  CHECK_FALSE(fills("v", fragment));
  CHECK(fills("narrow", blocked_layout({32, 4}, {1, 0}, 1, 1))); // whole rows, if short
  CHECK(fills("w", blocked_layout({32, 64}, {0, 1}, 1, 1)));     // no layout can fill sectors here
}

TEST_CASE("swizzled_layout: holds every element once") {
  for_each_buffer([](const Buffer &buffer, int64_t rows, int64_t length, int) {
    std::set<uint32_t> seen;
    for (int64_t row = 0; row < rows; row++)
      for (int64_t i = 0; i < length; i++)
        seen.insert(buffer.address(row, i));
    CHECK(seen.size() == size_t(rows * length));
    CHECK(*seen.rbegin() == uint32_t((rows * length - 1) * buffer.element_bytes));
  });
}

TEST_CASE("swizzled_layout: keeps 16-byte chunks contiguous and aligned") {
  for_each_buffer([](const Buffer &buffer, int64_t rows, int64_t length, int chunk) {
    for (int64_t row = 0; row < rows; row++)
      for (int64_t i = 0; i < length; i += chunk) {
        CHECK(buffer.address(row, i) % 16 == 0);
        for (int j = 1; j < chunk; j++)
          CHECK(buffer.address(row, i + j) ==
                buffer.address(row, i) + uint32_t(j * buffer.element_bytes));
      }
  });
}

TEST_CASE("swizzled_layout: ldmatrix has no bank conflicts") {
  for_each_buffer([](const Buffer &buffer, int64_t rows, int64_t length, int chunk) {
    for (int64_t first = 0; first < rows; first += 8)
      for (int64_t i = 0; i < length; i += chunk) {
        std::vector<uint32_t> addresses;
        for (int64_t row = first; row < first + 8; row++)
          addresses.push_back(buffer.address(row, i));
        CHECK(bank_conflicts(addresses, 16) == 0);
      }
  });
}

TEST_CASE("swizzled_layout: stores have no bank conflicts") {
  for_each_buffer([](const Buffer &buffer, int64_t rows, int64_t length, int chunk) {
    if (rows * length < 32 * chunk)
      return; // fewer chunks than lanes
    int other = 1 - buffer.contiguous;
    LinearLayout from = blocked_layout(buffer.layout.shape, {buffer.contiguous, other}, chunk, 1);
    for (int r = 0; r < from.registers(); r += chunk) {
      std::vector<uint32_t> addresses;
      for (uint32_t lane = 0; lane < 32; lane++)
        addresses.push_back(buffer.layout.offset_of(from.index(uint32_t(r), lane, 0)) *
                            uint32_t(buffer.element_bytes));
      CHECK(bank_conflicts(addresses, 16) == 0);
    }
  });
}

TEST_CASE("swizzled_layout: prevents conflicts of the linear layout") {
  std::vector<uint32_t> plain, swizzled;
  Buffer rows = buffer(64, 64, 1, 2);
  for (uint32_t row = 0; row < 8; row++) {
    plain.push_back(row * 128);
    swizzled.push_back(rows.address(row, 0));
  }
  CHECK(bank_conflicts(plain, 16) == 7);
  CHECK(bank_conflicts(swizzled, 16) == 0);
}

TEST_CASE("swizzled_layout: f64 fragments have no bank conflicts") {
  // Sixteen lanes at a time read four f64 along K from each of four rows of A or columns of B.
  for (int contiguous : {0, 1})
    for (int64_t length : {8, 16, 32, 128})
      for (bool is_k_contiguous : {true, false}) {
        CAPTURE(contiguous);
        CAPTURE(length);
        CAPTURE(is_k_contiguous);
        Buffer doubles = buffer(16, length, contiguous, 8);
        for (int64_t first_row = 0; first_row < 16; first_row += 4)
          for (int64_t first = 0; first < length; first += 4) {
            std::vector<uint32_t> starts;
            for (int64_t lane = 0; lane < 16; lane++) {
              int64_t k = lane & 3, own = lane >> 2;
              starts.push_back(doubles.address(first_row + (is_k_contiguous ? own : k),
                                               first + (is_k_contiguous ? k : own)));
            }
            CHECK(bank_conflicts(starts, 8) == 0);
          }
      }
}

TEST_CASE("swizzled_layout: f32 fragments have no bank conflicts") {
  // A warp reads four f32 along K from each of eight rows of A or columns of B.
  for (int contiguous : {0, 1})
    for (int64_t length : {8, 16, 32, 128})
      for (bool is_k_contiguous : {true, false}) {
        CAPTURE(contiguous);
        CAPTURE(length);
        CAPTURE(is_k_contiguous);
        Buffer floats = buffer(16, length, contiguous, 4);
        int64_t rows = is_k_contiguous ? 8 : 4, columns = 12 - rows;
        for (int64_t first_row = 0; first_row < 16; first_row += rows)
          for (int64_t first = 0; first < length; first += columns) {
            std::vector<uint32_t> starts;
            for (int64_t lane = 0; lane < 32; lane++) {
              int64_t k = lane & 3, own = lane >> 2;
              starts.push_back(floats.address(first_row + (is_k_contiguous ? own : k),
                                              first + (is_k_contiguous ? k : own)));
            }
            CHECK(bank_conflicts(starts, 4) == 0);
          }
      }
}

TEST_CASE("swizzled_layout: short rows and other ranks hold every element") {
  for (Shape shape : {Shape{8}, {1}, {16, 4}, {4, 8, 16}, {2, 2, 2, 2}, {64, 1}})
    for (int contiguous = 0; contiguous < int(shape.size()); contiguous++)
      for (int bytes : {1, 2, 4, 8}) {
        LinearLayout layout = swizzled_layout(shape, contiguous, bytes);
        std::set<uint32_t> offsets;
        for (FlatIndex i = 0; i < element_count(shape); i++)
          offsets.insert(layout.offset_of(i));
        CHECK(offsets.size() == size_t(element_count(shape)));
      }
}

namespace {

// The address where TMA stores byte `byte` of row `row`, for contiguous rows of `row_bytes`. The
// swizzles of 128, 64 and 32 bytes exchange 16-byte chunks within 1024, 512 and 256 bytes (PTX ISA,
// "Tensor swizzle modes"). They xor address bits 4 to 6 with bits 7 to 9, bits 4 and 5 with bits 7
// and 8, or bit 4 with bit 7.
int64_t swizzled_by_hardware(int64_t row, int64_t byte, int row_bytes) {
  int64_t address = row * row_bytes + byte;
  int64_t chunks = row_bytes / 16;
  return address ^ (((address >> 7) & (chunks - 1)) << 4);
}

} // namespace

TEST_CASE("panel_row_bytes: is between 32 and 128") {
  CHECK(panel_row_bytes({64, 64}, 1, 2) == 128);
  CHECK(panel_row_bytes({64, 256}, 1, 2) == 128);
  CHECK(panel_row_bytes({64, 32}, 1, 2) == 64);
  CHECK(panel_row_bytes({64, 16}, 1, 2) == 32);
  CHECK(panel_row_bytes({64, 8}, 1, 2) == 0);
  CHECK(panel_row_bytes({16, 64}, 0, 2) == 32);
  CHECK(panel_row_bytes({64, 64}, 1, 4) == 128);
  CHECK(panel_row_bytes({64, 8}, 1, 4) == 32);
}

TEST_CASE("panel_layout: matches TMA, panels follow each other") {
  for (int element_bytes : {2, 4})
    for (int64_t length : {8, 16, 32, 64, 128, 256})
      for (int64_t rows : {8, 64, 256})
        for (int contiguous : {0, 1}) {
          Shape shape = contiguous == 1 ? Shape{rows, length} : Shape{length, rows};
          int row_bytes = panel_row_bytes(shape, contiguous, element_bytes);
          if (!row_bytes)
            continue;
          CAPTURE(element_bytes);
          CAPTURE(length);
          CAPTURE(rows);
          CAPTURE(contiguous);
          Buffer buffer = {panel_layout(shape, contiguous, element_bytes), contiguous,
                           element_bytes};
          int64_t elements = row_bytes / element_bytes, wrong = 0;
          for (int64_t row = 0; row < rows; row++)
            for (int64_t i = 0; i < length; i++) {
              int64_t panel = i / elements;
              int64_t expected = panel * rows * row_bytes +
                                 swizzled_by_hardware(row, i % elements * element_bytes, row_bytes);
              wrong += buffer.address(row, i) != expected;
            }
          CHECK(wrong == 0);
        }
}

TEST_CASE("panel_layout: short rows swizzle within the row") {
  // 32 bytes are two chunks. They swap in every second group of four rows.
  Buffer narrow = {panel_layout({16, 16}, 1, 2), 1, 2};
  CHECK(narrow.address(0, 0) == 0);
  CHECK(narrow.address(3, 0) == 96);
  CHECK(narrow.address(4, 0) == 128 + 16);
  CHECK(narrow.address(4, 8) == 128);
  CHECK(narrow.address(8, 0) == 256);
}

// PTX ISA, "Register fragments for wgmma.mma_async": word i of a thread is in row lane / 4, plus 8
// if i is odd. Its K starts at word lane % 4, plus half of K from word 2 on.
TEST_CASE("fragment_layout: matches wgmma operand A and its accumulator") {
  const std::vector<int64_t> in_order = {1, 2, 4, 8, 16, 32}, other = {2, 16, 4, 1, 8, 32};
  auto row_at = [](const std::vector<int64_t> &rows, int64_t number) {
    int64_t row = 0;
    for (size_t bit = 0; bit < rows.size(); bit++)
      row += (number >> bit & 1) * rows[bit];
    return row;
  };
  for (int element_bytes : {1, 2, 4})
    for (const std::vector<int64_t> &rows : {in_order, other})
      for (int64_t groups : {1, 2})
        for (int64_t instructions : {1, 2}) {
          CAPTURE(element_bytes);
          CAPTURE(groups);
          CAPTURE(instructions);
          int64_t depth = 32 / element_bytes, in_word = 4 / element_bytes, wrong = 0;
          MatmulDivision division = {{groups, 1}, rows};
          Shape shape = {64 * groups * instructions, depth};
          LinearLayout layout = fragment_layout(shape, element_bytes, division);
          LinearLayout sum = matmul_layout({shape[0], 8}, division);
          CHECK(layout.warps() == 4 * groups);
          CHECK(layout.registers() == 4 * in_word * instructions);
          for (uint32_t warp = 0; warp < uint32_t(layout.warps()); warp++)
            for (uint32_t lane = 0; lane < 32; lane++) {
              int64_t of_group = int64_t(warp / 4) * 64 * instructions;
              for (int64_t r = 0; r < layout.registers(); r++) {
                int64_t i = r / in_word % 4, instruction = r / in_word / 4;
                int64_t row = of_group + 64 * instruction +
                              row_at(rows, lane / 4 + 8 * (i & 1) + 16 * (warp % 4));
                int64_t k = in_word * (lane % 4) + r % in_word + depth / 2 * (i >> 1);
                wrong += layout.index(uint32_t(r), lane, warp) != flatten(shape, {row, k});
              }
              for (int64_t r = 0; r < 4; r++)
                wrong += unflatten(sum.shape, sum.index(uint32_t(r), lane, warp))[0] !=
                         of_group + row_at(rows, lane / 4 + 8 * (r >> 1) + 16 * (warp % 4));
            }
          CHECK(wrong == 0);
        }
}

TEST_CASE("rows_without_conflicts: wgmma operand A has no bank conflicts") {
  for (int contiguous : {0, 1})
    for (int64_t length : {64, 128, 256})
      for (int64_t depth : {8, 32}) {
        CAPTURE(length);
        CAPTURE(depth);
        Shape shape = contiguous == 1 ? Shape{depth, length} : Shape{length, depth};
        LinearLayout buffer = panel_layout(shape, contiguous, 4);
        std::vector<int64_t> rows = rows_without_conflicts(buffer, contiguous, 4);
        LinearLayout layout = fragment_layout({length, depth}, 4, {{1, 1}, rows});
        auto address = [&](uint32_t r, uint32_t lane) {
          std::vector<int64_t> at = unflatten(layout.shape, layout.index(r, lane, 0));
          if (contiguous == 1)
            std::swap(at[0], at[1]);
          return 4 * int64_t(buffer.offset_of(flatten(shape, at)));
        };
        // Each thread reads two contiguous elements at once. 16 threads fill all banks.
        CHECK(address(1, 0) == address(0, 0) + 4);
        for (uint32_t first : {0, 16}) {
          std::set<int64_t> banks;
          for (uint32_t lane = first; lane < first + 16; lane++)
            banks.insert(address(0, lane) % 128);
          CHECK(banks.size() == 16);
        }
      }
}

TEST_CASE("rows_without_conflicts: result is a permutation of the rows") {
  for (int element_bytes : {1, 2, 4})
    for (int64_t length : {64, 256}) {
      LinearLayout buffer = panel_layout({256 / element_bytes, length}, 1, element_bytes);
      std::vector<int64_t> rows = rows_without_conflicts(buffer, 1, element_bytes);
      std::sort(rows.begin(), rows.end());
      CHECK(rows == std::vector<int64_t>{1, 2, 4, 8, 16, 32});
    }
}

TEST_CASE("matmul_layout: matches the wgmma accumulator") {
  struct {
    Shape shape;
    std::vector<int64_t> warpgroups;
  } cases[] = {{{64, 16}, {1, 1}},  {{64, 256}, {1, 1}}, {{128, 64}, {2, 1}},
               {{256, 64}, {2, 1}}, {{64, 128}, {1, 2}}, {{128, 64}, {1, 1}}};
  for (const auto &[shape, warpgroups] : cases) {
    CAPTURE(shape[0]);
    CAPTURE(shape[1]);
    LinearLayout layout = matmul_layout(shape, {warpgroups});
    int64_t groups = warpgroups[0] * warpgroups[1];
    CHECK(layout.warps() == 4 * groups);
    CHECK(layout.registers() == shape[0] * shape[1] / (128 * groups));
    int64_t rows = shape[0] / warpgroups[0], columns = shape[1] / warpgroups[1], wrong = 0;
    int64_t in_one = columns / 2; // registers of one instruction: all columns of 64 rows
    for (uint32_t warp = 0; warp < uint32_t(layout.warps()); warp++)
      for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t r = 0; r < uint32_t(layout.registers()); r++) {
          int64_t group = warp / 4, i = r % in_one, instruction = r / in_one;
          int64_t row = group % warpgroups[0] * rows + 64 * instruction + 16 * (warp % 4) +
                        lane / 4 + 8 * (i >> 1 & 1);
          int64_t column =
              group / warpgroups[0] * columns + 8 * (i >> 2) + 2 * (lane % 4) + (i & 1);
          wrong += layout.index(r, lane, warp) != flatten(shape, {row, column});
        }
    CHECK(wrong == 0);
  }
}

TEST_CASE("part_layout: each element stays in its thread") {
  for (Shape part : {Shape{128, 32}, {128, 64}, {128, 16}}) {
    LinearLayout whole = matmul_layout({128, 64}, {{2, 1}}), layout = part_layout(whole, part);
    CHECK(layout.shape == part);
    CHECK(layout.registers() * 128 * 64 == whole.registers() * part[0] * part[1]);
    // Every element of every part is in the same warp and lane as in the whole tile.
    std::map<FlatIndex, std::pair<uint32_t, uint32_t>> owners;
    for (uint32_t warp = 0; warp < 8; warp++)
      for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t r = 0; r < uint32_t(whole.registers()); r++)
          owners[whole.index(r, lane, warp)] = {warp, lane};
    int wrong = 0;
    for (int64_t first = 0; first < 64; first += part[1])
      for (uint32_t warp = 0; warp < 8; warp++)
        for (uint32_t lane = 0; lane < 32; lane++)
          for (uint32_t r = 0; r < uint32_t(layout.registers()); r++) {
            std::vector<int64_t> at = unflatten(part, layout.index(r, lane, warp));
            wrong += owners[flatten({128, 64}, {at[0], at[1] + first})] != std::pair(warp, lane);
          }
    CHECK(wrong == 0);
  }
}

TEST_CASE("accumulator_layout: interleaved columns give each warp a share") {
  ir::Function fn =
      parsed("func @f(%a: f16[128,16], %b: f16[16,256], %c: f32[128,256]) {\n"
             "%d = dot %a, %b, %c {interleaved = 1, instruction = \"m16n8k16\", warps = [2,4]} : "
             "f32[128,256]\n"
             "%e = dot %a, %b, %c {instruction = \"m16n8k16\", warps = [2,4]} : f32[128,256]\n"
             " return\n}");
  const Op &interleaved = *value_named(fn, "d")->op, &blocks = *value_named(fn, "e")->op;
  LinearLayout sum = accumulator_layout(interleaved), right = operand_layout(interleaved, 1);
  CHECK(sum == accumulator_layout({128, 256}, interleaved));
  CHECK(sum.registers() == 128);
  int wrong = 0;
  for (uint32_t warp = 0; warp < 8; warp++)
    for (uint32_t lane = 0; lane < 32; lane++)
      for (uint32_t r = 0; r < 128; r++) {
        std::vector<int64_t> at = unflatten(sum.shape, sum.index(r, lane, warp));
        wrong += at[0] / 64 != warp % 2 || at[1] / 8 % 4 != warp / 2;
      }
  CHECK(wrong == 0);
  // A warp holds the columns of B that its accumulators need. The layout of A stays the same.
  for (uint32_t warp = 0; warp < 8; warp++)
    for (uint32_t r = 0; r < uint32_t(right.registers()); r++)
      wrong += unflatten(right.shape, right.index(r, 0, warp))[1] / 8 % 4 != warp / 2;
  CHECK(wrong == 0);
  CHECK(operand_layout(interleaved, 0) == operand_layout(blocks, 0));
  // Registers select a part of 32 or more columns. With blocks of columns, they cannot.
  for (int64_t columns : {32, 64, 128})
    CHECK(part_layout(sum, {128, columns}).warp.size() == 3);
  CHECK_FALSE(accumulator_layout(blocks) == sum);
  CHECK(unflatten({128, 256}, accumulator_layout(blocks).index(0, 0, 2))[1] == 64);
}

TEST_CASE("share_like: copies the division of the matmul") {
  ir::Function fn =
      parsed("func @f(%a: f16[128,16], %b: f16[16,256], %c: f32[128,256]) {\n"
             "%d = dot %a, %b, %c {interleaved = 1, instruction = \"m16n8k16\", warps = [2,4]} : "
             "f32[128,256]\n"
             "%w = wgmma_wait %c {pending = 0, rows = [2,16,4,1,8,32], warpgroups = [2,1]} : "
             "f32[128,256]\n"
             "%e = extract %d {origin = [0,0]} : f32[128,64]\n"
             "%g = extract %w {origin = [0,0]} : f32[128,64]\n return\n}");
  Op &part = *value_named(fn, "e")->op, &other = *value_named(fn, "g")->op;
  share_like(part, *value_named(fn, "d")->op);
  share_like(other, *value_named(fn, "w")->op);
  CHECK(accumulator_layout({128, 256}, part) == accumulator_layout(*value_named(fn, "d")->op));
  CHECK(accumulator_layout({128, 256}, other) ==
        matmul_layout({128, 256}, {{2, 1}, {2, 16, 4, 1, 8, 32}}));
  CHECK_FALSE(part.has(attr::warpgroups_));
  CHECK_FALSE(other.has(attr::warps_));
}
