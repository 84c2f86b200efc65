// Tests passes/stage_operands.cpp.

#include "passes/remove_dead_code.h"
#include "passes/stage_operands.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string program(const std::string &operations) {
  return R"(
    func @f(%A: ptr<f16>, %B: ptr<f16>, %C: ptr<f32>[16,8], %c: f32[16,8], %n: i32,
            %ld: i64 multiple_of 8, %b: f16[16,8]) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      )" +
         operations + "\n return\n}";
}

// The layout of a 16 x 16 buffer with contiguous rows or columns.
const std::string rows =
    "layout #0 [16,16] offset (0,1) (0,2) (0,4) (0,8) (1,0) (2,0) (4,8) (8,0)\n";
const std::string columns =
    "layout #0 [16,16] offset (1,0) (2,0) (4,0) (8,0) (0,1) (0,2) (8,4) (0,8)\n";
const std::string factor_b = "layout #1 [16,8] offset (0,1) (0,2) (0,4) (1,0) (2,0) (4,0) (8,0)\n";

void stage(ir::Function &fn) {
  stage_operands(fn);
  remove_dead_code(fn);
}

} // namespace

TEST_CASE("stage_operands: stores at the definition, loads at the dot") {
  CHECK(after(stage, program(R"(
    %va = view %A, %zero, %ld, %one : view<f16>[16,16]
    %a = load %va : f16[16,16]
    %d = dot %a, %b, %c : f32[16,8]
    store %C, %d)")) == text(rows + factor_b + program(R"(
    %va = view %A, %zero, %ld, %one : view<f16>[16,16]
    %a = load %va : f16[16,16]
    %0 = shared_alloc : shared<f16>[1,16,16] #0
    %1 = constant {value = 0} : i32
    shared_store %a, %0, %1
    %2 = constant {value = 0} : i32
    %3 = shared_load %0, %2 {origin = [0,0], perm = [0,1]} : f16[16,16]
    %4 = shared_alloc : shared<f16>[1,16,8] #1
    %5 = constant {value = 0} : i32
    shared_store %b, %4, %5
    %6 = constant {value = 0} : i32
    %7 = shared_load %4, %6 {origin = [0,0], perm = [0,1]} : f16[16,8]
    %d = dot %3, %7, %c : f32[16,8]
    store %C, %d)")));
}

TEST_CASE("stage_operands: buffer keeps the memory order") {
  std::string result = after(stage, program(R"(
    %va = view %A, %zero, %one, %ld : view<f16>[16,16]
    %a = load %va : f16[16,16]
    %d = dot %a, %b, %c : f32[16,8]
    store %C, %d)"));
  CHECK(result.find(columns) == 0);
}

TEST_CASE("stage_operands: trans becomes the perm of shared_load") {
  std::string result = after(stage, program(R"(
    %va = view %A, %zero, %ld, %one : view<f16>[16,16]
    %a = load %va : f16[16,16]
    %t = trans %a {perm = [1,0]} : f16[16,16]
    %d = dot %t, %b, %c : f32[16,8]
    store %C, %d)"));
  CHECK(result.find(rows) == 0);
  CHECK(result.find("trans") == std::string::npos);
  CHECK(result.find("shared_store %a, %0") != std::string::npos);
  CHECK(result.find("shared_load %0, %2 {origin = [0,0], perm = [1,0]}") != std::string::npos);
}

TEST_CASE("stage_operands: two transposes cancel") {
  std::string result = after(stage, program(R"(
    %va = view %A, %zero, %ld, %one : view<f16>[16,16]
    %a = load %va : f16[16,16]
    %t = trans %a {perm = [1,0]} : f16[16,16]
    %u = trans %t {perm = [1,0]} : f16[16,16]
    %d = dot %u, %b, %c : f32[16,8]
    store %C, %d)"));
  CHECK(result.find("shared_load %0, %2 {origin = [0,0], perm = [0,1]}") != std::string::npos);
}

TEST_CASE("stage_operands: stores an operand of several dots once") {
  std::string result = after(stage, program(R"(
    %va = view %A, %zero, %ld, %one : view<f16>[16,16]
    %a = load %va : f16[16,16]
    %h = cast %c : f16[16,8]
    %r = for_loop %n, %c : f32[16,8] {
      (%t: i32, %s: f32[16,8])
      %d = dot %a, %h, %s : f32[16,8]
      %e = dot %a, %h, %d : f32[16,8]
      yield %e
    }
    store %C, %r)"));
  size_t loop = result.find("for_loop"), first = result.find("shared_store %a");
  CHECK(first < loop);
  CHECK(result.find("shared_store %a", first + 1) == std::string::npos);
  CHECK(result.find("shared_store %h") < loop);
  CHECK(result.rfind("shared_store") < loop);
  CHECK(result.find("shared_load") > loop);
}

TEST_CASE("stage_operands: stores a loop-carried operand before each dot") {
  std::string result = after(stage, program(R"(
    %r, %x = for_loop %n, %c, %b : f32[16,8], f16[16,8] {
      (%t: i32, %s: f32[16,8], %h: f16[16,8])
      %va = view %A, %zero, %ld, %one : view<f16>[16,16]
      %a = load %va : f16[16,16]
      %d = dot %a, %h, %s : f32[16,8]
      %next = cast %d : f16[16,8]
      yield %d, %next
    }
    store %C, %r)"));
  CHECK(result.find("shared_store %h") > result.find("for_loop"));
  CHECK(result.find("shared_store %h") < result.find("dot"));
}

TEST_CASE("stage_operands: same tile as A and B has one buffer") {
  std::string result = after(stage, R"(
    func @f(%A: ptr<f16>[16,16], %c: f32[16,16], %C: ptr<f32>[16,16]) {
      %a = load %A : f16[16,16]
      %d = dot %a, %a, %c : f32[16,16]
      store %C, %d
      return
    })");
  CHECK(result.find("shared_alloc") == result.rfind("shared_alloc"));
  CHECK(result.find("shared_load") != result.rfind("shared_load"));
}

TEST_CASE("stage_operands: buffer follows the thread tile of fma") {
  std::string vectors = after(stage, program(R"(
    %va = view %A, %zero, %ld, %one : view<f16>[16,16]
    %a = load %va : f16[16,16]
    %d = dot %a, %b, %c {instruction = "fma", thread_tile = [4,1], warps = [1,1]} : f32[16,8]
    store %C, %d)"));
  CHECK(vectors.find(columns) != std::string::npos);
  CHECK(vectors.find(rows) == std::string::npos);
  // After a transpose, the vector axis is the other axis of the loaded tile.
  std::string transposed = after(stage, program(R"(
    %va = view %A, %zero, %ld, %one : view<f16>[16,16]
    %a = load %va : f16[16,16]
    %at = trans %a {perm = [1,0]} : f16[16,16]
    %d = dot %at, %b, %c {instruction = "fma", thread_tile = [4,1], warps = [1,1]} : f32[16,8]
    store %C, %d)"));
  CHECK(transposed.find(rows) != std::string::npos);
}

TEST_CASE("stage_operands: wgmma buffer has panels of 128 bytes") {
  auto staged = [](const std::string &instruction) {
    return after(stage, with(with(program(R"(
    %va = view %A, %zero, %ld, %one : view<f16>[16,128]
    %a = load %va : f16[16,128]
    %d = dot %a, %b, %c {instruction = "NAME"} : f32[16,8]
    store %C, %d)"),
                                  "%b: f16[16,8]", "%b: f16[128,8]"),
                             "NAME", instruction));
  };
  const std::string panels = "[16,128] offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) "
                             "(4,32) (8,0) (0,64)";
  CHECK(contains(staged("wgmma"), panels));
  CHECK_FALSE(contains(staged("m16n8k16"), panels));
}

TEST_CASE("stage_operands: does nothing without a matmul") {
  std::string before = program("%va = view %A, %zero, %ld, %one : view<f16>[16,16]\n"
                               "%a = load %va : f16[16,16]\n store %va, %a");
  CHECK(after(stage_operands, before) == text(before));
}

TEST_CASE("stage_operands: does nothing to an operand in a buffer") {
  std::string loaded = R"(
    func @f(%s: shared<f16>[3,16,16], %b: f16[16,8], %C: ptr<f32>[16,8], %c: f32[16,8], %n: i32) {
      %a = shared_load %s, %n {origin = [0,0], perm = [0,1]} : f16[16,16]
      %d = dot %a, %b, %c : f32[16,8]
      store %C, %d
      return
    })";
  std::string result = after(stage, loaded);
  CHECK(count(result, "shared_store") == 1); // of %b
  CHECK(count(result, "= dot %a, ") == 1);
}
