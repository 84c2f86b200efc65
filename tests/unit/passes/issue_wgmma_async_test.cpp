// Tests passes/issue_wgmma_async.cpp.

#include "passes/issue_wgmma_async.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string around(const std::string &before, const std::string &iterations,
                   const std::string &body, const std::string &behind) {
  return R"(
    func @f(%n: i32, %c: f32[64,32], %C: ptr<f32>[64,32], %A: ptr<f16>, %zero: i64, %one: i64,
            %on: i1, %far: i32) {
      %sa = shared_alloc : shared<f16>[5,64,64]
      %sb = shared_alloc : shared<f16>[5,32,64]
      %v = view %A, %zero, %one, %one : view<f16>[64,64]
      %w = view %A, %zero, %one, %one : view<f16>[32,64]
      )" +
         before + "%d = for_loop " + iterations + R"(, %c : f32[64,32] {
        (%t: i32, %acc: f32[64,32])
        )" +
         body + "}\n" + behind + "return\n}";
}

// The loop as pipeline_loops leaves it. B is transposed.
std::string pipelined(const std::string &attributes) {
  return around("", "%n",
                R"(
        async_wait {pending = 2}
        async_copy %v, %sa, %far, %on {vector = 8}
        async_copy %w, %sb, %far, %on {vector = 8}
        async_commit
        %stage = stage_index %t {offset = 0, stages = 5} : i32
        %a = shared_load %sa, %stage {origin = [0,0], perm = [0,1]} : f16[64,64]
        %b = shared_load %sb, %stage {origin = [0,0], perm = [1,0]} : f16[64,32]
        %e = dot %a, %b, %acc {)" +
                    attributes + R"(} : f32[64,32]
        yield %e
      )",
                "async_wait {pending = 0}\n store %C, %d\n");
}

} // namespace

TEST_CASE("issue_wgmma_async: starts wgmma before the next copies") {
  CHECK(after(issue_wgmma_async, pipelined(R"(instruction = "wgmma", warpgroups = [1,1])")) ==
        text(around("%0 = constant {value = 1} : i32\n %1 = max %n, %0 : i32\n", "%1", R"(
        async_wait {pending = 2}
        proxy_fence
        %stage = stage_index %t {offset = 0, stages = 5} : i32
        %a = shared_load %sa, %stage {origin = [0,0], perm = [0,1]} : f16[64,64]
        %b = shared_load %sb, %stage {origin = [0,0], perm = [1,0]} : f16[64,32]
        %2 = wgmma_ss %sa, %stage, %sb, %stage, %acc {perms = [0,1,1,0], warpgroups = [1,1]} : f32[64,32]
        async_copy %v, %sa, %far, %on {vector = 8}
        async_copy %w, %sb, %far, %on {vector = 8}
        async_commit
        %e = wgmma_wait %2 {pending = 1, warpgroups = [1,1]} : f32[64,32]
        yield %e
      )",
                    R"(
      %d.1 = wgmma_wait %d {pending = 0, warpgroups = [1,1]} : f32[64,32]
      async_wait {pending = 0}
      store %C, %d.1
      )")));
}

TEST_CASE("issue_wgmma_async: does nothing to other instructions") {
  std::string text_before = pipelined(R"(instruction = "m16n8k16", warps = [2,2])");
  CHECK(after(issue_wgmma_async, text_before) == text(text_before));
}
