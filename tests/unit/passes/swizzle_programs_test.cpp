// Tests passes/swizzle_programs.cpp. The folder swizzle_programs/ has more cases.

#include "passes/swizzle_programs.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"
#include "unit/passes/scalar_value.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

using namespace tritonc;
using namespace tritonc::test;

namespace {

using Place = std::array<int64_t, 2>;

// The kernel after the pass, in a grid. It computes the program that each block runs.
struct Grouped {
  ir::Function fn = parsed(after(swizzle_programs, matmul_kernel(), Schedule{}));
  Place grid;

  int64_t value(const ir::Value *v, const Place &block) const {
    return scalar_value(v, [&](const ir::Value &given) -> int64_t {
      const ir::Op &op = *given.op;
      switch (op.code) {
      case ir::Opcode::program_id_:
        return block[size_t(op.get(ir::attr::axis_))];
      case ir::Opcode::num_programs_:
        return grid[size_t(op.get(ir::attr::axis_))];
      default:
        FAIL(ir::info(op.code).name);
        return 0;
      }
    });
  }

  // The programs in the order in which the GPU starts the blocks.
  std::vector<Place> programs() {
    const ir::Value *row = value_named(fn, "pm.wide")->op->operand(0);
    const ir::Value *column = value_named(fn, "pn.wide")->op->operand(0);
    std::vector<Place> result;
    for (int64_t y = 0; y < grid[1]; y++)
      for (int64_t x = 0; x < grid[0]; x++)
        result.push_back({value(row, {x, y}), value(column, {x, y})});
    return result;
  }
};

} // namespace

TEST_CASE("swizzle_programs: every program runs once") {
  for (Place grid : {Place{1, 1}, {16, 5}, {5, 16}, {17, 3}, {40, 7}, {64, 64}}) {
    std::set<Place> seen;
    for (const Place &program : Grouped{.grid = grid}.programs()) {
      CHECK((program[0] >= 0 && program[0] < grid[0] && program[1] >= 0 && program[1] < grid[1]));
      seen.insert(program);
    }
    CHECK(seen.size() == size_t(grid[0] * grid[1]));
  }
}

TEST_CASE("swizzle_programs: concurrent blocks cover a square") {
  std::vector<Place> programs = Grouped{.grid = {64, 64}}.programs();
  std::set<int64_t> rows, columns;
  for (size_t block = 0; block < 256; block++) {
    rows.insert(programs[block][0]);
    columns.insert(programs[block][1]);
  }
  CHECK(rows.size() == 16);
  CHECK(columns.size() == 16);
}

TEST_CASE("swizzle_programs: grid of at most 16 rows keeps its order") {
  std::vector<Place> programs = Grouped{.grid = {16, 3}}.programs();
  for (size_t block = 0; block < programs.size(); block++)
    CHECK(programs[block] == Place{int64_t(block % 16), int64_t(block / 16)});
}

TEST_CASE("swizzle_programs: looks at each part of an address once") {
  // 40 sums would be 2^40 paths.
  std::string sums = "%s0 = mul %row, %lda : i64\n";
  for (int i = 0; i < 40; i++)
    sums += "%s" + std::to_string(i + 1) + " = add %s" + std::to_string(i) + ", %s" +
            std::to_string(i) + " : i64\n";
  const std::string kernel =
      with(matmul_kernel(), "%first = mul %row, %lda : i64", sums + "%first = add %s40, %s0 : i64");
  CHECK(contains(after(swizzle_programs, kernel, Schedule{}), "urem"));
  // Now the rows of A depend on the column, too.
  CHECK_FALSE(contains(
      after(swizzle_programs, with(kernel, "add %s40, %s0", "add %s40, %column"), Schedule{}),
      "urem"));
}
