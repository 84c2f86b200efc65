// Tests lower/scan.cpp, and gathers and rows in lower/shared_memory.cpp.

#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

// A 16 x 16 tile: per thread 4 contiguous elements of a row, 4 lanes per row, and 2 rows 8 apart.
std::string program(const std::string &elem, int axis, const std::string &op) {
  return "layout #0 [16,16] reg (0,1) (0,2) (8,0) lane (0,4) (0,8) (1,0) (2,0) (4,0) warp\n"
         "func @f(%p: ptr<" +
         elem +
         ">, %ld: i64) warps 1 {\n"
         "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
         "%v = view %p, %zero, %ld, %one : view<" +
         elem + ">[16,16]\n%a = load %v {vector = 1} : " + elem +
         "[16,16] #0\n%s = scan %a {axis = " + std::to_string(axis) + ", op = \"" + op +
         "\"} : " + elem + "[16,16] #0\nstore %v, %s {vector = 1}\n return\n}";
}

} // namespace

TEST_CASE("scan: registers first, then totals of earlier lanes") {
  // Along rows: two steps on 4 registers, two elements each, in two rows. Then two steps across
  // lanes, which fetch one element per row.
  std::string rows = lowered(program("f32", 1, "add"));
  CHECK(count(rows, "fadd float") == 2 * (2 + 2) + 8 + 8);
  CHECK(count(rows, "call i32 @tritonc.shfl_idx") == 2 + 2);
  CHECK(count(rows, "select i1") == 8 + 8);
  // Along columns: three steps across lanes, for 8 registers. Then the 4 registers of the later
  // rows add the last lane's total of the earlier rows.
  std::string columns = lowered(program("f32", 0, "add"));
  CHECK(count(columns, "fadd float") == 3 * 8 + 4);
  CHECK(count(columns, "call i32 @tritonc.shfl_idx") == 3 * 8 + 4);
}

TEST_CASE("scan: each operation on integers and floats of every size") {
  CHECK(contains(lowered(program("i32", 1, "umax")), "@llvm.umax.i32"));
  CHECK(contains(lowered(program("f16", 1, "min")), "@llvm.minnum"));
  CHECK(contains(lowered(program("i64", 1, "mul")), "mul i64"));
  CHECK(count(lowered(program("f64", 1, "add")), "call i32 @tritonc.shfl_idx") == 2 * (2 + 2));
}

TEST_CASE("scan: no shuffle along an axis of one element") {
  std::string one =
      lowered("layout #0 [1,32] reg lane (0,1) (0,2) (0,4) (0,8) (0,16) warp\n"
              "func @f(%p: ptr<f32>) warps 1 {\n"
              "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
              "%v = view %p, %zero, %zero, %one : view<f32>[1,32]\n"
              "%a = load %v {vector = 1} : f32[1,32] #0\n"
              "%s = scan %a {axis = 0, op = \"add\"} : f32[1,32] #0\n"
              "store %v, %s {vector = 1}\n return\n}");
  CHECK_FALSE(contains(one, "fadd"));
  CHECK_FALSE(contains(one, "shfl"));
}

TEST_CASE("gather: one element per load, index always in bounds") {
  std::string text = lowered(
      "layout #0 [4,8] reg lane (0,1) (0,2) (0,4) (1,0) (2,0) warp\n"
      "layout #1 [4,8] offset (0,1) (0,2) (0,4) (1,0) (2,0)\n"
      "layout #2 [4,2] reg (0,1) lane (1,0) (2,0) (0,0) (0,0) (0,0) warp\n"
      "func @f(%x: ptr<f16>, %i: ptr<i32>, %p: ptr<f16>, %ld: i64) warps 1 shared 64 {\n"
      "%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
      "%xs = view %x, %zero, %ld, %one : view<f16>[4,8]\n"
      "%is = view %i, %zero, %ld, %one : view<i32>[4,2]\n"
      "%ps = view %p, %zero, %ld, %one : view<f16>[4,2]\n"
      "%a = load %xs {vector = 1} : f16[4,8] #0\n %j = load %is {vector = 1} : i32[4,2] #2\n"
      "%z = constant {value = 0} : i32\n"
      "%s = shared_alloc {address = 0} : shared<f16>[1,4,8] #1\n"
      "shared_store %a, %s, %z\n barrier\n"
      "%g = shared_gather %s, %z, %j {axis = 1} : f16[4,2] #2\n"
      "store %ps, %g {vector = 1}\n return\n}");
  CHECK(count(text, "load half, ptr addrspace(3)") == 2);
  CHECK(count(text, ", 7\n") >= 2); // only three bits of an index are used
}

TEST_CASE("rows in shared memory: no access after the end of a row") {
  auto text_with = [](const std::string &place) {
    return lowered(
        "layout #0 [16,16] reg (0,4) (0,8) (8,0) lane (0,1) (0,2) (1,0) (2,0) (4,0) warp\n"
        "layout #1 [256] offset (1) (2) (4) (8) (16) (32) (64) (128)\n"
        "func @f(%n: i32) warps 1 shared 512 {\n"
        "%z = constant {value = 0} : i32\n"
        "%s = shared_alloc {address = 0} : shared<f16>[1,256] #1\n"
        "%a = shared_load_rows %s, %z, %n, %z" +
        place +
        " : f16[16,16] #0\n barrier\n"
        "shared_store_rows %a, %s, %z, %n, %z" +
        place + "\n return\n}");
  };
  std::string text = text_with("");
  CHECK(count(text, "call <1 x half> @llvm.masked.load.v1f16.p3") == 8);
  CHECK(count(text, "store half ") == 8);
  CHECK(count(text, "icmp slt i32") == 16);
  CHECK(count(text, "br i1") == 8); // the stores
  text = text_with(" {whole = 1}");
  CHECK(count(text, "load half, ptr addrspace(3)") == 8);
  CHECK(count(text, "icmp slt i32") == 0);
}
