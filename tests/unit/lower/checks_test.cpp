// Tests lower/checks.cpp.

#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

// Operations on %t, a tile of 64 elements in one warp, and scalars.
std::string with(const std::string &operations, int warps = 1) {
  std::string warp = warps == 2 ? "warp (0)" : "warp";
  return "layout #0 [64] reg (1) lane (2) (4) (8) (16) (32) " + warp +
         "\nlayout #1 [8] reg (1) lane (2) (4) (0) (0) (0) " + warp +
         "\nfunc @f(%t: f16[64] #0, %m: i1[64] #0, %s: f32[8] #1, %n: i32, %c: i1) warps " +
         std::to_string(warps) + " {\n" + operations + "\n return\n}";
}

// Functions have no tile parameters, so loads provide the tiles.
std::string lowered_with(const std::string &operations, int warps = 1) {
  std::string text = with(operations, warps);
  size_t begin = text.find("%t:"), end = text.find("%n:");
  text.replace(begin, end - begin, "%p: ptr<f16>, %q: ptr<f32>, ");
  text.insert(text.find("{\n") + 2,
              "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
              "%v = view %p, %zero, %one : view<f16>[64]\n %t = load %v {vector = 2} : f16[64] #0\n"
              "%w = view %q, %zero, %one : view<f32>[8]\n %s = load %w {vector = 2} : f32[8] #1\n"
              "%m = cmp %t, %t {pred = \"eq\"} : i1[64] #0\n");
  return lowered(text);
}

} // namespace

TEST_CASE("print: text alone, once, by the first thread") {
  std::string text = lowered_with("print {text = \"here\"}");
  CHECK(contains(text, "constant [5 x i8] c\"here\\00\""));
  CHECK(count(text, "call void @tritonc.print(") == 1);
  CHECK(contains(text, ", i32 0, i32 -1, i32 0, i64 0)"));
  CHECK(contains(text, "br i1"));
}

TEST_CASE("print: a scalar from the first thread, as bits") {
  std::string text = lowered_with("print %n, %c {text = \"{u}, {}\"}");
  CHECK(contains(text, "c\"{u32}, {i1}\\00\""));
  CHECK(count(text, "call void @tritonc.print(") == 3);
  CHECK(contains(text, "freeze i32 %n"));
  CHECK(contains(text, ", i32 0, i32 0, i32 0, i64"));
  CHECK(contains(text, ", i32 0, i32 1, i32 0, i64"));
}

TEST_CASE("print: each thread passes its registers of a tile") {
  std::string text = lowered_with("print %t {text = \"{}\"}");
  CHECK(contains(text, "c\"{f16[64]}\\00\""));
  CHECK(count(text, "call void @tritonc.print(") == 1 + 2);
  CHECK(count(text, "bitcast half") == 2);
  CHECK(contains(text, "zext i16"));
}

TEST_CASE("print: only one thread passes a replicated element") {
  std::string text = lowered_with("print %s {text = \"{}\"}");
  CHECK(count(text, "call void @tritonc.print(") == 1 + 2);
  CHECK(contains(text, "and i32 %lane, 28")); // lanes 4, 8 and 16 have copies
  CHECK(contains(lowered_with("print %t {text = \"{}\"}", 2), "and i32 %warp, 1"));
}

TEST_CASE("print: element indices count per value") {
  std::string text = lowered_with("print %n, %s, %n {text = \"{} {} {}\"}");
  CHECK(contains(text, ", i32 0, i32 0, i32 0, i64"));
  CHECK(count(text, ", i32 0, i32 1, i32 %") == 2);
  CHECK(contains(text, ", i32 0, i32 2, i32 0, i64"));
}

TEST_CASE("print: all scalars of a statement before its tiles") {
  std::string text = lowered_with("print %n, %s, %c {text = \"{} {} {}\"}");
  size_t begin = text.find(", i32 0, i32 -1, i32 0, i64 0)");
  size_t first = text.find(", i32 0, i32 0, i32 0, i64");
  size_t last = text.find(", i32 0, i32 2, i32 0, i64");
  size_t tile = text.find(", i32 0, i32 1, i32 %");
  REQUIRE(begin != text.npos);
  CHECK(begin < first);
  CHECK(first < last);
  CHECK(last < tile);
  CHECK(text.substr(begin, last - begin).find("br ") == std::string::npos);
}

TEST_CASE("print: each statement has its own number") {
  std::string text = lowered_with("print {text = \"same\"}\n print {text = \"same\"}");
  CHECK(contains(text, ", i32 0, i32 -1, i32 0, i64 0)"));
  CHECK(contains(text, ", i32 1, i32 -1, i32 0, i64 0)"));
}

TEST_CASE("assert: tested by the threads that hold the condition") {
  std::string text = lowered_with("assert %m {text = \"assertion `m` failed\"}");
  CHECK(contains(text, "c\"assertion `m` failed, at element {[64]}\\00\""));
  CHECK(count(text, "call void @tritonc.assert_fail(") == 2);
  CHECK(count(text, "freeze i1") == 2);
  std::string scalar = lowered_with("assert %c {text = \"no\"}");
  CHECK(contains(scalar, "c\"no\\00\""));
  CHECK(count(scalar, "call void @tritonc.assert_fail(") == 1);
}

TEST_CASE("checks: no calls in a function without checks") {
  std::string text = lowered_with("");
  CHECK_FALSE(contains(text, "tritonc.print"));
  CHECK_FALSE(contains(text, "tritonc.assert_fail"));
  CHECK_FALSE(contains(text, "tritonc_print"));
}

TEST_CASE("checks: survive all passes") {
  std::string text = compiled(R"(
    func @f(%p: ptr<f32>, %n: i32) {
      %i = range {start = 0} : i32[256]
      %ps = splat %p : ptr<f32>[256]
      %pi = addptr %ps, %i : ptr<f32>[256]
      %ns = splat %n : i32[256]
      %m = cmp %i, %ns {pred = "lt"} : i1[256]
      %a = load %pi, %m : f32[256]
      print %n, %a {text = "n = {}, a = {}"}
      assert %m {text = "assertion `m` failed"}
      %b = add %a, %a : f32[256]
      store %pi, %b, %m
      return
    })");
  CHECK(contains(text, "c\"n = {i32}, a = {f32[256]}\\00\""));
  CHECK(contains(text, "call void @tritonc.print("));
  CHECK(contains(text, "call void @tritonc.assert_fail("));
}
