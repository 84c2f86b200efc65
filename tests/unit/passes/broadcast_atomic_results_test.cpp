// Tests passes/broadcast_atomic_results.cpp.

#include "passes/broadcast_atomic_results.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

TEST_CASE("broadcast_atomic_results: scalar result goes through shared memory") {
  CHECK(after(broadcast_atomic_results, R"(
    func @f(%p: ptr<i32>, %q: ptr<i32>, %n: i32) warps 2 {
      %old = atomic %p, %n {op = "add"} : i32
      store %q, %old
      return
    })") == text(R"(
    layout #0 [1] reg lane (0) (0) (0) (0) (0) warp (0)
    func @f(%p: ptr<i32>, %q: ptr<i32>, %n: i32) warps 2 {
      %old = atomic %p, %n {op = "add"} : i32
      %0 = splat %old : i32[1] #0
      %1 = convert_layout %0 : i32[1] #0
      %2 = reduce %1 {axis = 0, op = "add"} : i32
      store %q, %2
      return
    })"));
}

TEST_CASE("broadcast_atomic_results: replicated tile goes through shared memory") {
  const std::string before = R"(
    layout #0 [16] reg lane (1) (2) (4) (8) (0) warp
    func @f(%p: ptr<i32>[16] #0, %v: i32[16] #0) warps 1 {
      %old = atomic_cas %p, %v, %v : i32[16] #0
      )";
  CHECK(after(broadcast_atomic_results, before + "store %p, %old\n return\n}") ==
        text(before + "%0 = convert_layout %old : i32[16] #0\n store %p, %0\n return\n}"));
}

TEST_CASE("broadcast_atomic_results: does nothing if unused or not replicated") {
  const std::string unused = R"(
    func @f(%p: ptr<i32>, %n: i32) warps 2 {
      %old = atomic %p, %n {op = "add"} : i32
      return
    })";
  CHECK(after(broadcast_atomic_results, unused) == text(unused));
  const std::string alone = R"(
    layout #0 [32] reg lane (1) (2) (4) (8) (16) warp
    func @f(%p: ptr<i32>[32] #0, %v: i32[32] #0) warps 1 {
      %old = atomic %p, %v {op = "add"} : i32[32] #0
      store %p, %old
      return
    })";
  CHECK(after(broadcast_atomic_results, alone) == text(alone));
}
