// Tests passes/prefetch_through_registers.cpp.

#include "passes/prefetch_through_registers.h"
#include "passes/remove_dead_code.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

struct Loop {
  std::string load = "%v = view %A, %o, %ld, %one : view<f16>[16,16]\n %a = load %v : f16[16,16]\n";
  std::string rest = "";
};

std::string program(const Loop &loop = {}) {
  return R"(
    layout #0 [16,16] offset (0,1) (0,2) (0,4) (0,8) (1,0) (2,0) (4,8) (8,0)
    func @f(%n: i32, %A: ptr<f16>, %ld: i64 multiple_of 8, %C: ptr<f32>[16,16], %start: f32[16,16]) {
      %one = constant {value = 1} : i64
      %c16 = constant {value = 16} : i64
      %z = constant {value = 0} : i32
      %r = for_loop %n, %start : f32[16,16] {
        (%t: i32, %sum: f32[16,16])
        %t64 = cast %t : i64
        %o = mul %t64, %c16 : i64
        )" +
         loop.load + R"(
        %s = shared_alloc : shared<f16>[1,16,16] #0
        shared_store %a, %s, %z
        %f = shared_load %s, %z {origin = [0,0], perm = [0,1]} : f16[16,8]
        %g = shared_load %s, %z {origin = [0,0], perm = [0,1]} : f16[8,16]
        %d = dot %f, %g, %sum {instruction = "m16n8k8"} : f32[16,16]
        %f1 = shared_load %s, %z {origin = [0,8], perm = [0,1]} : f16[16,8]
        %g1 = shared_load %s, %z {origin = [8,0], perm = [0,1]} : f16[8,16]
        %d1 = dot %f1, %g1, %d {instruction = "m16n8k8"} : f32[16,16]
        )" +
         loop.rest + R"(
        yield %d1
      }
      store %C, %r
      return
    })";
}

std::string ahead(const std::string &before) {
  return after(
      [](ir::Function &fn) {
        prefetch_through_registers(fn, *find_gpu("75"));
        remove_dead_code(fn);
      },
      before);
}

void unchanged(const std::string &before, const Gpu &gpu = *find_gpu("75")) {
  CAPTURE(before);
  CHECK(after(prefetch_through_registers, before, gpu) == text(before));
}

} // namespace

TEST_CASE("prefetch_through_registers: stores 1 ahead and loads 2 ahead") {
  CHECK(ahead(program()) == text(R"(
    layout #0 [16,16] offset (0,1) (0,2) (0,4) (0,8) (1,0) (2,0) (4,8) (8,0)
    func @f(%n: i32, %A: ptr<f16>, %ld: i64 multiple_of 8, %C: ptr<f32>[16,16], %start: f32[16,16]) {
      %one = constant {value = 1} : i64
      %c16 = constant {value = 16} : i64
      %s = shared_alloc : shared<f16>[2,16,16] #0
      %0 = constant {value = 0} : i32
      %1 = cmp %0, %n {pred = "lt"} : i1
      %2 = constant {value = 0} : i32
      %3 = constant {value = 1} : i32
      %4 = constant {value = 1} : i32
      %5 = sub %n, %4 : i32
      %6 = min %3, %5 : i32
      %t64 = cast %2 : i64
      %o = mul %t64, %c16 : i64
      %v = view %A, %o, %ld, %one : view<f16>[16,16]
      %7 = splat %1 : i1[16,16]
      %8 = constant {number = 0.0} : f16
      %9 = splat %8 : f16[16,16]
      %10 = load %v, %7, %9 : f16[16,16]
      shared_store %10, %s, %2
      %t64.1 = cast %6 : i64
      %o.1 = mul %t64.1, %c16 : i64
      %v.1 = view %A, %o.1, %ld, %one : view<f16>[16,16]
      %11 = splat %1 : i1[16,16]
      %12 = constant {number = 0.0} : f16
      %13 = splat %12 : f16[16,16]
      %14 = load %v.1, %11, %13 : f16[16,16]
      %r, %15 = for_loop %n, %start, %14 : f32[16,16], f16[16,16] {
        (%t: i32, %sum: f32[16,16], %16: f16[16,16])
        %17 = stage_index %t {offset = 0, stages = 2} : i32
        %f = shared_load %s, %17 {origin = [0,0], perm = [0,1]} : f16[16,8]
        %g = shared_load %s, %17 {origin = [0,0], perm = [0,1]} : f16[8,16]
        %d = dot %f, %g, %sum {instruction = "m16n8k8"} : f32[16,16]
        %f1 = shared_load %s, %17 {origin = [0,8], perm = [0,1]} : f16[16,8]
        %g1 = shared_load %s, %17 {origin = [8,0], perm = [0,1]} : f16[8,16]
        %18 = stage_index %t {offset = 1, stages = 2} : i32
        shared_store %16, %s, %18
        %19 = constant {value = 2} : i32
        %20 = add %t, %19 : i32
        %21 = constant {value = 1} : i32
        %22 = sub %n, %21 : i32
        %23 = min %20, %22 : i32
        %t64.2 = cast %23 : i64
        %o.2 = mul %t64.2, %c16 : i64
        %v.2 = view %A, %o.2, %ld, %one : view<f16>[16,16]
        %a = load %v.2 : f16[16,16]
        %d1 = dot %f1, %g1, %d {instruction = "m16n8k8"} : f32[16,16]
        yield %d1, %a
      }
      store %C, %r
      return
    })"));
}

TEST_CASE("prefetch_through_registers: keeps the mask, off for 0 iterations") {
  Loop loop;
  loop.load = R"(
    %end = splat %n : i32[16]
    %i = range {start = 0} : i32[16]
    %at = splat %t : i32[16]
    %k = add %i, %at : i32[16]
    %in = cmp %k, %end {pred = "lt"} : i1[16]
    %along = expand %in {axis = 0} : i1[1,16]
    %m = broadcast %along : i1[16,16]
    %v = view %A, %o, %ld, %one : view<f16>[16,16]
    %a = load %v, %m : f16[16,16]
  )";
  std::string result = ahead(program(loop));
  CHECK(count(result, "load %v") == 3);
  CHECK(count(result, " = and ") == 2); // both before the loop
  CHECK(contains(result, "%at.2 = splat"));
}

TEST_CASE("prefetch_through_registers: keeps a scalar mask") {
  std::string masked = ahead(program({.load = R"(
        %odd = cmp %t, %z {pred = "eq"} : i1
        %none = constant {number = 0.0} : f16
        %nothing = splat %none : f16[16,16]
        %v = view %A, %o, %ld, %one : view<f16>[16,16]
        %a = load %v, %odd, %nothing : f16[16,16]
)"}));
  CHECK(count(masked, "{pred = \"eq\"} : i1") == 3);
  CHECK(count(masked, "= and ") == 2); // only before the loop: inside it the iteration exists
  CHECK_FALSE(contains(masked, "i1[16,16]"));
}

TEST_CASE("prefetch_through_registers: does nothing with cp.async or no room") {
  unchanged(program(), *find_gpu("80"));
  Gpu small = *find_gpu("75");
  small.max_shared_bytes = 1023;
  unchanged(program(), small);
}

TEST_CASE("prefetch_through_registers: keeps room for the matmul result") {
  Loop used;
  used.rest = "%y = reduce %d1 {axis = 0, op = \"max\"} : f32[16]\n";
  Gpu gpu = *find_gpu("75");
  gpu.max_shared_bytes = 2 * 512 + 1024;
  CHECK(contains(after(prefetch_through_registers, program(used), gpu), "shared<f16>[2,16,16]"));
  gpu.max_shared_bytes--;
  unchanged(program(used), gpu);
}

TEST_CASE("prefetch_through_registers: does nothing if the tile has other uses") {
  Loop used;
  used.rest = "%w = view %C.f, %o, %one, %one : view<f16>[16,16]\n store %w, %a\n";
  unchanged(
      with(program(used), "%ld: i64 multiple_of 8,", "%ld: i64 multiple_of 8, %C.f: ptr<f16>,"));
  // A store in the loop may change a later load.
  Loop stores;
  stores.rest = "%w = view %A, %o, %one, %one : view<f16>[16,16]\n"
                "%h = cast %d1 : f16[16,16]\n store %w, %h\n";
  unchanged(program(stores));
}

TEST_CASE("prefetch_through_registers: does nothing without a matmul") {
  std::string text = program();
  for (const char *dot : {"%d1 = dot %f1, %g1, %d {instruction = \"m16n8k8\"} : f32[16,16]",
                          "%d = dot %f, %g, %sum {instruction = \"m16n8k8\"} : f32[16,16]"})
    text = with(text, dot, "");
  unchanged(with(text, "yield %d1", "yield %sum"));
}
