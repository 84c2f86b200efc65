// Tests passes/lower_layout_conversions.cpp.

#include "passes/lower_layout_conversions.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

const std::string layouts = R"(
    layout #0 [16,8] reg (8,0) (0,4) lane (1,0) (2,0) (4,0) (0,1) (0,2) warp
    layout #1 [16,8] reg (0,1) (0,2) lane (0,4) (1,0) (2,0) (4,0) (8,0) warp
    )";

} // namespace

TEST_CASE("lower_layout_conversions: uses a swizzled buffer") {
  CHECK(after(lower_layout_conversions, layouts + R"(
    func @f(%x: f16[16,8] #0, %p: ptr<f16>[16,8] #1) warps 1 {
      %y = convert_layout %x : f16[16,8] #1
      store %p, %y {vector = 1}
      return
    })") == text(R"(
    layout #0 [16,8] reg (8,0) (0,4) lane (1,0) (2,0) (4,0) (0,1) (0,2) warp
    layout #1 [16,8] reg (0,1) (0,2) lane (0,4) (1,0) (2,0) (4,0) (8,0) warp
    layout #2 [16,8] offset (0,1) (0,2) (0,4) (1,0) (2,0) (4,0) (8,0)
    func @f(%x: f16[16,8] #0, %p: ptr<f16>[16,8] #1) warps 1 {
      %0 = shared_alloc : shared<f16>[1,16,8] #2
      %1 = constant {value = 0} : i32
      shared_store %x, %0, %1
      %2 = constant {value = 0} : i32
      %3 = shared_load %0, %2 {origin = [0,0], perm = [0,1]} : f16[16,8] #1
      store %p, %3 {vector = 1}
      return
    })"));
  // Transposed: the reader wants vectors along axis 0.
  CHECK(after(lower_layout_conversions, R"(
    layout #0 [16,8] reg (0,1) (0,2) lane (0,4) (1,0) (2,0) (4,0) (8,0) warp
    layout #1 [16,8] reg (1,0) (2,0) lane (4,0) (8,0) (0,1) (0,2) (0,4) warp
    func @f(%x: f16[16,8] #0, %p: ptr<f16>[16,8] #1) warps 1 {
      %y = convert_layout %x : f16[16,8] #1
      store %p, %y {vector = 1}
      return
    })")
            .find("offset (1,0) (2,0) (4,0) (8,0) (0,1) (0,2) (8,4)") != std::string::npos);
}

TEST_CASE("lower_layout_conversions: stores i1 as bytes") {
  std::string result = after(lower_layout_conversions, layouts + R"(
    func @f(%x: i1[16,8] #0, %p: ptr<i1>[16,8] #1) warps 1 {
      %y = convert_layout %x : i1[16,8] #1
      store %p, %y {vector = 1}
      return
    })");
  CHECK(result.find("%0 = cast %x {unsigned = 1} : i8[16,8] #0") != std::string::npos);
  CHECK(result.find("shared<i8>[1,16,8]") != std::string::npos);
  CHECK(result.find("cast %4 {unsigned = 1} : i1[16,8] #1") != std::string::npos);
}

TEST_CASE("lower_layout_conversions: stores pointers as 64-bit integers") {
  std::string result = after(lower_layout_conversions, layouts + R"(
    func @f(%x: ptr<f16>[16,8] #0, %h: f16[16,8] #1) warps 1 {
      %y = convert_layout %x : ptr<f16>[16,8] #1
      store %y, %h {vector = 1}
      return
    })");
  CHECK(result.find("%0 = bitcast %x : i64[16,8] #0") != std::string::npos);
  CHECK(result.find("shared<i64>[1,16,8]") != std::string::npos);
  CHECK(result.find("%5 = bitcast %4 : ptr<f16>[16,8] #1") != std::string::npos);
}

TEST_CASE("lower_layout_conversions: allocates the buffer in the loop") {
  std::string result = after(lower_layout_conversions, layouts + R"(
    func @f(%x: f16[16,8] #0, %p: ptr<f16>[16,8] #1, %n: i32) warps 1 {
      for_loop %n {
        (%t: i32)
        %y = convert_layout %x : f16[16,8] #1
        store %p, %y {vector = 1}
        yield
      }
      return
    })");
  CHECK(result.find("shared_alloc") > result.find("for_loop"));
}

TEST_CASE("lower_layout_conversions: does nothing without conversions") {
  const std::string program = layouts + R"(
    func @f(%x: f16[16,8] #0, %p: ptr<f16>[16,8] #0) warps 1 {
      %y = add %x, %x : f16[16,8] #0
      store %p, %y {vector = 1}
      return
    })";
  CHECK(after(lower_layout_conversions, program) == text(program));
}
