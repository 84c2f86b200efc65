// Tests passes/reduce_split_k_partials.cpp.

#include "matmul_kernel.h"
#include "passes/reduce_split_k_partials.h"
#include "passes/remove_dead_code.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Blocks of the first launch had 64 x 128 accumulators: two adjacent programs.
Schedule split_k_reduction() {
  return {.k_tile = 64,
          .work = Schedule::Work::split_k_reduction,
          .partials = SplitKPartials{{1, 2, 1}, 64, 128, 0, 1}};
}

} // namespace

TEST_CASE("reduce_split_k_partials: loop adds partials in order") {
  ir::Function fn = parsed(matmul_kernel(16, 64));
  reduce_split_k_partials(fn, split_k_reduction());
  remove_dead_code(fn);
  check_rules(fn);
  std::string added = printed(fn);
  CHECK_FALSE(contains(added, "dot"));
  CHECK_FALSE(contains(added, "%A,"));
  CHECK(count(added, "load ") == 8);
  CHECK(contains(added, R"(
  %37 = constant {value = 7} : i32
  %38 = add %parts, %37 : i32
  %39 = constant {value = 8} : i32
  %40 = udiv %38, %39 : i32
  %41 = constant {value = 1} : i32
  %42 = sub %parts, %41 : i32
  %sum = for_loop %40, %start : f32[16,64] {
    (%43: i32, %44: f32[16,64])
    %45 = constant {value = 8} : i32
    %46 = mul %43, %45 : i32
    %47 = constant {value = 0} : i32
    %48 = add %46, %47 : i32
)"));
  // The second partial. Programs are half as wide as the output tiles, so the view has an extra
  // column offset.
  CHECK(contains(added, R"(
    %77 = constant {value = 1} : i32
    %78 = add %46, %77 : i32
    %79 = min %78, %42 : i32
    %80 = constant {value = 2048} : i64
    %81 = cast %in_row : i64
    %82 = mul %80, %81 : i64
    %83 = cast %34 : i64
    %84 = mul %82, %83 : i64
    %85 = constant {value = 8192} : i64
    %86 = cast %in_matrix : i64
    %87 = mul %85, %86 : i64
    %88 = cast %36 : i64
    %89 = mul %87, %88 : i64
    %90 = add %84, %89 : i64
    %91 = constant {value = 8192} : i64
    %92 = cast %pieces : i64
    %93 = mul %91, %92 : i64
    %94 = cast %79 : i64
    %95 = mul %93, %94 : i64
    %96 = add %90, %95 : i64
    %97 = constant {value = 64} : i64
    %98 = cast %35 : i64
    %99 = mul %97, %98 : i64
    %100 = add %96, %99 : i64
    %101 = constant {value = 128} : i64
    %102 = cast %in_row : i64
    %103 = mul %101, %102 : i64
    %104 = constant {value = 1} : i64
    %105 = view %workspace, %100, %103, %104 : view<f32>[16,64]
    %106 = load %105 : f32[16,64]
)"));
  // The additions follow after all loads.
  CHECK(contains(added, R"(
    %288 = splat %287 : f32[16,64]
    %289 = cmp %48, %parts {pred = "lt"} : i1
    %290 = splat %289 : i1[16,64]
    %291 = select %290, %76, %288 : f32[16,64]
    %292 = add %44, %291 : f32[16,64]
)"));
  // The epilogue uses the new sum.
  CHECK(contains(added, "%result = cast %sum : f16[16,64]"));
  CHECK(contains(added, "store %vc, %result"));
}

TEST_CASE("reduce_split_k_partials: unrolls by available registers") {
  auto at_once = [](int rows, int columns) {
    std::string added =
        after(reduce_split_k_partials, matmul_kernel(rows, columns), split_k_reduction());
    return count(added, "= load %");
  };
  CHECK(at_once(16, 32) == 8);
  CHECK(at_once(16, 64) == 8);
  CHECK(at_once(32, 64) == 4);
  CHECK(at_once(64, 64) == 2);
  CHECK(at_once(128, 128) == 2);
}

TEST_CASE("reduce_split_k_partials: adds integer partials as integers") {
  std::string text = with(matmul_kernel(64, 64, 64, "i8"), "f32[64,64]", "i32[64,64]");
  text = with(text, "%nothing = constant {number = 0.0} : f32",
              "%nothing = constant {value = 0} : i32");
  std::string added = after(reduce_split_k_partials, text, split_k_reduction());
  CHECK(contains(added, ": view<i32>[64,64]"));
  CHECK(contains(added, "%workspace = workspace"));
}

TEST_CASE("reduce_split_k_partials: does nothing in other schedules") {
  for (auto share : {Schedule::Work::all, Schedule::Work::full_waves, Schedule::Work::tail,
                     Schedule::Work::split_k_partials}) {
    Schedule schedule = split_k_reduction();
    schedule.work = share;
    CHECK(after(reduce_split_k_partials, matmul_kernel(), schedule) == text(matmul_kernel()));
  }
}
