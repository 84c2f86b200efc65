// Tests analysis/nearest_axis.cpp.

#include "analysis/nearest_axis.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// The nearest axis of a tile of pointers, of 64 x 64 elements. `rows` and `columns` compute %r and
// %c from %i, which counts from 0, and from parameters.
std::optional<int> nearest(const std::string &rows, const std::string &columns) {
  Function fn = parsed(R"(
    func @f(%X: ptr<f16>, %P: ptr<i32>, %W: i32, %H: i32, %Q: i32) {
      %i = range {start = 0} : i32[64]
      %w = splat %W : i32[64]
      %q = splat %Q : i32[64]
      %area = mul %W, %H : i32
      %hw = splat %area : i32[64]
      %eight = constant {value = 8} : i32
      %eights = splat %eight : i32[64]
      )" + rows + "\n" +
                       columns + R"(
      %er = expand %r {axis = 1} : i32[64,1]
      %br = broadcast %er : i32[64,64]
      %ec = expand %c {axis = 0} : i32[1,64]
      %bc = broadcast %ec : i32[64,64]
      %all = splat %X : ptr<f16>[64,64]
      %sum = add %br, %bc : i32[64,64]
      %p = addptr %all, %sum : ptr<f16>[64,64]
      %x = load %p : f16[64,64]
      store %p, %x
      return
    })");
  return nearest_axis(value_named(fn, "p"));
}

const char *const rows_of_image = R"(
  %line = div %i, %q : i32[64]
  %at = rem %i, %q : i32[64]
  %start = mul %line, %w : i32[64]
  %r = add %start, %at : i32[64])";

} // namespace

TEST_CASE("nearest_axis: fewer unknown factors are nearer, then smaller numbers") {
  CHECK(nearest("%r = mul %i, %w : i32[64]", "%c = mul %i, %hw : i32[64]") == 0);
  CHECK(nearest("%r = mul %i, %hw : i32[64]", "%c = mul %i, %w : i32[64]") == 1);
  CHECK(nearest("%r = mul %i, %w : i32[64]", "%c = mul %i, %eights : i32[64]") == 1);
  CHECK(nearest("%r = add %i, %w : i32[64]", "%c = mul %i, %eights : i32[64]") == 0);
}

TEST_CASE("nearest_axis: a quotient seldom changes, a remainder is as near as its dividend") {
  CHECK(nearest(rows_of_image, "%c = mul %i, %hw : i32[64]") == 0);
  CHECK(nearest(rows_of_image, "%c = mul %i, %eights : i32[64]") == 0);
  CHECK(nearest("%line = div %i, %q : i32[64]\n %r = mul %line, %w : i32[64]",
                "%c = mul %i, %w : i32[64]") == 1); // rows are mostly the same
}

TEST_CASE("nearest_axis: none if axes are equally near, or if addresses are loaded") {
  CHECK(nearest("%r = mul %i, %w : i32[64]", "%c = mul %i, %q : i32[64]") == std::nullopt);
  CHECK(nearest("%r = mul %q, %w : i32[64]", "%c = mul %q, %w : i32[64]") == std::nullopt);
  const char *loaded =
      "%all.p = splat %P : ptr<i32>[64]\n %there = addptr %all.p, %i : ptr<i32>[64]\n"
      "%r = load %there : i32[64]";
  CHECK(nearest(loaded, "%c = mul %i, %hw : i32[64]") == 1);
  CHECK(nearest(loaded, "%c = mul %i, %i : i32[64]") == std::nullopt);
}
