// Tests the fragments of analysis/layouts.cpp against the PTX ISA, section "Matrix
// multiply-accumulate operation using mma instruction". The formulas give row and column of element
// i of a fragment in a lane, as the manual writes them, not as the layouts are built.

#include "analysis/layouts.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <map>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

struct Place {
  int row, column;
  bool operator==(const Place &) const = default;
  auto operator<=>(const Place &) const = default;
};

using Formula = Place (*)(int i, int lane);

int group(int lane) { return lane >> 2; }
int in_group(int lane) { return lane % 4; }

// All shapes have four f32, i32 or f64. Shapes with 8 rows have only the first two.
Place accumulator(int i, int lane) {
  return {i < 2 ? group(lane) : group(lane) + 8, in_group(lane) * 2 + (i & 1)};
}

// .f16 and .bf16
Place k16_a(int i, int lane) {
  bool upper = i < 2 || (i >= 4 && i < 6);
  return {upper ? group(lane) : group(lane) + 8, in_group(lane) * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
Place k16_b(int i, int lane) {
  return {in_group(lane) * 2 + (i & 1) + (i >= 2 ? 8 : 0), group(lane)};
}
Place k8_a(int i, int lane) {
  return {i < 2 ? group(lane) : group(lane) + 8, in_group(lane) * 2 + (i & 1)};
}
Place k8_b(int i, int lane) { return {in_group(lane) * 2 + i, group(lane)}; }

// .tf32
Place tf32_k8_a(int i, int lane) {
  return {i == 0 || i == 2 ? group(lane) : group(lane) + 8,
          i < 2 ? in_group(lane) : in_group(lane) + 4};
}
Place tf32_k8_b(int i, int lane) {
  return {i == 0 ? in_group(lane) : in_group(lane) + 4, group(lane)};
}
Place tf32_k4_a(int i, int lane) {
  return {i == 0 ? group(lane) : group(lane) + 8, in_group(lane)};
}
Place tf32_k4_b(int, int lane) { return {in_group(lane), group(lane)}; }

// .s8, .u8, .e4m3 and .e5m2
Place i8_k32_a(int i, int lane) {
  bool upper = i < 4 || (i >= 8 && i < 12);
  return {upper ? group(lane) : group(lane) + 8, in_group(lane) * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
Place i8_k32_b(int i, int lane) {
  return {in_group(lane) * 4 + (i & 3) + (i < 4 ? 0 : 16), group(lane)};
}
Place i8_k16_a(int i, int lane) {
  return {i < 4 ? group(lane) : group(lane) + 8, in_group(lane) * 4 + (i & 3)};
}
Place i8_k16_b(int i, int lane) { return {in_group(lane) * 4 + i, group(lane)}; }

// .f64 with 16 rows: as .tf32. With 8 rows:
Place f64_m8_a(int, int lane) { return {group(lane), in_group(lane)}; }
Place f64_m8_b(int, int lane) { return {in_group(lane), group(lane)}; }

struct Instruction {
  const char *name, *elem;
  int k;
  int a_elements, b_elements;
  Formula a, b;
  int rows = 16;

  std::string sum() const {
    return std::string(elem) == "f64" ? "f64" : std::string(elem) == "i8" ? "i32" : "f32";
  }
  int c_elements() const { return rows / 4; }
};

const Instruction instructions[] = {
    {"m16n8k16", "f16", 16, 8, 4, k16_a, k16_b},
    {"m16n8k16", "bf16", 16, 8, 4, k16_a, k16_b},
    {"m16n8k8", "f16", 8, 4, 2, k8_a, k8_b},
    {"m16n8k8", "bf16", 8, 4, 2, k8_a, k8_b},
    {"m16n8k8", "f32", 8, 4, 2, tf32_k8_a, tf32_k8_b},
    {"m16n8k4", "f32", 4, 2, 1, tf32_k4_a, tf32_k4_b},
    {"m16n8k32", "i8", 32, 16, 8, i8_k32_a, i8_k32_b},
    {"m16n8k32", "e4m3", 32, 16, 8, i8_k32_a, i8_k32_b},
    {"m16n8k32", "e5m2", 32, 16, 8, i8_k32_a, i8_k32_b},
    {"m16n8k16", "i8", 16, 8, 4, i8_k16_a, i8_k16_b},
    {"m8n8k16", "i8", 16, 4, 4, i8_k16_a, i8_k16_b, 8},
    {"m16n8k8", "f64", 8, 4, 2, tf32_k8_a, tf32_k8_b},
    {"m16n8k4", "f64", 4, 2, 1, tf32_k4_a, tf32_k4_b},
    {"m8n8k4", "f64", 4, 1, 1, f64_m8_a, f64_m8_b, 8},
};

// An m x n x k matmul with this instruction, divided among `warps` = {along m, along n}.
Function product(const Instruction &instruction, int m, int n, int k, std::vector<int> warps) {
  auto shape = [](int rows, int columns) {
    return "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
  };
  std::string elem = instruction.elem, sum = instruction.sum();
  return parsed("func @f(%a: " + elem + shape(m, k) + ", %b: " + elem + shape(k, n) +
                ", %c: " + sum + shape(m, n) + ") {\n%d = dot %a, %b, %c {instruction = \"" +
                instruction.name + "\", warps = " + shape(warps[0], warps[1]) + "} : " + sum +
                shape(m, n) + "\nreturn\n}");
}

Place place(const LinearLayout &layout, int r, int lane, int warp) {
  std::vector<int64_t> at =
      unflatten(layout.shape, layout.index(uint32_t(r), uint32_t(lane), uint32_t(warp)));
  return {int(at[0]), int(at[1])};
}

// Every register of `layout` in every lane must be an element of the instruction's fragment. The
// position in lane 0 gives the element number. All lanes must have the same instruction tile.
void check_fragments(const LinearLayout &layout, int rows, int columns, int elements,
                     Formula formula) {
  std::map<Place, int> element_at;
  for (int i = 0; i < elements; i++)
    element_at[formula(i, 0)] = i;
  for (int w = 0; w < layout.warps(); w++)
    for (int r = 0; r < layout.registers(); r++) {
      Place first = place(layout, r, 0, w);
      auto found = element_at.find({first.row % rows, first.column % columns});
      REQUIRE(found != element_at.end());
      for (int lane = 0; lane < 32; lane++) {
        Place expected = formula(found->second, lane), here = place(layout, r, lane, w);
        CHECK(here.row == first.row / rows * rows + expected.row);
        CHECK(here.column == first.column / columns * columns + expected.column);
      }
    }
}

} // namespace

TEST_CASE("operand_layout: one instruction matches the PTX fragments") {
  for (const Instruction &instruction : instructions) {
    CAPTURE(std::string(instruction.name));
    CAPTURE(std::string(instruction.elem));
    Function fn = product(instruction, instruction.rows, 8, instruction.k, {1, 1});
    const Op &dot = *value_named(fn, "d")->op;
    struct {
      LinearLayout layout;
      int elements;
      Formula formula;
    } fragments[] = {{operand_layout(dot, 0), instruction.a_elements, instruction.a},
                     {operand_layout(dot, 1), instruction.b_elements, instruction.b},
                     {accumulator_layout(dot), instruction.c_elements(), accumulator}};
    for (const auto &[layout, elements, formula] : fragments) {
      REQUIRE(layout.registers() == elements);
      REQUIRE(layout.lane.size() == 5);
      for (int i = 0; i < elements; i++)
        for (int lane = 0; lane < 32; lane++)
          CHECK(place(layout, i, lane, 0) == formula(i, lane));
    }
  }
}

TEST_CASE("operand_layout: larger tiles consist of whole instructions") {
  for (const Instruction &instruction : instructions)
    for (std::vector<int> warps : {std::vector{1, 1}, {2, 2}, {4, 1}, {1, 4}}) {
      CAPTURE(std::string(instruction.name));
      Function fn = product(instruction, 64, 32, 2 * instruction.k, warps);
      const Op &dot = *value_named(fn, "d")->op;
      check_fragments(operand_layout(dot, 0), instruction.rows, instruction.k,
                      instruction.a_elements, instruction.a);
      check_fragments(operand_layout(dot, 1), instruction.k, 8, instruction.b_elements,
                      instruction.b);
      check_fragments(accumulator_layout(dot), instruction.rows, 8, instruction.c_elements(),
                      accumulator);
    }
}

TEST_CASE("operand_layout: each warp has the operands of its results") {
  for (const Instruction &instruction : instructions)
    for (std::vector<int> warps : {std::vector{1, 1}, {2, 2}, {4, 2}, {1, 8}, {8, 1}}) {
      CAPTURE(std::string(instruction.name));
      CAPTURE(std::string(instruction.elem));
      // Some of these have more warps than the tile has instructions, so warps hold copies.
      Function fn = product(instruction, 32, 16, instruction.k, warps);
      const Op &dot = *value_named(fn, "d")->op;
      LinearLayout a = operand_layout(dot, 0), b = operand_layout(dot, 1);
      LinearLayout c = accumulator_layout(dot);
      REQUIRE(c.warps() == warps[0] * warps[1]);
      REQUIRE(a.warps() == c.warps());
      REQUIRE(b.warps() == c.warps());
      for (int w = 0; w < c.warps(); w++) {
        std::set<int> rows, columns, rows_of_a, columns_of_b;
        std::set<Place> all_a, all_b;
        for (int lane = 0; lane < 32; lane++) {
          for (int r = 0; r < c.registers(); r++) {
            rows.insert(place(c, r, lane, w).row);
            columns.insert(place(c, r, lane, w).column);
          }
          for (int r = 0; r < a.registers(); r++)
            all_a.insert(place(a, r, lane, w));
          for (int r = 0; r < b.registers(); r++)
            all_b.insert(place(b, r, lane, w));
        }
        for (Place at : all_a)
          rows_of_a.insert(at.row);
        for (Place at : all_b)
          columns_of_b.insert(at.column);
        CHECK(rows == rows_of_a);
        CHECK(columns == columns_of_b);
        CHECK(all_a.size() == rows.size() * size_t(instruction.k));
        CHECK(all_b.size() == columns.size() * size_t(instruction.k));
      }
    }
}

TEST_CASE("operand_layout: fma thread has all of K for its results") {
  for (std::string elem : {"f32", "f16"})
    for (std::string vector : {"[1,1]", "[4,4]", "[4,1]", "[1,4]", "[2,2]"})
      for (std::string warps : {"[1,1]", "[2,2]", "[4,1]"}) {
        CAPTURE(vector);
        CAPTURE(warps);
        Function fn = parsed("func @f(%a: " + elem + "[32,4], %b: " + elem +
                             "[4,64], %c: f32[32,64]) {"
                             "%d = dot %a, %b, %c {instruction = \"fma\", thread_tile = " +
                             vector + ", warps = " + warps + "} : f32[32,64]\n return\n}");
        const Op &dot = *value_named(fn, "d")->op;
        LinearLayout a = operand_layout(dot, 0), b = operand_layout(dot, 1);
        LinearLayout c = accumulator_layout(dot);
        for (int w = 0; w < c.warps(); w++)
          for (int lane = 0; lane < 32; lane++) {
            std::set<Place> needed_a, needed_b, have_a, have_b;
            for (int r = 0; r < c.registers(); r++)
              for (int k = 0; k < 4; k++) {
                needed_a.insert({place(c, r, lane, w).row, k});
                needed_b.insert({k, place(c, r, lane, w).column});
              }
            for (int r = 0; r < a.registers(); r++)
              have_a.insert(place(a, r, lane, w));
            for (int r = 0; r < b.registers(); r++)
              have_b.insert(place(b, r, lane, w));
            CHECK(needed_a == have_a);
            CHECK(needed_b == have_b);
          }
      }
}

TEST_CASE("operand_layout: FP8 converted to f16 has the f16 layout") {
  for (std::string elem : {"e4m3", "e5m2"}) {
    Function small =
        parsed("func @f(%a: " + elem + "[32,16], %b: " + elem +
               "[16,16], %c: f32[32,16]) {\n%d = dot %a, %b, %c {convert_to = \"f16\", "
               "instruction = \"m16n8k16\", warps = [1,2]} : f32[32,16]\nreturn\n}");
    Function half = product({"m16n8k16", "f16", 16, 8, 4, k16_a, k16_b}, 32, 16, 16, {1, 2});
    const Op &dot = *value_named(small, "d")->op, &of_halves = *value_named(half, "d")->op;
    CHECK(operand_elem(dot) == Elem::f16);
    for (int operand : {0, 1})
      CHECK(operand_layout(dot, operand) == operand_layout(of_halves, operand));
  }
}

TEST_CASE("dot_instruction: parses mma names, otherwise no tensor core") {
  Function fn = parsed("func @f(%a: f16[16,16], %b: f16[16,8], %c: f32[16,8]) {\n"
                       "%d = dot %a, %b, %c : f32[16,8]\nreturn\n}");
  Op *dot = value_named(fn, "d")->op;
  CHECK_FALSE(dot_instruction(*dot).tensor_core);
  for (const Instruction &instruction : instructions) {
    dot->set(attr::instruction_, std::string(instruction.name));
    DotInstruction found = dot_instruction(*dot);
    CHECK(found.tensor_core);
    CHECK(found.m == instruction.rows);
    CHECK(found.n == 8);
    CHECK(found.k == instruction.k);
  }
}
