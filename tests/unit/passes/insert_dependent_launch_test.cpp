// Tests passes/insert_dependent_launch.cpp. The folder insert_dependent_launch/ has more cases.

#include "passes/insert_dependent_launch.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

TEST_CASE("insert_dependent_launch: does nothing before sm_90") {
  const std::string program = R"(
    func @f(%p: ptr<f32>, %q: ptr<f32>) warps 1 {
      %x = load %p : f32
      store %q, %x
      return
    })";
  for (const char *gpu : {"75", "80", "86", "89"})
    CHECK(after(insert_dependent_launch, program, *find_gpu(gpu)) == text(program));
  for (const char *gpu : {"90", "90a", "100", "120"})
    CHECK(after(insert_dependent_launch, program, *find_gpu(gpu)) != text(program));
}
