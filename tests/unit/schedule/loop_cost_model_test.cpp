// Tests schedule/loop_cost_model.cpp: the cost of launches whose loops have several dots, and the
// number of blocks per SM of these schedules.

#include "found_schedules.h"

#include "passes/pipeline.h"
#include "schedule/loop_cost_model.h"
#include "target/cost_tables.h"

#include <optional>
#include <string>
#include <tuple>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The matmul kernel of size x size elements with two dots in its loop, as in attention: the second
// one multiplies a cast result of the first one.
std::string two_dots(int size = 64) {
  const std::string tile = "[" + std::to_string(size) + "," + std::to_string(size) + "]";
  return with(matmul_kernel(size, size, size), "%d = dot %a, %b, %acc : f32" + tile,
              "%c = dot %a, %b, %start : f32" + tile + "\n%half = cast %c : f16" + tile +
                  "\n%d = dot %half, %b, %acc : f32" + tile);
}

// The kernel with a number of iterations that `operations` compute as %n.
std::string with_iterations(const std::string &operations) {
  return with(two_dots(), "%sum = for_loop %K,", operations + "\n%sum = for_loop %n,");
}

std::optional<Expr> cost_of(const std::string &text, int blocks_per_sm = 1,
                            const std::optional<LoopDivision> &division = {}) {
  const ir::Function canonical = canonical_form(parsed(text));
  return cost_of_loops(canonical,
                       {.kind = Schedule::Kind::warp_specialized, .blocks_per_sm = blocks_per_sm},
                       *find_gpu("90a"), division);
}

// In nanoseconds, on 132 SMs. All parameters, such as the iterations, are `n`.
int64_t cost(const std::string &text, int blocks_per_sm, int64_t programs, int64_t n) {
  const std::optional<Expr> found = cost_of(text, blocks_per_sm);
  REQUIRE(found);
  return value_of(*found, programs, n);
}

} // namespace

TEST_CASE("loop cost: a value by hand") {
  const LoopTimes &times = find_gpu("90a")->costs->loops;
  // A block has 4 consumer warps. Of 64 x 64 elements, an iteration computes one cast, and two dots
  // with 64 products per element. The loads of A and B, which happen in each iteration, and the store of
  // C have 2 bytes each.
  constexpr double elements = 64 * 64, threads = 128;
  auto by_hand = [&](double waves, double busiest, double iterations) {
    const double of_thread = elements / threads * times.of_thread_alone,
                 of_block = elements * times.of_element + 2 * 64 * elements * times.multiplied +
                            2 * 2 * elements * times.of_loaded_byte;
    return double(times.launch) + waves * double(times.rest) +
           busiest * 3 * 2 * elements / double(times.bytes_per_ns) +
           iterations * (waves * of_thread + busiest * of_block);
  };
  auto check = [&](int blocks_per_sm, int64_t programs, int64_t n, double expected) {
    CAPTURE(programs);
    const double found = double(cost(two_dots(), blocks_per_sm, programs, n));
    CHECK(found == doctest::Approx(expected).epsilon(0.001));
  };
  check(1, 132, 10, by_hand(1, 1, 10));
  check(1, 1, 10, by_hand(1, 1, 10));
  check(1, 133, 10, by_hand(2, 2, 10));
  check(3, 133, 10, by_hand(1, 2, 10));
  check(3, 132 * 7, 1000, by_hand(3, 7, 1000));
  check(1, 132, 0, by_hand(1, 1, 0));
}

TEST_CASE("loop cost: programs beyond a full wave cost more") {
  for (int blocks : {1, 2, 3}) {
    CAPTURE(blocks);
    const int64_t wave = 132 * blocks;
    CHECK(cost(two_dots(), blocks, 1, 100) == cost(two_dots(), blocks, 132, 100));
    CHECK(cost(two_dots(), blocks, wave, 100) < cost(two_dots(), blocks, wave + 1, 100));
    CHECK(cost(two_dots(), blocks, wave + 1, 100) < cost(two_dots(), blocks, 2 * wave + 2, 100));
  }
}

TEST_CASE("loop cost: more blocks per SM need fewer waves") {
  for (int64_t programs : {133, 264, 1000, 100000}) {
    CAPTURE(programs);
    CHECK(cost(two_dots(), 2, programs, 100) < cost(two_dots(), 1, programs, 100));
  }
  CHECK(cost(two_dots(), 3, 132, 100) == cost(two_dots(), 1, 132, 100)); // one wave in each case
  CHECK(cost(two_dots(), 3, 264, 100) == cost(two_dots(), 2, 264, 100));
}

TEST_CASE("loop cost: iterations that depend on the program have the mean of first and last one") {
  // Program i runs i + 1 iterations, as in causal attention.
  const std::string growing =
      with_iterations("%once = constant {value = 1} : i32\n %n = add %pm, %once : i32");
  CHECK(cost(growing, 1, 131, 9) == cost(two_dots(), 1, 131, 66)); // 1 to 131
  CHECK(cost(growing, 1, 1, 9) == cost(two_dots(), 1, 1, 1));
  // From many to few iterations.
  const std::string shrinking =
      with_iterations("%all = num_programs {axis = 0} : i32\n %n = sub %all, %pm : i32");
  CHECK(cost(shrinking, 1, 131, 9) == cost(growing, 1, 131, 9));
  // The same in all programs.
  CHECK(cost(with_iterations("%n = add %K, %K : i32"), 1, 131, 9) == cost(two_dots(), 1, 131, 18));
}

TEST_CASE("loop cost: unknown if the host cannot compute the iterations") {
  CHECK(cost_of(two_dots()));
  const std::string computed = with_iterations("%n = cast %f : i32");
  const std::string text = with(computed, "%K: i32", "%f: f32");
  CHECK_FALSE(cost_of(text));
  // The schedule exists without a cost.
  const Found best = schedules(text)[0];
  CHECK(best.is_warp_specialized());
  CHECK_FALSE(best.cost);
  CHECK_FALSE(cost_of(with(with_iterations("%n = load %N : i32"), "%K: i32", "%N: ptr<i32>")));
}

TEST_CASE("loop cost: the schedule of small tiles has several blocks per SM") {
  for (const auto &[size, name, blocks] : {std::tuple(64, "warp-specialized, 3 blocks per SM", 3),
                                           std::tuple(128, "warp-specialized", 1)}) {
    CAPTURE(size);
    // Behind the two launches that divide the loop.
    const Found best = schedules(two_dots(size))[2];
    CHECK(text_of(best) == name);
    CHECK(best.blocks_per_sm == blocks);
    REQUIRE(best.cost);
    CHECK(value_of(*best.cost, 1000, 100) == cost(two_dots(size), blocks, 1000, 100));
  }
}

TEST_CASE("loop cost: blocks that share a loop have their part of it") {
  // In parts of eight iterations, or less in the last one.
  auto in_parts = [](int64_t parts, int64_t bytes, int64_t programs, int64_t n) {
    const LoopDivision division = {Expr::constant(parts), Expr::constant((n + parts - 1) / parts),
                                   bytes};
    return value_of(*cost_of(two_dots(), 3, division), programs, n);
  };
  for (int64_t programs : {1, 40, 132, 1000}) {
    CAPTURE(programs);
    CHECK(in_parts(1, 0, programs, 80) == cost(two_dots(), 3, programs, 80));
    CHECK(in_parts(10, 0, programs, 80) == cost(two_dots(), 3, 10 * programs, 8));
    CHECK(in_parts(10, 0, programs, 80) == in_parts(10, 0, programs, 79));
  }
  // Each block stores a partial.
  const int64_t bytes = 64 * 64 * 4, per_ns = find_gpu("90a")->costs->loops.bytes_per_ns;
  for (int64_t busiest : {1, 3, 30}) {
    const int64_t programs = 132 * busiest / 3;
    const int64_t more = in_parts(3, bytes, programs, 80) - in_parts(3, 0, programs, 80);
    CHECK(double(more) == doctest::Approx(double(busiest * bytes / per_ns)).epsilon(0.02));
  }
  // The mean of all programs, but not more than a part has.
  const std::string growing =
      with_iterations("%once = constant {value = 1} : i32\n %n = add %pm, %once : i32");
  for (int64_t part : {20, 66, 1000}) {
    const LoopDivision division = {Expr::constant(3), Expr::constant(part), 0};
    CHECK(value_of(*cost_of(growing, 1, division), 131, 9) ==
          cost(two_dots(), 1, 3 * 131, std::min<int64_t>(part, 66)));
  }
}

TEST_CASE("loop cost: blocks share long loops of few programs") {
  const std::vector<Found> found = schedules(attention_kernel());
  REQUIRE(found.size() > 2);
  const Found &first = found[0], &whole = found[2];
  REQUIRE(first.work == Schedule::Work::partials);
  CHECK(first.kind == Schedule::Kind::warp_specialized);
  CHECK(first.blocks_per_sm == 3);
  CHECK(found[1].work == Schedule::Work::reduction);
  CHECK_FALSE(found[1].cost);
  REQUIRE(whole.work == Schedule::Work::all);
  auto is_cheaper = [&](int64_t programs, int64_t n) {
    return value_of(*first.cost, programs, n) < value_of(*whole.cost, programs, n);
  };
  CHECK(is_cheaper(1, 1024));
  CHECK(is_cheaper(16, 1024));
  CHECK(is_cheaper(64, 100000));
  // Few keys, or a block for each place.
  CHECK_FALSE(is_cheaper(1, 0));
  CHECK_FALSE(is_cheaper(1, 1));
  CHECK_FALSE(is_cheaper(1, 4));
  CHECK_FALSE(is_cheaper(396, 1024));
  CHECK_FALSE(is_cheaper(100000, 1024));
}
