// Tests passes/overlap_dots.cpp: interprets loops with plain loads before and after the pass. The
// folder overlap_dots/ has more cases.

#include "interpreter/interpreter.h"
#include "matmul_kernel.h"
#include "passes/overlap_dots.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::interpreter;
using namespace tritonc::test;

namespace {

// Two dots per iteration; `before` comes before the loop. `scores` makes %x, the operand of the
// second dot, from %s, the result of the first one. %place is the tile of the bias in iteration %t.
std::string kernel(const std::string &scores, const std::string &before = "") {
  return R"(func @f(%Q: ptr<f16>, %K: ptr<f16>, %V: ptr<f16>, %B: ptr<f32>, %T: ptr<i32>,
                    %O: ptr<f32>, %n: i32) {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %size = constant {value = 16} : i64
    %rows = constant {value = 64} : i64
    %mq = tensor_map %Q, %zero, %size, %size, %size, %one {swizzle = 32} : map<f16>[16,16]
    %mk = tensor_map %K, %zero, %size, %rows, %one, %size {swizzle = 32} : map<f16>[16,16]
    %mv = tensor_map %V, %zero, %rows, %size, %size, %one {swizzle = 32} : map<f16>[16,16]
    %i = constant {value = 0} : i32
    %step = constant {value = 16} : i32
    %all = constant {value = 256} : i64
    %nothing = constant {number = 0.0} : f32
    %none = splat %nothing : f32[16,16]
    %q = tma_load %mq, %i, %i : f16[16,16]
    )" + before +
         R"(
    %sum = for_loop %n, %none : f32[16,16] {
      (%t: i32, %acc: f32[16,16])
      %row = mul %t, %step : i32
      %t.wide = cast %t : i64
      %done = mul %t.wide, %all : i64
      %place = view %B, %done, %size, %one : view<f32>[16,16]
      %k = tma_load %mk, %i, %row : f16[16,16]
      %s = dot %q, %k, %none : f32[16,16]
      )" +
         scores + R"(
      %p = cast %x : f16[16,16]
      %v = tma_load %mv, %row, %i : f16[16,16]
      %d = dot %p, %v, %acc : f32[16,16]
      yield %d
    }
    %o = view %O, %zero, %size, %one : view<f32>[16,16]
    store %o, %sum
    return
  })";
}

struct Outcome {
  Memory memory;
  std::string reports;
};

// `biases`: elements of the bias; `numbers`: elements of T.
Outcome interpret(const ir::Function &fn, int n, size_t biases, size_t numbers) {
  auto values = [](size_t count) {
    std::vector<double> elements;
    for (size_t i = 0; i < count; i++)
      elements.push_back(double(i * 7 % 5) - 2);
    return elements;
  };
  Outcome outcome;
  Memory &memory = outcome.memory;
  const int q = memory.add("Q", ir::Elem::f16, values(256));
  const int k = memory.add("K", ir::Elem::f16, values(1024));
  const int v = memory.add("V", ir::Elem::f16, values(1024));
  const int b = memory.add("B", ir::Elem::f32, values(biases));
  const int t = memory.add("T", ir::Elem::i32, std::vector<double>(numbers, 2));
  const int o = memory.add_unwritten("O", ir::Elem::f32, 256);
  Launch launch;
  for (int buffer : {q, k, v, b, t, o})
    launch.arguments.push_back(Element::pointer(buffer));
  launch.arguments.push_back(Element::of_integer(n));
  for (const interpreter::Report &report : run(fn, launch, memory).reports)
    outcome.reports += text_of(report) + "\n";
  return outcome;
}

// Buffers have exactly the elements that the loop reads. `last`: of the bias, the number of elements
// in the tile of the last iteration.
void check_results(const std::string &text, size_t last = 256) {
  const ir::Function source = parsed(text);
  ir::Function fn = clone(source);
  overlap_dots(fn, {.kind = Schedule::Kind::warp_specialized});
  check_rules(fn);
  CHECK(printed(fn) != printed(source));
  for (size_t n : {0, 1, 2, 4}) {
    CAPTURE(n);
    const size_t biases = n ? (n - 1) * 256 + last : 0;
    const Outcome expected = interpret(source, int(n), biases, n);
    const Outcome found = interpret(fn, int(n), biases, n);
    CHECK(expected.reports == "");
    CHECK(found.reports == "");
    CHECK(difference(expected.memory, found.memory) == "");
  }
}

} // namespace

TEST_CASE("overlap_dots: loads nothing for an iteration that the loop does not have") {
  check_results(kernel("%bias = load %place : f32[16,16]\n"
                       "%x = add %s, %bias : f32[16,16]"));
}

TEST_CASE("overlap_dots: a load keeps its mask and its other value") {
  const std::string mask = "%r = range {start = 0} : i32[16]\n"
                           "%r.row = expand %r {axis = 0} : i32[1,16]\n"
                           "%columns = broadcast %r.row : i32[16,16]\n"
                           "%seven = constant {value = 7} : i32\n"
                           "%limit = splat %seven : i32[16,16]\n"
                           "%on = cmp %columns, %limit {pred = \"lt\"} : i1[16,16]\n"
                           "%three = constant {number = 3.0} : f32\n"
                           "%threes = splat %three : f32[16,16]\n";
  constexpr size_t last = 15 * 16 + 7;
  check_results(kernel("%bias = load %place, %on, %threes : f32[16,16]\n"
                       "%x = add %s, %bias : f32[16,16]",
                       mask),
                last);
  check_results(kernel("%bias = load %place, %on : f32[16,16]\n"
                       "%x = select %on, %bias, %s : f32[16,16]",
                       mask),
                last);
}

TEST_CASE("overlap_dots: a scalar is loaded") {
  check_results(kernel("%at = addptr %T, %t : ptr<i32>\n"
                       "%number = load %at : i32\n"
                       "%factor = cast %number : f32\n"
                       "%factors = splat %factor : f32[16,16]\n"
                       "%x = mul %s, %factors : f32[16,16]"));
}

TEST_CASE("overlap_dots: the second stage loads") {
  check_results(with(kernel("%x = exp2 %s : f32[16,16]"), "yield %d",
                     "%is.on = cmp %d, %none {pred = \"gt\"} : i1[16,16]\n"
                     "%bias = load %place, %is.on, %d : f32[16,16]\n"
                     "yield %bias"));
}
