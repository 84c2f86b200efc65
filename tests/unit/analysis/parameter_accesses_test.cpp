// Tests analysis/parameter_accesses.cpp.

#include "analysis/parameter_accesses.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// The accesses through p and q, for example "p loads stores q loads".
std::string accesses(const std::string &inside) {
  Function fn = parsed("func @f(%p: ptr<f32>, %q: ptr<f32>, %n: i32, %c: i1) {\n"
                       "%i = range {start = 0} : i32[4]\n"
                       "%ps = splat %p : ptr<f32>[4]\n"
                       "%pp = addptr %ps, %i : ptr<f32>[4]\n"
                       "%qs = splat %q : ptr<f32>[4]\n" +
                       inside + "\n return\n}");
  std::vector<ParameterAccess> all = parameter_accesses(fn);
  REQUIRE(all.size() == 4);
  std::string text;
  for (size_t i = 0; i < all.size(); i++) {
    if (!all[i].loads && !all[i].stores)
      continue;
    text += (text.empty() ? "" : " ") + fn.parameters[i].name;
    text += std::string(all[i].loads ? " loads" : "") + (all[i].stores ? " stores" : "");
  }
  return text;
}

} // namespace

TEST_CASE("parameter_accesses: maps each access to its parameter") {
  CHECK(accesses("") == "");
  CHECK(accesses("%v = load %pp : f32[4]") == "p loads");
  CHECK(accesses("%v = load %pp : f32[4]\nstore %qs, %v") == "p loads q stores");
  CHECK(accesses("%v = load %p : f32\n%o = atomic %q, %v {op = \"add\"} : f32") ==
        "p loads q loads stores");
}

TEST_CASE("parameter_accesses: select counts for both, cmp for none") {
  CHECK(accesses("%s = select %c, %p, %q : ptr<f32>\n%v = load %s : f32") == "p loads q loads");
  CHECK(accesses("%e = cmp %p, %q {pred = \"eq\"} : i1\n"
                 "%x = select %e, %n, %n : i32\n%r = addptr %q, %x : ptr<f32>\n"
                 "%v = load %r : f32") == "q loads");
}

TEST_CASE("parameter_accesses: offset of addptr does not count") {
  CHECK(accesses("%a = bitcast %p : i64\n%r = addptr %q, %a : ptr<f32>\n%v = load %r : f32") ==
        "q loads");
  CHECK(accesses("%a = bitcast %p : i64\n%r = bitcast %a : ptr<f32>\n%v = load %r : f32") ==
        "p loads");
}

TEST_CASE("parameter_accesses: follows if_else and loops") {
  CHECK(accesses("%r = if_else %c : ptr<f32> {\nyield %p\n} {\nyield %q\n}\n"
                 "%v = load %r : f32") == "p loads q loads");
  CHECK(accesses("%a, %b = for_loop %n, %p, %q : ptr<f32>, ptr<f32> {\n"
                 "(%k: i32, %x: ptr<f32>, %y: ptr<f32>)\n"
                 "%v = load %y : f32\nyield %y, %y\n}\n"
                 "%w = load %q : f32\nstore %a, %w") == "p stores q loads stores");
}
