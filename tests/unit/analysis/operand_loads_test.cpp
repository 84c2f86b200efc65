// Tests analysis/operand_loads.cpp.

#include "analysis/operand_loads.h"
#include "support/contains.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The loads that `body` has after a load %a and a load %b, as "a: d 0 [0,1], e 1 [1,0]; b: ...": the
// dots that read the tile of %a, the operand, and the permutation.
std::string loads(const std::string &body, const std::string &load_of_a = "load %v : f16[16,16]") {
  ir::Function fn =
      parsed("func @f(%A: ptr<f16>, %C: ptr<f32>[16,16], %n: i32, %x: f16[16,16],"
             " %zeros: f32[16,16]) {\n %zero = constant {value = 0} : i64\n"
             "%one = constant {value = 1} : i64\n %i = constant {value = 0} : i32\n"
             "%wide = constant {value = 64} : i64\n"
             "%v = view %A, %zero, %wide, %one : view<f16>[16,16]\n"
             "%m = tensor_map %A, %zero, %wide, %wide, %wide, %one : map<f16>[16,16]\n"
             "%a = " +
             load_of_a + "\n %b = load %v : f16[16,16]\n" + body + " return\n}");
  std::string text;
  for (const OperandLoad &found : operand_loads(fn)) {
    text += (text.empty() ? "" : "; ") + found.load->result()->name + ":";
    for (const OperandUse &use : found.uses) {
      text += (&use == &found.uses[0] ? " " : ", ") + use.dot->result()->name + " " +
              std::to_string(use.operand) + " [" + std::to_string(use.perm[0]) + "," +
              std::to_string(use.perm[1]) + "]";
    }
  }
  return text;
}

const std::string dot_of_a = "%d = dot %a, %x, %zeros : f32[16,16]\n store %C, %d\n";
const std::string swap = " {perm = [1,0]} : f16[16,16]\n";

} // namespace

TEST_CASE("operand loads: a tile is an operand of a dot") {
  CHECK(loads(dot_of_a) == "a: d 0 [0,1]");
  CHECK(loads("%d = dot %x, %a, %zeros : f32[16,16]\n") == "a: d 1 [0,1]");
  CHECK(loads("%d = dot %a, %b, %zeros : f32[16,16]\n") == "a: d 0 [0,1]; b: d 1 [0,1]");
  CHECK(loads(dot_of_a, "tma_load %m, %i, %i : f16[16,16]") == "a: d 0 [0,1]");
}

TEST_CASE("operand loads: a dot reads the tile transposed") {
  CHECK(loads("%t = trans %a" + swap + "%d = dot %x, %t, %zeros : f32[16,16]\n") == "a: d 1 [1,0]");
  CHECK(loads("%t = trans %a" + swap + "%u = trans %t" + swap +
              "%d = dot %u, %x, %zeros : f32[16,16]\n") == "a: d 0 [0,1]");
  CHECK(loads("%t = trans %a {perm = [0,1]} : f16[16,16]\n"
              "%d = dot %t, %x, %zeros : f32[16,16]\n") == "a: d 0 [0,1]");
}

TEST_CASE("operand loads: several dots use a tile") {
  const std::string second = "%e = dot %x, %a, %d : f32[16,16]\n";
  CHECK(loads(dot_of_a + second) == "a: d 0 [0,1], e 1 [0,1]");
  CHECK(loads(dot_of_a + "%t = trans %a" + swap + "%e = dot %x, %t, %d : f32[16,16]\n") ==
        "a: d 0 [0,1], e 1 [1,0]");
  CHECK(loads("%s = for_loop %n, %zeros : f32[16,16] {\n (%t: i32, %acc: f32[16,16])\n"
              "%d = dot %a, %x, %acc : f32[16,16]\n yield %d\n}\n") == "a: d 0 [0,1]");
}

TEST_CASE("operand loads: none if something else uses the tile") {
  CHECK(loads(dot_of_a + "%y = add %a, %x : f16[16,16]\n") == "");
  CHECK(loads(dot_of_a + "store %v, %a\n") == "");
  CHECK(loads(dot_of_a + "%t = trans %a" + swap + "%y = add %t, %x : f16[16,16]\n") == "");
  CHECK(loads("%s = for_loop %n, %a : f16[16,16] {\n (%t: i32, %c: f16[16,16])\n"
              "%d = dot %c, %x, %zeros : f32[16,16]\n yield %c\n}\n") == "");
  CHECK(loads("") == "");
  CHECK(loads("%t = trans %a" + swap) == ""); // no dot at all
}

TEST_CASE("operand loads: none if the tile is an accumulator") {
  const std::string load = "load %C : f32[16,16]";
  CHECK(loads("%d = dot %x, %x, %a : f32[16,16]\n", load) == "");
  CHECK(loads("%t = trans %a {perm = [1,0]} : f32[16,16]\n %d = dot %x, %x, %t : f32[16,16]\n",
              load) == "");
  // Also an operand of this dot.
  CHECK(loads("%d = dot %a, %a, %a : f16[16,16]\n") == "");
  CHECK(loads("%d = dot %a, %x, %a : f16[16,16]\n") == "");
}

TEST_CASE("operand loads: none if the tile is both operands of a dot") {
  CHECK(loads("%d = dot %a, %a, %zeros : f32[16,16]\n") == "");
}

TEST_CASE("operand loads: a tile and its transpose are the operands of a dot") {
  const std::string found =
      loads("%t = trans %a" + swap + "%d = dot %a, %t, %zeros : f32[16,16]\n");
  CHECK(contains(found, "d 0 [0,1]"));
  CHECK(contains(found, "d 1 [1,0]"));
}

TEST_CASE("operand loads: only tiles of two axes") {
  CHECK(loads("%w = view %A, %zero, %one : view<f16>[16]\n %row = load %w : f16[16]\n"
              "%tall = expand %row {axis = 0} : f16[1,16]\n"
              "%tile = broadcast %tall : f16[16,16]\n %d = dot %tile, %x, %zeros : f32[16,16]\n") ==
        "");
  CHECK(loads("%s = load %A : f16\n %tile = splat %s : f16[16,16]\n"
              "%d = dot %tile, %x, %zeros : f32[16,16]\n") == "");
}
