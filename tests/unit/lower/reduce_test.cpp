// Tests lower/reduce.cpp.

#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

// A 16 x 16 tile: per thread 4 contiguous elements of a row, 4 lanes per row, and 2 rows 8 apart.
std::string program(const std::string &elem, int axis, const std::string &op) {
  std::string kept =
      axis == 1 ? "reg (8) lane (0) (0) (1) (2) (4)" : "reg (1) (2) lane (4) (8) (0) (0) (0)";
  return "layout #0 [16,16] reg (0,1) (0,2) (8,0) lane (0,4) (0,8) (1,0) (2,0) (4,0) warp\n"
         "layout #1 [16] " +
         kept +
         " warp\n"
         "func @f(%p: ptr<" +
         elem +
         ">, %ld: i64) warps 1 {\n"
         "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
         "%v = view %p, %zero, %ld, %one : view<" +
         elem +
         ">[16,16]\n"
         "%w = view %p, %zero, %one : view<" +
         elem +
         ">[16]\n"
         "%a = load %v {vector = 1} : " +
         elem +
         "[16,16] #0\n"
         "%s = reduce %a {axis = " +
         std::to_string(axis) + ", op = \"" + op + "\"} : " + elem +
         "[16] #1\n"
         "store %w, %s {vector = 1}\n return\n}";
}

} // namespace

TEST_CASE("reduce: registers first, then lanes along the axis") {
  // Along rows: 4 registers reduce to one, for 2 rows; then 2 bits of the lane.
  std::string rows = lowered(program("f32", 1, "add"));
  CHECK(count(rows, "call i32 @tritonc.shfl_bfly") == 2 * 2);
  CHECK(count(rows, "fadd float") == 2 * (3 + 2));
  for (const char *lanes : {", i32 1)", ", i32 2)"})
    CHECK(contains(rows, lanes));
  // Along columns: 2 registers reduce to one, for 4 columns; then 3 bits of the lane.
  std::string columns = lowered(program("f32", 0, "add"));
  CHECK(count(columns, "call i32 @tritonc.shfl_bfly") == 4 * 3);
  for (const char *lanes : {", i32 4)", ", i32 8)", ", i32 16)"})
    CHECK(contains(columns, lanes));
}

TEST_CASE("reduce: each operation on integers and floats") {
  struct {
    std::string elem, op, instruction;
  } cases[] = {
      {"i32", "add", "add i32"},         {"i32", "min", "@llvm.smin.i32"},
      {"i32", "max", "@llvm.smax.i32"},  {"f32", "min", "@llvm.minnum"},
      {"f32", "max", "@llvm.maxnum"},    {"f16", "add", "fadd half"},
      {"i32", "mul", "mul i32"},         {"f32", "mul", "fmul float"},
      {"i32", "umin", "@llvm.umin.i32"}, {"i32", "umax", "@llvm.umax.i32"},
      {"i32", "and", "and i32"},         {"i32", "or", "or i32"},
      {"i32", "xor", "xor i32"},
  };
  for (const auto &[elem, op, instruction] : cases)
    CHECK(contains(lowered(program(elem, 1, op)), instruction));
}

TEST_CASE("reduce: a constant operand") {
  std::string text = lowered(R"(
    layout #0 [32] reg lane (1) (2) (4) (8) (16) warp
    func @f(%p: ptr<i32>) warps 1 {
      %four = constant {value = 4} : i32
      %t = splat %four : i32[32] #0
      %m = reduce %t {axis = 0, op = "max"} : i32
      store %p, %m
      return
    })");
  CHECK(contains(text, "store i32 4"));
  CHECK_FALSE(contains(text, "call i32 @tritonc.shfl_bfly"));
}

TEST_CASE("reduce: shuffles small elements as a word, wide as two") {
  std::string narrow = lowered(program("f16", 1, "max"));
  CHECK(count(narrow, "call i32 @tritonc.shfl_bfly") == 4);
  CHECK(contains(narrow, "zext i16"));
  std::string wide = lowered(program("f64", 1, "max"));
  CHECK(count(wide, "call i32 @tritonc.shfl_bfly") == 8);
  CHECK(contains(wide, "lshr i64"));
}

TEST_CASE("reduce: no shuffle for an axis within one thread") {
  std::string text = lowered(R"(
    layout #0 [64,2] reg (0,1) (32,0) lane (1,0) (2,0) (4,0) (8,0) (16,0) warp
    layout #1 [64] reg (32) lane (1) (2) (4) (8) (16) warp
    func @f(%p: ptr<f32>, %ld: i64) warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %v = view %p, %zero, %ld, %one : view<f32>[64,2]
      %a = load %v {vector = 1} : f32[64,2] #0
      %s = reduce %a {axis = 1, op = "add"} : f32[64] #1
      %w = view %p, %zero, %one : view<f32>[64]
      store %w, %s {vector = 1}
      return
    })");
  CHECK_FALSE(contains(text, "shfl"));
  CHECK(count(text, "fadd float") == 2);
}

TEST_CASE("reduce: a tile to a scalar, which one thread stores") {
  std::string text = lowered(R"(
    layout #0 [64] reg (32) lane (1) (2) (4) (8) (16) warp
    func @f(%p: ptr<f32>) warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %v = view %p, %zero, %one : view<f32>[64]
      %a = load %v {vector = 1} : f32[64] #0
      %s = reduce %a {axis = 0, op = "add"} : f32
      store %p, %s
      return
    })");
  CHECK(count(text, "call i32 @tritonc.shfl_bfly") == 5);
  CHECK(count(text, "store float") == 1);
}

TEST_CASE("reduce: a loop carries the registers of the result, and no more") {
  // Each thread has 2 of the 16 row sums: two halves are one word.
  auto carried = [](const std::string &elem) {
    std::string text = program(elem, 1, "add");
    std::string sums = elem + "[16] #1";
    text.replace(text.find("store"), std::string::npos,
                 "%n = constant {value = 4} : i32\n"
                 "%r = for_loop %n, %s : " +
                     sums + " {\n(%t: i32, %c: " + sums +
                     ")\n yield %c\n}\n"
                     "store %w, %r {vector = 1}\n return\n}");
    return lowered(text);
  };
  CHECK(count(carried("f32"), "phi float") == 2);
  std::string halves = carried("f16");
  CHECK(count(halves, "phi i32") == 2); // the counter and the word
  CHECK(count(halves, "phi half") == 0);
}

TEST_CASE("reduce: combines replicated elements once") {
  // 16 elements in 32 lanes: the fifth lane bit holds copies and is not reduced.
  std::string text = lowered(R"(
    layout #0 [16] reg lane (1) (2) (4) (8) (0) warp
    func @f(%p: ptr<f32>) warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %v = view %p, %zero, %one : view<f32>[16]
      %a = load %v {vector = 1} : f32[16] #0
      %s = reduce %a {axis = 0, op = "add"} : f32
      store %p, %s
      return
    })");
  CHECK(count(text, "call i32 @tritonc.shfl_bfly") == 4);
}
