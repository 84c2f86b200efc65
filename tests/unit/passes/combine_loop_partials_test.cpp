// Tests passes/combine_loop_partials.cpp. The folder combine_loop_partials/ has more cases.

#include "matmul_kernel.h"
#include "passes/coarsen_programs.h"
#include "passes/combine_loop_partials.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Blocks of the first launch had 64 x 128 accumulators: two adjacent programs.
Schedule split_k_reduction() {
  return {.k_tile = 64,
          .work = Schedule::Work::reduction,
          .partials = SplitKPartials{{1, 2, 1}, {0, 1}}};
}

} // namespace

TEST_CASE("combine_loop_partials: unrolls large totals by available registers") {
  auto at_once = [](int rows, int columns) {
    std::string added =
        after(combine_loop_partials, matmul_kernel(rows, columns), split_k_reduction());
    return count(added, "= load %");
  };
  CHECK(at_once(16, 32) == 8);
  CHECK(at_once(16, 64) == 8);
  CHECK(at_once(32, 64) == 6);
  CHECK(at_once(64, 64) == 3);
  CHECK(at_once(64, 128) == 3);
  CHECK(at_once(128, 128) == 3);
}

TEST_CASE("combine_loop_partials: blocks divide the tile of a program") {
  ir::Function fn = parsed(matmul_kernel());
  Schedule schedule = split_k_reduction();
  schedule.coarsening = {1, 1, 1};
  schedule.division = {8, 1, 1};
  coarsen_programs(fn, schedule);
  combine_loop_partials(fn, schedule);
  check_rules(fn);
  std::string added = printed(fn);
  CHECK(count(added, ": view<f32>[8,64]") == 8); // loads of partials
  CHECK(count(added, "launch_blocks") == 1);
  CHECK_FALSE(contains(added, "program_id"));
}

TEST_CASE("combine_loop_partials: adds integer partials as integers") {
  std::string text = with(matmul_kernel(64, 64, 64, "i8"), "f32[64,64]", "i32[64,64]");
  text = with(text, "%nothing = constant {number = 0.0} : f32",
              "%nothing = constant {value = 0} : i32");
  std::string added = after(combine_loop_partials, text, split_k_reduction());
  CHECK(contains(added, ": view<i32>[64,64]"));
  CHECK(contains(added, "%workspace = workspace"));
}

TEST_CASE("combine_loop_partials: does nothing in other schedules") {
  for (auto share : {Schedule::Work::all, Schedule::Work::partials}) {
    Schedule schedule = split_k_reduction();
    schedule.work = share;
    CHECK(after(combine_loop_partials, matmul_kernel(), schedule) == text(matmul_kernel()));
  }
}
