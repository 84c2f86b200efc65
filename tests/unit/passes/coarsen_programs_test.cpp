// Tests passes/coarsen_programs.cpp. The folder coarsen_programs/ has more cases.

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

TEST_CASE("coarsen_programs: divides a matmul along its rows or columns") {
  struct {
    std::vector<int64_t> division;
    ir::Shape a, b, sum;
  } cases[] = {{{8, 1, 1}, {8, 64}, {64, 64}, {8, 64}}, {{1, 2, 1}, {64, 64}, {64, 32}, {64, 32}}};
  for (const auto &[division, a, b, sum] : cases) {
    CAPTURE(division[0]);
    ir::Function fn = parsed(matmul_kernel());
    Schedule schedule = coarsenings({1, 1, 1});
    schedule.division = division;
    pass(fn, schedule);
    check_rules(fn);
    CHECK(value_named(fn, "a")->type.shape == a);
    CHECK(value_named(fn, "b")->type.shape == b);
    for (const char *name : {"acc", "d", "sum", "result"})
      CHECK(value_named(fn, name)->type.shape == sum);
    // No part lies outside of the grid.
    for (const char *name : {"a", "b"})
      CHECK(value_named(fn, name)->op->operands.size() == 1);
  }
}

TEST_CASE("coarsen_programs: divides only by a divisor of the extent") {
  auto divides = [](int64_t parts) {
    ir::Function fn = parsed(kernel(copy + "store %w, %x"));
    return try_coarsening(fn, {1, 1, 1}, {parts, 1, 1});
  };
  CHECK(divides(2));
  CHECK(divides(64));
  CHECK_FALSE(divides(128));
}

TEST_CASE("coarsen_programs: stacks element-wise operations") {
  CHECK(can_coarsen(kernel(copy + "%y = add %x, %x : f32[64]\n store %w, %y")));
  // A tile that is the same for all programs becomes longer.
  CHECK(can_coarsen(kernel(copy + "%c = constant {number = 2.0} : f32\n %cs = splat %c : f32[64]\n"
                                  "%y = mul %x, %cs : f32[64]\n store %w, %y")));
}

TEST_CASE("coarsen_programs: stacks a dot along the rows of A or the columns of B only") {
  // %rows and %cols are tiles of the program, %same is the same for all programs. The tests replace
  // the operands of the dot.
  const std::string dot = R"(
      %down = mul %f, %ld : i64
      %rows.v = view %A, %down, %ld, %one : view<f32>[64,64]
      %rows = load %rows.v : f32[64,64]
      %cols.v = view %A, %f, %ld, %one : view<f32>[64,64]
      %cols = load %cols.v : f32[64,64]
      %same.v = view %A, %zero, %ld, %one : view<f32>[64,64]
      %same = load %same.v : f32[64,64]
      %none = constant {number = 0.0} : f32
      %zeros = splat %none : f32[64,64]
      %w = view %C, %f, %one : view<f32>[64]
      %d = dot LEFT, RIGHT, START : f32[64,64]
      )";
  auto coarsens = [&](const std::string &left, const std::string &right, const std::string &start,
                      const std::string &end) {
    return can_coarsen(
        kernel(with(with(with(dot, "LEFT", left), "RIGHT", right), "START", start) + end));
  };
  const std::string along_rows = "%s = reduce %d {axis = 1, op = \"add\"} : f32[64]\n store %w, %s";
  const std::string along_columns =
      "%s = reduce %d {axis = 0, op = \"add\"} : f32[64]\n store %w, %s";
  CHECK(coarsens("%rows", "%same", "%zeros", along_rows));
  CHECK(coarsens("%same", "%cols", "%zeros", along_columns));
  // A loaded accumulator cannot become longer.
  CHECK_FALSE(coarsens("%rows", "%same", "%same", along_rows));

  // All programs of a block would store one total, so their dots must be equal.
  const std::string total = "%s = reduce %d {axis = 1, op = \"add\"} : f32[64]\n"
                            "%t = reduce %s {axis = 0, op = \"add\"} : f32\n"
                            "%ts = splat %t : f32[64]\n store %w, %ts";
  CHECK(coarsens("%same", "%same", "%zeros", total));
  CHECK_FALSE(coarsens("%rows", "%cols", "%zeros", total)); // each program has its own A and B
  CHECK_FALSE(coarsens("%cols", "%rows", "%zeros", total)); // they differ along K
}

TEST_CASE("coarsen_programs: stacks a dot in a loop that carries its other operand") {
  const std::string loop = R"(
      %tile.v = view %A, %f, %ld, %one : view<f32>[64,64]
      %tile = load %tile.v : f32[64,64]
      %same.v = view %A, %zero, %ld, %one : view<f32>[64,64]
      %same = load %same.v : f32[64,64]
      %none = constant {number = 0.0} : f32
      %zeros = splat %none : f32[64,64]
      %w = view %C, %f, %ld, %one : view<f32>[64,64]
      %sum, %last = for_loop %n, %zeros, %same : f32[64,64], f32[64,64] {
      (%t: i32, %acc: f32[64,64], %carried: f32[64,64])
        %d = dot LEFT, RIGHT, %acc : f32[64,64]
        yield %d, %carried
      }
      store %w, %sum)";
  auto coarsens = [&](const std::string &left, const std::string &right) {
    return can_coarsen(kernel(with(with(loop, "LEFT", left), "RIGHT", right)));
  };
  CHECK(coarsens("%carried", "%tile"));       // the tiles are adjacent along the columns of B
  CHECK_FALSE(coarsens("%tile", "%carried")); // they differ along K
}

TEST_CASE("coarsen_programs: a tile becomes longer only along an axis where it repeats") {
  // Adds a vector to each row or to each column. The blocks have more rows than the programs.
  auto coarsens = [](const std::string &axis, const std::string &vector) {
    const std::string sum = R"(
      %down = mul %f, %ld : i64
      %v = view %A, %down, %ld, %one : view<f32>[64,64]
      %x = load %v : f32[64,64]
      %bias.v = view %A, %zero, %one : view<f32>[64]
      %bias = load %bias.v : f32[64]
      %thin = expand %bias {axis = AXIS} : f32VECTOR
      %wide = broadcast %thin : f32[64,64]
      %y = add %x, %wide : f32[64,64]
      %w = view %C, %down, %ld, %one : view<f32>[64,64]
      store %w, %y)";
    return can_coarsen(kernel(with(with(sum, "AXIS", axis), "VECTOR", vector)));
  };
  CHECK(coarsens("0", "[1,64]"));
  CHECK_FALSE(coarsens("1", "[64,1]")); // the rows of the second program would have no element
}

TEST_CASE("coarsen_programs: a loop carries the tiles of all programs") {
  auto coarsens = [](const std::string &next) {
    const std::string loop = R"(
      %same.v = view %A, %zero, %one : view<f32>[64]
      %same = load %same.v : f32[64]
      %last, %sum = for_loop %n, %zero, %x : i64, f32[64] {
        (%t: i32, %k: i64, %acc: f32[64])
        %more = add %acc, %x : f32[64]
        yield %k, NEXT
      }
      store %w, %sum)";
    return can_coarsen(kernel(copy + with(loop, "NEXT", next)));
  };
  CHECK(coarsens("%more"));
  CHECK_FALSE(coarsens("%same")); // has the elements of one program
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
      // A term of the address that does not move with the program.
      kernel("%half = div %p.wide, %ld : i64\n %far = mul %half, %ld : i64\n"
             "%at = add %f, %far : i64\n %v = view %A, %at, %one : view<f32>[64]\n"
             "%x = load %v : f32[64]\n store %v, %x"),
      // A reduction over the program's own elements.
      kernel(copy + "%s = reduce %x {axis = 0, op = \"add\"} : f32\n %ss = splat %s : f32[64]\n"
                    "store %w, %ss"),
      // A scan or a gather within the program's own elements.
      kernel(copy + "%s = scan %x {axis = 0, op = \"add\"} : f32[64]\n store %w, %s"),
      kernel(copy + "%i = range {start = 0} : i32[64]\n"
                    "%g = gather %x, %i {axis = 0} : f32[64]\n store %w, %g"),
      // A scalar that selects whole tiles.
      kernel(copy + "%y = select %odd, %x, %x : f32[64]\n store %w, %y"),
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
