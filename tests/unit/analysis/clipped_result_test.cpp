// Tests analysis/clipped_result.cpp.

#include "analysis/clipped_result.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// A matmul with masks of rows (M) and columns (N); %mask is the mask of both. `end` comes after it.
std::string matmul(const std::string &end) {
  return R"(
    func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f32>, %s: ptr<f32>[16], %M: i32, %N: i32, %ld: i64, %n: i32) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %nothing = constant {number = 0.0} : f32
      %no.half = constant {number = 0.0} : f16
      %start = splat %nothing : f32[16,16]
      %none = splat %no.half : f16[16,16]
      %i = range {start = 0} : i32[16]
      %mb = splat %M : i32[16]
      %nb = splat %N : i32[16]
      %r = cmp %i, %mb {pred = "lt"} : i1[16]
      %c = cmp %i, %nb {pred = "lt"} : i1[16]
      %r1 = expand %r {axis = 1} : i1[16,1]
      %c1 = expand %c {axis = 0} : i1[1,16]
      %rows = broadcast %r1 : i1[16,16]
      %columns = broadcast %c1 : i1[16,16]
      %mask = and %rows, %columns : i1[16,16]
      %va = view %A, %zero, %ld, %one : view<f16>[16,16]
      %vb = view %B, %zero, %ld, %one : view<f16>[16,16]
      %vc = view %C, %zero, %ld, %one : view<f32>[16,16]
      %sum = for_loop %n, %start : f32[16,16] {
        (%t: i32, %acc: f32[16,16])
        %a = load %va, %rows, %none : f16[16,16]
        %b = load %vb, %columns, %none : f16[16,16]
        %d = dot %a, %b, %acc : f32[16,16]
        yield %d
      }
      )" +
         end + "\n return\n}";
}

// Whether the result is clipped to A, and to B.
std::pair<bool, bool> clipped(const std::string &end) {
  Function fn = parsed(matmul(end));
  const MatmulLoop loop = *find_matmul_loop(fn).found;
  return {is_clipped_to_operand(fn, loop, 0), is_clipped_to_operand(fn, loop, 1)};
}

using Both = std::pair<bool, bool>;

} // namespace

TEST_CASE("is_clipped_to_operand: a store with the masks of the operands") {
  CHECK(clipped("store %vc, %sum, %mask") == Both{true, true});
  CHECK(clipped("%e = exp %sum : f32[16,16]\n %y = add %e, %sum : f32[16,16]\n"
                "store %vc, %y, %mask") == Both{true, true});
  CHECK(clipped("") == Both{true, true}); // no use
}

TEST_CASE("is_clipped_to_operand: a store that is on outside of an operand") {
  CHECK(clipped("store %vc, %sum") == Both{false, false});
  CHECK(clipped("store %vc, %sum, %rows") == Both{true, false});
  CHECK(clipped("store %vc, %sum, %columns") == Both{false, true});
  CHECK(clipped("store %vc, %sum, %mask\n store %vc, %sum, %rows") == Both{true, false});
  CHECK(clipped("%no = or %rows, %columns : i1[16,16]\n store %vc, %sum, %no") ==
        Both{false, false});
}

TEST_CASE("is_clipped_to_operand: the transposed result") {
  const std::string trans = "%y = trans %sum {perm = [1,0]} : f32[16,16]\n"
                            "%turned = trans %mask {perm = [1,0]} : i1[16,16]\n";
  CHECK(clipped(trans + "store %vc, %y, %turned") == Both{true, true});
  CHECK(clipped(trans + "store %vc, %y, %mask") == Both{false, false});
}

TEST_CASE("is_clipped_to_operand: rows and columns that mix") {
  CHECK(clipped("%y = reduce %sum {axis = 1, op = \"add\"} : f32[16]\n store %s, %y, %r") ==
        Both{false, false});
  CHECK(clipped("%whole = cast %sum : i64[16,16]\n %z = add %whole, %whole : i64[16,16]\n"
                "%m = cmp %z, %whole {pred = \"lt\"} : i1[16,16]\n store %vc, %start, %m") ==
        Both{false, false});
}
