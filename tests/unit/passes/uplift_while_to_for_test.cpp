// Tests passes/uplift_while_to_for.cpp.

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

// The same program with a for loop. `iterations` defines its iteration count, %0.
std::string counted(const std::string &start, const std::string &iterations,
                    const std::string &step) {
  return R"(
    func @f(%K: i32, %m: i32, %L: i64, %x: ptr<i32>) {
      %zero = constant {value = 0} : i32
      %c16 = constant {value = 16} : i32
      )" +
         iterations + R"(
      %k, %sum = for_loop %0, )" +
         start + R"(, %zero : i32, i32 {
        (%t: i32, %k1: i32, %s1: i32)
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

// max(0, %start / step). %start already includes the rounding.
std::string iterations(const std::string &start, const std::string &step) {
  return start + "%8 = constant {value = " + step +
         "} : i64\n %9 = div %start, %8 : i64\n"
         " %10 = constant {value = 0} : i64\n %11 = max %9, %10 : i64\n %0 = cast %11 : i32";
}

std::string with_names_dropped(std::string text) {
  // Results of the pass have no names, but the expected text needs a name for this one.
  for (size_t at; (at = text.find("%start")) != std::string::npos;)
    text.replace(at, 6, "%7");
  return text;
}

const std::string down = "%k2 = sub %k1, %c16 : i32", up = "%k2 = add %k1, %c16 : i32";

void unchanged(const std::string &start, const std::string &condition, const std::string &step) {
  std::string before = program(start, condition, step);
  CAPTURE(condition);
  CAPTURE(step);
  CHECK(after(uplift_while_to_for, before) == text(before));
}

} // namespace

TEST_CASE("uplift_while_to_for: count is the range / step, rounded up") {
  struct {
    std::string start, condition, step, distance;
  } cases[] = {
      // K, K - 16, ... > 0: (K + 15) / 16
      {"%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", down,
       "%1 = constant {value = 15} : i64\n %2 = cast %K : i64\n %start = add %1, %2 : i64\n"},
      {"%K", "%go = cmp %zero, %k0 {pred = \"lt\"} : i1", down,
       "%1 = constant {value = 15} : i64\n %2 = cast %K : i64\n %start = add %1, %2 : i64\n"},
      // K, K - 16, ... >= 0: (K + 16) / 16
      {"%K", "%go = cmp %k0, %zero {pred = \"ge\"} : i1", down,
       "%1 = constant {value = 16} : i64\n %2 = cast %K : i64\n %start = add %1, %2 : i64\n"},
      // 0, 16, ... < K: (K + 15) / 16
      {"%zero", "%go = cmp %k0, %K {pred = \"lt\"} : i1", up,
       "%1 = constant {value = 15} : i64\n %2 = cast %K : i64\n %start = add %1, %2 : i64\n"},
      // 0, 16, ... <= K: (K + 16) / 16
      {"%zero", "%go = cmp %k0, %K {pred = \"le\"} : i1", up,
       "%1 = constant {value = 16} : i64\n %2 = cast %K : i64\n %start = add %1, %2 : i64\n"},
      {"%zero", "%go = cmp %K, %k0 {pred = \"ge\"} : i1", up,
       "%1 = constant {value = 16} : i64\n %2 = cast %K : i64\n %start = add %1, %2 : i64\n"},
      // m, m + 16, ... < K: (K - m + 15) / 16
      {"%m", "%go = cmp %k0, %K {pred = \"lt\"} : i1", up,
       "%1 = constant {value = 15} : i64\n %2 = cast %K : i64\n %3 = add %1, %2 : i64\n"
       "%4 = constant {value = -1} : i64\n %5 = cast %m : i64\n %6 = mul %4, %5 : i64\n"
       "%start = add %3, %6 : i64\n"},
  };
  for (const auto &[start, condition, step, distance] : cases) {
    CAPTURE(condition);
    CHECK(after(uplift_while_to_for, program(start, condition, step)) ==
          text(with_names_dropped(counted(start, iterations(distance, "16"), step))));
  }
}

TEST_CASE("uplift_while_to_for: uses the step of the condition") {
  // 3 k > 0 decreases by 48 per iteration: (3 K + 47) / 48
  CHECK(after(uplift_while_to_for,
              program("%K",
                      "%c3 = constant {value = 3} : i32\n %k3 = mul %k0, %c3 : i32\n"
                      "%go = cmp %k3, %zero {pred = \"gt\"} : i1",
                      down)) ==
        text(with_names_dropped(counted(
            "%K",
            iterations("%1 = constant {value = 47} : i64\n %2 = constant {value = 3} : i64\n"
                       "%3 = cast %K : i64\n %4 = mul %2, %3 : i64\n %start = add %1, %4 : i64\n",
                       "48"),
            down))));
}

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

TEST_CASE("uplift_while_to_for: does nothing if the condition has effects") {
  unchanged("%K", "store %x, %k0\n %go = cmp %k0, %zero {pred = \"gt\"} : i1", down);
}

TEST_CASE("uplift_while_to_for: does nothing without a counter") {
  const std::string program = R"(
    func @f(%K: i32, %x: ptr<i32>) {
      while_loop {
        %l = load %x : i32
        %go = cmp %l, %K {pred = "lt"} : i1
        condition %go
      } {
        store %x, %K
        yield
      }
      return
    })";
  CHECK(after(uplift_while_to_for, program) == text(program));
}

TEST_CASE("uplift_while_to_for: converts nested loops") {
  std::string result = after(uplift_while_to_for, R"(
    func @f(%K: i32, %x: ptr<i32>) {
      %one = constant {value = 1} : i32
      %i = while_loop %K : i32 {
        (%i0: i32)
        %zero = constant {value = 0} : i32
        %go = cmp %i0, %zero {pred = "gt"} : i1
        condition %go
      } {
        (%i1: i32)
        %j = while_loop %i1 : i32 {
          (%j0: i32)
          %go1 = cmp %j0, %K {pred = "lt"} : i1
          condition %go1
        } {
          (%j1: i32)
          store %x, %j1
          %j2 = add %j1, %one : i32
          yield %j2
        }
        %i2 = sub %i1, %one : i32
        yield %i2
      }
      return
    })");
  CHECK(result.find("while_loop") == std::string::npos);
  CHECK(result.find("%i = for_loop") != std::string::npos);
  CHECK(result.find("%j = for_loop") != std::string::npos);
}

TEST_CASE("uplift_while_to_for: does nothing to a 64-bit counter") {
  std::string loop = R"(
    func @f(%K: i64, %x: ptr<i64>) {
      %zero = constant {value = 0} : i64
      %k = while_loop %zero : i64 {
        (%k0: i64)
        %go = cmp %k0, %K {pred = "lt"} : i1
        condition %go
      } {
        (%k1: i64)
        %one = constant {value = 1} : i64
        %k2 = add %k1, %one : i64
        yield %k2
      }
      store %x, %k
      return
    })";
  CHECK(after(uplift_while_to_for, loop) == text(loop));
}
