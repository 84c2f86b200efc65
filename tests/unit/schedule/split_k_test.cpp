// Tests schedule/split_k.cpp: split-K through a workspace.

#include "found_schedules.h"

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The two launches of a split-K schedule with partials, if any.
std::optional<std::pair<Schedule, Schedule>> parts(const std::string &text) {
  std::vector<Found> all = schedules(text);
  for (size_t i = 0; i < all.size(); i++)
    if (all[i].work == Schedule::Work::partials)
      return std::pair(all[i], all[i + 1]);
  return std::nullopt;
}

} // namespace

TEST_CASE("split_k: partials use the best tile") {
  auto found = parts(matmul_kernel());
  REQUIRE(found);
  auto &[first, second] = *found;
  CHECK(text_of(first) == "64x128x64 warp-specialized, split-K partials");
  CHECK(first.is_warp_specialized());
  CHECK(first.coarsening == std::vector<int64_t>{1, 2, 1});
  CHECK(text_of(second) == "64x128x64 split-K reduction");
  CHECK(second.coarsening == std::vector<int64_t>{1, 1, 1});
  CHECK(second.division == std::vector<int64_t>{8, 1, 1});
  CHECK(second.k_tile == first.k_tile);
  for (const Schedule &schedule : {first, second}) {
    REQUIRE(schedule.partials);
    CHECK(schedule.partials->coarsening == first.coarsening);
    CHECK(schedule.partials->axes == std::vector<size_t>{0, 1});
  }
  // A tile of 64 rows cannot hold programs of 128 rows.
  found = parts(matmul_kernel(128, 64, 64));
  REQUIRE(found);
  CHECK(text_of(found->first) == "128x128x64 warp-specialized, split-K partials");
  // Larger programs, and programs without known rows, have no tile.
  CHECK_FALSE(parts(matmul_kernel(128, 256, 64)));
  CHECK_FALSE(parts(alone(matmul_kernel(64, 128, 64))));
  CHECK_FALSE(parts(matmul_kernel(64, 64, 64, "f32")));
}

TEST_CASE("split_k: copies through registers") {
  const std::string odd = with(matmul_kernel(), "%lda: i64 multiple_of 8", "%lda: i64");
  const std::vector<Found> found = schedules(odd);
  REQUIRE(found.size() > 3);
  const Found &first = found[found.size() - 3], &second = found[found.size() - 2];
  CHECK(text_of(first) == "split loop, partials");
  CHECK(first.blocks_per_sm == 4);
  REQUIRE(first.copies);
  CHECK(first.copies->reduction == second);
  CHECK(text_of(second) == "split-K reduction");
  CHECK(second.division == std::vector<int64_t>{8, 1, 1});
  for (const Schedule &schedule : {first, second}) {
    REQUIRE(schedule.partials);
    CHECK(schedule.partials->coarsening == std::vector<int64_t>{1, 1, 1});
    CHECK(schedule.partials->axes == std::vector<size_t>{0, 1});
  }
  // It pays for few programs with many iterations.
  auto cost = [&](const Found &schedule, int64_t programs, int64_t iterations) {
    return value_of(*schedule.cost, programs, iterations);
  };
  CHECK(cost(first, 2, 200) < cost(found.back(), 2, 200) / 4);
  CHECK(cost(first, 2, 4) > cost(found.back(), 2, 4));
  CHECK(cost(first, 132, 200) > cost(found.back(), 132, 200) / 4);

  auto has_split = [](const std::string &text) {
    std::vector<Found> all = schedules(text);
    return std::any_of(all.begin(), all.end(), [](const Found &schedule) {
      return schedule.kind == Schedule::Kind::split_loop;
    });
  };
  CHECK_FALSE(has_split(matmul_kernel())); // TMA copies
  CHECK_FALSE(has_split(with(odd, "{number = 0.0}", "{number = 1.0}")));
}
