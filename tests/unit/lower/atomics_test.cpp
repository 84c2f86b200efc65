// Tests lower/atomics.cpp.

#include "unit/lower/llvm_text.h"

#include <doctest/doctest.h>

using namespace tritonc::test;

namespace {

std::string program(const std::string &elem, const std::string &operation) {
  return "func @f(%p: ptr<" + elem + ">, %v: " + elem +
         ", %c: i1) warps 2 {\n %old = " + operation + " : " + elem + "\n return\n}";
}

} // namespace

TEST_CASE("atomic: one thread updates a scalar, between fences") {
  std::string text = lowered(program("i32", "atomic %p, %v {op = \"add\"}"));
  CHECK(count(text, "br i1") == 1);
  CHECK(count(text, "call void @tritonc.fence_gpu") == 2);
  CHECK(
      contains(text, "atomicrmw add ptr addrspace(1) %p, i32 %v syncscope(\"device\") monotonic"));
  CHECK(text.find("fence_gpu") < text.find("atomicrmw"));
  CHECK(text.rfind("call void @tritonc.fence_gpu") > text.find("atomicrmw"));
}

TEST_CASE("atomic: each operation on integers and floats") {
  struct {
    std::string elem, operation, instruction;
  } cases[] = {
      {"i64", "atomic %p, %v {op = \"min\"}", "atomicrmw min"},
      {"i32", "atomic %p, %v {op = \"max\"}", "atomicrmw max"},
      {"i32", "atomic %p, %v {op = \"umin\"}", "atomicrmw umin"},
      {"i32", "atomic %p, %v {op = \"umax\"}", "atomicrmw umax"},
      {"i32", "atomic %p, %v {op = \"and\"}", "atomicrmw and"},
      {"i32", "atomic %p, %v {op = \"or\"}", "atomicrmw or"},
      {"i32", "atomic %p, %v {op = \"xor\"}", "atomicrmw xor"},
      {"f16", "atomic %p, %v {op = \"add\"}", "atomicrmw fadd"},
      {"f32", "atomic %p, %v {op = \"max\"}", "atomicrmw fmax"},
      {"f64", "atomic %p, %v {op = \"min\"}", "atomicrmw fmin"},
      {"f32", "atomic %p, %v {op = \"exchange\"}", "atomicrmw xchg ptr addrspace(1) %p, i32"},
      {"f32", "atomic_cas %p, %v, %v", "cmpxchg ptr addrspace(1) %p, i32"},
  };
  for (const auto &[elem, operation, instruction] : cases) {
    CAPTURE(operation);
    CHECK(contains(lowered(program(elem, operation)), instruction));
  }
}

TEST_CASE("atomic: each tile element once, without fences") {
  const std::string function = R"(
    func @f(%p: ptr<i32>, %c: i1) warps 1 {
      %v = range {start = 0} : i32[64] #0
      %s = splat %p : ptr<i32>[64] #0
      %q = addptr %s, %v : ptr<i32>[64] #0
      %old = atomic %q, %v {op = "add"} : i32[64] #0
      return
    })";
  std::string all = lowered("layout #0 [64] reg (32) lane (1) (2) (4) (8) (16) warp" + function);
  CHECK(count(all, "atomicrmw add") == 2);
  CHECK_FALSE(contains(all, "br i1"));
  CHECK_FALSE(contains(all, "fence"));
  std::string copies =
      lowered("layout #0 [64] reg (16) (32) lane (1) (2) (4) (8) (0) warp" + function);
  CHECK(count(copies, "atomicrmw add") == 4);
  CHECK(count(copies, "br i1") == 4);
}

TEST_CASE("atomic: a mask guards the update") {
  std::string text = lowered(program("i32", "atomic %p, %v, %c {op = \"add\"}"));
  CHECK(contains(text, "freeze i1"));
  CHECK(contains(text, "phi i32"));
}
