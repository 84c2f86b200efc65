// Tests analysis/null_pointers.cpp.

#include "analysis/null_pointers.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// The names of the pointers that may be null. %p and %q may be compared with %null; the program
// stores through %x.
std::string nullable(const std::string &inside) {
  Function fn = parsed("func @f(%p: ptr<f32>, %q: ptr<f32>, %x: ptr<f32>, %n: i32, %other: i1) {\n"
                       "%zero = constant {value = 0} : i64\n"
                       "%null = bitcast %zero : ptr<f32>\n"
                       "%given = cmp %p, %null {pred = \"ne\"} : i1\n"
                       "%missing = cmp %null, %p {pred = \"eq\"} : i1\n"
                       "%q_given = cmp %q, %null {pred = \"ne\"} : i1\n"
                       "%yes = constant {value = 1} : i1\n"
                       "%i = range {start = 0} : i32[4]\n"
                       "%one = constant {number = 1.0} : f32\n"
                       "%none = splat %one : f32[4]\n"
                       "%px = splat %x : ptr<f32>[4]\n"
                       "%ps = splat %p : ptr<f32>[4]\n"
                       "%pp = addptr %ps, %i : ptr<f32>[4]\n" +
                       inside + "\nstore %px, %none\n return\n}");
  std::vector<bool> may = may_be_null(fn);
  REQUIRE(may.size() == 5);
  std::string names;
  for (size_t i = 0; i < may.size(); i++)
    if (may[i])
      names += fn.parameters[i].name + " ";
  return names;
}

// A branch on %c that loads through %pp in block 1 or 2.
std::string branch(const std::string &condition, int block) {
  std::string load = "%v = load %pp : f32[4]\n yield %v\n", other = "yield %none\n";
  return condition + "\n%r = if_else %c : f32[4] {\n" + (block == 1 ? load : other) + "} {\n" +
         (block == 1 ? other : load) + "}\n store %px, %r";
}

} // namespace

TEST_CASE("may_be_null: is false for a pointer that is accessed") {
  CHECK(nullable("") == "p q ");
  CHECK(nullable("%v = load %pp : f32[4]\n store %px, %v") == "q ");
  CHECK(nullable("store %pp, %none") == "q ");
  CHECK(nullable("%o = atomic %pp, %none {op = \"add\"} : f32[4]") == "q ");
  CHECK(nullable("%o = atomic_cas %pp, %none, %none : f32[4]") == "q ");
}

TEST_CASE("may_be_null: is true if the access is after a null check") {
  CHECK(nullable(branch("%c = and %given, %other : i1", 1)) == "p q ");
  CHECK(nullable(branch("%c = and %other, %given : i1", 1)) == "p q ");
  CHECK(nullable(branch("%c = or %missing, %other : i1", 2)) == "p q ");
  CHECK(nullable(branch("%c = xor %given, %yes : i1", 2)) == "p q ");
  CHECK(nullable(branch("%c = xor %missing, %yes : i1", 1)) == "p q ");
  // A comparison as an integer, and a nested branch.
  CHECK(nullable(branch("%bits = bitcast %p : i64\n%c = cmp %bits, %zero {pred = \"ne\"} : i1",
                        1)) == "p q ");
  CHECK(
      nullable("if_else %given {\n if_else %other {\n store %pp, %none\n yield\n } {\n yield\n }\n"
               "yield\n } {\n yield\n }") == "p q ");
}

TEST_CASE("may_be_null: other conditions do not count as a null check") {
  CHECK(nullable(branch("%c = or %given, %other : i1", 1)) == "q ");
  CHECK(nullable(branch("%c = and %given, %other : i1", 2)) == "q ");
  CHECK(nullable(branch("%c = or %missing, %other : i1", 1)) == "q ");
  CHECK(nullable(branch("%c = xor %given, %yes : i1", 1)) == "q ");
  CHECK(nullable(branch("%c = xor %given, %other : i1", 1)) == "q ");
  CHECK(nullable(branch("%c = and %q_given, %other : i1", 1)) == "q ");
  CHECK(nullable(branch("%c = cmp %p, %q {pred = \"ne\"} : i1", 1)) == "q ");
  CHECK(nullable(branch("%c = cmp %p, %null {pred = \"ult\"} : i1", 1)) == "q ");
  // A pointer computed from %p is not null when %p is null.
  CHECK(nullable(branch("%p1 = addptr %p, %n : ptr<f32>\n%c = cmp %p1, %null {pred = \"ne\"} : i1",
                        1)) == "q ");
  // An access after the branch.
  CHECK(nullable(branch("%c = and %given, %yes : i1", 1) + "\n store %pp, %none") == "q ");
}

TEST_CASE("may_be_null: a mask counts as a null check") {
  std::string mask = "%n4 = splat %n : i32[4]\n%few = cmp %i, %n4 {pred = \"lt\"} : i1[4]\n"
                     "%g = splat %given : i1[4]\n%m = and %few, %g : i1[4]\n";
  CHECK(nullable("%v = load %pp, %given, %none : f32[4]\n store %px, %v") == "p q ");
  CHECK(nullable(mask + "store %pp, %none, %m") == "p q ");
  CHECK(nullable(mask + "%o = atomic %pp, %none, %m {op = \"add\"} : f32[4]") == "p q ");
  CHECK(nullable(mask + "%o = atomic_cas %pp, %none, %none, %m : f32[4]") == "p q ");
  CHECK(nullable(mask + "store %pp, %none, %few") == "q ");
  CHECK(nullable("store %pp, %none, %missing") == "q ");
}

TEST_CASE("may_be_null: select checks the selected pointer") {
  std::string use = "%cs = splat %chosen : ptr<f32>[4]\n%v = load %cs : f32[4]\n store %px, %v";
  CHECK(nullable("%chosen = select %given, %p, %x : ptr<f32>\n" + use) == "p q ");
  CHECK(nullable("%chosen = select %missing, %x, %p : ptr<f32>\n" + use) == "p q ");
  CHECK(nullable("%chosen = select %other, %p, %x : ptr<f32>\n" + use) == "q ");
  CHECK(nullable("%chosen = select %given, %p, %q : ptr<f32>\n" + use) == "p ");
  CHECK(nullable("%chosen = if_else %other : ptr<f32> {\n yield %p\n } {\n yield %x\n }\n" + use) ==
        "q ");
}

TEST_CASE("may_be_null: follows loop-carried pointers") {
  auto loop = [&](const std::string &inside) {
    return "%a, %b = for_loop %n, %x, %p : ptr<f32>, ptr<f32> {\n"
           "(%t: i32, %first: ptr<f32>, %second: ptr<f32>)\n" +
           inside + "\nyield %second, %first\n}\n";
  };
  // Each iteration swaps the two pointers.
  std::string load = "%fs = splat %first : ptr<f32>[4]\n%v = load %fs : f32[4]\nstore %px, %v";
  CHECK(nullable(loop("")) == "p q ");
  CHECK(nullable(loop(load)) == "q ");
  CHECK(nullable(loop("if_else %given {\n" + load + "\nyield\n} {\nyield\n}")) == "p q ");
  CHECK(nullable(loop("") + "%as = splat %a : ptr<f32>[4]\n store %as, %none") == "q ");
  std::string while_loop = "%a = while_loop %p : ptr<f32> {\n(%before: ptr<f32>)\n"
                           "condition %other\n} {\n(%now: ptr<f32>)\n"
                           "%ns = splat %now : ptr<f32>[4]\n%v = load %ns : f32[4]\n"
                           "store %px, %v\nyield %now\n}";
  CHECK(nullable(while_loop) == "q ");
}

TEST_CASE("may_be_null: loaded value is unrelated, stored value may return") {
  CHECK(nullable("%v = load %pp, %given, %none : f32[4]\n%j = cast %v : i32[4]\n"
                 "%w = addptr %px, %j : ptr<f32>[4]\n%u = load %w : f32[4]\nstore %px, %u") ==
        "p q ");
  CHECK(nullable("%bits = bitcast %p : i64\n%small = cast %bits : f32\n%t = splat %small : f32[4]\n"
                 "store %px, %t") == "q ");
}
