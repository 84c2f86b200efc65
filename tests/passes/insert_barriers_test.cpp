// Tests passes/insert_barriers.cpp.

#include "passes/insert_barriers.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Buffers %s (one slot), %o (overlaps its second half), %apart, and %ring (three slots), all of
// f16[64].
std::string program(const std::string &operations) {
  return R"(
    layout #0 [64] reg (1) lane (2) (4) (8) (16) (32) warp (0)
    layout #1 [64] offset (1) (2) (4) (8) (16) (32)
    func @f(%A: ptr<f16>, %x: f16[64] #0, %n: i32, %c: i1, %q: ptr<f16> no_alias, %B: ptr<f16>) warps 2 shared 4096 {
      %z = constant {value = 0} : i32
      %one = constant {value = 1} : i32
      %zero = constant {value = 0} : i64
      %step = constant {value = 1} : i64
      %v = view %A, %zero, %step : view<f16>[64] #0
      %s = shared_alloc {address = 0} : shared<f16>[1,64] #1
      %o = shared_alloc {address = 64} : shared<f16>[1,64] #1
      %apart = shared_alloc {address = 1024} : shared<f16>[1,64] #1
      %ring = shared_alloc {address = 2048} : shared<f16>[3,64] #1
      )" +
         operations + "\n return\n}";
}

std::string load(const std::string &name, const std::string &buffer,
                 const std::string &slot = "%z") {
  return name + " = shared_load " + buffer + ", " + slot +
         " {origin = [0], perm = [0]} : f16[64] #0\n";
}

void becomes(const std::string &before, const std::string &with_barriers) {
  CHECK(after(insert_barriers, program(before)) == text(program(with_barriers)));
}

void unchanged(const std::string &operations) {
  CAPTURE(operations);
  CHECK(after(insert_barriers, program(operations)) == text(program(operations)));
}

// Where `barrier` lines are taken out of `operations`, they come back.
void needs_these_barriers(const std::string &operations) {
  std::string without = operations;
  for (size_t at; (at = without.find("barrier\n")) != std::string::npos;)
    without.erase(at, 8);
  CAPTURE(without);
  CHECK(after(insert_barriers, program(without)) == text(program(operations)));
}

} // namespace

TEST_CASE("what is gathered from a buffer must be there") {
  const std::string positions = "%i = range {start = 0} : i32[64] #0\n",
                    gather = "%g = shared_gather %s, %z, %i {axis = 0} : f16[64] #0";
  becomes(positions + "shared_store %x, %s, %z\n" + gather,
          positions + "shared_store %x, %s, %z\n barrier\n" + gather);
  unchanged(positions + "shared_store %x, %apart, %z\n" + gather);
}

TEST_CASE("a load waits for the store before it") {
  becomes("shared_store %x, %s, %z\n" + load("%a", "%s"),
          "shared_store %x, %s, %z\n barrier\n" + load("%a", "%s"));
}

TEST_CASE("a store waits for loads and stores before it") {
  needs_these_barriers(load("%a", "%s") + "barrier\n shared_store %x, %s, %z\n");
  needs_these_barriers("shared_store %x, %s, %z\n barrier\n shared_store %x, %s, %z\n");
}

TEST_CASE("buffers that overlap are waited for like one") {
  needs_these_barriers("shared_store %x, %s, %z\n barrier\n" + load("%a", "%o"));
  needs_these_barriers(load("%a", "%o") + "barrier\n shared_store %x, %s, %z\n");
}

TEST_CASE("no barrier where nothing conflicts") {
  unchanged("");
  unchanged(load("%a", "%s") + load("%b", "%s") + load("%d", "%o"));
  unchanged("shared_store %x, %s, %z\n shared_store %x, %apart, %z\n");
  unchanged("shared_store %x, %s, %z\n" + load("%a", "%apart"));
  unchanged("shared_store %x, %s, %z\n barrier\n" + load("%a", "%s"));
  unchanged("shared_store %x, %ring, %z\n" + load("%a", "%ring", "%one"));
}

TEST_CASE("buffers side by side do not touch") {
  // 64 f16 from 1024 on end where the next buffer would start.
  unchanged("%next = shared_alloc {address = 1152} : shared<f16>[1,64] #1\n"
            "shared_store %x, %apart, %z\n" +
            load("%a", "%next"));
}

TEST_CASE("one barrier settles everything before it") {
  needs_these_barriers("shared_store %x, %s, %z\n shared_store %x, %apart, %z\n barrier\n" +
                       load("%a", "%s") + load("%b", "%apart"));
}

TEST_CASE("slots that are numbers are told apart, any other slot is not") {
  unchanged("%i0 = ring_slot %z {ahead = 0, slots = 3} : i32\n"
            "%i1 = ring_slot %one {ahead = 1, slots = 3} : i32\n"
            "shared_store %x, %ring, %i0\n" +
            load("%a", "%ring", "%i1"));
  // (1 + 2) mod 3 is 0 again.
  needs_these_barriers("%i2 = ring_slot %one {ahead = 2, slots = 3} : i32\n"
                       "shared_store %x, %ring, %z\n barrier\n" +
                       load("%a", "%ring", "%i2"));
  needs_these_barriers("shared_store %x, %ring, %n\n barrier\n" + load("%a", "%ring", "%one"));
}

TEST_CASE("slots of a loop's counter are told apart within an iteration") {
  unchanged("for_loop %n {\n (%t: i32)\n"
            "%i0 = ring_slot %t {ahead = 0, slots = 3} : i32\n"
            "%i1 = ring_slot %t {ahead = 1, slots = 3} : i32\n" +
            load("%a", "%ring", "%i0") + load("%b", "%ring", "%i1") + "yield\n}\n");
  needs_these_barriers("for_loop %n {\n (%t: i32)\n"
                       "%i0 = ring_slot %t {ahead = 0, slots = 3} : i32\n"
                       "%i3 = ring_slot %t {ahead = 3, slots = 3} : i32\n"
                       "shared_store %x, %ring, %i0\n barrier\n" +
                       load("%b", "%ring", "%i3") + "yield\n}\n");
}

TEST_CASE("what one iteration leaves, the next one meets") {
  // Written in front, read behind: the next write must wait too.
  needs_these_barriers("for_loop %n {\n (%t: i32)\n barrier\n shared_store %x, %s, %z\n barrier\n" +
                       load("%a", "%s") + "yield\n}\n");
  // Read in front, written behind.
  needs_these_barriers("for_loop %n {\n (%t: i32)\n barrier\n" + load("%a", "%s") +
                       "barrier\n shared_store %x, %s, %z\n yield\n}\n");
}

TEST_CASE("slots move by one from iteration to iteration") {
  // Slot t + 1 is written in iteration t and read in t + 1 as slot t: one barrier a trip.
  needs_these_barriers("for_loop %n {\n (%t: i32)\n"
                       "%i0 = ring_slot %t {ahead = 0, slots = 3} : i32\n"
                       "%i1 = ring_slot %t {ahead = 1, slots = 3} : i32\n barrier\n" +
                       load("%a", "%ring", "%i0") + "shared_store %x, %ring, %i1\n yield\n}\n");
  // With two slots, the slot that is written is the one that was read in the iteration before; the
  // same barrier does for both.
  needs_these_barriers("%two = shared_alloc {address = 3072} : shared<f16>[2,64] #1\n"
                       "for_loop %n {\n (%t: i32)\n"
                       "%i0 = ring_slot %t {ahead = 0, slots = 2} : i32\n"
                       "%i1 = ring_slot %t {ahead = 1, slots = 2} : i32\n"
                       "barrier\n shared_store %x, %two, %i1\n" +
                       load("%a", "%two", "%i0") + "yield\n}\n");
}

TEST_CASE("before a loop, slot numbers are those of its first iteration") {
  // Slot 1 was written, iteration 0 reads slot 0... but iteration 1 reads slot 1.
  needs_these_barriers("shared_store %x, %ring, %one\n for_loop %n {\n (%t: i32)\n"
                       "%i0 = ring_slot %t {ahead = 0, slots = 3} : i32\n barrier\n" +
                       load("%a", "%ring", "%i0") + "yield\n}\n");
}

TEST_CASE("slots named by other values than a loop's counter are not told apart") {
  // %k changes from iteration to iteration, but not by one.
  needs_these_barriers(
      "%r = for_loop %n, %z : i32 {\n (%t: i32, %k: i32)\n"
      "%i0 = ring_slot %k {ahead = 0, slots = 3} : i32\n"
      "%i1 = ring_slot %k {ahead = 1, slots = 3} : i32\n barrier\n" +
      load("%a", "%ring", "%i0") +
      "barrier\n shared_store %x, %ring, %i1\n"
      "%two = add %k, %one : i32\n %four = add %two, %one : i32\n yield %four\n}\n");
}

TEST_CASE("after a loop nothing is known about its slots") {
  needs_these_barriers("for_loop %n {\n (%t: i32)\n"
                       "%i0 = ring_slot %t {ahead = 0, slots = 3} : i32\n" +
                       load("%a", "%ring", "%i0") +
                       "yield\n}\n barrier\n shared_store %x, %ring, %one\n");
}

TEST_CASE("a loop may not run at all") {
  needs_these_barriers("shared_store %x, %s, %z\n for_loop %n {\n (%t: i32)\n barrier\n"
                       "shared_store %x, %apart, %z\n yield\n}\n barrier\n" +
                       load("%b", "%s"));
}

TEST_CASE("loops in loops: the outer iteration is met again inside") {
  needs_these_barriers("for_loop %n {\n (%t: i32)\n barrier\n shared_store %x, %s, %z\n"
                       "for_loop %n {\n (%u: i32)\n barrier\n" +
                       load("%a", "%s") + "yield\n}\n yield\n}\n");
}

TEST_CASE("while loops: the condition comes once more after the body") {
  needs_these_barriers("while_loop {\n barrier\n" + load("%a", "%s") +
                       "condition %c\n} {\n barrier\n shared_store %x, %s, %z\n yield\n}\n");
  needs_these_barriers("shared_store %x, %s, %z\n while_loop {\n barrier\n" + load("%a", "%s") +
                       "condition %c\n} {\n yield\n}\n barrier\n shared_store %x, %s, %z\n");
}

TEST_CASE("what either way through a branch leaves is met after it") {
  needs_these_barriers(
      "if_else %c {\n shared_store %x, %s, %z\n yield\n} {\n yield\n}\n barrier\n" +
      load("%a", "%s"));
  needs_these_barriers(
      "if_else %c {\n yield\n} {\n shared_store %x, %s, %z\n yield\n}\n barrier\n" +
      load("%a", "%s"));
  // A barrier on one way does not settle the other.
  needs_these_barriers("shared_store %x, %s, %z\n if_else %c {\n barrier\n" + load("%a", "%s") +
                       "yield\n} {\n yield\n}\n barrier\n" + load("%b", "%s"));
}

TEST_CASE("the two ways through a branch do not meet each other") {
  unchanged("if_else %c {\n shared_store %x, %s, %z\n yield\n} {\n" + load("%a", "%s") +
            "yield\n}\n");
}

TEST_CASE("a copy in the background needs its wait, then a barrier") {
  needs_these_barriers("async_copy %v, %s, %z, %c {vector = 8}\n async_commit\n"
                       "async_wait {pending = 0}\n barrier\n" +
                       load("%a", "%s"));
  // A barrier before the wait says nothing about the copies of other threads.
  needs_these_barriers("shared_store %x, %apart, %z\n"
                       "async_copy %v, %s, %z, %c {vector = 8}\n async_commit\n barrier\n" +
                       load("%b", "%apart") + "async_wait {pending = 0}\n barrier\n" +
                       load("%a", "%s"));
}

TEST_CASE("a copy in the background waits for those who use the slot") {
  needs_these_barriers(load("%a", "%s") + "barrier\n async_copy %v, %s, %z, %c {vector = 8}\n");
  needs_these_barriers("shared_store %x, %s, %z\n barrier\n"
                       "async_copy %v, %s, %z, %c {vector = 8}\n");
  unchanged(load("%a", "%apart") + "async_copy %v, %s, %z, %c {vector = 8}\n");
}

TEST_CASE("a wait settles the groups that it covers and no others") {
  // The second group is still under way, so only the first becomes this thread's write.
  needs_these_barriers("async_copy %v, %ring, %z, %c {vector = 8}\n async_commit\n"
                       "async_copy %v, %ring, %one, %c {vector = 8}\n async_commit\n"
                       "async_wait {pending = 1}\n barrier\n" +
                       load("%a", "%ring") + "async_wait {pending = 0}\n barrier\n" +
                       load("%b", "%ring", "%one"));
  needs_these_barriers("async_copy %v, %ring, %z, %c {vector = 8}\n async_commit\n"
                       "async_copy %v, %ring, %one, %c {vector = 8}\n async_commit\n"
                       "async_wait {pending = 0}\n barrier\n" +
                       load("%a", "%ring") + load("%b", "%ring", "%one"));
}

TEST_CASE("a ring that is filled in the background takes one barrier a trip") {
  auto ring = [](const std::string &slots, const std::string &last, const std::string &pending,
                 const std::string &prologue) {
    return "%r = shared_alloc {address = 4096} : shared<f16>[" + slots + ",64] #1\n" + prologue +
           "for_loop %n {\n (%t: i32)\n async_wait {pending = " + pending +
           "}\n"
           "%into = ring_slot %t {ahead = " +
           last + ", slots = " + slots +
           "} : i32\n barrier\n"
           "async_copy %v, %r, %into, %c {vector = 8}\n async_commit\n"
           "%now = ring_slot %t {ahead = 0, slots = " +
           slots + "} : i32\n" + load("%a", "%r", "%now") + "yield\n}\n async_wait {pending = 0}\n";
  };
  auto start = [](const std::string &slot) {
    return "async_copy %v, %r, " + slot + ", %c {vector = 8}\n async_commit\n";
  };
  needs_these_barriers(ring("2", "1", "0", start("%z")));
  needs_these_barriers(ring("3", "2", "1", start("%z") + start("%one")));
  needs_these_barriers("%c2 = constant {value = 2} : i32\n" +
                       ring("4", "3", "2", start("%z") + start("%one") + start("%c2")));
  // Its place is used again once everybody's copies have landed.
  needs_these_barriers(ring("2", "1", "0", start("%z")) +
                       "%scratch = shared_alloc {address = 4096} : shared<f16>[1,64] #1\n"
                       "barrier\n shared_store %x, %scratch, %z\n barrier\n" +
                       load("%b", "%scratch"));
}

TEST_CASE("what a product under way reads is settled once it has been waited for, then a barrier") {
  auto kernel = [](const std::string &operations) {
    return R"(
    layout #0 [64,64] offset (0,1) (0,2) (0,4) (0,8) (0,16) (0,32) (1,8) (2,16) (4,32) (8,0) (16,0) (32,0)
    layout #1 [64,64] reg (0,1) (8,0) (0,8) (0,16) (0,32) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp (16,0) (32,0)
    func @f(%A: ptr<f16>, %zero: i64, %one: i64, %n: i32, %c: i1, %acc: f32[64,64] #1, %out: ptr<f32>[64,64] #1) warps 4 shared 65536 {
      %v = view %A, %zero, %one, %one : view<f16>[64,64] #1
      %r = shared_alloc {address = 0} : shared<f16>[4,64,64] #0
      )" + operations +
           "\n return\n}";
  };
  auto trip = [](const std::string &sum, const std::string &ahead) {
    return "async_wait {pending = 1}\n proxy_fence\n"
           "%now = ring_slot %t {ahead = 0, slots = 4} : i32\n barrier\n"
           "%p = shared_product %r, %now, %r, %now, %" +
           sum +
           " {perms = [0,1,0,1], warpgroups = [1,1]} : f32[64,64] #1\n"
           "%into = ring_slot %t {ahead = " +
           ahead +
           ", slots = 4} : i32\n"
           "async_copy %v, %r, %into, %c {vector = 8}\n async_commit\n"
           "%q = product_wait %p {pending = 1, warpgroups = [1,1]} : f32[64,64] #1\n";
  };
  std::string ring =
      kernel("%d = for_loop %n, %acc : f32[64,64] #1 {\n(%t: i32, %s: f32[64,64] #1)\n" +
             trip("s", "2") + "yield %q\n}\n" +
             "%e = product_wait %d {pending = 0, warpgroups = [1,1]} : f32[64,64] #1\n"
             "async_wait {pending = 0}\n"
             "%scratch = shared_alloc {address = 0} : shared<f16>[1,64,64] #0\n"
             "%z = constant {value = 0} : i32\n %h = cast %e : f16[64,64] #1\n"
             "barrier\n shared_store %h, %scratch, %z\n store %out, %e");
  // One barrier a trip: it settles what the trip before has waited for.
  std::string without = ring;
  for (size_t at; (at = without.find("barrier\n")) != std::string::npos;)
    without.erase(at, 8);
  CHECK(after(insert_barriers, without) == text(ring));
}

TEST_CASE("barriers that became superfluous are taken out, those of the text stay") {
  unchanged("barrier\n barrier\n shared_store %x, %s, %z\n barrier\n barrier\n" + load("%a", "%s"));
}

TEST_CASE("a store to global memory waits for loads by threads that hold copies") {
  // %v has one element per register pair and lane, and the second warp has copies of it.
  needs_these_barriers("%a = load %v : f16[64] #0\nbarrier\nstore %v, %x\n");
  // A scalar is loaded by all threads and stored by the first.
  needs_these_barriers("%a = load %q : f16\nbarrier\nstore %q, %a\n");
}

TEST_CASE("a load from global memory waits for the store before it, and a store too") {
  needs_these_barriers("store %v, %x\nbarrier\n%a = load %A : f16\nstore %q, %a\n");
  needs_these_barriers("store %v, %x\nbarrier\n%a = load %A : f16\nbarrier\nstore %A, %a\n");
}

TEST_CASE("in a loop what was accessed in the trip before counts") {
  needs_these_barriers("for_loop %n {\n(%t: i32)\nbarrier\n%a = load %A : f16\nbarrier\n"
                       "store %v, %x\nyield\n}\n");
  needs_these_barriers("while_loop {\ncondition %c\n} {\nbarrier\n%a = load %A : f16\nbarrier\n"
                       "store %v, %x\nyield\n}\n");
}

TEST_CASE("a pointer that a loop carries comes from where it started") {
  needs_these_barriers(
      "%e = for_loop %n, %A : ptr<f16> {\n(%t: i32, %p: ptr<f16>)\nbarrier\n"
      "%a = load %p : f16\nbarrier\nstore %v, %x\n%p1 = addptr %p, %one : ptr<f16>\n"
      "yield %p1\n}\n");
  unchanged("%e = for_loop %n, %q : ptr<f16> {\n(%t: i32, %p: ptr<f16>)\n"
            "%a = load %p : f16\nstore %v, %x\n%p1 = addptr %p, %one : ptr<f16>\n"
            "yield %p1\n}\n");
}

TEST_CASE("an atomic operation loads and stores, both by the first thread") {
  const std::string atomic = " = atomic %A, %e {op = \"add\"} : f16\n";
  needs_these_barriers("%e = load %q : f16\nstore %v, %x\nbarrier\n%a" + atomic +
                       "barrier\n%b = load %A : f16\n");
  unchanged("%e = load %q : f16\n%a" + atomic + "%b" + atomic);
}

TEST_CASE("another parameter may be the same memory, element by element") {
  const std::string other = "%w = view %B, %zero, %step : view<f16>[64] #0\n";
  needs_these_barriers(other + "%a = load %v : f16[64] #0\nbarrier\nstore %w, %x\n");
  needs_these_barriers(other + "store %w, %x\nbarrier\n%a = load %v : f16[64] #0\n");
  needs_these_barriers("%a = load %A : f16\nbarrier\nstore %B, %a\n");
  needs_these_barriers("for_loop %n {\n(%t: i32)\nbarrier\n%a = load %A : f16\nbarrier\n"
                       "store %B, %a\nyield\n}\n");
}

TEST_CASE("nothing happens where another parameter is not meant element by element") {
  // From another element on, in other steps, of another type, and what nothing else points to.
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
  unchanged("%e = load %B : f16\nstore %v, %x\n"); // a scalar beside a tile
}

TEST_CASE("elements of a tile that are the same memory are accessed by several threads") {
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
  for (const char *steps : {"%many, %one", "%ld, %one"}) { // rows are taken to be apart
    CAPTURE(steps);
    CHECK(after(insert_barriers, function(steps, "")) == text(function(steps, "")));
  }
}

TEST_CASE("nothing happens to accesses through other parameters, nor to those that only load") {
  unchanged("%a = load %v : f16[64] #0\n%b = load %A : f16\n%d = load %v : f16[64] #0\n"
            "store %q, %b\n"
            "%c1 = load %v : f16[64] #0\n");
  unchanged("store %v, %x\n");
  unchanged("for_loop %n {\n(%t: i32)\n%a = load %q : f16\nstore %v, %x\nyield\n}\n");
}

TEST_CASE("nothing happens where each thread stores what it loaded itself") {
  std::string function = R"(
    layout #0 [128] reg (1) lane (2) (4) (8) (16) (32) warp (64)
    func @f(%A: ptr<f16>, %n: i32) warps 2 shared 0 {
      %zero = constant {value = 0} : i64
      %step = constant {value = 1} : i64
      %v = view %A, %zero, %step : view<f16>[128] #0
      %x = load %v : f16[128] #0
      %y = add %x, %x : f16[128] #0
      %w = view %A, %zero, %step : view<f16>[128] #0
      store %w, %y
      return
    })";
  CHECK(after(insert_barriers, function) == text(function));
  // One element further, the neighbour's is meant.
  std::string shifted = function;
  shifted.replace(shifted.find("%w = view %A, %zero"), 19, "%w = view %A, %step");
  CHECK(after(insert_barriers, shifted).find("barrier") != std::string::npos);
}

namespace {

// The operations in the part of a parting that the program's warps run; helpers run the others.
std::string parting(const std::string &workers, const std::string &helpers = "") {
  std::string text =
      program("%full = mbarriers {address = 3072, arrivals = 1} : shared<i64>[3,1]\n"
              "%m = tensor_map %A, %zero, %step, %step {swizzle = 128} : map<f16>[64]\n"
              "specialize {\n" +
              workers + "yield\n} {\n" + helpers + "yield\n}\n");
  return text.replace(text.find("warps 2"), 7, "warps 2 helpers 4");
}

} // namespace

TEST_CASE("the program's warps wait for each other after they have parted from the helpers") {
  std::string store = "shared_store %x, %s, %z\n";
  CHECK(after(insert_barriers, parting(store + load("%a", "%s"))) ==
        text(parting(store + "barrier\n" + load("%a", "%s"))));
  std::string loop = "for_loop %n {\n (%i: i32)\n" + store;
  CHECK(after(insert_barriers, parting(loop + load("%a", "%s") + "yield\n}\n")) ==
        text(parting("for_loop %n {\n (%i: i32)\n barrier\n" + store + "barrier\n" +
                     load("%a", "%s") + "yield\n}\n")));
}

TEST_CASE(
    "nothing happens to a ring, whose users wait by mbarriers, nor to the thread that copies") {
  std::string workers = "mbarrier_wait %full, %z, %z\n" + load("%a", "%ring");
  std::string helpers = "mbarrier_arrive %full, %z {bytes = 128}\n"
                        "map_copy %m, %ring, %z, %full, %z, %z\n"
                        "map_copy %m, %ring, %z, %full, %z, %z\n";
  CHECK(after(insert_barriers, parting(workers, helpers)) == text(parting(workers, helpers)));
}

namespace {

// The operations, where blocks of a cluster add what they have through %parts.
std::string in_cluster(const std::string &operations) {
  return "%parts = shared_alloc {address = 3072} : shared<f32>[1,64] #1\n"
         "%wide = cast %x : f32[64] #0\n" +
         operations;
}

const std::string leaves = "shared_store %wide, %parts, %z\n";
const std::string adds = "%sum = cluster_load %parts, %z {blocks = 2} : f32[64] #0\n";

} // namespace

TEST_CASE("what the blocks of a cluster load is read like what the own block loads") {
  // That the other blocks wait too is lower_cluster_sums' affair.
  becomes(in_cluster(leaves + adds), in_cluster(leaves + "barrier\n" + adds));
  becomes(in_cluster(adds + leaves), in_cluster(adds + "barrier\n" + leaves));
}

TEST_CASE("a barrier of the cluster is one of its blocks") {
  unchanged(in_cluster(leaves + "cluster_barrier\n" + adds + "cluster_barrier\n" + leaves));
  unchanged("shared_store %x, %s, %z\n cluster_barrier\n" + load("%a", "%s"));
  unchanged("%a = load %q : f16\n cluster_barrier\n store %q, %a\n");
  // Of what is copied in the background only after it is waited for.
  const std::string copy = "async_copy %v, %s, %z, %c {vector = 1}\n async_commit\n";
  unchanged(copy + "async_wait {pending = 0}\n cluster_barrier\n" + load("%a", "%s"));
  becomes(copy + "cluster_barrier\n async_wait {pending = 0}\n" + load("%a", "%s"),
          copy + "cluster_barrier\n async_wait {pending = 0}\n barrier\n" + load("%a", "%s"));
}
