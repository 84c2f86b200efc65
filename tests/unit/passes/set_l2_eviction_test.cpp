// Tests passes/set_l2_eviction.cpp. The folder set_l2_eviction/ has more cases.

#include "passes/set_l2_eviction.h"

#include "analysis/launch_config.h"
#include "ir/verifier.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <array>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Axis 0 of the grid selects the rows of A, and axis 1 the columns of B.
std::string kernel(const std::string &before, const std::string &id) {
  return "func @f(%A: ptr<f16>, %B: ptr<f16>, %n: i64, %k: i32) {\n" + before + R"(
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %m = tensor_map %A, %zero, %n, %n, %n, %one {swizzle = 128} : map<f16>[64,64]
      %w = tensor_map %B, %zero, %n, %n, %n, %one {swizzle = 128} : map<f16>[64,64]
      %x = )" +
         id + R"( {axis = 0} : i32
      %y = )" +
         id + R"( {axis = 1} : i32
      %a = tma_load %m, %x, %k : f16[64,64]
      %b = tma_load %w, %k, %y : f16[64,64]
      return
    })";
}

// Evaluates the host's eviction policies for a grid of programs: first and second load.
std::array<int64_t, 2> policies(const std::string &text, std::array<int64_t, 3> grid) {
  ir::Function fn = parsed(text);
  set_l2_eviction(fn);
  CHECK(ir::verify(fn) == "");
  std::array<int64_t, 2> result = {};
  for (size_t i : {0, 1}) {
    const ir::Op &load = *value_named(fn, i == 0 ? "a" : "b")->op;
    REQUIRE(load.operands.size() == 4);
    std::optional<Expr> policy = host_expression(load.operand(3));
    REQUIRE(policy.has_value());
    auto value = [&](const auto &self, const Expr &e) -> int64_t {
      auto of = [&](size_t operand) { return self(self, e.operands[operand]); };
      switch (e.kind) {
      case Expr::Kind::constant:
        return e.value;
      case Expr::Kind::programs:
        return grid[size_t(e.value)];
      case Expr::Kind::add:
        return of(0) + of(1);
      case Expr::Kind::sub:
        return of(0) - of(1);
      case Expr::Kind::mul:
        return of(0) * of(1);
      case Expr::Kind::div:
        return of(0) / of(1);
      case Expr::Kind::min:
        return std::min(of(0), of(1));
      case Expr::Kind::max:
        return std::max(of(0), of(1));
      default:
        FAIL("no such formula is made here");
        return 0;
      }
    };
    result[i] = value(value, *policy);
  }
  return result;
}

using Policies = std::array<int64_t, 2>;
constexpr int64_t normal = 0x1000000000000000, first_to_go = 0x12F0000000000000;

} // namespace

TEST_CASE("set_l2_eviction: evicts tensors with few readers first") {
  std::string text = kernel("", "program_id");
  // Programs along axis 1 share A, programs along axis 0 share B, and programs along axis 2 share
  // both.
  CHECK(policies(text, {64, 64, 1}) == Policies{normal, normal});
  CHECK(policies(text, {1, 64, 1}) == Policies{normal, first_to_go});
  CHECK(policies(text, {4, 64, 1}) == Policies{normal, first_to_go});
  CHECK(policies(text, {5, 64, 1}) == Policies{normal, normal});
  CHECK(policies(text, {64, 2, 1}) == Policies{first_to_go, normal});
  CHECK(policies(text, {1, 1, 1}) == Policies{first_to_go, first_to_go});
  CHECK(policies(text, {2, 64, 8}) == Policies{normal, normal});
}

TEST_CASE("set_l2_eviction: coarsened programs count as one reader") {
  const std::string launch = R"(
      %px = num_programs {axis = 0} : i32
      %half = constant {value = 2} : i32
      %bx = div %px, %half : i32
      %by = num_programs {axis = 1} : i32
      %bz = num_programs {axis = 2} : i32
      launch_blocks %bx, %by, %bz
)";
  std::string text = kernel(launch, "block_id");
  CHECK(policies(text, {8, 64, 1}) == Policies{normal, first_to_go});
  CHECK(policies(text, {10, 64, 1}) == Policies{normal, normal});
}
