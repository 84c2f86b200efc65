// Tests passes/split_loops_in_cluster.cpp. The folder split_loops_in_cluster/ has more cases.

#include "interpreter/interpreter.h"
#include "passes/align_tiles.h"
#include "passes/split_loops_in_cluster.h"
#include "passes/stage_repeated_loads.h"
#include "passes/unroll_loops.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::interpreter;
using namespace tritonc::test;

namespace {

// The parts of a kernel that normalizes a row of %N elements, eight at a time.
struct Parts {
  std::string parameters = "%X: ptr<f32>, %Y: ptr<f32>, %S: ptr<f32>, %N: i32, %ld: i64";
  std::string zero = "%zero"; // the initial value of the sum
  std::string next = "%next = add %acc, %x : f32[8]";
  std::string between = "";
  std::string to = "%w = view %Y, %at.2, %one : view<f32>[8]";
  std::string from = "%v.2 = view %X, %at.2, %one : view<f32>[8]";
  std::string store = "store %w, %d, %on.2";
  std::string count = "%n"; // of the second loop
  std::string after = "%s = addptr %S, %p : ptr<f32>\n store %s, %total";
};

std::string kernel(const Parts &parts = {}) {
  return "func @f(" + parts.parameters + R"() {
      %one = constant {value = 1} : i64
      %eight = constant {value = 8} : i32
      %eight.wide = constant {value = 8} : i64
      %seven = constant {value = 7} : i32
      %more = add %N, %seven : i32
      %n = div %more, %eight : i32
      %p = program_id {axis = 0} : i32
      %p.wide = cast %p : i64
      %row = mul %p.wide, %ld : i64
      %i = range {start = 0} : i32[8]
      %z = constant {number = 0.0} : f32
      %zero = splat %z : f32[8]
      %o = constant {number = 1.0} : f32
      %ones = splat %o : f32[8]
      %sum = for_loop %n, )" +
         parts.zero + R"( : f32[8] {
        (%t: i32, %acc: f32[8])
        %done = mul %t, %eight : i32
        %left = sub %N, %done : i32
        %limit = splat %left : i32[8]
        %on = cmp %i, %limit {pred = "lt"} : i1[8]
        %t.wide = cast %t : i64
        %column = mul %t.wide, %eight.wide : i64
        %at = add %row, %column : i64
        %v = view %X, %at, %one : view<f32>[8]
        %x = load %v, %on, %zero : f32[8]
        )" +
         parts.next + R"(
        yield %next
      }
      )" +
         parts.between +
         R"(
      %total = reduce %sum {axis = 0, op = "add"} : f32
      %totals = splat %total : f32[8]
      for_loop )" +
         parts.count + R"( {
        (%u: i32)
        %done.2 = mul %u, %eight : i32
        %left.2 = sub %N, %done.2 : i32
        %limit.2 = splat %left.2 : i32[8]
        %on.2 = cmp %i, %limit.2 {pred = "lt"} : i1[8]
        %u.wide = cast %u : i64
        %column.2 = mul %u.wide, %eight.wide : i64
        %at.2 = add %row, %column.2 : i64
        )" +
         parts.from + R"(
        %x.2 = load %v.2, %on.2, %zero : f32[8]
        %d = sub %x.2, %totals : f32[8]
        )" +
         parts.to + "\n" + parts.store + R"(
        yield
      }
      )" +
         parts.after +
         R"(
      return
    })";
}

bool can_split(const Parts &parts) {
  ir::Function fn = parsed(kernel(parts));
  const bool can = try_splitting_loops(fn, 4);
  if (can)
    check_rules(fn);
  return can;
}

struct Outcome {
  Memory memory;
  std::string reports;
};

constexpr int rows = 3, distance = 101;

Outcome interpret(const ir::Function &fn, int n, bool in_place) {
  Outcome outcome;
  std::vector<double> elements;
  for (int i = 0; i < rows * distance; i++)
    elements.push_back(i * 7 % 13 - 6);
  int x = outcome.memory.add("X", ir::Elem::f32, elements);
  int y = outcome.memory.add("Y", ir::Elem::f32, std::vector<double>(elements.size(), -100));
  int s = outcome.memory.add("S", ir::Elem::f32, std::vector<double>(rows, -100));
  Launch launch;
  launch.grid = {rows, 1, 1};
  launch.arguments = {Element::pointer(x), Element::pointer(in_place ? x : y), Element::pointer(s),
                      Element::of_integer(n), Element::of_integer(distance)};
  for (const interpreter::Report &report : run(fn, launch, outcome.memory).reports)
    outcome.reports += text_of(report) + "\n";
  return outcome;
}

// Divided loops give the same results. Sums of small integers are exact in every order.
void check_results(const Parts &parts, bool are_equally_long = true, bool aligned = false) {
  ir::Function source = parsed(kernel(parts));
  for (int blocks : {2, 4, 8})
    for (int n : {0, 1, 8, 9, 31, 32, 33, 64, 65, 100})
      for (bool in_place : {false, true}) {
        CAPTURE(blocks);
        CAPTURE(n);
        CAPTURE(in_place);
        if (in_place && !are_equally_long)
          continue;
        Outcome expected = interpret(source, n, in_place);
        CHECK(expected.reports == "");
        ir::Function divided = parsed(kernel(parts));
        if (aligned)
          align_tiles(divided);
        REQUIRE(try_splitting_loops(divided, blocks));
        Outcome found = interpret(divided, n, in_place);
        CHECK(found.reports == "");
        CHECK(difference(expected.memory, found.memory) == "");
        if (n == 0 || n > 8 * blocks || !are_equally_long)
          continue;
        REQUIRE(try_unrolling(divided, 1)); // each block has one iteration
        check_rules(divided);
        found = interpret(divided, n, in_place);
        CHECK(found.reports == "");
        CHECK(difference(expected.memory, found.memory) == "");
      }
}

} // namespace

TEST_CASE("split_loops_in_cluster: same results, also in place and with idle blocks") {
  check_results({});
  check_results({.between = "%s.0 = addptr %S, %p : ptr<f32>\n store %s.0, %z"});
  check_results({.zero = "%ones", .next = "%next = max %acc, %x : f32[8]"});
  check_results({.after = ""});
  check_results({.after = "%q = program_id {axis = 0} : i32\n %s = addptr %S, %q : ptr<f32>\n"
                          "store %s, %total"});
  // The rest reads what it changes, and what all blocks have stored.
  check_results({.after = R"(
      %s = addptr %S, %p : ptr<f32>
      %old = load %s : f32
      %new = add %old, %total : f32
      %y.at = addptr %Y, %row : ptr<f32>
      %any = cmp %N, %seven {pred = "gt"} : i1
      %y = load %y.at, %any, %z : f32
      %both = add %new, %y : f32
      store %s, %both)"});
}

TEST_CASE("split_loops_in_cluster: one block stores the ends of rows that are not aligned") {
  check_results({}, true, true);
  // Also into the row that it has read.
  check_results({.to = "%w = view %X, %at.2, %one : view<f32>[8]"}, true, true);
}

TEST_CASE("split_loops_in_cluster: loops of different lengths") {
  check_results(
      {.parameters = "%X: ptr<f32> no_alias, %Y: ptr<f32>, %S: ptr<f32>, %N: i32, %ld: i64",
       .count = "%eight"},
      false);
}

TEST_CASE("try_splitting_loops: needs totals") {
  CHECK(can_split({}));
  CHECK_FALSE(can_split({.next = "%next = sub %acc, %x : f32[8]"}));
  CHECK_FALSE(can_split({.next = "%next = mul %acc, %x : f32[8]"}));
  CHECK_FALSE(can_split({.zero = "%ones"})); // each block would add it
  CHECK_FALSE(can_split({.next = "%half = fma %acc, %ones, %x : f32[8]\n %next = add %half, %x : "
                                 "f32[8]"}));
}

TEST_CASE("try_splitting_loops: each iteration stores to other elements") {
  CHECK(can_split({}));
  CHECK_FALSE(can_split({.to = "%w = view %Y, %row, %one : view<f32>[8]"}));
  CHECK_FALSE(can_split({.to = "%half = mul %u.wide, %one : i64\n %at.3 = add %row, %half : i64\n"
                               "%w = view %Y, %at.3, %one : view<f32>[8]"}));
  // One row after the other, whose distance is a parameter.
  CHECK(can_split({.to = "%below = mul %u.wide, %ld : i64\n %at.3 = add %row, %below : i64\n"
                         "%w = view %Y, %at.3, %one : view<f32>[8]"}));
  // Eight rows after eight rows, but not eight rows after one.
  CHECK(can_split({.to = "%below = mul %column.2, %ld : i64\n %at.3 = add %row, %below : i64\n"
                         "%w = view %Y, %at.3, %ld : view<f32>[8]"}));
  CHECK_FALSE(can_split({.to = "%below = mul %u.wide, %ld : i64\n %at.3 = add %row, %below : i64\n"
                               "%w = view %Y, %at.3, %ld : view<f32>[8]"}));
}

TEST_CASE("try_splitting_loops: blocks do not read what other blocks store") {
  const std::string own = "%w = view %X, %at.2, %one : view<f32>[8]";
  CHECK(can_split({.to = own})); // each block changes what it has read
  CHECK_FALSE(can_split({.to = own, .count = "%eight"}));
  CHECK_FALSE(can_split({.to = "%at.3 = add %at.2, %eight.wide : i64\n"
                               "%w = view %X, %at.3, %one : view<f32>[8]"}));
  // Two parameters may be the same memory, at the same index. So the loops must be equally long.
  CHECK_FALSE(can_split({.count = "%eight"}));
  CHECK(can_split({.parameters = "%X: ptr<f32> no_alias, %Y: ptr<f32>, %S: ptr<f32>, %N: i32, "
                                 "%ld: i64",
                   .count = "%eight"}));
  const std::string tile = "%e = view %Y, %row, %one : view<f32>[8]\n %f = load %e : f32[8]";
  CHECK_FALSE(can_split({.between = tile}));
  CHECK(can_split({.after = tile + "\n store %e, %f"})); // waits for all blocks
}

TEST_CASE("try_splitting_loops: one block executes everything else") {
  const std::string s = "%s.0 = addptr %S, %p : ptr<f32>\n";
  CHECK(can_split({.between = s + "store %s.0, %z"}));
  // A load or a store after it may depend on it.
  CHECK_FALSE(can_split({.between = s + "store %s.0, %z\n %s.1 = load %s.0 : f32"}));
  CHECK_FALSE(can_split({.between = s + "%s.1 = atomic %s.0, %z {op = \"add\"} : f32"}));
  CHECK(can_split({.after = s + "%s.1 = atomic %s.0, %total {op = \"add\"} : f32"}));
  CHECK_FALSE(can_split({.between = "barrier"}));
  CHECK_FALSE(can_split({.between = "%c = cmp %N, %seven {pred = \"lt\"} : i1\n"
                                    "if_else %c {\n " +
                                    s + " store %s.0, %z\n yield\n} {\n yield\n}"}));
  CHECK_FALSE(can_split({.store = "store %w, %d, %on.2\n barrier"}));
  CHECK_FALSE(can_split({.between = "%loaded = rem %p, %eight : i32", .count = "%loaded"}));
}
