// Tests passes/lower_cluster_reductions.cpp.

#include "passes/lower_cluster_reductions.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// #0 has one warp. #1 has the two warps of a cluster.
const std::string layouts = R"(
    layout #0 [16,8] reg (8,0) (0,4) lane (1,0) (2,0) (4,0) (0,1) (0,2) warp
    layout #1 [16,8] reg (0,1) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp (8,0)
    )";

} // namespace

TEST_CASE("lower_cluster_reductions: sums through shared memory of each block") {
  CHECK(after(lower_cluster_reductions, layouts + R"(
    func @f(%x: f32[16,8] #0, %p: ptr<f32>[16,8] #1) warps 1 {
      %y = cluster_reduce %x {blocks = 2} : f32[16,8] #1
      store %p, %y {vector = 1}
      return
    })") == text(R"(
    layout #0 [16,8] reg (8,0) (0,4) lane (1,0) (2,0) (4,0) (0,1) (0,2) warp
    layout #1 [16,8] reg (0,1) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp (8,0)
    layout #2 [16,8] offset (0,1) (0,2) (0,4) (1,0) (2,0) (4,4) (8,0)
    func @f(%x: f32[16,8] #0, %p: ptr<f32>[16,8] #1) warps 1 {
      %parts = shared_alloc : shared<f32>[1,16,8] #2
      %0 = constant {value = 0} : i32
      barrier
      shared_store %x, %parts, %0
      cluster_barrier
      %y = cluster_load_reduce %parts, %0 {blocks = 2} : f32[16,8] #1
      cluster_barrier
      store %p, %y {vector = 1}
      return
    })"));
}

TEST_CASE("lower_cluster_reductions: buffer order follows the result layout") {
  std::string result = after(lower_cluster_reductions, R"(
    layout #0 [16,8] reg (8,0) (0,4) lane (1,0) (2,0) (4,0) (0,1) (0,2) warp
    layout #1 [16,8] reg (1,0) lane (2,0) (4,0) (8,0) (0,1) (0,2) warp (0,4)
    func @f(%x: f32[16,8] #0, %p: ptr<f32>[16,8] #1) warps 1 {
      %y = cluster_reduce %x {blocks = 2} : f32[16,8] #1
      store %p, %y {vector = 1}
      return
    })");
  CHECK(result.find("offset (1,0) (2,0) (4,0) (8,0) (0,1)") != std::string::npos);
}

TEST_CASE("lower_cluster_reductions: does nothing without cluster_reduce") {
  const std::string program = layouts + R"(
    func @f(%x: f32[16,8] #0, %p: ptr<f32>[16,8] #0) warps 1 {
      %y = add %x, %x : f32[16,8] #0
      store %p, %y {vector = 1}
      return
    })";
  CHECK(after(lower_cluster_reductions, program) == text(program));
}
