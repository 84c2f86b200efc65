// Tests passes/insert_barriers.cpp. The folder insert_barriers/ has more cases.

#include "passes/insert_barriers.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Buffers of f16[64]: %s (one stage), %o (overlaps the second half of %s), %apart, and %buffer (three
// stages).
std::string program(const std::string &operations) {
  return R"(
    layout #0 [64] reg (1) lane (2) (4) (8) (16) (32) warp (0)
    layout #1 [64] offset (1) (2) (4) (8) (16) (32)
    layout #2 [8,8] reg (0,1) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp (0,0)
    func @f(%A: ptr<f16>, %x: f16[64] #0, %n: i32, %c: i1, %q: ptr<f16> no_alias, %B: ptr<f16>) warps 2 shared 4096 {
      %z = constant {value = 0} : i32
      %one = constant {value = 1} : i32
      %zero = constant {value = 0} : i64
      %step = constant {value = 1} : i64
      %v = view %A, %zero, %step : view<f16>[64] #0
      %s = shared_alloc {address = 0} : shared<f16>[1,64] #1
      %o = shared_alloc {address = 64} : shared<f16>[1,64] #1
      %apart = shared_alloc {address = 1024} : shared<f16>[1,64] #1
      %buffer = shared_alloc {address = 2048} : shared<f16>[3,64] #1
      )" +
         operations + "\n return\n}";
}

std::string load(const std::string &name, const std::string &buffer,
                 const std::string &stage = "%z") {
  return name + " = shared_load " + buffer + ", " + stage +
         " {origin = [0], perm = [0]} : f16[64] #0\n";
}

void becomes(const std::string &before, const std::string &with_barriers) {
  CHECK(after(insert_barriers, program(before)) == text(program(with_barriers)));
}

void unchanged(const std::string &operations) {
  CAPTURE(operations);
  CHECK(after(insert_barriers, program(operations)) == text(program(operations)));
}

// The pass inserts every `barrier` line of `operations` again after this function removes it.
void needs_these_barriers(const std::string &operations) {
  std::string without = operations;
  for (size_t at; (at = without.find("barrier\n")) != std::string::npos;)
    without.erase(at, 8);
  CAPTURE(without);
  CHECK(after(insert_barriers, program(without)) == text(program(operations)));
}

} // namespace

TEST_CASE("insert_barriers: shared_gather waits for the store") {
  const std::string positions = "%i = range {start = 0} : i32[64] #0\n",
                    gather = "%g = shared_gather %s, %z, %i {axis = 0} : f16[64] #0";
  becomes(positions + "shared_store %x, %s, %z\n" + gather,
          positions + "shared_store %x, %s, %z\n barrier\n" + gather);
  unchanged(positions + "shared_store %x, %apart, %z\n" + gather);
}

TEST_CASE("insert_barriers: rows wait for the stores before them") {
  const std::string store = "shared_store %x, %s, %z\n",
                    load = "%g = shared_load_rows %s, %z, %n, %z : f16[8,8] #2\n",
                    rows = "shared_store_rows %g, %s, %z, %n, %z\n";
  becomes(store + load, store + "barrier\n" + load);
  becomes(store + load + rows, store + "barrier\n" + load + "barrier\n" + rows);
  unchanged(load);
  // Columns of the same rows, beside one another or not, and columns of other rows.
  const std::string beside = "shared_store_rows %g, %s, %z, %n, %z {origin = [0,8]}\n",
                    across = "shared_store_rows %g, %s, %z, %n, %z {origin = [0,4]}\n",
                    other = "shared_store_rows %g, %s, %z, %z, %z {origin = [0,8]}\n";
  const std::string start = load + "barrier\n" + rows;
  unchanged(start + beside);
  becomes(start + across, start + "barrier\n" + across);
  becomes(start + other, start + "barrier\n" + other);
}

TEST_CASE("insert_barriers: store waits for loads and stores before it") {
  needs_these_barriers(load("%a", "%s") + "barrier\n shared_store %x, %s, %z\n");
  needs_these_barriers("shared_store %x, %s, %z\n barrier\n shared_store %x, %s, %z\n");
}

TEST_CASE("insert_barriers: overlapping buffers count as one") {
  needs_these_barriers("shared_store %x, %s, %z\n barrier\n" + load("%a", "%o"));
  needs_these_barriers(load("%a", "%o") + "barrier\n shared_store %x, %s, %z\n");
}

TEST_CASE("insert_barriers: does nothing without a conflict") {
  unchanged("");
  unchanged(load("%a", "%s") + load("%b", "%s") + load("%d", "%o"));
  unchanged("shared_store %x, %s, %z\n shared_store %x, %apart, %z\n");
  unchanged("shared_store %x, %s, %z\n" + load("%a", "%apart"));
  unchanged("shared_store %x, %s, %z\n barrier\n" + load("%a", "%s"));
  unchanged("shared_store %x, %buffer, %z\n" + load("%a", "%buffer", "%one"));
}

TEST_CASE("insert_barriers: adjacent buffers do not conflict") {
  // %apart has 64 f16 from byte 1024. It ends where %next starts.
  unchanged("%next = shared_alloc {address = 1152} : shared<f16>[1,64] #1\n"
            "shared_store %x, %apart, %z\n" +
            load("%a", "%next"));
}

TEST_CASE("insert_barriers: one barrier covers all accesses before it") {
  needs_these_barriers("shared_store %x, %s, %z\n shared_store %x, %apart, %z\n barrier\n" +
                       load("%a", "%s") + load("%b", "%apart"));
}

TEST_CASE("insert_barriers: constant stages are distinct, others are not") {
  unchanged("%i0 = stage_index %z {offset = 0, stages = 3} : i32\n"
            "%i1 = stage_index %one {offset = 1, stages = 3} : i32\n"
            "shared_store %x, %buffer, %i0\n" +
            load("%a", "%buffer", "%i1"));
  // (1 + 2) mod 3 is stage 0 again.
  needs_these_barriers("%i2 = stage_index %one {offset = 2, stages = 3} : i32\n"
                       "shared_store %x, %buffer, %z\n barrier\n" +
                       load("%a", "%buffer", "%i2"));
  needs_these_barriers("shared_store %x, %buffer, %n\n barrier\n" + load("%a", "%buffer", "%one"));
}

TEST_CASE("insert_barriers: counter stages are distinct in an iteration") {
  unchanged("for_loop %n {\n (%t: i32)\n"
            "%i0 = stage_index %t {offset = 0, stages = 3} : i32\n"
            "%i1 = stage_index %t {offset = 1, stages = 3} : i32\n" +
            load("%a", "%buffer", "%i0") + load("%b", "%buffer", "%i1") + "yield\n}\n");
  needs_these_barriers("for_loop %n {\n (%t: i32)\n"
                       "%i0 = stage_index %t {offset = 0, stages = 3} : i32\n"
                       "%i3 = stage_index %t {offset = 3, stages = 3} : i32\n"
                       "shared_store %x, %buffer, %i0\n barrier\n" +
                       load("%b", "%buffer", "%i3") + "yield\n}\n");
}

TEST_CASE("insert_barriers: accesses conflict across iterations") {
  // A write, then a read: the next iteration's write must wait too.
  needs_these_barriers("for_loop %n {\n (%t: i32)\n barrier\n shared_store %x, %s, %z\n barrier\n" +
                       load("%a", "%s") + "yield\n}\n");
  // A read, then a write.
  needs_these_barriers("for_loop %n {\n (%t: i32)\n barrier\n" + load("%a", "%s") +
                       "barrier\n shared_store %x, %s, %z\n yield\n}\n");
}

TEST_CASE("insert_barriers: counter stages move by one per iteration") {
  // Iteration t writes stage t + 1. Iteration t + 1 reads it as stage t. One barrier per iteration
  // is enough.
  needs_these_barriers("for_loop %n {\n (%t: i32)\n"
                       "%i0 = stage_index %t {offset = 0, stages = 3} : i32\n"
                       "%i1 = stage_index %t {offset = 1, stages = 3} : i32\n barrier\n" +
                       load("%a", "%buffer", "%i0") + "shared_store %x, %buffer, %i1\n yield\n}\n");
  // With two stages, iteration t writes the stage that iteration t - 1 read. The same barrier
  // covers both conflicts.
  needs_these_barriers("%two = shared_alloc {address = 3072} : shared<f16>[2,64] #1\n"
                       "for_loop %n {\n (%t: i32)\n"
                       "%i0 = stage_index %t {offset = 0, stages = 2} : i32\n"
                       "%i1 = stage_index %t {offset = 1, stages = 2} : i32\n"
                       "barrier\n shared_store %x, %two, %i1\n" +
                       load("%a", "%two", "%i0") + "yield\n}\n");
}

TEST_CASE("insert_barriers: stages before a loop may conflict in iteration 1") {
  // Stage 1 was written. Iteration 0 reads stage 0, but iteration 1 reads stage 1.
  needs_these_barriers("shared_store %x, %buffer, %one\n barrier\n for_loop %n {\n (%t: i32)\n"
                       "%i0 = stage_index %t {offset = 0, stages = 3} : i32\n" +
                       load("%a", "%buffer", "%i0") + "yield\n}\n");
}

TEST_CASE("insert_barriers: stages of other values are not distinct") {
  // %k changes by more than one per iteration.
  needs_these_barriers(
      "%r = for_loop %n, %z : i32 {\n (%t: i32, %k: i32)\n"
      "%i0 = stage_index %k {offset = 0, stages = 3} : i32\n"
      "%i1 = stage_index %k {offset = 1, stages = 3} : i32\n barrier\n" +
      load("%a", "%buffer", "%i0") +
      "barrier\n shared_store %x, %buffer, %i1\n"
      "%two = add %k, %one : i32\n %four = add %two, %one : i32\n yield %four\n}\n");
}

TEST_CASE("insert_barriers: stages are unknown after a loop") {
  needs_these_barriers("for_loop %n {\n (%t: i32)\n"
                       "%i0 = stage_index %t {offset = 0, stages = 3} : i32\n" +
                       load("%a", "%buffer", "%i0") +
                       "yield\n}\n barrier\n shared_store %x, %buffer, %one\n");
}

TEST_CASE("insert_barriers: loop may run zero iterations") {
  needs_these_barriers("shared_store %x, %s, %z\n for_loop %n {\n (%t: i32)\n barrier\n"
                       "shared_store %x, %apart, %z\n yield\n}\n barrier\n" +
                       load("%b", "%s"));
}

TEST_CASE("insert_barriers: inner loop meets accesses of the outer loop") {
  needs_these_barriers("for_loop %n {\n (%t: i32)\n barrier\n shared_store %x, %s, %z\n"
                       "barrier\n for_loop %n {\n (%u: i32)\n" +
                       load("%a", "%s") + "yield\n}\n yield\n}\n");
}

TEST_CASE("insert_barriers: while condition runs once more after the body") {
  needs_these_barriers("while_loop {\n barrier\n" + load("%a", "%s") +
                       "condition %c\n} {\n barrier\n shared_store %x, %s, %z\n yield\n}\n");
  needs_these_barriers("shared_store %x, %s, %z\n barrier\n while_loop {\n" + load("%a", "%s") +
                       "condition %c\n} {\n yield\n}\n barrier\n shared_store %x, %s, %z\n");
}

TEST_CASE("insert_barriers: accesses of either branch reach the code after") {
  needs_these_barriers(
      "if_else %c {\n shared_store %x, %s, %z\n yield\n} {\n yield\n}\n barrier\n" +
      load("%a", "%s"));
  needs_these_barriers(
      "if_else %c {\n yield\n} {\n shared_store %x, %s, %z\n yield\n}\n barrier\n" +
      load("%a", "%s"));
  // A barrier in one branch does not cover the other branch.
  needs_these_barriers("shared_store %x, %s, %z\n if_else %c {\n barrier\n" + load("%a", "%s") +
                       "yield\n} {\n yield\n}\n barrier\n" + load("%b", "%s"));
}

TEST_CASE("insert_barriers: if_else branches do not conflict") {
  unchanged("if_else %c {\n shared_store %x, %s, %z\n yield\n} {\n" + load("%a", "%s") +
            "yield\n}\n");
}

TEST_CASE("insert_barriers: async_copy needs async_wait, then a barrier") {
  needs_these_barriers("async_copy %v, %s, %z, %c {vector = 8}\n async_commit\n"
                       "async_wait {pending = 0}\n barrier\n" +
                       load("%a", "%s"));
  // A barrier before the wait does not order the copies of other threads.
  needs_these_barriers("shared_store %x, %apart, %z\n"
                       "async_copy %v, %s, %z, %c {vector = 8}\n async_commit\n barrier\n" +
                       load("%b", "%apart") + "async_wait {pending = 0}\n barrier\n" +
                       load("%a", "%s"));
}

TEST_CASE("insert_barriers: async_copy waits for users of its stage") {
  needs_these_barriers(load("%a", "%s") + "barrier\n async_copy %v, %s, %z, %c {vector = 8}\n");
  needs_these_barriers("shared_store %x, %s, %z\n barrier\n"
                       "async_copy %v, %s, %z, %c {vector = 8}\n");
  unchanged(load("%a", "%apart") + "async_copy %v, %s, %z, %c {vector = 8}\n");
}

TEST_CASE("insert_barriers: async_wait covers only the completed groups") {
  // The second group is still pending, so only the first group becomes this thread's write.
  needs_these_barriers("async_copy %v, %buffer, %z, %c {vector = 8}\n async_commit\n"
                       "async_copy %v, %buffer, %one, %c {vector = 8}\n async_commit\n"
                       "async_wait {pending = 1}\n barrier\n" +
                       load("%a", "%buffer") + "async_wait {pending = 0}\n barrier\n" +
                       load("%b", "%buffer", "%one"));
  needs_these_barriers("async_copy %v, %buffer, %z, %c {vector = 8}\n async_commit\n"
                       "async_copy %v, %buffer, %one, %c {vector = 8}\n async_commit\n"
                       "async_wait {pending = 0}\n barrier\n" +
                       load("%a", "%buffer") + load("%b", "%buffer", "%one"));
}

TEST_CASE("insert_barriers: async circular buffer needs one barrier") {
  auto buffer = [](const std::string &stages, const std::string &last, const std::string &pending,
                   const std::string &prologue) {
    return "%r = shared_alloc {address = 4096} : shared<f16>[" + stages + ",64] #1\n" + prologue +
           "for_loop %n {\n (%t: i32)\n async_wait {pending = " + pending +
           "}\n"
           "%into = stage_index %t {offset = " +
           last + ", stages = " + stages +
           "} : i32\n barrier\n"
           "async_copy %v, %r, %into, %c {vector = 8}\n async_commit\n"
           "%now = stage_index %t {offset = 0, stages = " +
           stages + "} : i32\n" + load("%a", "%r", "%now") +
           "yield\n}\n async_wait {pending = 0}\n";
  };
  auto start = [](const std::string &stage) {
    return "async_copy %v, %r, " + stage + ", %c {vector = 8}\n async_commit\n";
  };
  needs_these_barriers(buffer("2", "1", "0", start("%z")));
  needs_these_barriers(buffer("3", "2", "1", start("%z") + start("%one")));
  needs_these_barriers("%c2 = constant {value = 2} : i32\n" +
                       buffer("4", "3", "2", start("%z") + start("%one") + start("%c2")));
  // The space is free after the copies of all threads are complete.
  needs_these_barriers(buffer("2", "1", "0", start("%z")) +
                       "%workspace = shared_alloc {address = 4096} : shared<f16>[1,64] #1\n"
                       "barrier\n shared_store %x, %workspace, %z\n barrier\n" +
                       load("%b", "%workspace"));
}

TEST_CASE("insert_barriers: keeps barriers of the source") {
  unchanged("barrier\n barrier\n shared_store %x, %s, %z\n barrier\n barrier\n" + load("%a", "%s"));
}

TEST_CASE("insert_barriers: global store waits for replicated loads") {
  // %v has one element per register and lane, and the second warp has copies of it.
  needs_these_barriers("%a = load %v : f16[64] #0\nbarrier\nstore %v, %x\n");
  // All threads load a scalar, and the first thread stores it.
  needs_these_barriers("%a = load %q : f16\nbarrier\nstore %q, %a\n");
}

TEST_CASE("insert_barriers: global loads do not wait for each other") {
  const std::string loads = "%a = load %A : f16\n%b = load %v : f16[64] #0\n";
  needs_these_barriers(loads + "barrier\nstore %v, %x\n");
  unchanged(loads + "store %q, %a\n");
}

TEST_CASE("insert_barriers: global load or store waits for a store") {
  needs_these_barriers("store %v, %x\nbarrier\n%a = load %A : f16\nstore %q, %a\n");
  needs_these_barriers("store %v, %x\nbarrier\n%a = load %A : f16\nbarrier\nstore %A, %a\n");
}

TEST_CASE("insert_barriers: global accesses conflict across iterations") {
  needs_these_barriers("for_loop %n {\n(%t: i32)\nbarrier\n%a = load %A : f16\nbarrier\n"
                       "store %v, %x\nyield\n}\n");
  needs_these_barriers("while_loop {\ncondition %c\n} {\nbarrier\n%a = load %A : f16\nbarrier\n"
                       "store %v, %x\nyield\n}\n");
}

TEST_CASE("insert_barriers: loop-carried pointer keeps its parameter") {
  needs_these_barriers(
      "%e = for_loop %n, %A : ptr<f16> {\n(%t: i32, %p: ptr<f16>)\nbarrier\n"
      "%a = load %p : f16\nbarrier\nstore %v, %x\n%p1 = addptr %p, %one : ptr<f16>\n"
      "yield %p1\n}\n");
  unchanged("%e = for_loop %n, %q : ptr<f16> {\n(%t: i32, %p: ptr<f16>)\n"
            "%a = load %p : f16\nstore %v, %x\n%p1 = addptr %p, %one : ptr<f16>\n"
            "yield %p1\n}\n");
}

TEST_CASE("insert_barriers: pointer after a loop keeps its parameter") {
  const std::string load = "%a = load %e : f16\n", store = "store %v, %x\n";
  auto counted = [](const std::string &start) {
    return "%e = for_loop %n, " + start +
           " : ptr<f16> {\n(%t: i32, %p: ptr<f16>)\n%p1 = addptr %p, %one : ptr<f16>\n"
           "yield %p1\n}\n";
  };
  needs_these_barriers(counted("%A") + load + "barrier\n" + store);
  unchanged(counted("%q") + load + store);
  auto conditional = [](const std::string &starts) {
    return "%d, %e = while_loop " + starts +
           " : ptr<f16>, ptr<f16> {\n(%o0: ptr<f16>, %p0: ptr<f16>)\ncondition %c\n} {\n"
           "(%o1: ptr<f16>, %p1: ptr<f16>)\n%p2 = addptr %p1, %one : ptr<f16>\n"
           "yield %o1, %p2\n}\n";
  };
  needs_these_barriers(conditional("%q, %A") + load + "barrier\n" + store);
  unchanged(conditional("%A, %q") + load + store);
}

TEST_CASE("insert_barriers: selected pointer may come from either parameter") {
  const std::string load_selected = " : ptr<f16>\n%a = load %p : f16\n", store = "store %v, %x\n";
  needs_these_barriers("%p = select %c, %A, %q" + load_selected + "barrier\n" + store);
  needs_these_barriers("%p = select %c, %q, %A" + load_selected + "barrier\n" + store);
  unchanged("%p = select %c, %q, %B" + load_selected + store);
}

TEST_CASE("insert_barriers: selected pointer does not make its parameters alias") {
  // %p is %A or %B, so its load waits for both stores. The second store waits for the first only if
  // both start at the same element.
  const std::string selected = "%p = select %c, %A, %B : ptr<f16>\n"
                               "%w = view %B, %step, %step : view<f16>[64] #0\n";
  needs_these_barriers(selected + "store %v, %x\nstore %w, %x\nbarrier\n%a = load %p : f16\n");
  const std::string same_elements = "%p = select %c, %A, %B : ptr<f16>\n"
                                    "%w = view %B, %zero, %step : view<f16>[64] #0\n";
  needs_these_barriers(same_elements +
                       "store %v, %x\nbarrier\nstore %w, %x\nbarrier\n%a = load %p : f16\n");
}

TEST_CASE("insert_barriers: atomic loads and stores in the first thread") {
  const std::string atomic = " = atomic %A, %e {op = \"add\"} : f16\n";
  needs_these_barriers("%e = load %q : f16\nstore %v, %x\nbarrier\n%a" + atomic +
                       "barrier\n%b = load %A : f16\n");
  unchanged("%e = load %q : f16\n%a" + atomic + "%b" + atomic);
}

TEST_CASE("insert_barriers: same elements of two parameters may alias") {
  const std::string other = "%w = view %B, %zero, %step : view<f16>[64] #0\n";
  needs_these_barriers(other + "%a = load %v : f16[64] #0\nbarrier\nstore %w, %x\n");
  needs_these_barriers(other + "store %w, %x\nbarrier\n%a = load %v : f16[64] #0\n");
  needs_these_barriers("%a = load %A : f16\nbarrier\nstore %B, %a\n");
  needs_these_barriers("for_loop %n {\n(%t: i32)\nbarrier\n%a = load %A : f16\nbarrier\n"
                       "store %B, %a\nyield\n}\n");
}

TEST_CASE("insert_barriers: does nothing if parameters differ in elements") {
  // Another first element, another stride, a no_alias parameter, and another type.
  for (const char *view :
       {"view %B, %step, %step : view<f16>[64]", "view %B, %zero, %two : view<f16>[64]",
        "view %q, %zero, %step : view<f16>[64]"})
    unchanged("%two = constant {value = 2} : i64\n%w = " + std::string(view) +
              " #0\n%a = load %v : f16[64] #0\nstore %w, %x\n");
  unchanged("%b = bitcast %B : ptr<i16>\n%a = load %A : f16\n%y = bitcast %a : i16\n"
            "store %b, %y\n");
  unchanged("%b = bitcast %B : ptr<f32>\n%w = view %b, %zero, %step : view<f32>[64] #0\n"
            "%a = load %v : f16[64] #0\n%y = cast %a : f32[64] #0\nstore %w, %y\n");
  unchanged("%a = load %A : f16\n%i = addptr %B, %one : ptr<f16>\nstore %i, %a\n");
  unchanged("%e = load %B : f16\nstore %v, %x\n"); // a scalar load and a tile store
}

TEST_CASE("insert_barriers: tile elements with equal addresses conflict") {
  auto function = [](const std::string &steps, const std::string &barrier) {
    return R"(
      layout #0 [2,64] reg (0,1) lane (0,2) (0,4) (0,8) (0,16) (0,32) warp (1,0)
      func @f(%A: ptr<f16>, %ld: i64) warps 2 shared 0 {
        %zero = constant {value = 0} : i64
        %one = constant {value = 1} : i64
        %few = constant {value = 63} : i64
        %many = constant {value = 64} : i64
        %v = view %A, %zero, )" +
           steps + R"( : view<f16>[2,64] #0
        %x = load %v : f16[2,64] #0
        %y = add %x, %x : f16[2,64] #0
        )" +
           barrier +
           R"(
        store %v, %y
        return
      })";
  };
  for (const char *steps : {"%zero, %one", "%few, %one", "%one, %one", "%one, %zero"}) {
    CAPTURE(steps);
    CHECK(after(insert_barriers, function(steps, "")) == text(function(steps, "barrier")));
  }
  for (const char *steps : {"%many, %one", "%ld, %one"}) { // rows assumed not to overlap
    CAPTURE(steps);
    CHECK(after(insert_barriers, function(steps, "")) == text(function(steps, "")));
  }
}

TEST_CASE("insert_barriers: does nothing to no_alias or load-only accesses") {
  unchanged("%a = load %v : f16[64] #0\n%b = load %A : f16\n%d = load %v : f16[64] #0\n"
            "store %q, %b\n"
            "%c1 = load %v : f16[64] #0\n");
  unchanged("store %v, %x\n");
  unchanged("for_loop %n {\n(%t: i32)\n%a = load %q : f16\nstore %v, %x\nyield\n}\n");
}

namespace {

// The consumer warps run `workers`. The producer warps run `producers`.
std::string parting(const std::string &workers, const std::string &producers = "") {
  return program("%full = mbarriers {address = 3072, arrivals = 1} : shared<i64>[3,1]\n"
                 "%m = tensor_map %A, %zero, %step, %step {swizzle = 128} : map<f16>[64]\n"
                 "warp_specialize {one_thread = [0,1], warps = [2,4]} {\n" +
                 workers + "yield\n} {\n" + producers + "yield\n}\n");
}

} // namespace

TEST_CASE("insert_barriers: consumer warps synchronize in warp_specialize") {
  std::string store = "shared_store %x, %s, %z\n";
  CHECK(after(insert_barriers, parting(store + load("%a", "%s"))) ==
        text(parting(store + "barrier\n" + load("%a", "%s"))));
  std::string loop = "for_loop %n {\n (%i: i32)\n" + store;
  CHECK(after(insert_barriers, parting(loop + load("%a", "%s") + "yield\n}\n")) ==
        text(parting("for_loop %n {\n (%i: i32)\n barrier\n" + store + "barrier\n" +
                     load("%a", "%s") + "yield\n}\n")));
}

TEST_CASE("insert_barriers: does nothing to mbarrier-synchronized buffers") {
  std::string workers = "mbarrier_wait %full, %z, %z\n" + load("%a", "%buffer");
  std::string producers = "mbarrier_arrive %full, %z {bytes = 128}\n"
                          "tma_load_async %m, %buffer, %z, %full, %z, %z\n"
                          "tma_load_async %m, %buffer, %z, %full, %z, %z\n";
  CHECK(after(insert_barriers, parting(workers, producers)) == text(parting(workers, producers)));
}

namespace {

// The operations, in a kernel whose cluster blocks add partials through %parts.
std::string in_cluster(const std::string &operations) {
  return "%parts = shared_alloc {address = 3072} : shared<f32>[1,64] #1\n"
         "%wide = cast %x : f32[64] #0\n" +
         operations;
}

const std::string leaves = "shared_store %wide, %parts, %z\n";
const std::string adds =
    "%sum = cluster_load_reduce %parts, %z {blocks = 2, op = \"add\"} : f32[64] #0\n";

} // namespace

TEST_CASE("insert_barriers: cluster_load_reduce counts as a load") {
  // lower_cluster_reductions makes the other blocks wait.
  becomes(in_cluster(leaves + adds), in_cluster(leaves + "barrier\n" + adds));
  becomes(in_cluster(adds + leaves), in_cluster(adds + "barrier\n" + leaves));
}

TEST_CASE("insert_barriers: cluster_barrier includes a block barrier") {
  unchanged(in_cluster(leaves + "cluster_barrier\n" + adds + "cluster_barrier\n" + leaves));
  unchanged("shared_store %x, %s, %z\n cluster_barrier\n" + load("%a", "%s"));
  unchanged("%a = load %q : f16\n cluster_barrier\n store %q, %a\n");
  // A cluster_barrier covers async copies only after async_wait.
  const std::string copy = "async_copy %v, %s, %z, %c {vector = 1}\n async_commit\n";
  unchanged(copy + "async_wait {pending = 0}\n cluster_barrier\n" + load("%a", "%s"));
  becomes(copy + "cluster_barrier\n async_wait {pending = 0}\n" + load("%a", "%s"),
          copy + "cluster_barrier\n async_wait {pending = 0}\n barrier\n" + load("%a", "%s"));
}

// With a time that grows as the square of the number of accesses, the test would exceed its limit.
TEST_CASE("insert_barriers: 100,000 accesses to global memory") {
  constexpr int count = 50'000;
  std::string operations;
  for (int i = 0; i < count; i++) {
    std::string value = "%a" + std::to_string(i);
    operations += value + " = load %q : f16\n store %q, " + value + "\n";
  }
  ir::Function fn = parsed(program(operations));
  insert_barriers(fn);
  int barriers = 0;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) { barriers += op.is(ir::Opcode::barrier_); });
  CHECK(barriers == 2 * count - 1); // between all accesses
}
