// Tests passes/lower_gathers.cpp.

#include "passes/lower_gathers.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

const std::string layouts = R"(
    layout #0 [4,8] reg lane (0,1) (0,2) (0,4) (1,0) (2,0) warp
    layout #1 [4,2] reg lane (0,1) (1,0) (2,0) (0,0) (0,0) warp
    )";

} // namespace

TEST_CASE("lower_gathers: uses a row-major buffer") {
  CHECK(after(lower_gathers, layouts + R"(
    func @f(%x: f32[4,8] #0, %i: i32[4,2] #1, %p: ptr<f32>[4,2] #1) warps 1 {
      %y = gather %x, %i {axis = 1} : f32[4,2] #1
      store %p, %y {vector = 1}
      return
    })") == text(R"(
    layout #0 [4,8] reg lane (0,1) (0,2) (0,4) (1,0) (2,0) warp
    layout #1 [4,2] reg lane (0,1) (1,0) (2,0) (0,0) (0,0) warp
    layout #2 [4,8] offset (0,1) (0,2) (0,4) (1,0) (2,0)
    func @f(%x: f32[4,8] #0, %i: i32[4,2] #1, %p: ptr<f32>[4,2] #1) warps 1 {
      %0 = shared_alloc : shared<f32>[1,4,8] #2
      %1 = constant {value = 0} : i32
      shared_store %x, %0, %1
      %2 = constant {value = 0} : i32
      %3 = shared_gather %0, %2, %i {axis = 1} : f32[4,2] #1
      store %p, %3 {vector = 1}
      return
    })"));
}

TEST_CASE("lower_gathers: stores i1 as bytes and pointers as integers") {
  std::string result = after(lower_gathers, layouts + R"(
    func @f(%x: i1[4,8] #0, %q: ptr<f32>[4,8] #0, %i: i32[4,2] #1, %p: ptr<i1>[4,2] #1) warps 1 {
      %y = gather %x, %i {axis = 1} : i1[4,2] #1
      store %p, %y {vector = 1}
      %r = gather %q, %i {axis = 1} : ptr<f32>[4,2] #1
      %z = load %r {vector = 1} : f32[4,2] #1
      store %r, %z {vector = 1}
      return
    })");
  CHECK(result.find("cast %x {unsigned = 1} : i8[4,8] #0") != std::string::npos);
  CHECK(result.find("{unsigned = 1} : i1[4,2] #1") != std::string::npos);
  CHECK(result.find("bitcast %q : i64[4,8] #0") != std::string::npos);
  CHECK(result.find(": ptr<f32>[4,2] #1") != std::string::npos);
}

TEST_CASE("lower_gathers: does nothing without a gather") {
  const std::string program = layouts + R"(
    func @f(%x: f32[4,8] #0, %p: ptr<f32>[4,8] #0) warps 1 {
      store %p, %x {vector = 1}
      return
    })";
  CHECK(after(lower_gathers, program) == text(R"(
    layout #0 [4,8] reg lane (0,1) (0,2) (0,4) (1,0) (2,0) warp
    func @f(%x: f32[4,8] #0, %p: ptr<f32>[4,8] #0) warps 1 {
      store %p, %x {vector = 1}
      return
    })"));
}
