// Tests lower/memory.cpp and the global side of lower/addresses.cpp.

#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

// 64 elements: 8 contiguous elements in each of 8 lanes; the other 24 lanes hold copies.
const std::string eight = "layout #0 [64] reg (1) (2) (4) lane (8) (16) (32) (0) (0) warp\n";
// 256 elements: 8 contiguous elements in each of 32 lanes.
const std::string all = "layout #0 [256] reg (1) (2) (4) lane (8) (16) (32) (64) (128) warp\n";

std::string program(const std::string &layouts, const std::string &operations, int warps = 1) {
  return layouts +
         "func @f(%p: ptr<f16>, %q: ptr<f32>, %o: i64, %n: i32, %c: i1, %b: ptr<i1>, %i: ptr<i32>)"
         " warps " +
         std::to_string(warps) + R"( {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      )" +
         operations + "\n return\n}";
}

} // namespace

TEST_CASE("load, store: {vector} sets width and alignment") {
  struct {
    int vector;
    std::string type;
  } cases[] = {{1, "half"}, {2, "<2 x half>"}, {4, "<4 x half>"}, {8, "<8 x half>"}};
  for (const auto &[vector, type] : cases) {
    CAPTURE(vector);
    std::string width = std::to_string(vector);
    std::string text = lowered(program(all, "%v = view %p, %o, %one : view<f16>[256]\n"
                                            "%a = load %v {vector = " +
                                                width +
                                                "} : f16[256] #0\n"
                                                "store %v, %a {vector = " +
                                                width + "}"));
    CHECK(count(text, "load " + type + ", ptr addrspace(1)") == 8 / vector);
    CHECK(count(text, "store " + type) == 8 / vector);
    CHECK(count(text, "align " + std::to_string(2 * vector) + "\n") == 2 * 8 / vector);
  }
}

TEST_CASE("store: one thread per replicated element") {
  std::string text = lowered(program(eight, "%v = view %p, %o, %one : view<f16>[64]\n"
                                            "%a = load %v {vector = 8} : f16[64] #0\n"
                                            "store %v, %a {vector = 8}"));
  CHECK(contains(text, "and i32 %lane, 24"));
  CHECK(contains(text, "br i1"));
  // Without copies, all threads store, without a branch.
  CHECK_FALSE(contains(lowered(program(all, "%v = view %p, %o, %one : view<f16>[256]\n"
                                            "%a = load %v {vector = 8} : f16[256] #0\n"
                                            "store %v, %a {vector = 8}")),
                       "br i1"));
}

TEST_CASE("store: one warp per replicated element, a scalar once") {
  std::string two_warps =
      "layout #0 [256] reg (1) (2) (4) lane (8) (16) (32) (64) (128) warp (0)\n";
  CHECK(contains(lowered(program(two_warps,
                                 "%v = view %p, %o, %one : view<f16>[256]\n"
                                 "%a = load %v {vector = 8} : f16[256] #0\n"
                                 "store %v, %a {vector = 8}",
                                 2)),
                 "and i32 %warp, 1"));
  std::string scalar = lowered(program("", "%a = load %q : f32\n store %q, %a", 4));
  CHECK(contains(scalar, "and i32 %lane, 31"));
  CHECK(contains(scalar, "and i32 %warp, 3"));
  CHECK(count(scalar, "store float") == 1);
}

TEST_CASE("load, store: through a ragged view, a vector or its elements") {
  auto text_of = [](const std::string &view_attribute) {
    return lowered(program(all, R"(
    %r = range {start = 0} : i32[256] #0
    %ns = splat %n : i32[256] #0
    %m = cmp %r, %ns {pred = "lt"} : i1[256] #0
    %v = view %p, %o, %one )" + view_attribute +
                                    R"( : view<f16>[256]
    %a = load %v, %m {vector = 8} : f16[256] #0
    store %v, %a, %m {vector = 8})"));
  };
  std::string ragged = text_of("{ragged = 8}");
  CHECK(count(ragged, "load <8 x half>") == 1);
  CHECK(count(ragged, "call <1 x half> @llvm.masked.load") == 8);
  CHECK(count(ragged, "store <8 x half>") == 1);
  CHECK(count(ragged, "call void @llvm.masked.store.v1f16") == 8);
  CHECK(count(ragged, "and i64 ") == 2); // the address modulo 16
  // Without {ragged}, the vector is aligned, and on or off as a whole.
  std::string whole = text_of("");
  CHECK(count(whole, "call <8 x half> @llvm.masked.load") == 1);
  CHECK(count(whole, "<1 x half>") == 0);
  CHECK(count(whole, "call void @llvm.masked.store.v8f16") == 1);
}

TEST_CASE("load, store: masked accesses, without branches") {
  std::string text = lowered(program(all, R"(
    %r = range {start = 0} : i32[256] #0
    %ns = splat %n : i32[256] #0
    %m = cmp %r, %ns {pred = "lt"} : i1[256] #0
    %v = view %p, %o, %one : view<f16>[256]
    %a = load %v, %m {vector = 4} : f16[256] #0
    store %v, %a, %m {vector = 4})"));
  CHECK(count(text, "call <4 x half> @llvm.masked.load") == 2);
  CHECK(count(text, "call void @llvm.masked.store.v4f16") == 2);
  CHECK(count(text, "br i1") == 0);
}

// A loop may wait for a value that another block stores.
TEST_CASE("load: with the hint cv, each load reads memory") {
  auto text_of = [](const std::string &hint, const std::string &mask) {
    return lowered(program(all, "%v = view %p, %o, %one : view<f16>[256]\n"
                                "%a = load %v" +
                                    mask + " {vector = 8, cache = \"" + hint +
                                    "\"} : f16[256] #0\n"
                                    "store %v, %a {vector = 8}"));
  };
  for (std::string mask : {"", ", %c"}) {
    CAPTURE(mask);
    CHECK(count(text_of("cv", mask), "load volatile <8 x half>") == 1);
    CHECK_FALSE(contains(text_of("cv", mask), "llvm.masked.load"));
    CHECK_FALSE(contains(text_of("cg", mask), "volatile"));
  }
}

TEST_CASE("load: masked-off elements take the alternative value") {
  std::string text = lowered(program(all, R"(
    %r = range {start = 0} : i32[256] #0
    %ns = splat %n : i32[256] #0
    %m = cmp %r, %ns {pred = "lt"} : i1[256] #0
    %x = constant {number = 1.0} : f16
    %xs = splat %x : f16[256] #0
    %v = view %p, %o, %one : view<f16>[256]
    %a = load %v, %m, %xs {vector = 4} : f16[256] #0
    store %v, %a {vector = 8})"));
  CHECK(count(text, "call <4 x half> @llvm.masked.load") == 2);
  CHECK(count(text, "splat (half 0xH3C00)") == 2);
  CHECK(count(text, "select") == 0);
}

TEST_CASE("load, store: a scalar mask guards the whole tile") {
  std::string text = lowered(program(all, "%v = view %p, %o, %one : view<f16>[256]\n"
                                          "%a = load %v, %c {vector = 8} : f16[256] #0\n"
                                          "store %v, %a, %c {vector = 8}"));
  CHECK(count(text, "call <8 x half> @llvm.masked.load") == 1);
  CHECK(count(text, "call void @llvm.masked.store.v8f16") == 1);
}

TEST_CASE("addresses: thread part once, plus an offset per register") {
  std::string rows =
      "layout #0 [32,8] reg (0,1) (16,0) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp (8,0)\n";
  std::string text = lowered(program(rows,
                                     "%v = view %p, %zero, %o, %one : view<f16>[32,8]\n"
                                     "%a = load %v {vector = 2} : f16[32,8] #0\n"
                                     "store %v, %a {vector = 2}",
                                     2));
  CHECK(count(text, "load <2 x half>") == 2);
  // Register (16,0) is 16 rows later.
  CHECK(contains(text, "mul nsw i64 16, %o"));
  // Offsets do not overflow. Without the flag, LLVM could not combine them.
  CHECK_FALSE(contains(text, "mul i64"));
  CHECK_FALSE(contains(text, "add i64"));
}

TEST_CASE("load: a gather has one pointer per register") {
  std::string text = lowered(program(all, R"(
    %vi = view %i, %zero, %one : view<i32>[256]
    %idx = load %vi {vector = 4} : i32[256] #0
    %ps = splat %p : ptr<f16>[256] #0
    %g = addptr %ps, %idx : ptr<f16>[256] #0
    %a = load %g {vector = 1} : f16[256] #0
    store %g, %a {vector = 1})"));
  CHECK(count(text, "load <4 x i32>") == 2);
  CHECK(count(text, "getelementptr half, ptr addrspace(1) %p") == 8);
  CHECK(count(text, "load half") == 8);
}

TEST_CASE("load, store: a wide access through pointers uses those of its first elements") {
  // Registers (1,0) and (2,0) are adjacent along axis 0, (0,1) along axis 1.
  std::string tile =
      "layout #0 [32,8] reg (1,0) (2,0) (0,1) lane (4,0) (8,0) (16,0) (0,2) (0,4) warp\n";
  auto text = [&](const std::string &attributes) {
    return lowered(program(tile, R"(
    %ps = splat %p : ptr<f16>[32,8] #0
    %is = splat %i : ptr<i32>[32,8] #0
    %idx = load %is : i32[32,8] #0
    %g = addptr %ps, %idx : ptr<f16>[32,8] #0
    %a = load %g )" + attributes + " : f16[32,8] #0\n store %g, %a " +
                                     attributes));
  };
  std::string wide = text("{axis = 0, vector = 4}");
  CHECK(count(wide, "load <4 x half>") == 2);
  CHECK(count(wide, "store <4 x half>") == 2);
  CHECK(count(wide, "load half") == 0);
  CHECK(contains(wide, "align 8"));
  // Along the last axis by default, and one at a time without {vector}.
  CHECK(count(text("{vector = 2}"), "load <2 x half>") == 4);
  CHECK(count(text("{axis = 0}"), "load half") == 8);
}

TEST_CASE("load, store: a bool is a byte in memory") {
  std::string text = lowered(program(all, "%v = view %b, %zero, %one : view<i1>[256]\n"
                                          "%a = load %v {vector = 8} : i1[256] #0\n"
                                          "store %v, %a {vector = 8}"));
  CHECK(contains(text, "load <8 x i8>"));
  CHECK(count(text, "icmp ne i8") == 8 + 1); // 8 elements and the parameter %c
  CHECK(count(text, "zext i1") == 8);
  CHECK(contains(text, "store <8 x i8>"));
}

TEST_CASE("load, store: cache hints and L2 policies") {
  auto text = [](const std::string &load, const std::string &store, const char *gpu) {
    return lowered(program(all, "%v = view %p, %o, %one : view<f16>[256]\n"
                                "%a = load %v {cache = \"" +
                                    load +
                                    "\", vector = 8} : f16[256] #0\n store %v, %a {cache = \"" +
                                    store + "\", vector = 8}"),
                   gpu);
  };
  for (const char *gpu : {"75", "80", "90a"}) {
    std::string both = text("cs", "cg", gpu);
    CHECK(count(both, "call ptr addrspace(1) @tritonc.hint_cs(") == 1);
    CHECK(count(both, "call ptr addrspace(1) @tritonc.hint_cg(") == 1);
    CHECK(count(both, "load <8 x half>, ptr addrspace(1)") == 1);
  }
  CHECK(contains(text("evict_first", "evict_last", "75"), "@tritonc.hint_evict_first("));
  std::string ampere = text("evict_first", "evict_last", "80");
  CHECK(contains(ampere, ", i64 1364590687093260288)")); // 0x12F0...
  CHECK(contains(ampere, "@tritonc.hint_evict_last_l2("));
  CHECK_FALSE(contains(lowered(program(all, "%v = view %p, %o, %one : view<f16>[256]\n"
                                            "%a = load %v {vector = 8} : f16[256] #0\n"
                                            "store %v, %a {vector = 8}")),
                       "hint"));
}
