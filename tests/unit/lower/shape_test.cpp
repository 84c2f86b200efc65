// Tests lower/shape.cpp: reordering and repeating elements needs no instructions.

#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

// 8 x 16: registers (0,1) (4,0); lanes first along rows.
const std::string layouts = R"(
    layout #0 [8,16] reg (0,1) (4,0) lane (0,2) (0,4) (0,8) (1,0) (2,0) warp
    layout #1 [16,8] reg (1,0) (0,4) lane (2,0) (4,0) (8,0) (0,1) (0,2) warp
    layout #2 [8] reg (4) lane (0) (0) (0) (1) (2) warp
    layout #3 [8,1] reg (4,0) lane (0,0) (0,0) (0,0) (1,0) (2,0) warp
    layout #4 [128] reg (1) (64) lane (2) (4) (8) (16) (32) warp
    )";

} // namespace

TEST_CASE("trans, reshape: keep the same registers") {
  std::string text = lowered(layouts + R"(
    func @f(%p: ptr<f32>, %q: ptr<f32>, %ld: i64) warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %v = view %p, %zero, %ld, %one : view<f32>[8,16]
      %a = load %v {vector = 2} : f32[8,16] #0
      %t = trans %a {perm = [1,0]} : f32[16,8] #1
      %w = view %q, %zero, %one, %ld : view<f32>[16,8]
      store %w, %t {vector = 2}
      %r = reshape %a : f32[128] #4
      %u = view %q, %zero, %one : view<f32>[128]
      store %u, %r {vector = 2}
      return
    })");
  CHECK(count(text, "load <2 x float>") == 2);
  CHECK(count(text, "store <2 x float>") == 4);
  CHECK_FALSE(contains(text, "shfl"));
  CHECK_FALSE(contains(text, "addrspace(3)"));
}

TEST_CASE("range: thread part plus a constant per register") {
  std::string text = lowered(layouts + R"(
    func @f(%p: ptr<i32>) warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %r = range {start = 7} : i32[128] #4
      %u = view %p, %zero, %one : view<i32>[128]
      store %u, %r {vector = 2}
      return
    })");
  CHECK(contains(text, ", 7"));
  for (const char *offset : {", 1\n", ", 64\n", ", 65\n"})
    CHECK(contains(text, offset));
}

TEST_CASE("expand, broadcast: copy no registers") {
  std::string text = lowered(layouts + R"(
    func @f(%p: ptr<f32>, %q: ptr<f32>, %ld: i64) warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %v = view %p, %zero, %one : view<f32>[8]
      %a = load %v {vector = 1} : f32[8] #2
      %e = expand %a {axis = 1} : f32[8,1] #3
      %b = broadcast %e : f32[8,16] #0
      %w = view %q, %zero, %ld, %one : view<f32>[8,16]
      store %w, %b {vector = 2}
      return
    })");
  CHECK(count(text, "load float") == 2);
  CHECK(count(text, "store <2 x float>") == 2);
}

TEST_CASE("extract: selects registers") {
  std::string text = lowered(R"(
    layout #0 [8,16] reg (0,1) (0,8) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp
    layout #1 [8,8] reg (0,1) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp
    func @f(%p: ptr<f32>, %q: ptr<f32>, %ld: i64) warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %v = view %p, %zero, %ld, %one : view<f32>[8,16]
      %a = load %v {vector = 1} : f32[8,16] #0
      %b = extract %a {origin = [0,8]} : f32[8,8] #1
      %w = view %q, %zero, %ld, %one : view<f32>[8,8]
      store %w, %b {vector = 1}
      return
    })");
  CHECK(count(text, "load float") == 4);
  CHECK(count(text, "store float") == 2);
  // The last two loaded elements.
  size_t load = 0;
  for (int i = 0; i < 3; i++)
    load = text.find("load float", load + 1);
  size_t name = text.rfind("  %", load) + 2;
  CHECK(contains(text, "store float " + text.substr(name, text.find(' ', name) - name) + ","));
  CHECK_FALSE(contains(text, "shfl"));
  CHECK_FALSE(contains(text, "addrspace(3)"));
}

TEST_CASE("funnel_shift: selects 32-bit words, then shifts pairs of words") {
  auto text_of = [](const std::string &type, const std::string &vector) {
    return lowered("layout #0 [256] reg (1) (2) (4) lane (8) (16) (32) (64) (128) warp\n"
                   "func @f(%p: ptr<" +
                   type + ">, %n: i32) warps 1 {\n %zero = constant {value = 0} : i64\n" +
                   "%one = constant {value = 1} : i64\n %v = view %p, %zero, %one : view<" + type +
                   ">[256]\n %a = load %v {vector = " + vector + "} : " + type +
                   "[256] #0\n %s = funnel_shift %a, %a, %n {vector = " + vector + "} : " + type +
                   "[256] #0\n store %v, %s {vector = " + vector + "}\n return\n}");
  };
  std::string halves = text_of("f16", "8"); // 4 words, and 4 more
  CHECK(count(halves, "call i32 @llvm.fshr.i32") == 4);
  CHECK(count(halves, "select i1") == 6 + 7);
  std::string floats = text_of("f32", "4");
  CHECK(count(floats, "call i32 @llvm.fshr.i32") == 2 * 4);
  CHECK_FALSE(contains(floats, "shfl"));
}

TEST_CASE("in_bounds: compares constants with the remaining size") {
  auto text = [](const std::string &limits) {
    return lowered(layouts + R"(
    func @f(%p: ptr<i32>, %m: i64, %n: i64, %ld: i64) warps 1 {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %all = constant {value = 16} : i64
      %on = in_bounds )" +
                   limits +
                   R"( : i1[8,16] #0
      %i = cast %on {unsigned = 1} : i32[8,16] #0
      %v = view %p, %zero, %ld, %one : view<i32>[8,16]
      store %v, %i {vector = 2}
      return
    })");
  };
  std::string both = text("%m, %n");
  CHECK(count(both, "@llvm.smax.i64(i64 %m, i64 0)") == 1);
  CHECK(count(both, "i64 8)") == 1); // the remaining size is clamped to the tile
  CHECK(count(both, "i64 16)") == 1);
  for (const char *constant : {", 0\n", ", 4\n", ", 1\n"}) // offsets of the registers
    CHECK(count(both, constant) > 0);
  CHECK(count(both, "icmp sgt i32") == 2 * 4);
  // If all indices are in bounds, no comparison is needed.
  std::string rows = text("%m, %all");
  CHECK(count(rows, "icmp sgt i32") == 4);
  CHECK_FALSE(contains(rows, "i64 %n, i64 0"));
}

TEST_CASE("no_hoist: takes the first lane's value, in words") {
  std::string text = lowered(R"(
    func @f(%p: ptr<i32>, %q: ptr<i64>, %n: i32, %l: i64) warps 1 {
      %a = no_hoist %n : i32
      store %p, %a
      %b = no_hoist %l : i64
      store %q, %b
      return
    })");
  CHECK(count(text, "call i32 @tritonc.shfl_idx(i32 %n, i32 0)") == 1);
  CHECK(count(text, "call i32 @tritonc.shfl_idx(") == 3);
}

TEST_CASE("range: values may be negative") {
  auto first = [](const std::string &start) {
    return lowered(layouts + "func @f(%q: ptr<i32>) warps 1 {\n%i = range {start = " + start +
                   "} : i32[128] #4\n%zero = constant {value = 0} : i64\n"
                   "%one = constant {value = 1} : i64\n"
                   "%v = view %q, %zero, %one : view<i32>[128]\nstore %v, %i\nreturn\n}");
  };
  // The sign assumption is used.
  CHECK(contains(first("-4"), " = add nsw i32 %4, -4\n"));
  CHECK(contains(first("4"), " = add nuw nsw i32 %4, 4\n"));
}
