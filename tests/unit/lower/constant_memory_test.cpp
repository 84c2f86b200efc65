// Tests lower/constant_memory.cpp.

#include "support/tile_ir.h"
#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

TEST_CASE("constant memory: one block that the host may fill") {
  std::string text =
      lowered("func @f() constants (a: i8[3] at 0 = [1, -2], b: f32[2] at 16 = [0.5], "
              "c: e4m3[8] at 32 = [1.0]) warps 1 {\n return\n}");
  CHECK(contains(text, "@tritonc_constants = addrspace(4) externally_initialized global <{"));
  CHECK(contains(text, "[3 x i8] c\"\\01\\FE\\00\", [13 x i8] zeroinitializer, "
                       "[2 x float] [float 5.000000e-01, float 0.000000e+00], "
                       "[8 x i8] zeroinitializer, [8 x i8] c\"8\\00\\00\\00\\00\\00\\00\\00\", "
                       "[24 x i8] zeroinitializer"));
  CHECK_FALSE(contains(lowered("func @f() warps 1 {\n return\n}"), "addrspace(4)"));
}

TEST_CASE("constant_load: offset modulo the power-of-two block size") {
  auto load = [](const std::string &count, const std::string &type) {
    return lowered("func @f(%n: i32, %p: ptr<" + type + ">) constants (a: i8[" + count +
                   "] at 0) warps 1 {\n %v = constant_load %n : " + type +
                   "\n store %p, %v\n return\n}");
  };
  std::string text = load("100", "f32");
  CHECK(contains(text, "and i32 %n, 124")); // block of 128 bytes
  CHECK(contains(text, "load float, ptr addrspace(4)"));
  CHECK(contains(text, "!invariant.load"));
  CHECK(contains(load("1", "f64"), "and i32 %n, 8"));
  CHECK(contains(load("128", "i8"), "and i32 %n, 127"));
  text = load("65536", "i1"); // one byte in memory
  CHECK(contains(text, "and i32 %n, 65535"));
  CHECK(contains(text, "load i8, ptr addrspace(4)"));
  CHECK(contains(text, "icmp ne i8"));
}

TEST_CASE("constant_load: each thread loads its elements, no branch") {
  std::string text = lowered(R"(
    layout #0 [64] reg (1) lane (2) (4) (8) (16) (32) warp
    func @f(%p: ptr<f16>) constants (a: f16[64] at 0) warps 1 {
      %r = range {start = 0} : i32[64] #0
      %v = constant_load %r : f16[64] #0
      %s = splat %p : ptr<f16>[64] #0
      %q = addptr %s, %r : ptr<f16>[64] #0
      store %q, %v {vector = 1}
      return
    })");
  CHECK(count(text, "load half, ptr addrspace(4)") == 2);
  CHECK_FALSE(contains(text, "br i1"));
}
