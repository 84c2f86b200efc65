// Tests passes/insert_dependent_launch.cpp.

#include "passes/insert_dependent_launch.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string overlapped(const std::string &text, const char *gpu = "90") {
  return after(insert_dependent_launch, text, *find_gpu(gpu));
}

std::string kernel(const std::string &operations) {
  return "func @f(%p: ptr<f32>, %q: ptr<f32>, %n: i32) warps 1 {\n" + operations + "return\n}";
}

} // namespace

TEST_CASE("insert_dependent_launch: atomic counts as a load") {
  const std::string one = "%one = constant {number = 1.0} : f32\n";
  const std::string atomic = "%a = atomic %p, %one {op = \"add\"} : f32\n";
  CHECK(overlapped(kernel(one + atomic)) ==
        text(kernel(one + "dependency_wait\n" + atomic + "launch_dependents\n")));
}

TEST_CASE("insert_dependent_launch: waits before loads, launches after them") {
  CHECK(overlapped(kernel(R"(
      %one = constant {value = 1} : i32
      %r = add %n, %one : i32
      %at = addptr %p, %r : ptr<f32>
      %x = load %at : f32
      %y = load %q : f32
      %z = add %x, %y : f32
      store %p, %z
      %w = neg %z : f32
      store %q, %w
      )")) == text(kernel(R"(
      %one = constant {value = 1} : i32
      %r = add %n, %one : i32
      %at = addptr %p, %r : ptr<f32>
      dependency_wait
      %x = load %at : f32
      %y = load %q : f32
      launch_dependents
      %z = add %x, %y : f32
      store %p, %z
      %w = neg %z : f32
      store %q, %w
      )")));
}

TEST_CASE("insert_dependent_launch: loop with a load counts as one load") {
  CHECK(overlapped(kernel(R"(
      %x = for_loop %n, %n : i32 {
        (%t: i32, %c: i32)
        %at = addptr %p, %t : ptr<f32>
        %v = load %at : f32
        store %q, %v
        yield %t
      }
      %end = addptr %q, %x : ptr<f32>
      %zero = constant {number = 0.0} : f32
      store %end, %zero
      )")) == text(kernel(R"(
      dependency_wait
      %x = for_loop %n, %n : i32 {
        (%t: i32, %c: i32)
        %at = addptr %p, %t : ptr<f32>
        %v = load %at : f32
        store %q, %v
        yield %t
      }
      launch_dependents
      %end = addptr %q, %x : ptr<f32>
      %zero = constant {number = 0.0} : f32
      store %end, %zero
      )")));
}

TEST_CASE("insert_dependent_launch: async_copy counts as a load") {
  CHECK(overlapped(kernel(R"(
      %zero = constant {value = 0} : i32
      %offset = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %yes = constant {value = 1} : i1
      %s = shared_alloc : shared<f32>[1,32]
      %v = view %p, %offset, %one : view<f32>[32]
      async_copy %v, %s, %zero, %yes {vector = 1}
      async_commit
      async_wait {pending = 0}
      barrier
      %x = shared_load %s, %zero {origin = [0], perm = [0]} : f32[32]
      store %v, %x
      )")) == text(kernel(R"(
      %zero = constant {value = 0} : i32
      %offset = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %yes = constant {value = 1} : i1
      %s = shared_alloc : shared<f32>[1,32]
      %v = view %p, %offset, %one : view<f32>[32]
      dependency_wait
      async_copy %v, %s, %zero, %yes {vector = 1}
      launch_dependents
      async_commit
      async_wait {pending = 0}
      barrier
      %x = shared_load %s, %zero {origin = [0], perm = [0]} : f32[32]
      store %v, %x
      )")));
}

TEST_CASE("insert_dependent_launch: store-only kernel waits first") {
  CHECK(overlapped(kernel(R"(
      %zero = constant {number = 0.0} : f32
      store %p, %zero
      )")) == text(kernel(R"(
      dependency_wait
      launch_dependents
      %zero = constant {number = 0.0} : f32
      store %p, %zero
      )")));
}

TEST_CASE("insert_dependent_launch: producer warps launch dependents") {
  const std::string before = R"(
    func @f(%p: ptr<f32>, %n: i64) warps 4 producer_warps 4 {
      %zero = constant {value = 0} : i32
      %first = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %map = tensor_map %p, %first, %n, %one {swizzle = 0} : map<f32>[8]
      tma_prefetch %map
      %s = shared_alloc : shared<f32>[1,8]
      %full = mbarriers {arrivals = 1} : shared<i64>[1,1]
      WAIT
      warp_specialize {
        mbarrier_wait %full, %zero, %zero
        yield
      } {
        mbarrier_arrive %full, %zero {bytes = 32}
        tma_load_async %map, %s, %zero, %full, %zero, %zero
        DEPENDENTS
        yield
      }
      return
    })";
  auto filled = [&](std::string text, const std::string &wait, const std::string &dependents) {
    text.replace(text.find("WAIT"), 4, wait);
    text.replace(text.find("DEPENDENTS"), 10, dependents);
    return text;
  };
  CHECK(overlapped(filled(before, "", ""), "90a") ==
        text(filled(before, "dependency_wait", "launch_dependents")));
}

TEST_CASE("insert_dependent_launch: does nothing before sm_90") {
  std::string program = kernel("%x = load %p : f32\n store %q, %x\n");
  for (const char *gpu : {"75", "80", "86", "89"})
    CHECK(overlapped(program, gpu) == text(program));
  for (const char *gpu : {"90", "90a", "100", "120"})
    CHECK(overlapped(program, gpu) != text(program));
}
