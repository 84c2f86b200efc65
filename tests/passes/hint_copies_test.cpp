// Tests passes/hint_copies.cpp.

#include "passes/hint_copies.h"

#include "analysis/launch_form.h"
#include "ir/verifier.h"
#include "product_kernel.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <array>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The rows of A belong to axis 0 of the grid, the columns of B to axis 1.
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
      %a = map_load %m, %x, %k : f16[64,64]
      %b = map_load %w, %k, %y : f16[64,64]
      return
    })";
}

// What the host hands over for a grid of programs, for the first and the second load.
std::array<int64_t, 2> policies(const std::string &text, std::array<int64_t, 3> grid) {
  ir::Function fn = parsed(text);
  hint_copies(fn);
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

TEST_CASE("what few programs read is the first to go") {
  std::string text = kernel("", "program_id");
  // A is read by all programs along axis 1, B by those along axis 0, both by those along axis 2.
  CHECK(policies(text, {64, 64, 1}) == Policies{normal, normal});
  CHECK(policies(text, {1, 64, 1}) == Policies{normal, first_to_go});
  CHECK(policies(text, {4, 64, 1}) == Policies{normal, first_to_go});
  CHECK(policies(text, {5, 64, 1}) == Policies{normal, normal});
  CHECK(policies(text, {64, 2, 1}) == Policies{first_to_go, normal});
  CHECK(policies(text, {1, 1, 1}) == Policies{first_to_go, first_to_go});
  CHECK(policies(text, {2, 64, 8}) == Policies{normal, normal});
}

TEST_CASE("of bundles of programs there are fewer") {
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

TEST_CASE("nothing is said of what is not copied by maps") {
  const char *text = R"(
    func @f(%A: ptr<f16>, %n: i32) {
      %r = range {start = 0} : i32[64]
      %p = splat %A : ptr<f16>[64]
      %q = addptr %p, %r : ptr<f16>[64]
      %a = load %q : f16[64]
      store %q, %a
      return
    })";
  ir::Function fn = parsed(text);
  std::string before = printed(fn);
  hint_copies(fn);
  CHECK(printed(fn) == before);
}

TEST_CASE("what the source asks for is not for the host to choose") {
  ir::Function fn = parsed(with(
      with(kernel("", "program_id"),
           "%a = map_load %m, %x, %k :", "%a = map_load %m, %x, %k {cache = \"evict_last\"} :"),
      "%b = map_load %w, %k, %y :", "%b = map_load %w, %k, %y {cache = \"evict_first\"} :"));
  hint_copies(fn);
  CHECK(ir::verify(fn) == "");
  CHECK(ir::constant_of(value_named(fn, "a")->op->operand(3)) == 0x14F0000000000000);
  CHECK(ir::constant_of(value_named(fn, "b")->op->operand(3)) == 0x12F0000000000000);
  // Other hints say nothing to the copy engine.
  ir::Function other =
      parsed(with(kernel("", "program_id"),
                  "%a = map_load %m, %x, %k :", "%a = map_load %m, %x, %k {cache = \"cg\"} :"));
  hint_copies(other);
  CHECK_FALSE(ir::constant_of(value_named(other, "a")->op->operand(3)));
}
