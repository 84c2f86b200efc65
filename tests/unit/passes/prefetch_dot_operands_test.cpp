// Tests passes/prefetch_dot_operands.cpp.

#include "passes/prefetch_dot_operands.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A loop as split_dots_along_k leaves it: three stages, two slices per K tile.
std::string program(const std::string &before, const std::string &loop) {
  return R"(
    func @f(%n: i32, %c: f32[16,8], %C: ptr<f32>[16,8], %A: ptr<f16>, %zero: i64, %one: i64) {
      %sa = shared_alloc : shared<f16>[3,16,32]
      %sb = shared_alloc : shared<f16>[3,32,8]
      %v = view %A, %zero, %one, %one : view<f16>[16,32]
      )" +
         before + loop + R"(
      async_wait {pending = 0}
      store %C, %d
      return
    })";
}

const std::string first_a = "{origin = [0,0], perm = [0,1]} : f16[16,16]\n";
const std::string first_b = "{origin = [0,0], perm = [0,1]} : f16[16,8]\n";
const std::string second =
    "%a1 = shared_load %sa, %now {origin = [0,16], perm = [0,1]} : f16[16,16]\n"
    "%b1 = shared_load %sb, %now {origin = [16,0], perm = [0,1]} : f16[16,8]\n";
const std::string copies = "%ahead = stage_index %t {offset = 2, stages = 3} : i32\n"
                           "%exists = cmp %t, %n {pred = \"lt\"} : i1\n"
                           "async_copy %v, %sa, %ahead, %exists {vector = 8}\n"
                           "async_commit\n"
                           "%now = stage_index %t {offset = 0, stages = 3} : i32\n";

std::string as_sliced(const std::string &second_dot = "%d1 = dot %a1, %b1, %d0 : f32[16,8]\n") {
  return program("", "%d = for_loop %n, %c : f32[16,8] {\n"
                     "(%t: i32, %acc: f32[16,8])\n"
                     "async_wait {pending = 1}\n" +
                         copies + "%a0 = shared_load %sa, %now " + first_a +
                         "%b0 = shared_load %sb, %now " + first_b + second +
                         "%d0 = dot %a0, %b0, %acc : f32[16,8]\n" + second_dot + "yield %d1\n}");
}

void unchanged(const std::string &before) {
  CAPTURE(before);
  CHECK(after(prefetch_dot_operands, before) == text(before));
}

} // namespace

TEST_CASE("prefetch_dot_operands: loads the next slice before the last dot") {
  CHECK(after(prefetch_dot_operands, as_sliced()) ==
        text(program("async_wait {pending = 1}\n"
                     "%8 = constant {value = 0} : i32\n"
                     "%0 = shared_load %sa, %8 " +
                         first_a + "%1 = shared_load %sb, %8 " + first_b,
                     "%d, %2, %3 = for_loop %n, %c, %0, %1 : f32[16,8], f16[16,16], f16[16,8] {\n"
                     "(%t: i32, %acc: f32[16,8], %4: f16[16,16], %5: f16[16,8])\n" +
                         copies + second +
                         "%d0 = dot %4, %5, %acc : f32[16,8]\n"
                         "async_wait {pending = 1}\n"
                         "%9 = stage_index %t {offset = 1, stages = 3} : i32\n"
                         "%6 = shared_load %sa, %9 " +
                         first_a + "%7 = shared_load %sb, %9 " + first_b +
                         "%d1 = dot %a1, %b1, %d0 : f32[16,8]\n"
                         "yield %d1, %6, %7\n}")));
}

TEST_CASE("prefetch_dot_operands: does nothing with one dot per K tile") {
  unchanged(program("", "%d = for_loop %n, %c : f32[16,8] {\n"
                        "(%t: i32, %acc: f32[16,8])\n"
                        "async_wait {pending = 1}\n" +
                            copies + "%a0 = shared_load %sa, %now " + first_a +
                            "%b0 = shared_load %sb, %now " + first_b +
                            "%d0 = dot %a0, %b0, %acc : f32[16,8]\n"
                            "yield %d0\n}"));
}

TEST_CASE("prefetch_dot_operands: does nothing if the dots form no chain") {
  unchanged(as_sliced("%d2 = dot %a1, %b1, %acc : f32[16,8]\n%d1 = add %d0, %d2 : f32[16,8]\n"));
}

TEST_CASE("prefetch_dot_operands: does nothing if the operand has other uses") {
  unchanged(as_sliced("%d1 = dot %a0, %b1, %d0 : f32[16,8]\n"));
}

TEST_CASE("prefetch_dot_operands: does nothing without exactly one async_wait") {
  unchanged(with(as_sliced(), "async_wait {pending = 1}\n", ""));
  unchanged(as_sliced("async_wait {pending = 0}\n%d1 = dot %a1, %b1, %d0 : f32[16,8]\n"));
}

TEST_CASE("prefetch_dot_operands: does nothing to another iteration's stage") {
  unchanged(with(as_sliced(), "{offset = 0, stages = 3}", "{offset = 1, stages = 3}"));
}
