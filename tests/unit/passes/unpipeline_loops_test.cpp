// Tests passes/unpipeline_loops.cpp. The folder unpipeline_loops/ has more cases.

#include "passes/remove_dead_code.h"
#include "passes/unpipeline_loops.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A loop that loads the next tile one iteration ahead. Tests replace these parts:
//   before   operations between the first load and the loop
//   go       the loop condition
//   fetch    the load of the next tile
//   body     more operations in the body
struct Rotated {
  std::string before = "";
  std::string go = "%go = cmp %k0, %zero0 {pred = \"gt\"} : i1";
  std::string fetch = "%a1 = load %p1 : f32[8]";
  std::string body = "";
};

std::string program(const Rotated &parts) {
  return R"(
    func @f(%x: ptr<f32>, %y: ptr<f32>, %K: i32) {
      %zero = constant {value = 0} : i32
      %c8 = constant {value = 8} : i32
      %i = range {start = 0} : i32[8]
      %xs = splat %x : ptr<f32>[8]
      %ys = splat %y : ptr<f32>[8]
      %p0 = addptr %xs, %i : ptr<f32>[8]
      %q = addptr %ys, %i : ptr<f32>[8]
      %none = constant {number = 0.0} : f32
      %sum0 = splat %none : f32[8]
      %a0 = load %p0 : f32[8]
      )" +
         parts.before + R"(
      %sum, %a, %p, %k = while_loop %sum0, %a0, %p0, %K : f32[8], f32[8], ptr<f32>[8], i32 {
        (%s0: f32[8], %b0: f32[8], %r0: ptr<f32>[8], %k0: i32)
        %zero0 = constant {value = 0} : i32
        )" +
         parts.go + R"(
        condition %go
      } {
        (%s1: f32[8], %a2: f32[8], %p2: ptr<f32>[8], %k1: i32)
        %next = add %s1, %a2 : f32[8]
        %steps = splat %c8 : i32[8]
        %p1 = addptr %p2, %steps : ptr<f32>[8]
        %k2 = sub %k1, %c8 : i32
        )" +
         parts.body + parts.fetch + R"(
        yield %next, %a1, %p1, %k2
      }
      store %q, %sum
      return
    })";
}

void unrotate(ir::Function &fn) {
  unpipeline_loops(fn);
  remove_dead_code(fn);
}

const char *const plain = R"(
    func @f(%x: ptr<f32>, %y: ptr<f32>, %K: i32) {
      %c8 = constant {value = 8} : i32
      %i = range {start = 0} : i32[8]
      %xs = splat %x : ptr<f32>[8]
      %ys = splat %y : ptr<f32>[8]
      %p0 = addptr %xs, %i : ptr<f32>[8]
      %q = addptr %ys, %i : ptr<f32>[8]
      %none = constant {number = 0.0} : f32
      %sum0 = splat %none : f32[8]
      %sum, %p, %k = while_loop %sum0, %p0, %K : f32[8], ptr<f32>[8], i32 {
        (%s0: f32[8], %r0: ptr<f32>[8], %k0: i32)
        %zero0 = constant {value = 0} : i32
        %go = cmp %k0, %zero0 {pred = "gt"} : i1
        condition %go
      } {
        (%s1: f32[8], %p2: ptr<f32>[8], %k1: i32)
        %a2 = load %p2 : f32[8]
        %next = add %s1, %a2 : f32[8]
        %steps = splat %c8 : i32[8]
        %p1 = addptr %p2, %steps : ptr<f32>[8]
        %k2 = sub %k1, %c8 : i32
        yield %next, %p1, %k2
      }
      store %q, %sum
      return
    })";

void unchanged(const Rotated &parts) {
  std::string before = program(parts);
  CAPTURE(before);
  CHECK(after(unpipeline_loops, before) == text(before));
}

} // namespace

TEST_CASE("unpipeline_loops: moves a load masked by the next iteration") {
  for (std::string check : {
           "%more = cmp %k1, %c8 {pred = \"gt\"} : i1",  // k > 8
           "%more = cmp %c8, %k1 {pred = \"lt\"} : i1",  // 8 < k
           "%more = cmp %k2, %zero {pred = \"gt\"} : i1" // k - 8 > 0
       }) {
    Rotated parts;
    parts.fetch = check + "\n%ms = splat %more : i1[8]\n %a1 = load %p1, %ms, %sum0 : f32[8]";
    CAPTURE(check);
    CHECK(after(unrotate, program(parts)) == text(plain));
    parts.fetch = check + "\n %a1 = load %p1, %more : f32[8]";
    CHECK(after(unrotate, program(parts)) == text(plain));
  }
}

TEST_CASE("unpipeline_loops: does nothing if the mask is another condition") {
  for (std::string check : {
           "%more = cmp %k1, %c8 {pred = \"ge\"} : i1",
           "%more = cmp %k1, %c8 {pred = \"lt\"} : i1",
           "%more = cmp %k1, %c8 {pred = \"ne\"} : i1",
           "%more = cmp %k1, %c8 {pred = \"ugt\"} : i1",
           "%more = cmp %k1, %zero {pred = \"gt\"} : i1",
           "%more = cmp %K, %c8 {pred = \"gt\"} : i1",
       }) {
    Rotated parts;
    parts.fetch = check + "\n %a1 = load %p1, %more : f32[8]";
    unchanged(parts);
  }
}

TEST_CASE("unpipeline_loops: does nothing unless the condition is signed cmp") {
  Rotated parts;
  parts.fetch = "%more = cmp %k1, %c8 {pred = \"gt\"} : i1\n %a1 = load %p1, %more : f32[8]";
  parts.go = "%go = cmp %k0, %zero0 {pred = \"ugt\"} : i1";
  unchanged(parts);
  parts.go = "%both = cmp %k0, %zero0 {pred = \"gt\"} : i1\n %go = and %both, %both : i1";
  unchanged(parts);
}

TEST_CASE("unpipeline_loops: does nothing if memory may change in between") {
  unchanged({.body = "store %q, %a2\n"});
  unchanged({.before = "%K1 = cmp %K, %c8 {pred = \"lt\"} : i1",
             .body = "if_else %K1 {\n store %q, %a2\n yield\n } {\n yield\n }\n"});
  unchanged({.before = "store %p0, %sum0"});
  unchanged({.before = "%less = cmp %K, %c8 {pred = \"lt\"} : i1\n"
                       "if_else %less {\n store %p0, %sum0\n yield\n } {\n yield\n }"});
  unchanged({.go = "store %q, %sum0\n %go = cmp %k0, %zero0 {pred = \"gt\"} : i1"});
}

TEST_CASE("unpipeline_loops: does nothing if the first load differs") {
  std::string before = program({});
  for (std::string first :
       {"%a0 = load %q : f32[8]", "%a0 = add %sum0, %sum0 : f32[8]",
        "%m0 = cmp %K, %c8 {pred = \"gt\"} : i1\n %a0 = load %p0, %m0 : f32[8]"}) {
    std::string changed = before;
    changed.replace(changed.find("%a0 = load %p0 : f32[8]"), 23, first);
    CAPTURE(first);
    CHECK(after(unpipeline_loops, changed) == text(changed));
  }
}

TEST_CASE("unpipeline_loops: does nothing if the next load differs") {
  unchanged({.fetch = "%a1 = load %p2 : f32[8]"});
  unchanged({.fetch = "%p3 = addptr %p1, %steps : ptr<f32>[8]\n %a1 = load %p3 : f32[8]"});
}
