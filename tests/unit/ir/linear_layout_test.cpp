// Tests ir/linear_layout.cpp.

#include "ir/linear_layout.h"

#include <doctest/doctest.h>

#include <set>

using namespace tritonc::ir;

namespace {

// The example of linear_layout.h: 32 x 8, bases as flat indices.
LinearLayout example() { return {{32, 8}, {1, 8 * 8}, {2, 4, 1 * 8, 2 * 8, 4 * 8}, {16 * 8}, {}}; }

// 8 x 8; the column is xored with the row.
LinearLayout swizzled() { return {{8, 8}, {}, {}, {}, {1, 2, 4, 8 | 1, 16 | 2, 32 | 4}}; }

} // namespace

TEST_CASE("flatten: the last axis is in the lowest bits") {
  CHECK(flatten({4, 8}, {2, 5}) == 21);
  CHECK(unflatten({4, 8}, 21) == std::vector<int64_t>{2, 5});
  CHECK(flatten({2, 1, 4}, {1, 0, 3}) == 7);
  CHECK(flatten({}, {}) == 0);
  CHECK(axis_shift({4, 8}, 0) == 3);
  CHECK(axis_shift({4, 8}, 1) == 0);
  CHECK(axis_shift({2, 1, 4}, 0) == 2);
  CHECK(element_count({4, 8}) == 32);
  CHECK(element_count({}) == 1);
}

TEST_CASE("unflatten: inverts flatten") {
  Shape shape = {4, 1, 2, 8};
  for (FlatIndex i = 0; i < 64; i++)
    CHECK(flatten(shape, unflatten(shape, i)) == i);
}

TEST_CASE("LinearLayout: index is the xor of the bases of set bits") {
  LinearLayout layout = example();
  CHECK(layout.registers() == 4);
  CHECK(layout.warps() == 2);
  CHECK(layout.index(0, 0, 0) == 0);
  CHECK(unflatten(layout.shape, layout.index(3, 4, 0)) == std::vector<int64_t>{9, 1});
  CHECK(unflatten(layout.shape, layout.index(3, 31, 1)) == std::vector<int64_t>{31, 7});
}

TEST_CASE("LinearLayout: without zero bases it holds every element once") {
  LinearLayout layout = example();
  std::set<FlatIndex> seen;
  for (uint32_t w = 0; w < 2; w++)
    for (uint32_t l = 0; l < 32; l++)
      for (uint32_t r = 0; r < 4; r++)
        CHECK(seen.insert(layout.index(r, l, w)).second);
  CHECK(seen.size() == 256);
}

TEST_CASE("LinearLayout: offset_of inverts a swizzle") {
  LinearLayout layout = swizzled();
  CHECK(layout.is_shared());
  for (uint32_t offset = 0; offset < 64; offset++) {
    FlatIndex index = 0;
    for (int bit = 0; bit < 6; bit++)
      if (offset >> bit & 1)
        index ^= layout.offset[bit];
    CHECK(layout.offset_of(index) == offset);
  }
  // For one element: row 5, column 3 is at column 3 ^ 5.
  CHECK(layout.offset_of(flatten({8, 8}, {5, 3})) == 5 * 8 + (3 ^ 5));
}

TEST_CASE("LinearLayout: offset_bases inverts any bijection") {
  LinearLayout transposed{{4, 4}, {}, {}, {}, {4, 8, 1, 2}};
  CHECK(transposed.offset_bases() == std::vector<uint32_t>{4, 8, 1, 2});
  LinearLayout mixed{{8}, {}, {}, {}, {6, 3, 4}};
  std::set<uint32_t> offsets;
  for (FlatIndex index = 0; index < 8; index++)
    offsets.insert(mixed.offset_of(index));
  CHECK(offsets.size() == 8);
  CHECK(mixed.offset_of(6) == 1);
  CHECK(mixed.offset_of(3) == 2);
  CHECK(mixed.offset_of(6 ^ 4) == 5);
}

TEST_CASE("LinearLayout: slice drops registers, keeps lane copies") {
  LinearLayout rows = example().slice(1, false);
  CHECK(rows.shape == Shape{32});
  CHECK(rows.reg == std::vector<FlatIndex>{8});
  CHECK(rows.lane == std::vector<FlatIndex>{0, 0, 1, 2, 4});
  CHECK(rows.warp == std::vector<FlatIndex>{16});
  LinearLayout columns = example().slice(0, true);
  CHECK(columns.shape == Shape{1, 8});
  CHECK(columns.reg == std::vector<FlatIndex>{1});
  CHECK(columns.lane == std::vector<FlatIndex>{2, 4, 0, 0, 0});
  CHECK(columns.warp == std::vector<FlatIndex>{0});
}

TEST_CASE("LinearLayout: slice of extent 1 changes only the shape") {
  LinearLayout layout{{4, 1, 8}, {1, 2}, {4, 8, 16, 0, 0}, {0}, {}};
  LinearLayout same = layout.slice(1, false);
  CHECK(same.shape == Shape{4, 8});
  CHECK(same.reg == layout.reg);
  CHECK(same.lane == layout.lane);
  CHECK(layout.slice(1, true) == layout);
}

TEST_CASE("LinearLayout: permute permutes all coordinates") {
  LinearLayout layout = example(), turned = layout.permute({1, 0});
  CHECK(turned.shape == Shape{8, 32});
  for (uint32_t l = 0; l < 32; l++)
    for (uint32_t r = 0; r < 4; r++) {
      std::vector<int64_t> at = unflatten(layout.shape, layout.index(r, l, 1));
      CHECK(unflatten(turned.shape, turned.index(r, l, 1)) == std::vector<int64_t>{at[1], at[0]});
    }
  CHECK(turned.permute({1, 0}) == layout);
  // Axis d of the result is axis perm[d] of the operand, not the inverse.
  LinearLayout three{{2, 4, 8}, {1, 8, 32}, {}, {}, {}};
  CHECK(three.permute({2, 0, 1}).shape == Shape{8, 2, 4});
}

TEST_CASE("LinearLayout: text lists the coordinates of each basis") {
  CHECK(example().text() == "reg (0,1) (8,0) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp (16,0)");
  CHECK(swizzled().text() == "offset (0,1) (0,2) (0,4) (1,1) (2,2) (4,4)");
  CHECK(LinearLayout{{1}, {}, {0, 0, 0, 0, 0}, {}, {}}.text() ==
        "reg lane (0) (0) (0) (0) (0) warp");
}
