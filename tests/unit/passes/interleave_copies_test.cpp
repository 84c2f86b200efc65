// Tests passes/interleave_copies.cpp.

#include "passes/interleave_copies.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

const std::string head = R"(
    func @f(%n: i32, %c: f32[16,8], %C: ptr<f32>[16,8], %A: ptr<f16>, %zero: i64, %one: i64,
            %a: f16[16,16], %b: f16[16,8], %on: i1, %z: i32) {
      %sa = shared_alloc : shared<f16>[3,16,32]
      %sb = shared_alloc : shared<f16>[3,16,32]
      %v = view %A, %zero, %one, %one : view<f16>[16,32]
      %d = for_loop %n, %c : f32[16,8] {
        (%t: i32, %acc: f32[16,8])
        async_wait {pending = 1}
)";
const std::string foot = R"(
        yield %d3
      }
      store %C, %d
      return
    })";

const std::string copy_a = "async_copy %v, %sa, %z, %on {vector = 8}\n";
const std::string copy_b = "async_copy %v, %sb, %z, %on {vector = 8}\n";
const std::string commit = "async_commit\n";
std::string dot(int number, const std::string &sum) {
  return "%d" + std::to_string(number) + " = dot %a, %b, %" + sum + " : f32[16,8]\n";
}
const std::string four_dots = dot(0, "acc") + dot(1, "d0") + dot(2, "d1") + dot(3, "d2");

void unchanged(const std::string &before) {
  CAPTURE(before);
  CHECK(after(interleave_copies, before) == text(before));
}

} // namespace

TEST_CASE("interleave_copies: spreads copies before the last two dots") {
  CHECK(after(interleave_copies, head + copy_a + copy_b + commit + four_dots + foot) ==
        text(head + copy_a + dot(0, "acc") + copy_b + dot(1, "d0") + commit + dot(2, "d1") +
             dot(3, "d2") + foot));
}

TEST_CASE("interleave_copies: does nothing with fewer than four dots") {
  unchanged(head + copy_a + copy_b + commit + dot(0, "acc") + dot(1, "d0") + dot(3, "d1") + foot);
}

TEST_CASE("interleave_copies: does nothing if the dots form no chain") {
  unchanged(head + copy_a + copy_b + commit + dot(0, "acc") + dot(1, "d0") + dot(2, "acc") +
            dot(3, "d2") + foot);
}

TEST_CASE("interleave_copies: does nothing with two stages") {
  unchanged(with(head, "[3,16,32]", "[2,16,32]") + copy_a + copy_b + commit + four_dots + foot);
}

TEST_CASE("interleave_copies: does nothing without exactly one commit") {
  unchanged(head + copy_a + commit + copy_b + commit + four_dots + foot);
  unchanged(head + four_dots + foot);
}
