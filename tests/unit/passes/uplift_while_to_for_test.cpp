// Tests passes/uplift_while_to_for.cpp. The folder uplift_while_to_for/ has more cases.

#include "passes/uplift_while_to_for.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A loop over %k: its start, its condition (%go, from %k0) and its step (%k2, from %k1).
std::string program(const std::string &start, const std::string &condition,
                    const std::string &step) {
  return R"(
    func @f(%K: i32, %m: i32, %L: i64, %x: ptr<i32>) {
      %zero = constant {value = 0} : i32
      %c16 = constant {value = 16} : i32
      %k, %sum = while_loop )" +
         start + R"(, %zero : i32, i32 {
        (%k0: i32, %s0: i32)
        )" +
         condition + R"(
        condition %go
      } {
        (%k1: i32, %s1: i32)
        %s2 = add %s1, %k1 : i32
        )" +
         step + R"(
        yield %k2, %s2
      }
      store %x, %sum
      store %x, %k
      return
    })";
}

const std::string down = "%k2 = sub %k1, %c16 : i32", up = "%k2 = add %k1, %c16 : i32";

void unchanged(const std::string &start, const std::string &condition, const std::string &step) {
  std::string before = program(start, condition, step);
  CAPTURE(condition);
  CAPTURE(step);
  CHECK(after(uplift_while_to_for, before) == text(before));
}

} // namespace

TEST_CASE("uplift_while_to_for: does nothing if the loop may not end") {
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", up);
  unchanged("%zero", "%go = cmp %k0, %K {pred = \"lt\"} : i1", down);
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = add %k1, %zero : i32");
}

TEST_CASE("uplift_while_to_for: does nothing if the step is not constant") {
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = sub %k1, %m : i32");
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = div %k1, %c16 : i32");
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = add %k1, %k1 : i32");
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = load %x : i32");
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = sub %K, %c16 : i32");
}

TEST_CASE("uplift_while_to_for: does nothing to an uncountable comparison") {
  for (std::string pred : {"ne", "eq", "ult", "ugt", "ule", "uge"})
    unchanged("%K", "%go = cmp %k0, %zero {pred = \"" + pred + "\"} : i1", down);
  unchanged("%K", "%a = cmp %k0, %zero {pred = \"gt\"} : i1\n %go = and %a, %a : i1", down);
  unchanged("%K", "%l = load %x : i32\n %go = cmp %k0, %l {pred = \"gt\"} : i1", down);
}

TEST_CASE("uplift_while_to_for: does nothing to a non-linear condition") {
  unchanged("%K", "%go = cmp %k0, %s0 {pred = \"gt\"} : i1", down);
  unchanged("%K", "%kk = mul %k0, %k0 : i32\n %go = cmp %kk, %zero {pred = \"gt\"} : i1", down);
  unchanged("%K",
            "%kk = mul %k0, %k0 : i32\n %two = add %kk, %k0 : i32\n"
            "%go = cmp %two, %zero {pred = \"gt\"} : i1",
            down);
  // k m + k: the step would be 16 m + 16.
  unchanged("%K",
            "%km = mul %k0, %m : i32\n %two = add %km, %k0 : i32\n"
            "%go = cmp %two, %zero {pred = \"gt\"} : i1",
            down);
}
