// Tests passes/pipeline_loops.cpp. The folder pipeline_loops/ has more cases.

#include "passes/pipeline_loops.h"
#include "passes/remove_dead_code.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A GPU whose shared memory is twice `stages` stages. A stage is the 512 bytes that the loops here
// copy per iteration, and the pass keeps half of the memory free.
Gpu gpu_with(int stages) {
  Gpu gpu = *find_gpu("80");
  gpu.max_shared_bytes = 2 * 512 * stages;
  return gpu;
}

struct Loop {
  std::string address = "%c16 = constant {value = 16} : i64\n %t64 = cast %t : i64\n"
                        "%o = mul %t64, %c16 : i64\n";
  std::string load = "%v = view %A, %o, %ld, %one : view<f16>[16,16]\n %a = load %v : f16[16,16]\n";
  std::string rest = "";
  std::string parameters = "%A: ptr<f16>, %ld: i64 multiple_of 8";
  std::string behind = "";
};

std::string program(const Loop &loop) {
  return R"(
    layout #0 [16,16] offset (0,1) (0,2) (0,4) (0,8) (1,0) (2,0) (4,8) (8,0)
    func @f(%n: i32, %C: ptr<f16>, %start: f32, )" +
         loop.parameters + R"() {
      %one = constant {value = 1} : i64
      %zero = constant {value = 0} : i64
      %z = constant {value = 0} : i32
      %r = for_loop %n, %start : f32 {
        (%t: i32, %sum: f32)
        )" +
         loop.address + loop.load + R"(
        %s = shared_alloc : shared<f16>[1,16,16] #0
        shared_store %a, %s, %z
        %f = shared_load %s, %z {origin = [0,0], perm = [0,1]} : f16[16,16]
        %row = reduce %f {axis = 0, op = "max"} : f16[16]
        %top = reduce %row {axis = 0, op = "max"} : f16
        %next = cast %top : f32
        )" +
         loop.rest + R"(
        yield %next
      }
      )" +
         loop.behind + R"(
      %h = cast %r : f16
      store %C, %h
      return
    })";
}

void unchanged(const Loop &loop, const Gpu &gpu = gpu_with(2)) {
  std::string before = program(loop);
  CAPTURE(before);
  CHECK(after(pipeline_loops, before, gpu, Schedule{}) == text(before));
}

std::string pipelined(const Loop &loop, const Gpu &gpu = gpu_with(2)) {
  return after(
      [&](ir::Function &fn) {
        pipeline_loops(fn, gpu);
        remove_dead_code(fn);
      },
      program(loop));
}

} // namespace

TEST_CASE("pipeline_loops: uses 2 to 4 stages that fit half of memory") {
  for (int room : {1, 2, 3, 4, 9}) {
    // The minimum is two stages, even if they fill all of shared memory.
    int stages = std::clamp(room, 2, 4);
    CAPTURE(room);
    std::string result = pipelined({}, gpu_with(room));
    CHECK(contains(result, "shared<f16>[" + std::to_string(stages) + ",16,16]"));
    CHECK(contains(result, "async_wait {pending = " + std::to_string(stages - 2) + "}"));
    CHECK(contains(result, "{offset = " + std::to_string(stages - 1) +
                               ", stages = " + std::to_string(stages) + "}"));
    // The prologue starts one copy fewer than the number of stages.
    size_t copies = 0;
    for (size_t at = result.find("async_copy"); at < result.find("for_loop");
         at = result.find("async_copy", at + 1))
      copies++;
    CHECK(int(copies) == stages - 1);
  }
}

TEST_CASE("pipeline_loops: multistage uses all memory, up to 8 stages") {
  for (auto [room, stages] : {std::pair(2, 4), {3, 6}, {9, 8}}) {
    std::string result = after(pipeline_loops, program({}), gpu_with(room),
                               Schedule{.kind = Schedule::Kind::multistage});
    CHECK(contains(result, "shared<f16>[" + std::to_string(stages) + ",16,16]"));
    CHECK(contains(result, "async_wait {pending = " + std::to_string(stages - 2) + "}"));
  }
}

// Adds a dot by wgmma, which the loop carries.
std::string accumulating(std::string text) {
  text = with(text, "for_loop %n, %start : f32 {", "for_loop %n, %start, %big : f32, f32[16,16] {");
  text = with(text, "%r =", "%r, %all =");
  text = with(text, "%sum: f32)", "%sum: f32, %acc: f32[16,16])");
  return with(text, "yield %next",
              "%d = dot %f, %f, %acc {instruction = \"wgmma\"} : f32[16,16]\n yield %next, %d");
}

TEST_CASE("pipeline_loops: an accumulation by wgmma copies one iteration less ahead") {
  Loop loop;
  loop.parameters += ", %big: f32[16,16]";
  auto pipelined = [&](const Gpu &gpu) {
    return after(pipeline_loops, accumulating(program(loop)), gpu, Schedule{});
  };
  for (auto [room, stages] : {std::pair(1, 3), {3, 3}, {4, 4}, {9, 5}}) {
    CAPTURE(room);
    std::string result = pipelined(gpu_with(room == 1 ? 2 : room));
    CHECK(contains(result, "shared<f16>[" + std::to_string(stages) + ",16,16]"));
    CHECK(contains(result, "async_wait {pending = " + std::to_string(stages - 3) + "}"));
    CHECK(contains(result, "{offset = " + std::to_string(stages - 2) +
                               ", stages = " + std::to_string(stages) + "}"));
  }
  Gpu small = *find_gpu("80");
  small.max_shared_bytes = 3 * 512 - 1;
  CHECK(pipelined(small) == text(accumulating(program(loop))));
}

TEST_CASE("pipeline_loops: a wgmma whose result the loop uses copies as far ahead as mma") {
  Loop loop;
  loop.parameters += ", %big: f32[16,16]";
  loop.rest = "%d = dot %f, %f, %big {instruction = \"wgmma\"} : f32[16,16]\n"
              "%e = exp2 %d : f32[16,16]\n";
  CHECK(contains(pipelined(loop, gpu_with(4)), "{offset = 3, stages = 4}"));
}

TEST_CASE("pipeline_loops: keeps room for other shared memory of the loop") {
  // Buffers inside the loop reuse space, so the largest one counts. Buffers outside of the loop add
  // up.
  Loop own, outside, product;
  own.rest = "%w = shared_alloc : shared<f16>[1,16,16] #0\n shared_store %f, %w, %z\n"
             "%x = shared_alloc : shared<f16>[1,16,16] #0\n shared_store %f, %x, %z\n";
  outside.rest = "shared_store %f, %w, %z\n shared_store %f, %x, %z\n";
  // The result of a matmul counts if other operations use it too: 1024 bytes.
  product.parameters += ", %big: f32[16,16]";
  product.rest = "%d = dot %f, %f, %big {instruction = \"m16n8k16\"} : f32[16,16]\n";
  Loop used = product;
  used.rest += "%y = reduce %d {axis = 0, op = \"max\"} : f32[16]\n";
  auto room_for_two = [](Loop loop, int more, bool from_outside = false) {
    std::string text = program(loop);
    if (from_outside)
      text = with(text, "%r = for_loop",
                  "%w = shared_alloc : shared<f16>[1,16,16] #0\n"
                  "%x = shared_alloc : shared<f16>[1,16,16] #0\n %r = for_loop");
    for (int missing : {1, 0}) {
      Gpu gpu = *find_gpu("80");
      gpu.max_shared_bytes = 2 * 512 + more - missing;
      CAPTURE(text);
      CAPTURE(missing);
      std::string result = after(pipeline_loops, text, gpu, Schedule{});
      CHECK(contains(result, "shared<f16>[2,16,16]") == !missing);
    }
  };
  room_for_two({}, 0);
  room_for_two(own, 512);
  room_for_two(outside, 1024, true);
  room_for_two(product, 0);
  room_for_two(used, 1024);
  // Half of shared memory holds four stages, but the whole memory does not hold them beside the
  // matmul result.
  Gpu gpu = gpu_with(4);
  CHECK(contains(after(pipeline_loops, program(used), gpu, Schedule{}), "[4,16,16]"));
  gpu.max_shared_bytes = 4 * 512 + 511;
  CHECK(contains(after(pipeline_loops, program(used), gpu, Schedule{}), "[2,16,16]"));
}

TEST_CASE("pipeline_loops: bounds mask makes the predicate constant") {
  // The source has %n K tiles of `columns` columns. The loop has (%n + added) / divisor iterations
  // of 16 columns.
  auto has_constant_predicate = [](int columns, int added, const std::string &divisor) {
    Loop loop;
    loop.load = R"(
      %tile = constant {value = COLUMNS} : i32
      %wide = constant {value = 16} : i32
      %columns = mul %n, %tile : i32
      %past = mul %t, %wide : i32
      %left = sub %columns, %past : i32
      %lefts = splat %left : i32[16]
      %i = range {start = 0} : i32[16]
      %in = cmp %i, %lefts {pred = "lt"} : i1[16]
      %along = expand %in {axis = 0} : i1[1,16]
      %m = broadcast %along : i1[16,16]
      %v = view %A, %o, %ld, %one : view<f16>[16,16]
      %a = load %v, %m : f16[16,16]
    )";
    loop.load = with(loop.load, "COLUMNS", std::to_string(columns));
    std::string text = with(program(loop), "%r = for_loop %n,",
                            "%more = constant {value = " + std::to_string(added) +
                                "} : i32\n %sum.n = add %n, %more : i32\n %divisor = " + divisor +
                                " : i32\n %count = div %sum.n, %divisor : i32\n"
                                "%r = for_loop %count,");
    std::string result = after(pipeline_loops, text, *find_gpu("80"), Schedule{});
    CHECK(contains(result, "async_copy"));
    return contains(result, "constant {value = 1} : i1");
  };
  CHECK(has_constant_predicate(8, 1, "constant {value = 2}")); // %n may be odd
  CHECK(has_constant_predicate(16, 0, "constant {value = 1}"));
  // An odd K tile would be lost: the mask does not cover it.
  CHECK_FALSE(has_constant_predicate(8, 0, "constant {value = 2}"));
  // The end of the loop is unknown.
  CHECK_FALSE(has_constant_predicate(16, 0, "add %n, %n"));
  CHECK_FALSE(has_constant_predicate(16, 0, "constant {value = 0}"));
}

TEST_CASE("pipeline_loops: copies the mask if masked elements are zero") {
  Loop loop;
  const std::string limit =
      "%lim = cmp %t, %n {pred = \"lt\"} : i1\n %m = splat %lim : i1[16,16]\n";
  loop.load = "%v = view %A, %o, %ld, %one : view<f16>[16,16]\n" + limit +
              "%a = load %v, %m : f16[16,16]\n";
  CHECK(contains(pipelined(loop), "async_copy %v.1, %s, %6, %5, %m.1 {vector = 8}"));
  loop.load = "%v = view %A, %o, %ld, %one : view<f16>[16,16]\n" + limit +
              "%none = constant {number = 0.0} : f16\n %nones = splat %none : f16[16,16]\n"
              "%a = load %v, %m, %nones : f16[16,16]\n";
  CHECK(contains(pipelined(loop), "async_copy %v.1, %s, %6, %5, %m.1 {vector = 8}"));
  loop.load = "%v = view %A, %o, %ld, %one : view<f16>[16,16]\n" + limit +
              "%some = constant {number = 1.0} : f16\n %somes = splat %some : f16[16,16]\n"
              "%a = load %v, %m, %somes : f16[16,16]\n";
  unchanged(loop);
}

TEST_CASE("pipeline_loops: does nothing if the address is not affine") {
  unchanged({.address = "%bits = bitcast %sum : i32\n %o = cast %bits : i64\n"});
  unchanged({.address = "%l = load %C : f16\n %i = cast %l : i32\n %o = cast %i : i64\n"});
}

TEST_CASE("pipeline_loops: does nothing if the mask is not affine") {
  unchanged({.load = "%v = view %A, %o, %ld, %one : view<f16>[16,16]\n"
                     "%m = cmp %sum, %start {pred = \"lt\"} : i1\n"
                     "%a = load %v, %m : f16[16,16]\n"});
}

TEST_CASE("pipeline_loops: does nothing unless the load is only from a view") {
  unchanged({.load = "%v = view %A, %o, %ld, %one : view<f16>[16,16]\n"
                     "%l = load %v : f16[16,16]\n %a = add %l, %l : f16[16,16]\n"});
  unchanged({.load = "%As = splat %A : ptr<f16>[16,16]\n %os = splat %o : i64[16,16]\n"
                     "%p = addptr %As, %os : ptr<f16>[16,16]\n %a = load %p : f16[16,16]\n"});
  unchanged({.rest = "%again = reduce %a {axis = 0, op = \"max\"} : f16[16]\n"});
}

TEST_CASE("pipeline_loops: does nothing below 4 aligned contiguous bytes") {
  unchanged(
      {.load = "%v = view %A, %t64, %ld, %one : view<f16>[16,16]\n %a = load %v : f16[16,16]\n"});
  unchanged(
      {.load = "%v = view %A, %o, %ld, %ld : view<f16>[16,16]\n %a = load %v : f16[16,16]\n"});
  CHECK(contains(pipelined({.address = "%two = constant {value = 2} : i64\n %t64 = cast %t : i64\n"
                                       "%o = mul %t64, %two : i64\n"}),
                 "{vector = 2}"));
}

TEST_CASE("pipeline_loops: does nothing if the loop stores to memory") {
  const std::string store = "%out = cast %next : f16\n store %C, %out\n";
  unchanged({.rest = store});
  unchanged({.rest = "%less = cmp %t, %n {pred = \"lt\"} : i1\n if_else %less {\n" + store +
                     "yield\n } {\n yield\n }\n"});
  unchanged({.rest = store, .parameters = "%A: ptr<f16> read_only, %ld: i64 multiple_of 8"});
}

TEST_CASE("pipeline_loops: allows stores before and after the loop") {
  CHECK(contains(pipelined({.behind = "%out = cast %r : f16\n store %C, %out\n"}), "async_copy"));
}
