// Tests passes/coarsen_programs.cpp.

#include "matmul_kernel.h"
#include "passes/coarsen_programs.h"
#include "passes/remove_dead_code.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

Schedule coarsenings(std::vector<int64_t> times) {
  return {.kind = Schedule::Kind::warp_specialized, .coarsening = std::move(times)};
}

void pass(ir::Function &fn, const Schedule &schedule) {
  coarsen_programs(fn, schedule);
  remove_dead_code(fn);
}

bool can_coarsen(const std::string &text, const std::vector<int64_t> &times = {2, 1, 1}) {
  ir::Function fn = parsed(text);
  return try_coarsening(fn, times);
}

// Each program has 64 contiguous elements. %f is the index of its first element.
std::string kernel(const std::string &operations) {
  return R"(
    func @f(%A: ptr<f32>, %C: ptr<f32>, %n: i32, %odd: i1, %ld: i64) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %size = constant {value = 64} : i64
      %p = program_id {axis = 0} : i32
      %p.wide = cast %p : i64
      %f = mul %p.wide, %size : i64
      )" +
         operations + "\n return\n}";
}

const std::string copy = R"(
      %v = view %A, %f, %one : view<f32>[64]
      %x = load %v : f32[64]
      %w = view %C, %f, %one : view<f32>[64]
      )";

} // namespace

TEST_CASE("coarsen_programs: merges two programs and masks missing ones") {
  CHECK(after(pass, kernel(copy + "store %w, %x"), coarsenings({2, 1, 1})) == text(R"(
    func @f(%A: ptr<f32>, %C: ptr<f32>, %n: i32, %odd: i1, %ld: i64) {
      %0 = num_programs {axis = 0} : i32
      %1 = host_value %0 : i32
      %2 = constant {value = 1} : i32
      %3 = add %0, %2 : i32
      %4 = constant {value = 2} : i32
      %5 = div %3, %4 : i32
      %6 = block_id {axis = 0} : i32
      %7 = num_programs {axis = 1} : i32
      %8 = constant {value = 0} : i32
      %9 = add %7, %8 : i32
      %10 = constant {value = 1} : i32
      %11 = div %9, %10 : i32
      %12 = num_programs {axis = 2} : i32
      %13 = constant {value = 0} : i32
      %14 = add %12, %13 : i32
      %15 = constant {value = 1} : i32
      %16 = div %14, %15 : i32
      launch_blocks %5, %11, %16
      %one = constant {value = 1} : i64
      %17 = constant {value = 128} : i64
      %18 = cast %6 : i64
      %19 = mul %17, %18 : i64
      %v = view %A, %19, %one : view<f32>[128]
      %20 = range {start = 0} : i32[128]
      %21 = constant {value = 64} : i32
      %22 = splat %21 : i32[128]
      %23 = udiv %20, %22 : i32[128]
      %24 = cast %23 : i64[128]
      %25 = cast %1 : i64
      %26 = constant {value = -2} : i64
      %27 = cast %6 : i64
      %28 = mul %26, %27 : i64
      %29 = add %25, %28 : i64
      %30 = splat %29 : i64[128]
      %31 = cmp %24, %30 {pred = "lt"} : i1[128]
      %32 = broadcast %31 : i1[128]
      %33 = constant {number = 0.0} : f32
      %34 = splat %33 : f32[128]
      %x = load %v, %32, %34 : f32[128]
      %35 = constant {value = 128} : i64
      %36 = cast %6 : i64
      %37 = mul %35, %36 : i64
      %w = view %C, %37, %one : view<f32>[128]
      %38 = range {start = 0} : i32[128]
      %39 = constant {value = 64} : i32
      %40 = splat %39 : i32[128]
      %41 = udiv %38, %40 : i32[128]
      %42 = cast %41 : i64[128]
      %43 = cast %1 : i64
      %44 = constant {value = -2} : i64
      %45 = cast %6 : i64
      %46 = mul %44, %45 : i64
      %47 = add %43, %46 : i64
      %48 = splat %47 : i64[128]
      %49 = cmp %42, %48 {pred = "lt"} : i1[128]
      %50 = broadcast %49 : i1[128]
      store %w, %x, %50
      return
    })"));
}

TEST_CASE("coarsen_programs: does nothing without a coarsening") {
  CHECK(after(coarsen_programs, matmul_kernel(), coarsenings({})) == text(matmul_kernel()));
}

TEST_CASE("coarsen_programs: stacks a matmul along one or both axes") {
  struct {
    std::vector<int64_t> times;
    ir::Shape a, b, sum;
  } cases[] = {{{2, 1, 1}, {128, 64}, {64, 64}, {128, 64}},
               {{1, 2, 1}, {64, 64}, {64, 128}, {64, 128}},
               {{2, 4, 1}, {128, 64}, {64, 256}, {128, 256}},
               {{1, 1, 1}, {64, 64}, {64, 64}, {64, 64}}};
  for (const auto &[times, a, b, sum] : cases) {
    CAPTURE(times[0]);
    CAPTURE(times[1]);
    ir::Function fn = parsed(matmul_kernel());
    pass(fn, coarsenings(times));
    check_rules(fn);
    CHECK(value_named(fn, "a")->type.shape == a);
    CHECK(value_named(fn, "b")->type.shape == b);
    for (const char *name : {"acc", "d", "sum", "result"})
      CHECK(value_named(fn, name)->type.shape == sum);
    // A load that is the same for all programs has no mask.
    CHECK((value_named(fn, "a")->op->operands.size() == 3) == (times[0] > 1));
    CHECK((value_named(fn, "b")->op->operands.size() == 3) == (times[1] > 1));
    std::string result = printed(fn);
    CHECK_FALSE(contains(result, "program_id"));
    CHECK(count(result, "launch_blocks") == 1);
  }
}

TEST_CASE("coarsen_programs: stacks element-wise operations") {
  CHECK(can_coarsen(kernel(copy + "%y = add %x, %x : f32[64]\n store %w, %y")));
  // A tile that is the same for all programs becomes longer.
  CHECK(can_coarsen(kernel(copy + "%c = constant {number = 2.0} : f32\n %cs = splat %c : f32[64]\n"
                                  "%y = mul %x, %cs : f32[64]\n store %w, %y")));
}

TEST_CASE("coarsen_programs: accepts a mask that moves with the program") {
  const std::string mask = R"(
      %i = range {start = 0} : i32[64]
      %size32 = constant {value = SIZE} : i32
      %f32 = mul %p, %size32 : i32
      %left = sub %n, %f32 : i32
      %limit = splat %left : i32[64]
      %on = cmp %i, %limit {pred = "lt"} : i1[64]
      %y = load %v, %on : f32[64]
      store %w, %y, %on)";
  CHECK(can_coarsen(kernel(copy + with(mask, "SIZE", "64"))));
  // The bound moves by 32, but the next program's tile starts 64 later.
  CHECK_FALSE(can_coarsen(kernel(copy + with(mask, "SIZE", "32"))));
}

TEST_CASE("coarsen_programs: rejects tiles or operations that cannot stack") {
  std::string cases[] = {
      // Tiles with gaps between them, and tiles that overlap.
      kernel("%g = add %f, %f : i64\n %v = view %A, %g, %one : view<f32>[64]\n"
             "%x = load %v : f32[64]\n store %v, %x"),
      kernel("%v = view %A, %p.wide, %one : view<f32>[64]\n %x = load %v : f32[64]\n store %v, %x"),
      // A reduction over the program's own elements.
      kernel(copy + "%s = reduce %x {axis = 0, op = \"add\"} : f32\n %ss = splat %s : f32[64]\n"
                    "store %w, %ss"),
      // A scan or a gather within the program's own elements.
      kernel(copy + "%s = scan %x {axis = 0, op = \"add\"} : f32[64]\n store %w, %s"),
      kernel(copy + "%i = range {start = 0} : i32[64]\n"
                    "%g = gather %x, %i {axis = 0} : f32[64]\n store %w, %g"),
      kernel(copy + "if_else %odd {\n store %w, %x\n yield\n } {\n yield\n }"),
      kernel(copy + "while_loop {\n condition %odd\n } {\n store %w, %x\n yield\n }"),
      // A value other than zero where the mask is off.
      kernel("%v = view %A, %f, %one : view<f32>[64]\n %on = splat %odd : i1[64]\n"
             "%c = constant {number = 2.0} : f32\n %cs = splat %c : f32[64]\n"
             "%x = load %v, %on, %cs : f32[64]\n store %v, %x"),
      // A load through pointers, and an iteration count that differs between programs.
      kernel("%i = range {start = 0} : i32[64]\n %ps = splat %p : i32[64]\n"
             "%j = add %i, %ps : i32[64]\n %As = splat %A : ptr<f32>[64]\n"
             "%q = addptr %As, %j : ptr<f32>[64]\n %x = load %q : f32[64]\n store %q, %x"),
      kernel("for_loop %p {\n (%t: i32)\n yield\n }"),
      // A per-program number that a loop carries without a change.
      kernel(copy + "%last = for_loop %n, %p : i32 {\n (%t: i32, %q: i32)\n yield %q\n }\n"
                    "store %w, %x"),
      kernel(copy + "%last = for_loop %n, %f : i64 {\n (%t: i32, %g: i64)\n"
                    "%u = view %A, %g, %one : view<f32>[64]\n %y = load %u : f32[64]\n"
                    "store %w, %y\n yield %g\n }"),
  };
  for (const std::string &text : cases) {
    CAPTURE(text);
    CHECK_FALSE(can_coarsen(text));
  }
}
