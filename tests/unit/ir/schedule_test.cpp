// Tests ir/schedule.cpp: the text of each kind of schedule. Users see this text in all output.

#include "ir/schedule.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

constexpr BlockTile tile = {128, 256, 64};

Schedule warp_specialized() { return {.kind = Schedule::Kind::warp_specialized, .tile = tile}; }

} // namespace

TEST_CASE("text_of: baseline has no tile") {
  CHECK(text_of(Schedule{}) == "baseline");
  CHECK(text_of(Schedule{.tile = tile, .k_tile = 32}) == "baseline");
}

TEST_CASE("text_of: other schedules have tile and kind") {
  CHECK(text_of(Schedule{.kind = Schedule::Kind::multistage, .tile = tile}) ==
        "128x256x64 multistage");
  CHECK(text_of(Schedule{.kind = Schedule::Kind::multistage_wgmma, .tile = tile}) ==
        "128x256x64 multistage wgmma");
  CHECK(text_of(warp_specialized()) == "128x256x64 warp-specialized");
  CHECK(text_of(Schedule{.kind = Schedule::Kind::split_k_reduction, .tile = tile}) ==
        "128x256x64 split-K reduction");
}

TEST_CASE("text_of: batched has the number of programs") {
  Schedule schedule = {.kind = Schedule::Kind::batched, .coarsening = {8, 1, 1}};
  CHECK(text_of(schedule) == "8 programs per block");
  schedule.tile = tile; // only matmuls show it
  CHECK(text_of(schedule) == "8 programs per block");
}

TEST_CASE("text_of: a program per warp, whatever the number of warps") {
  Schedule schedule = {.kind = Schedule::Kind::program_per_warp, .coarsening = {8, 1, 1}};
  CHECK(text_of(schedule) == "program per warp");
  schedule.iterations = 5;
  CHECK(text_of(schedule) == "program per warp, 5 iterations");
}

TEST_CASE("text_of: says how a program reuses tiles of several loops") {
  CHECK(text_of(Schedule{.staged = true}) == "staged");
  CHECK(text_of(Schedule{.iterations = 1}) == "one iteration");
  CHECK(text_of(Schedule{.iterations = 3}) == "3 iterations");
  CHECK(text_of(Schedule{.cluster = 8}) == "cluster of 8");
  CHECK(text_of(Schedule{.cluster = 8, .staged = true}) == "cluster of 8, staged");
  CHECK(text_of(Schedule{.cluster = 4, .iterations = 1}) == "cluster of 4, one iteration");
  CHECK(text_of(
            Schedule{.kind = Schedule::Kind::batched, .coarsening = {64, 1, 1}, .iterations = 1}) ==
        "64 programs per block, one iteration");
  CHECK(text_of(Schedule{.kind = Schedule::Kind::batched,
                         .coarsening = {64, 1, 1},
                         .iterations = 1,
                         .joined_rows = true}) ==
        "64 programs per block, one iteration, joined rows");
}

TEST_CASE("text_of: shows the differences within one kind") {
  Schedule schedule = warp_specialized();
  schedule.split_k = 4;
  CHECK(text_of(schedule) == "128x256x64 warp-specialized, split-K 4");
  schedule = warp_specialized();
  schedule.consumer_groups = 2;
  CHECK(text_of(schedule) == "128x256x64 warp-specialized, ping-pong");
  schedule = warp_specialized();
  schedule.producer_warps = 4;
  CHECK(text_of(schedule) == "128x256x64 warp-specialized, without TMA");
  // Without the tile of a matmul.
  schedule = {.kind = Schedule::Kind::warp_specialized, .blocks_per_sm = 2};
  CHECK(text_of(schedule) == "warp-specialized, 2 blocks per SM");
  schedule.blocks_per_sm = 1;
  CHECK(text_of(schedule) == "warp-specialized");
  schedule = warp_specialized();
  schedule.stream_k = true;
  CHECK(text_of(schedule) == "128x256x64 warp-specialized, stream-K");
  schedule = warp_specialized();
  schedule.work = Schedule::Work::partials;
  schedule.partials = SplitKPartials{};
  CHECK(text_of(schedule) == "128x256x64 warp-specialized, split-K partials");
  schedule = {.kind = Schedule::Kind::warp_specialized, .work = Schedule::Work::partials};
  CHECK(text_of(schedule) == "warp-specialized, split loop, partials");
}

TEST_CASE("Schedule: a baseline reuses no tiles, and has no clusters") {
  CHECK(Schedule{}.is_baseline());
  CHECK_FALSE(Schedule{.staged = true}.is_baseline());
  CHECK_FALSE(Schedule{.iterations = 1}.is_baseline());
  CHECK_FALSE(Schedule{.cluster = 2}.is_baseline());
  CHECK_FALSE(warp_specialized().is_baseline());
}

TEST_CASE("Schedule: is_first and is_second mark the two launches") {
  Schedule schedule = warp_specialized();
  CHECK_FALSE(schedule.is_first());
  CHECK_FALSE(schedule.is_second());
  schedule.work = Schedule::Work::partials;
  CHECK(schedule.is_first());
  CHECK_FALSE(schedule.is_second());
  schedule.work = Schedule::Work::reduction;
  CHECK(schedule.is_second());
  CHECK_FALSE(schedule.is_first());
}
