// Tests passes/store_loop_partials.cpp and, with combine_loop_partials_test.cpp,
// passes/loop_partials.cpp. The folder store_loop_partials/ has more cases.

#include "analysis/launch_config.h"
#include "matmul_kernel.h"
#include "passes/store_loop_partials.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Blocks have 64 x 128 accumulators: two adjacent programs.
Schedule in_parts() {
  return {.kind = Schedule::Kind::warp_specialized,
          .coarsening = {1, 2, 1},
          .k_tile = 64,
          .work = Schedule::Work::partials,
          .partials = SplitKPartials{{1, 2, 1}, {0, 1}}};
}

// A matmul as lower_to_tma leaves it. `last` reads axis 2 of the grid.
std::string product(const std::string &last = "%matrix = block_id {axis = 2} : i32\n") {
  return R"(
    func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f32>, %n: i32, %ld: i64) warps 4 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %two = constant {value = 2} : i32
      %ma = tensor_map %A, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[64,64]
      %mb = tensor_map %B, %zero, %ld, %ld, %ld, %one {swizzle = 128} : map<f16>[64,64]
      %p0 = num_programs {axis = 0} : i32
      %p1 = num_programs {axis = 1} : i32
      %half = div %p1, %two : i32
      %p2 = num_programs {axis = 2} : i32
      %row = block_id {axis = 0} : i32
      %column = block_id {axis = 1} : i32
      )" +
         last + R"(
      launch_blocks %p0, %half, %p2
      %wide = constant {value = 64} : i32
      %nothing = constant {number = 0.0} : f32
      %start = splat %nothing : f32[64,128]
      %sum = for_loop %n, %start : f32[64,128] {
        (%t: i32, %acc: f32[64,128])
        %k = mul %t, %wide : i32
        %a = tma_load %ma, %row, %k : f16[64,64]
        %b = tma_load %mb, %k, %column : f16[64,128]
        %d = dot %a, %b, %acc {warpgroups = [1,1]} : f32[64,128]
        yield %d
      }
      %v = view %C, %zero, %ld, %one : view<f32>[64,128]
      %r = neg %sum : f32[64,128]
      store %v, %r
      store %v, %sum
      return
    })";
}

} // namespace

TEST_CASE("store_loop_partials: adds block_id for grid axis 2") {
  std::string divided =
      after(store_loop_partials, product("%k0 = block_id {axis = 2} : i32\n"), in_parts());
  CHECK(count(divided, "block_id {axis = 2}") == 1);
  divided = after(store_loop_partials, product(""), in_parts());
  CHECK(count(divided, "block_id {axis = 2}") == 1);
}

TEST_CASE("store_loop_partials: axis 2 excludes the partial index") {
  std::string uses = with(product(), "%v = view %C, %zero",
                          "%far = cast %matrix : i64\n"
                          "%v = view %C, %far");
  uses = with(uses, "%k = mul %t, %wide", "%m = mul %matrix, %t : i32\n %k = mul %m, %wide");
  CHECK(contains(after(store_loop_partials, uses, in_parts()), "%m = mul %2, "));
}

namespace {

// The host's values for a matmul with `steps` K iterations and `pieces` output tiles: number of
// partials, K iterations per partial, and workspace bytes.
struct Division {
  int64_t parts, steps, bytes;
  bool operator==(const Division &) const = default;
};

int64_t value(const Expr &expr, int64_t steps, int64_t pieces, int64_t num_sms) {
  auto operand = [&](size_t i) { return value(expr.operands[i], steps, pieces, num_sms); };
  switch (expr.kind) {
  case Expr::Kind::constant:
    return expr.value;
  case Expr::Kind::parameter:
    return steps; // %n, the only parameter in these expressions
  case Expr::Kind::programs:
    return expr.value == 0 ? pieces : expr.value == 1 ? 2 : 1;
  case Expr::Kind::num_sms:
    return num_sms;
  case Expr::Kind::add:
    return operand(0) + operand(1);
  case Expr::Kind::sub:
    return operand(0) - operand(1);
  case Expr::Kind::mul:
    return operand(0) * operand(1);
  case Expr::Kind::div:
    return operand(0) / operand(1);
  case Expr::Kind::min:
    return std::min(operand(0), operand(1));
  case Expr::Kind::max:
    return std::max(operand(0), operand(1));
  default:
    REQUIRE_MESSAGE(false, "an operation that this test does not know");
    return 0;
  }
}

Division division(int64_t steps, int64_t pieces, int64_t num_sms = 132) {
  ir::Function fn = parsed(after(store_loop_partials, product(), in_parts()));
  auto number = [&](const char *name) {
    const ir::Value *asked = value_named(fn, name)->op->operand(0);
    return value(*host_expression(asked), steps, pieces, num_sms);
  };
  return {number("parts"), number("part"), number("workspace")};
}

} // namespace

TEST_CASE("store_loop_partials: partial count fills all SMs once") {
  constexpr int64_t piece = 64 * 128 * 4;
  CHECK(division(256, 32) == Division{4, 64, 4 * 32 * piece});
  CHECK(division(256, 33) == Division{4, 64, 4 * 33 * piece});
  CHECK(division(256, 34) == Division{3, 86, 3 * 34 * piece});
  CHECK(division(257, 32) == Division{4, 65, 4 * 32 * piece});
  CHECK(division(256, 32, 78) == Division{2, 128, 2 * 32 * piece});
  // No partial is empty: nine of five iterations each would be more than 40.
  CHECK(division(40, 14) == Division{8, 5, 8 * 14 * piece});
  // One partial if the SMs are already full, or if K is too short.
  CHECK(division(256, 67) == Division{1, 256, 67 * piece});
  CHECK(division(256, 1000) == Division{1, 256, 1000 * piece});
  CHECK(division(7, 1) == Division{1, 7, piece});
  CHECK(division(0, 1) == Division{1, 1, piece});
  // At least four K iterations per partial, except for the last. No partial is empty.
  CHECK(division(8, 1) == Division{2, 4, 2 * piece});
  CHECK(division(9, 1) == Division{2, 5, 2 * piece});
  CHECK(division(21, 1) == Division{5, 5, 5 * piece});
}

TEST_CASE("store_loop_partials: does nothing in other schedules") {
  for (auto share : {Schedule::Work::all, Schedule::Work::reduction}) {
    Schedule schedule = in_parts();
    schedule.work = share;
    CHECK(after(store_loop_partials, product(), schedule) == text(product()));
  }
}
