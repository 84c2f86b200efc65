// Tests that batched functions compute the same as before passes/batch_programs.cpp: interprets
// both.

#include "interpreter/interpreter.h"
#include "matmul_kernel.h"
#include "passes/batch_programs.h"
#include "row_kernel.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::interpreter;
using namespace tritonc::test;

namespace {

constexpr int programs = 7; // a multiple of no batch
constexpr int length = 32, distance = 40;

struct Outcome {
  Memory memory;
  std::string reports; // one per line
};

// Runs `programs` rows. The buffers end behind the last row, so the interpreter reports an access
// of a program that does not exist.
Outcome interpret(const ir::Function &fn, bool odd) {
  Outcome outcome;
  std::vector<double> elements, labels, zeros((programs - 1) * distance + length, -100);
  for (size_t i = 0; i < zeros.size(); i++)
    elements.push_back(double(i * 7 % 13) - 6);
  for (int row = 0; row < programs; row++)
    labels.push_back(row * 3 % 5 + 1);
  Memory &memory = outcome.memory;
  int a = memory.add("A", ir::Elem::f32, elements), c = memory.add("C", ir::Elem::f32, zeros);
  int l = memory.add("L", ir::Elem::i32, labels);
  int d = memory.add("D", ir::Elem::i32, std::vector<double>(2 * programs, -100));
  Launch launch;
  launch.grid = {programs, 2, 1}; // most operations do not use the second axis
  launch.arguments = {Element::pointer(a),          Element::pointer(c),
                      Element::pointer(l),          Element::pointer(d),
                      Element::of_integer(5),       Element::of_integer(odd),
                      Element::of_integer(distance)};
  for (const interpreter::Report &report : run(fn, launch, memory).reports)
    outcome.reports += text_of(report) + "\n";
  return outcome;
}

// The operations give the same results in blocks of 2, 4 and 16 programs.
void check_results(const std::string &operations) {
  CAPTURE(operations);
  ir::Function source = parsed(row_kernel(operations));
  for (bool odd : {false, true}) {
    CAPTURE(odd);
    Outcome expected = interpret(source, odd);
    CHECK(expected.reports == "");
    for (int64_t times : {2, 4, 16}) {
      CAPTURE(times);
      ir::Function fn = parsed(row_kernel(operations));
      REQUIRE(try_batching(fn, times));
      check_rules(fn);
      Outcome found = interpret(fn, odd);
      CHECK(found.reports == "");
      CHECK(difference(expected.memory, found.memory) == "");
    }
  }
}

// Copies eight elements at %at.
const std::string copy = "%u = view %A, %at, %one : view<f32>[8]\n"
                         "%y = load %u : f32[8]\n %t = view %C, %f, %one : view<f32>[8]\n"
                         "store %t, %y";

} // namespace

TEST_CASE("batch_programs results: operations") {
  for (const RowOperations &operations : row_operations())
    check_results(operations.text);
}

TEST_CASE("batch_programs results: only the first axis of the grid changes") {
  check_results(R"(
      %p1 = program_id {axis = 1} : i32
      %count = num_programs {axis = 0} : i32
      %before = mul %p1, %count : i32
      %all = num_programs {axis = 1} : i32
      %k = add %label, %all : i32
      %to.all = addptr %to.int, %before : ptr<i32>
      store %to.all, %k)");
}

TEST_CASE("batch_programs results: loops and branches") {
  check_results(R"(
      %last, %sum, %top, %at = for_loop %n, %same, %same, %none, %f : f32[32], f32[32], f32, i64 {
        (%t: i32, %twice: f32[32], %acc: f32[32], %max: f32, %place: i64)
        %more = add %acc, %x : f32[32]
        %larger = max %max, %s : f32
        %double = add %twice, %twice : f32[32]
        yield %double, %more, %larger, %place
      }
      %es = splat %top : f32[32]
      %y = add %sum, %es : f32[32]
      %z = add %y, %last : f32[32]
      %c.v = view %C, %at, %one : view<f32>[32]
      store %c.v, %z)");
  // Each iteration loads other elements, and the last one is partial.
  check_results(R"(
      %eight = constant {value = 8} : i32
      %eight.wide = constant {value = 8} : i64
      %thirty = constant {value = 30} : i32
      %zeros = splat %none : f32[8]
      %j = range {start = 0} : i32[8]
      %four = add %two, %two : i32
      %sum = for_loop %four, %zeros : f32[8] {
        (%t: i32, %acc: f32[8])
        %t.wide = cast %t : i64
        %step = mul %t.wide, %eight.wide : i64
        %at = add %f, %step : i64
        %u = view %A, %at, %one : view<f32>[8]
        %done = mul %t, %eight : i32
        %left = sub %thirty, %done : i32
        %limit = splat %left : i32[8]
        %on = cmp %j, %limit {pred = "lt"} : i1[8]
        %part = load %u, %on, %zeros : f32[8]
        %more = add %acc, %part : f32[8]
        yield %more
      }
      %total = reduce %sum {axis = 0, op = "add"} : f32
      store %to, %total)");
  check_results(R"(
      %y, %z = if_else %odd : f32[32], i32 {
        %a = add %x, %same : f32[32]
        yield %a, %p
      } {
        yield %same, %two
      }
      store %w, %y
      store %to.int, %z)");
}

TEST_CASE("batch_programs results: masks that depend on the program") {
  for (const char *limit : {"%label", "%p", "%n"})
    for (const char *pred : {"lt", "gt", "ne"}) {
      std::string limited = "%limit = splat LIMIT : i32[32]\n"
                            "%on = cmp %i, %limit {pred = \"PRED\"} : i1[32]\n";
      limited = with(with(limited, "LIMIT", limit), "PRED", pred);
      check_results(limited + "%y = load %v, %on, %same : f32[32]\n store %w, %y");
      check_results(limited + "store %w, %x, %on");
    }
  const std::string scalar = "%b = cmp %s, %none {pred = \"lt\"} : i1\n";
  check_results(scalar + "%y = load %v, %b, %same : f32[32]\n store %w, %y");
  check_results(scalar + "store %w, %x, %b");
  check_results(scalar + "store %to, %s, %b");
}

TEST_CASE("batch_programs results: addresses that are not linear in the program") {
  const std::string label = "%l = cast %label : i64\n";
  check_results(label + "%at = add %l, %zero : i64\n" + copy);
  check_results(label + "%at = add %l, %f : i64\n" + copy);
  check_results(label + "%at = mul %l, %p.wide : i64\n" + copy);
  for (std::string code : {"div", "rem", "and", "min"})
    check_results(label + "%at = " + code + " %f, %l : i64\n" + copy);
}

// In the address the products cancel each other, so it is linear in the program again.
TEST_CASE("batch_programs results: the row as the sum of quotient and remainder") {
  check_results("%l2 = cast %two : i64\n %q = div %p.wide, %l2 : i64\n %q2 = mul %q, %l2 : i64\n"
                "%r = sub %p.wide, %q2 : i64\n %row = add %q2, %r : i64\n"
                "%at = mul %row, %ld : i64\n" +
                copy);
}

TEST_CASE("batch_programs results: addresses with the square of the program's index") {
  check_results("%at = mul %p.wide, %p.wide : i64\n" + copy);
  check_results("%square = mul %p.wide, %p.wide : i64\n %at = add %square, %p.wide : i64\n" + copy);
  check_results("%square = mul %p, %p : i32\n %sum = add %square, %p : i32\n"
                "%at = cast %sum : i64\n" +
                copy);
}

TEST_CASE("batch_programs results: a pointer per program") {
  const std::string chosen =
      "%b = cmp %s, %none {pred = \"lt\"} : i1\n%P = select %b, %A, %C : ptr<f32>\n";
  for (std::string offset : {"%zero", "%f", "%p.wide"})
    check_results(chosen + "%u = view %P, " + offset +
                  ", %one : view<f32>[8]\n %y = load %u : f32[8]\n"
                  "%m = reduce %y {axis = 0, op = \"max\"} : f32\n %k = cast %m : i32\n"
                  "store %to.int, %k");
}
