// Tests passes/narrow_steps.cpp.

#include "passes/narrow_steps.h"
#include "product_kernel.h"
#include "support/tile_ir.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string kernel(const std::string &loads_of_a = "%a = load %va : f32[64,32]\n") {
  return with(R"(
  func @f(%A: ptr<f32>, %B: ptr<f32>, %C: ptr<f32>, %n: i32, %K: i32, %ld: i64) {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %nothing = constant {number = 0.0} : f32
    %start = splat %nothing : f32[64,64]
    %sum = for_loop %n, %start : f32[64,64] {
      (%t: i32, %acc: f32[64,64])
      %deep = constant {value = 32} : i64
      %t.wide = cast %t : i64
      %k = mul %deep, %t.wide : i64
      %va = view %A, %k, %ld, %one : view<f32>[64,32]
      LOAD
      %down = mul %k, %ld : i64
      %vb = view %B, %down, %ld, %one : view<f32>[32,64]
      %b = load %vb : f32[32,64]
      %d = dot %a, %b, %acc : f32[64,64]
      yield %d
    }
    %vc = view %C, %zero, %ld, %one : view<f32>[64,64]
    store %vc, %sum
    return
  })",
              "LOAD", loads_of_a);
}

void unchanged(const std::string &text_before, int64_t step) {
  CAPTURE(text_before);
  CHECK(after(narrow_steps, text_before, Structure{.step = step}) == text(text_before));
}

} // namespace

TEST_CASE("a step becomes several, each of fewer columns") {
  CHECK(after(narrow_steps, kernel(), Structure{.step = 16}) == text(R"(
  func @f(%A: ptr<f32>, %B: ptr<f32>, %C: ptr<f32>, %n: i32, %K: i32, %ld: i64) {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %nothing = constant {number = 0.0} : f32
    %start = splat %nothing : f32[64,64]
    %0 = constant {value = 2} : i32
    %1 = mul %n, %0 : i32
    %sum = for_loop %1, %start : f32[64,64] {
      (%t: i32, %acc: f32[64,64])
      %2 = constant {value = 16} : i64
      %3 = cast %t : i64
      %4 = mul %2, %3 : i64
      %5 = constant {value = 1} : i64
      %6 = view %A, %4, %ld, %5 : view<f32>[64,16]
      %a = load %6 : f32[64,16]
      %7 = constant {value = 16} : i64
      %8 = mul %7, %ld : i64
      %9 = cast %t : i64
      %10 = mul %8, %9 : i64
      %11 = constant {value = 1} : i64
      %12 = view %B, %10, %ld, %11 : view<f32>[16,64]
      %b = load %12 : f32[16,64]
      %d = dot %a, %b, %acc : f32[64,64]
      yield %d
    }
    %vc = view %C, %zero, %ld, %one : view<f32>[64,64]
    store %vc, %sum
    return
  })"));
}

TEST_CASE("a mask along K moves with the smaller steps") {
  std::string result = after(
      narrow_steps,
      kernel("%i = range {start = 0} : i32[32]\n %c32 = constant {value = 32} : i32\n"
             "%past = mul %t, %c32 : i32\n %left = sub %K, %past : i32\n"
             "%lefts = splat %left : i32[32]\n %in = cmp %i, %lefts {pred = \"lt\"} : i1[32]\n"
             "%row = expand %in {axis = 0} : i1[1,32]\n"
             "%mask = broadcast %row : i1[64,32]\n"
             "%none = splat %nothing : f32[64,32]\n"
             "%a = load %va, %mask, %none : f32[64,32]\n"),
      Structure{.step = 16});
  CAPTURE(result);
  CHECK(contains(result, "range {start = 0} : i32[16]"));
  CHECK(!contains(result, "[64,32]"));
  CHECK(!contains(result, "{value = 32}"));
}

TEST_CASE("nothing happens to steps that are short enough, or whose length is left to the source") {
  unchanged(kernel(), 32);
  unchanged(kernel(), 64);
  unchanged(kernel(), 0);
}

TEST_CASE("nothing happens to a loop that says something about its steps") {
  unchanged(kernel("%a = load %va : f32[64,32]\n print %a {text = \"{}\"}\n"), 16);
}

TEST_CASE("nothing happens to loads that don't move on along K, step by step") {
  unchanged(with(kernel(), "{value = 32} : i64", "{value = 31} : i64"), 16);
}
