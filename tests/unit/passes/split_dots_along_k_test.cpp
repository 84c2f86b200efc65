// Tests passes/split_dots_along_k.cpp.

#include "passes/remove_dead_code.h"
#include "passes/split_dots_along_k.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string program(const std::string &k, const std::string &operations) {
  return R"(
    func @f(%sa: shared<f16>[1,16,)" +
         k + "], %sb: shared<f16>[1," + k + R"(,8], %c: f32[16,8],
            %C: ptr<f32>[16,8], %z: i32, %st: shared<f16>[1,)" +
         k + R"(,16]) {
      )" +
         operations + "\n store %C, %d\n return\n}";
}

std::string loads(const std::string &k, const std::string &a = "%sa",
                  const std::string &perm = "[0,1]") {
  return "%a = shared_load " + a + ", %z {origin = [0,0], perm = " + perm + "} : f16[16," + k +
         "]\n"
         "%b = shared_load %sb, %z {origin = [0,0], perm = [0,1]} : f16[" +
         k + ",8]\n";
}

void slice(ir::Function &fn) {
  split_dots_along_k(fn, *find_gpu("80"));
  remove_dead_code(fn);
}

void slice_specialized(ir::Function &fn) {
  split_dots_along_k(fn, *find_gpu("80"), {.kind = Schedule::Kind::warp_specialized});
  remove_dead_code(fn);
}

void unchanged(const std::string &k, const std::string &instruction,
               const Gpu &gpu = *find_gpu("80")) {
  std::string before = program(k, loads(k) + "%d = dot %a, %b, %c {instruction = \"" + instruction +
                                      "\", thread_tile = [1,1]} : f32[16,8]");
  CAPTURE(before);
  CHECK(after(split_dots_along_k, before, gpu, Schedule{}) == text(before));
}

} // namespace

TEST_CASE("split_dots_along_k: one dot per instruction, loads one ahead") {
  CHECK(after(slice, program("32", loads("32") + R"(
    %d = dot %a, %b, %c {instruction = "m16n8k16", warps = [1,1]} : f32[16,8])")) ==
        text(program("32", R"(
    %0 = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
    %1 = shared_load %sb, %z {origin = [0,0], perm = [0,1]} : f16[16,8]
    %2 = shared_load %sa, %z {origin = [0,16], perm = [0,1]} : f16[16,16]
    %3 = shared_load %sb, %z {origin = [16,0], perm = [0,1]} : f16[16,8]
    %4 = dot %0, %1, %c {instruction = "m16n8k16", warps = [1,1]} : f32[16,8]
    %d = dot %2, %3, %4 {instruction = "m16n8k16", warps = [1,1]} : f32[16,8])")));
}

TEST_CASE("split_dots_along_k: warp_specialized loads before each dot") {
  CHECK(after(slice_specialized, program("32", loads("32") + R"(
    %d = dot %a, %b, %c {instruction = "m16n8k16", warps = [1,1]} : f32[16,8])")) ==
        text(program("32", R"(
    %0 = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
    %1 = shared_load %sb, %z {origin = [0,0], perm = [0,1]} : f16[16,8]
    %2 = dot %0, %1, %c {instruction = "m16n8k16", warps = [1,1]} : f32[16,8]
    %3 = shared_load %sa, %z {origin = [0,16], perm = [0,1]} : f16[16,16]
    %4 = shared_load %sb, %z {origin = [16,0], perm = [0,1]} : f16[16,8]
    %d = dot %3, %4, %2 {instruction = "m16n8k16", warps = [1,1]} : f32[16,8])")));
}

TEST_CASE("split_dots_along_k: loads B first if A is transposed") {
  const std::string buffers = R"(
    layout #0 [16,32] offset (1,0) (2,0) (4,0) (8,0) (0,1) (0,2) (0,4) (0,8) (0,16)
    func @f(%sa: shared<f16>[1,16,32] #0, %sb: shared<f16>[1,32,8], %c: f32[16,8],
            %C: ptr<f32>[16,8], %z: i32) {
      %a = shared_load %sa, %z {origin = [0,0], perm = [0,1], strided_access = 1} : f16[16,32]
      %b = shared_load %sb, %z {origin = [0,0], perm = [0,1], strided_access = 1} : f16[32,8]
      %d = dot %a, %b, %c {instruction = "m16n8k16", warps = [1,1]} : f32[16,8]
      store %C, %d
      return
    })";
  std::string result = after(slice_specialized, buffers);
  size_t left = result.find("shared_load %sa"), right = result.find("shared_load %sb");
  CHECK(right < left);
  CHECK(result.find("shared_load %sb, %z {strided_access = 1, origin = [16,0]") > left);
  // Otherwise the loads have the order of the operands.
  result = after(slice, buffers);
  CHECK(result.find("shared_load %sa") < result.find("shared_load %sb"));
}

TEST_CASE("split_dots_along_k: slices a transposed operand along K") {
  std::string result = after(slice, program("32", loads("32", "%st", "[1,0]") + R"(
    %d = dot %a, %b, %c {instruction = "m16n8k16"} : f32[16,8])"));
  CHECK(result.find("shared_load %st, %z {origin = [0,16], perm = [1,0]} : f16[16,16]") !=
        std::string::npos);
}

TEST_CASE("split_dots_along_k: fma slices have 4 columns") {
  std::string result = after(slice, program("16", loads("16") + R"(
    %d = dot %a, %b, %c {instruction = "fma", thread_tile = [1,1], warps = [1,1]} : f32[16,8])"));
  for (std::string origin : {"[0,0]", "[0,4]", "[0,8]", "[0,12]"})
    CHECK(result.find("%sa, %z {origin = " + origin + ", perm = [0,1]} : f16[16,4]") !=
          std::string::npos);
  CHECK(result.find("[0,16]") == std::string::npos);
}

TEST_CASE("split_dots_along_k: fma slices have 1 column for 4 x 4 tiles") {
  std::string result = after(slice, program("4", loads("4") + R"(
    %d = dot %a, %b, %c {instruction = "fma", thread_tile = [4,4], warps = [1,1]} : f32[16,8])"));
  for (std::string origin : {"[0,0]", "[0,1]", "[0,2]", "[0,3]"})
    CHECK(result.find("%sa, %z {origin = " + origin + ", perm = [0,1]} : f16[16,1]") !=
          std::string::npos);
}

TEST_CASE("split_dots_along_k: does nothing to a dot of one slice") {
  unchanged("16", "m16n8k16");
  unchanged("8", "m16n8k8");
  unchanged("4", "fma");
  unchanged("2", "fma");
}

TEST_CASE("split_dots_along_k: does nothing if operands exceed shared memory") {
  Gpu gpu = *find_gpu("80");
  const int factors = 2 * 64 * (16 + 8);
  gpu.max_shared_bytes = factors - 1;
  unchanged("64", "m16n8k16", gpu);
  gpu.max_shared_bytes = factors;
  std::string whole = program("64", loads("64") + R"(
    %d = dot %a, %b, %c {instruction = "m16n8k16", thread_tile = [1,1]} : f32[16,8])");
  CHECK(after(split_dots_along_k, whole, gpu, Schedule{}).find("f16[16,16]") != std::string::npos);
}

TEST_CASE("split_dots_along_k: size check counts one stage") {
  Gpu gpu = *find_gpu("80");
  gpu.max_shared_bytes = 2 * 32 * (16 + 8);
  CHECK(after(split_dots_along_k, R"(
    func @f(%sa: shared<f16>[3,16,32], %sb: shared<f16>[3,32,8], %c: f32[16,8],
            %C: ptr<f32>[16,8], %z: i32) {
      %a = shared_load %sa, %z {origin = [0,0], perm = [0,1]} : f16[16,32]
      %b = shared_load %sb, %z {origin = [0,0], perm = [0,1]} : f16[32,8]
      %d = dot %a, %b, %c {instruction = "m16n8k16", thread_tile = [1,1]} : f32[16,8]
      store %C, %d
      return
    })",
              gpu, Schedule{})
            .find("f16[16,16]") != std::string::npos);
}
