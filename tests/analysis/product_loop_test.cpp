// Tests analysis/product_loop.cpp.

#include "analysis/product_loop.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// A loop that carries %other and %acc, with `inside` before its end; `yields` goes round.
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

NoProductLoop why_not(Function fn) {
  ProductLoopResult result = find_product_loop(fn);
  REQUIRE_FALSE(result.found);
  return result.why;
}

} // namespace

TEST_CASE("a product of tiles that are loaded for it, added to what the loop carries") {
  Function fn = function(loads + dot);
  ProductLoopResult result = find_product_loop(fn);
  REQUIRE(result.found);
  CHECK(result.found->dot == value_named(fn, "d")->op);
  CHECK(result.found->loop == value_named(fn, "sum")->op);
  CHECK(result.found->carried == 1);
  CHECK(result.found->factors[0].load == value_named(fn, "a")->op);
  CHECK(result.found->factors[1].load == value_named(fn, "b")->op);
  for (const LoadedFactor &factor : result.found->factors)
    CHECK(factor.perm == std::vector<int64_t>{0, 1});
}

TEST_CASE("factors are seen through transpositions") {
  Function fn =
      function("%s = load %A : f16[16,16]\n %a = trans %s {perm = [1,0]} : f16[16,16]\n"
               "%b1 = load %B : f16[16,16]\n %b2 = trans %b1 {perm = [1,0]} : f16[16,16]\n"
               "%b = trans %b2 {perm = [1,0]} : f16[16,16]\n" +
               dot);
  ProductLoopResult result = find_product_loop(fn);
  REQUIRE(result.found);
  CHECK(result.found->factors[0].load == value_named(fn, "s")->op);
  CHECK(result.found->factors[0].perm == std::vector<int64_t>{1, 0});
  CHECK(result.found->factors[1].load == value_named(fn, "b1")->op);
  CHECK(result.found->factors[1].perm == std::vector<int64_t>{0, 1});
}

TEST_CASE("factors may be loaded by tensor maps") {
  Function fn =
      function("%a = map_load %map, %t, %t : f16[16,16]\n %b = load %B : f16[16,16]\n" + dot);
  ProductLoopResult result = find_product_loop(fn);
  REQUIRE(result.found);
  CHECK(result.found->factors[0].load->is(Opcode::map_load_));
}

TEST_CASE("each reason why there is no product loop") {
  CHECK(why_not(function("", "%other, %acc")) == NoProductLoop::no_dot);
  CHECK(why_not(function(loads + dot + "%e = dot %a, %b, %d : f32[16,16]\n", "%other, %e")) ==
        NoProductLoop::several_dots);
  CHECK(why_not(function("", "%other, %acc",
                         loads + "%d = dot %a, %b, %sum : f32[16,16]\n store %C, %d")) ==
        NoProductLoop::not_in_a_loop);
  CHECK(why_not(function("", "%other, %acc",
                         "while_loop {\n condition %c\n } {\n" + loads +
                             "%d = dot %a, %b, %sum : f32[16,16]\n store %C, %d\n yield\n }")) ==
        NoProductLoop::not_in_a_loop);
  CHECK(
      why_not(function("if_else %c {\n" + loads + dot + "store %C, %d\n yield\n } {\n yield\n }\n",
                       "%other, %acc")) == NoProductLoop::not_in_a_loop);
}

TEST_CASE("the sum is carried, and used for nothing else") {
  // Another start in each trip.
  CHECK(why_not(function(loads + "%d = dot %a, %b, %start : f32[16,16]\n")) ==
        NoProductLoop::sum_not_carried);
  // What goes round is not the sum.
  CHECK(why_not(function(loads + dot + "store %C, %d\n", "%other, %acc")) ==
        NoProductLoop::sum_not_carried);
  CHECK(why_not(function(loads + dot + "%e = add %d, %d : f32[16,16]\n", "%other, %e")) ==
        NoProductLoop::sum_not_carried);
  // The loop looks at it.
  CHECK(why_not(function(loads + dot + "store %C, %d\n")) == NoProductLoop::sum_not_carried);
  CHECK(why_not(function(loads + dot + "store %C, %acc\n")) == NoProductLoop::sum_not_carried);
}

TEST_CASE("a factor is loaded in the loop, and used for nothing else") {
  std::string a = "%a = load %A : f16[16,16]\n", b = "%b = load %B : f16[16,16]\n";
  CHECK(why_not(
            function(a + b + "%e = neg %a : f16[16,16]\n %d = dot %e, %b, %acc : f32[16,16]\n")) ==
        NoProductLoop::not_loaded);
  CHECK(why_not(function(loads + dot + "store %A, %a\n")) == NoProductLoop::not_loaded);
  CHECK(why_not(function(a + "%d = dot %a, %a, %acc : f32[16,16]\n")) == NoProductLoop::not_loaded);
  // Loaded once, before the loop.
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
  CHECK(why_not(std::move(fn)) == NoProductLoop::not_loaded);
}

TEST_CASE("what is computed of a sum is known to be, transposed or not") {
  Function fn = parsed(R"(
    func @f(%A: ptr<f32>[8,8], %s: f32[8,8], %n: i32) warps 4 helpers 4 {
      %as = shared_alloc : shared<f16>[1,8,8]
      %p = shared_product %as, %n, %as, %n, %s {perms = [0,1,0,1]} : f32[8,8]
      %w = product_wait %p {pending = 0} : f32[8,8]
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
    CHECK(is_from_transposed_sum(value_named(fn, name)) == false);
  }
  for (const char *name : {"t", "y"}) {
    CAPTURE(name);
    CHECK(is_from_transposed_sum(value_named(fn, name)) == true);
  }
  for (const char *name : {"s", "l", "q", "r", "max"}) {
    CAPTURE(name);
    CHECK_FALSE(is_from_transposed_sum(value_named(fn, name)).has_value());
  }
  // Where the loop's result is known to be the sum, nothing else is.
  CHECK(is_from_transposed_sum(value_named(fn, "r"), value_named(fn, "s")) == true);
  CHECK_FALSE(is_from_transposed_sum(value_named(fn, "t"), value_named(fn, "s")).has_value());
}

TEST_CASE("the columns of a sum are along one axis of what has its shape, or its transpose's") {
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
