// Tests passes/count_loops.cpp.

#include "passes/count_loops.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A loop over %k: where it starts, the condition (%go, of %k0), the step (%k2, of %k1).
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

// The same as a for loop over `trips`, which ends in %n.
std::string counted(const std::string &start, const std::string &trips, const std::string &step) {
  return R"(
    func @f(%K: i32, %m: i32, %L: i64, %x: ptr<i32>) {
      %zero = constant {value = 0} : i32
      %c16 = constant {value = 16} : i32
      )" +
         trips + R"(
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

// ceil(%start / step), not less than 0.
std::string trips(const std::string &start, const std::string &step) {
  return start + "%8 = constant {value = " + step +
         "} : i64\n %9 = div %start, %8 : i64\n"
         " %10 = constant {value = 0} : i64\n %11 = max %9, %10 : i64\n %0 = cast %11 : i32";
}

std::string with_names_dropped(std::string text) {
  // What the pass computes has no names; the expectation needs one to refer to.
  for (size_t at; (at = text.find("%start")) != std::string::npos;)
    text.replace(at, 6, "%7");
  return text;
}

const std::string down = "%k2 = sub %k1, %c16 : i32", up = "%k2 = add %k1, %c16 : i32";

void unchanged(const std::string &start, const std::string &condition, const std::string &step) {
  std::string before = program(start, condition, step);
  CAPTURE(condition);
  CAPTURE(step);
  CHECK(after(count_loops, before) == text(before));
}

} // namespace

TEST_CASE("the number of trips is the distance by the step, rounded up") {
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
    CHECK(after(count_loops, program(start, condition, step)) ==
          text(with_names_dropped(counted(start, trips(distance, "16"), step))));
  }
}

TEST_CASE("the step of the condition counts, not that of the variable alone") {
  // 3 k > 0 shrinks by 48 a trip: (3 K + 47) / 48
  CHECK(after(count_loops, program("%K",
                                   "%c3 = constant {value = 3} : i32\n %k3 = mul %k0, %c3 : i32\n"
                                   "%go = cmp %k3, %zero {pred = \"gt\"} : i1",
                                   down)) ==
        text(with_names_dropped(counted(
            "%K",
            trips("%1 = constant {value = 47} : i64\n %2 = constant {value = 3} : i64\n"
                  "%3 = cast %K : i64\n %4 = mul %2, %3 : i64\n %start = add %1, %4 : i64\n",
                  "48"),
            down))));
}

TEST_CASE("nothing happens if the loop does not come nearer to its end") {
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", up);
  unchanged("%zero", "%go = cmp %k0, %K {pred = \"lt\"} : i1", down);
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = add %k1, %zero : i32");
}

TEST_CASE("nothing happens if the step is not a constant") {
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = sub %k1, %m : i32");
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = div %k1, %c16 : i32");
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = add %k1, %k1 : i32");
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = load %x : i32");
  unchanged("%K", "%go = cmp %k0, %zero {pred = \"gt\"} : i1", "%k2 = sub %K, %c16 : i32");
}

TEST_CASE("nothing happens if the condition is no comparison that can be counted") {
  for (std::string pred : {"ne", "eq", "ult", "ugt", "ule", "uge"})
    unchanged("%K", "%go = cmp %k0, %zero {pred = \"" + pred + "\"} : i1", down);
  unchanged("%K", "%a = cmp %k0, %zero {pred = \"gt\"} : i1\n %go = and %a, %a : i1", down);
  unchanged("%K", "%l = load %x : i32\n %go = cmp %k0, %l {pred = \"gt\"} : i1", down);
}

TEST_CASE("nothing happens if the condition has more in it that changes") {
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

TEST_CASE("nothing happens if testing the condition has an effect") {
  unchanged("%K", "store %x, %k0\n %go = cmp %k0, %zero {pred = \"gt\"} : i1", down);
}

TEST_CASE("nothing happens to a loop that counts no variable") {
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
  CHECK(after(count_loops, program) == text(program));
}

TEST_CASE("loops in loops are counted, inner ones by what the outer ones carry") {
  std::string result = after(count_loops, R"(
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

TEST_CASE("a 64-bit counter stays: it may make more trips than an i32 counts") {
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
  CHECK(after(count_loops, loop) == text(loop));
}
