// Tests analysis/matmul_loop.cpp.

#include "analysis/matmul_loop.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// A loop that carries %other and %acc. Its body is `inside`, and it yields `yields`.
Function function(const std::string &inside, const std::string &yields = "%other, %d",
                  const std::string &behind = "") {
  return parsed(R"(
    func @f(%A: ptr<f16>[16,16], %B: ptr<f16>[16,16], %C: ptr<f32>[16,16], %n: i32, %c: i1,
            %m: ptr<f16>, %ld: i64, %start: f32[16,16], %x: i32) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %map = tensor_map %m, %zero, %ld, %ld, %ld, %one : map<f16>[16,16]
      %last, %sum = for_loop %n, %x, %start : i32, f32[16,16] {
        (%t: i32, %other: i32, %acc: f32[16,16])
        )" + inside +
                "\n yield " + yields + "\n }\n store %C, %sum\n" + behind + "\n return\n}");
}

const std::string loads = "%a = load %A : f16[16,16]\n %b = load %B : f16[16,16]\n";
const std::string dot = "%d = dot %a, %b, %acc : f32[16,16]\n";

NoMatmulLoop why_not(Function fn) {
  MatmulLoopResult result = find_matmul_loop(fn);
  REQUIRE_FALSE(result.found);
  return result.why;
}

} // namespace

TEST_CASE("find_matmul_loop: finds a dot of loaded tiles") {
  Function fn = function(loads + dot);
  MatmulLoopResult result = find_matmul_loop(fn);
  REQUIRE(result.found);
  CHECK(result.found->dot == value_named(fn, "d")->op);
  CHECK(result.found->loop == value_named(fn, "sum")->op);
  CHECK(result.found->carried == 1);
  CHECK(result.found->operands[0].load == value_named(fn, "a")->op);
  CHECK(result.found->operands[1].load == value_named(fn, "b")->op);
  for (const LoadedOperand &factor : result.found->operands)
    CHECK(factor.perm == std::vector<int64_t>{0, 1});
}

TEST_CASE("find_matmul_loop: looks through trans") {
  Function fn =
      function("%s = load %A : f16[16,16]\n %a = trans %s {perm = [1,0]} : f16[16,16]\n"
               "%b1 = load %B : f16[16,16]\n %b2 = trans %b1 {perm = [1,0]} : f16[16,16]\n"
               "%b = trans %b2 {perm = [1,0]} : f16[16,16]\n" +
               dot);
  MatmulLoopResult result = find_matmul_loop(fn);
  REQUIRE(result.found);
  CHECK(result.found->operands[0].load == value_named(fn, "s")->op);
  CHECK(result.found->operands[0].perm == std::vector<int64_t>{1, 0});
  CHECK(result.found->operands[1].load == value_named(fn, "b1")->op);
  CHECK(result.found->operands[1].perm == std::vector<int64_t>{0, 1});
}

TEST_CASE("find_matmul_loop: accepts tma_load") {
  Function fn =
      function("%a = tma_load %map, %t, %t : f16[16,16]\n %b = load %B : f16[16,16]\n" + dot);
  MatmulLoopResult result = find_matmul_loop(fn);
  REQUIRE(result.found);
  CHECK(result.found->operands[0].load->is(Opcode::tma_load_));
}

TEST_CASE("find_matmul_loop: returns each reject reason") {
  CHECK(why_not(function("", "%other, %acc")) == NoMatmulLoop::no_dot);
  CHECK(why_not(function(loads + dot + "%e = dot %a, %b, %d : f32[16,16]\n", "%other, %e")) ==
        NoMatmulLoop::several_dots);
  CHECK(why_not(function("", "%other, %acc",
                         loads + "%d = dot %a, %b, %sum : f32[16,16]\n store %C, %d")) ==
        NoMatmulLoop::not_in_a_loop);
  CHECK(why_not(function("", "%other, %acc",
                         "while_loop {\n condition %c\n } {\n" + loads +
                             "%d = dot %a, %b, %sum : f32[16,16]\n store %C, %d\n yield\n }")) ==
        NoMatmulLoop::not_in_a_loop);
  CHECK(
      why_not(function("if_else %c {\n" + loads + dot + "store %C, %d\n yield\n } {\n yield\n }\n",
                       "%other, %acc")) == NoMatmulLoop::not_in_a_loop);
}

TEST_CASE("find_matmul_loop: accumulator must be carried and unused") {
  // Each iteration starts from %start again.
  CHECK(why_not(function(loads + "%d = dot %a, %b, %start : f32[16,16]\n")) ==
        NoMatmulLoop::accumulator_not_carried);
  // The loop does not carry the result of the dot.
  CHECK(why_not(function(loads + dot + "store %C, %d\n", "%other, %acc")) ==
        NoMatmulLoop::accumulator_not_carried);
  CHECK(why_not(function(loads + dot + "%e = add %d, %d : f32[16,16]\n", "%other, %e")) ==
        NoMatmulLoop::accumulator_not_carried);
  // The loop reads the accumulator.
  CHECK(why_not(function(loads + dot + "store %C, %d\n")) == NoMatmulLoop::accumulator_not_carried);
  CHECK(why_not(function(loads + dot + "store %C, %acc\n")) ==
        NoMatmulLoop::accumulator_not_carried);
}

TEST_CASE("find_matmul_loop: operand must be loaded in the loop only for it") {
  std::string a = "%a = load %A : f16[16,16]\n", b = "%b = load %B : f16[16,16]\n";
  CHECK(why_not(
            function(a + b + "%e = neg %a : f16[16,16]\n %d = dot %e, %b, %acc : f32[16,16]\n")) ==
        NoMatmulLoop::not_loaded);
  CHECK(why_not(function(loads + dot + "store %A, %a\n")) == NoMatmulLoop::not_loaded);
  CHECK(why_not(function(a + "%d = dot %a, %a, %acc : f32[16,16]\n")) == NoMatmulLoop::not_loaded);
  // The load is before the loop.
  Function fn = parsed(R"(
    func @f(%A: ptr<f16>[16,16], %n: i32, %start: f32[16,16], %C: ptr<f32>[16,16]) {
      %a = load %A : f16[16,16]
      %sum = for_loop %n, %start : f32[16,16] {
        (%t: i32, %acc: f32[16,16])
        %b = load %A : f16[16,16]
        %d = dot %a, %b, %acc : f32[16,16]
        yield %d
      }
      store %C, %sum
      return
    })");
  CHECK(why_not(std::move(fn)) == NoMatmulLoop::not_loaded);
}

TEST_CASE("is_from_transposed_accumulator: tracks values computed from a sum") {
  Function fn = parsed(R"(
    func @f(%A: ptr<f32>[8,8], %s: f32[8,8], %n: i32) warps 4 {
      %as = shared_alloc : shared<f16>[1,8,8]
      %p = wgmma_ss %as, %n, %as, %n, %s {perms = [0,1,0,1]} : f32[8,8]
      %w = wgmma_wait %p {pending = 0} : f32[8,8]
      %l = load %A : f32[8,8]
      %same = trans %w {perm = [0,1]} : f32[8,8]
      %x = add %l, %w : f32[8,8]
      %t = trans %x {perm = [1,0]} : f32[8,8]
      %y = cast %t : f16[8,8]
      %u = trans %y {perm = [1,0]} : f16[8,8]
      %q = add %l, %s : f32[8,8]
      %r = trans %q {perm = [1,0]} : f32[8,8]
      %max = reduce %w {axis = 0, op = "max"} : f32[8]
      return
    })");
  for (const char *name : {"w", "same", "x", "u"}) {
    CAPTURE(name);
    CHECK(is_from_transposed_accumulator(value_named(fn, name)) == false);
  }
  for (const char *name : {"t", "y"}) {
    CAPTURE(name);
    CHECK(is_from_transposed_accumulator(value_named(fn, name)) == true);
  }
  for (const char *name : {"s", "l", "q", "r", "max"}) {
    CAPTURE(name);
    CHECK_FALSE(is_from_transposed_accumulator(value_named(fn, name)).has_value());
  }
  // If the caller names the sum, only values computed from that sum count.
  CHECK(is_from_transposed_accumulator(value_named(fn, "r"), value_named(fn, "s")) == true);
  CHECK_FALSE(
      is_from_transposed_accumulator(value_named(fn, "t"), value_named(fn, "s")).has_value());
}

TEST_CASE("axis_of_columns: is 1 for the sum, 0 for its transpose") {
  Function fn = parsed(R"(
    func @f(%s: f32[8,16], %a: f32[8,16], %b: f32[16,8], %c: f32[8,8], %q: f32[8,8]) {
      %t = trans %s {perm = [1,0]} : f32[16,8]
      %x = add %t, %b : f32[16,8]
      %u = trans %q {perm = [1,0]} : f32[8,8]
      return
    })");
  auto axis = [&](const char *result, const char *sum) {
    const Value *of = value_named(fn, sum);
    return axis_of_columns(value_named(fn, result), of->type.shape, of);
  };
  CHECK(axis("s", "s") == 1);
  CHECK(axis("t", "s") == 0);
  CHECK(axis("x", "s") == 0);
  CHECK(axis("a", "s") == 1); // not computed from it
  CHECK(axis("b", "s") == 0);
  CHECK(axis("c", "s") == std::nullopt);
  CHECK(axis("q", "q") == 1);
  CHECK(axis("u", "q") == 0);
  CHECK(axis("c", "q") == 1);
}
