// Tests a complete warp-specialized kernel: a matmul whose operands go through a circular buffer of
// three stages, compared with the baseline loop. Also tests that an error in this kernel is found.

#include "interpreter/interpreter.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <random>

using namespace tritonc;
using namespace tritonc::interpreter;
using namespace tritonc::test;

namespace {

// C [8,8] = A [8,k] B [k,8], with %steps iterations of 8 columns of A.
const std::string plain = R"(
  func @plain(%a: ptr<f16>, %b: ptr<f16>, %c: ptr<f32>, %steps: i32, %k: i64) warps 4 {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %eight = constant {value = 8} : i64
    %nothing = constant {number = 0.0} : f32
    %start = splat %nothing : f32[8,8]
    %sum = for_loop %steps, %start : f32[8,8] {
      (%t: i32, %s: f32[8,8])
      %t64 = cast %t : i64
      %first = mul %t64, %eight : i64
      %first_row = mul %first, %eight : i64
      %va = view %a, %first, %k, %one : view<f16>[8,8]
      %vb = view %b, %first_row, %eight, %one : view<f16>[8,8]
      %ta = load %va : f16[8,8]
      %tb = load %vb : f16[8,8]
      %d = dot %ta, %tb, %s : f32[8,8]
      yield %d
    }
    %vc = view %c, %zero, %eight, %one : view<f32>[8,8]
    store %vc, %sum
    return
  })";

const std::string specialized = R"(
  func @specialized(%a: ptr<f16>, %b: ptr<f16>, %c: ptr<f32>, %steps: i32, %k: i64) warps 4 {
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %eight = constant {value = 8} : i64
    %map_a = tensor_map %a, %zero, %eight, %k, %k, %one : map<f16>[8,8]
    %map_b = tensor_map %b, %zero, %k, %eight, %eight, %one : map<f16>[8,8]
    %as = shared_alloc : shared<f16>[3,8,8]
    %bs = shared_alloc : shared<f16>[3,8,8]
    %full = mbarriers {arrivals = 1} : shared<i64>[3,1]
    %free = mbarriers {arrivals = 4} : shared<i64>[3,1]
    warp_specialize {one_thread = [0,1], warps = [4,4]} {
      %none = constant {value = 0} : i32
      %minus = constant {value = -1} : i32
      %nothing = constant {number = 0.0} : f32
      %start = splat %nothing : f32[8,8]
      %sum = for_loop %steps, %start : f32[8,8] {
        (%t: i32, %s: f32[8,8])
        %stage = stage_index %t {offset = 0, stages = 3} : i32
        %phase = stage_phase %t {offset = 0, stages = 3} : i32
        mbarrier_wait %full, %stage, %phase
        %p = wgmma_ss %as, %stage, %bs, %stage, %s {perms = [0,1,0,1]} : f32[8,8]
        %w = wgmma_wait %p {pending = 1} : f32[8,8]
        %later = cmp %t, %none {pred = "gt"} : i1
        if_else %later {
          %before = stage_index %t {offset = -1, stages = 3} : i32
          mbarrier_arrive %free, %before
          yield
        } {
          yield
        }
        yield %w
      }
      %done = wgmma_wait %sum {pending = 0} : f32[8,8]
      %vc = view %c, %zero, %eight, %one : view<f32>[8,8]
      store %vc, %done
      yield
    } {
      %left = constant {value = 0} : i32
      %wide = constant {value = 8} : i32
      for_loop %steps {
        (%i: i32)
        %into = stage_index %i {offset = 0, stages = 3} : i32
        %last = stage_phase %i {offset = 3, stages = 3} : i32
        mbarrier_wait %free, %into, %last
        mbarrier_arrive %full, %into {bytes = 256}
        %column = mul %i, %wide : i32
        tma_load_async %map_a, %as, %into, %full, %into, %left, %column
        tma_load_async %map_b, %bs, %into, %full, %into, %column, %left
        yield
      }
      yield
    }
    return
  })";

constexpr Turns all_turns[] = {Turns::producer_first, Turns::workers_first, Turns::alternate};
constexpr int max_steps = 8;

struct Outcome {
  Memory memory;
  std::string reports;
};

Outcome interpret(const std::string &text, int steps, Turns turns) {
  Outcome outcome;
  std::mt19937 random(1);
  auto numbers = [&](int count) {
    std::vector<double> values;
    for (int i = 0; i < count; i++)
      values.push_back(int(random() % 7) - 3);
    return values;
  };
  int a = outcome.memory.add("a", ir::Elem::f16, numbers(64 * steps));
  int b = outcome.memory.add("b", ir::Elem::f16, numbers(64 * steps));
  int c = outcome.memory.add_unwritten("c", ir::Elem::f32, 64);
  Launch launch;
  launch.turns = turns;
  launch.max_steps = 10'000;
  launch.arguments = {Element::pointer(a), Element::pointer(b), Element::pointer(c),
                      Element::of_integer(steps), Element::of_integer(8 * steps)};
  for (const Report &report : run(parsed(text), launch, outcome.memory).reports)
    outcome.reports += text_of(report) + "\n";
  return outcome;
}

// The error of the kernel with this number of iterations; "" = none.
std::string wrong(const std::string &text, int steps, Turns turns) {
  Outcome expected = interpret(plain, steps, turns), found = interpret(text, steps, turns);
  CHECK(expected.reports == "");
  return found.reports + difference(expected.memory, found.memory);
}

} // namespace

TEST_CASE("warp-specialized matmul: matches the baseline loop") {
  for (Turns turns : all_turns)
    for (int steps = 1; steps <= max_steps; steps++) {
      CAPTURE(steps);
      CHECK(wrong(specialized, steps, turns) == "");
    }
}

TEST_CASE("warp-specialized matmul: seeded errors are found") {
  const std::string never = "stores a value that was never there";
  struct {
    std::string right, instead, found; // found: part of the report
  } mistakes[] = {
      // The consumer warps.
      {"mbarrier_wait %full, %stage, %phase", "", ""},
      {"%phase = stage_phase %t {offset = 0", "%phase = stage_phase %t {offset = 3", ""},
      {"%phase = stage_phase %t {offset = 0, stages = 3}",
       "%phase = stage_phase %t {offset = 0, stages = 4}", "more arrivals than"},
      {"%stage = stage_index %t {offset = 0", "%stage = stage_index %t {offset = 1",
       "more arrivals than"},
      {"%as, %stage, %bs, %stage, %s", "%as, %stage, %bs, %none, %s", never},
      {"wgmma_wait %p {pending = 1}", "wgmma_wait %p {pending = 2}", never},
      {"mbarrier_arrive %free, %before", "",
       "the producer warp waits for parity 0 of stage 0 of %free"},
      {"%none {pred = \"gt\"} : i1\n        if_else %later {\n          %before = stage_index %t "
       "{offset = -1",
       "%minus {pred = \"gt\"} : i1\n        if_else %later {\n          %before = stage_index %t "
       "{offset = 0",
       never}, // signals too early that it has read the stage
      {"%before = stage_index %t {offset = -1", "%before = stage_index %t {offset = 0",
       "the producer warp waits for parity 0 of stage 0 of %free"},
      {"%none {pred = \"gt\"}", "%minus {pred = \"gt\"}", "stage -1 of 3"},
      {"%done = wgmma_wait %sum {pending = 0} : f32[8,8]", "%done = convert_layout %sum : f32[8,8]",
       "products in the background"},
      {"wgmma_wait %sum {pending = 0}", "wgmma_wait %sum {pending = 1}", never},
      // The producer warp.
      {"mbarrier_wait %free, %into, %last", "", "more arrivals than"},
      {"%last = stage_phase %i {offset = 3", "%last = stage_phase %i {offset = 0",
       "the producer warp waits"},
      {"%into = stage_index %i {offset = 0", "%into = stage_index %i {offset = 1", ""},
      {"bytes = 256", "bytes = 128", "announces 128"},
      {"bytes = 256", "bytes = 512", "0 arrivals and 256 bytes to come"},
      {"mbarrier_arrive %full, %into {bytes = 256}", "mbarrier_arrive %full, %into", "announces 0"},
      {"mbarrier_arrive %full, %into {bytes = 256}", "", "1 arrivals"},
      {"tma_load_async %map_b, %bs, %into, %full, %into, %column, %left", "", "128 bytes to come"},
      {"%into, %full, %into, %column, %left", "%into, %full, %into, %left, %column", "c[1] is"},
      {"%bs, %into, %full, %into", "%bs, %into, %full, %left", "announces 256"},
      {"%bs, %into, %full, %into", "%bs, %left, %full, %into", never},
      {"%bs, %into, %full, %into", "%bs, %into, %free, %into", "128 bytes to come"},
      // The code around the warp_specialize.
      {"%full = mbarriers {arrivals = 1}", "%full = mbarriers {arrivals = 2}", "1 arrivals"},
      {"%free = mbarriers {arrivals = 4}", "%free = mbarriers {arrivals = 1}",
       "more arrivals than"},
      {"%free = mbarriers {arrivals = 4}", "%free = mbarriers {arrivals = 8}", "4 arrivals"},
      {"%eight, %k, %k, %one : map", "%eight, %eight, %k, %one : map", "c[1] is"},
  };
  for (const auto &[right, instead, found] : mistakes) {
    size_t at = specialized.find(right);
    REQUIRE(at != std::string::npos);
    std::string text = specialized;
    text.replace(at, right.size(), instead);
    for (Turns turns : all_turns) {
      std::string said = wrong(text, max_steps, turns);
      CAPTURE(right);
      CAPTURE(instead);
      CAPTURE(said);
      CHECK(said != "");
      CHECK(said.find(found) != std::string::npos);
    }
  }
}
