// Tests schedule/: the candidate schedules of a matmul, and each reason to reject a schedule.

#include "found_schedules.h"

#include "passes/partitions.h"
#include "passes/pipeline.h"
#include "schedule/missed_schedule.h"

#include <algorithm>
#include <cctype>

using namespace tritonc;
using namespace tritonc::test;

namespace {

bool specializes(const std::string &text, const char *gpu = "90a") {
  return schedules(text, gpu)[0].is_warp_specialized();
}

// The names of the warp-specialized schedules that do all of the work.
std::vector<std::string> names(const std::string &text) {
  std::vector<std::string> names;
  for (const Found &schedule : schedules(text))
    if (schedule.is_warp_specialized() && schedule.work == Schedule::Work::all)
      names.push_back(text_of(schedule));
  return names;
}

// has_maps: TMA can load the operands. has_threads: a schedule exists in which threads copy them.
bool has_maps(const std::string &text) {
  Found best = schedules(text)[0];
  return best.is_warp_specialized() && !best.producer_warps;
}
bool has_threads(const std::string &text) {
  for (const Found &schedule : schedules(text))
    if (schedule.producer_warps)
      return true;
  return false;
}

// The operand A of the matmul is the transpose of the loaded tile.
std::string transposed_a() {
  std::string text = with(matmul_kernel(), "%at.a, %lda, %one", "%at.a, %one, %lda");
  text = with(text, "%a = load %va : f16[64,64]",
              "%stored = load %va : f16[64,64]\n %a = trans %stored {perm = [1,0]} : f16[64,64]");
  return text;
}

} // namespace

TEST_CASE("candidate_schedules: warp-specialized needs f16/bf16 and TMA") {
  for (const char *elem : {"f16", "bf16"})
    CHECK(specializes(matmul_kernel(64, 64, 64, elem)));
  for (const char *gpu : {"75", "80", "89", "90", "100", "120"}) {
    CAPTURE(gpu);
    CHECK(specializes(matmul_kernel(), gpu) == find_gpu(gpu)->has_tensor_maps);
  }
  CHECK_FALSE(specializes(matmul_kernel(), "80"));
}

TEST_CASE("candidate_schedules: mma warp-specialized has one tile") {
  struct {
    const char *gpu, *name;
    int64_t step, pieces;
  } cases[] = {{"90", "128x256x64 warp-specialized", 64, 2},
               {"100a", "128x256x64 warp-specialized", 64, 2},
               {"120", "128x256x32 warp-specialized", 32, 1},
               {"121f", "128x256x32 warp-specialized", 32, 1}};
  for (const auto &[gpu, name, step, pieces] : cases)
    for (int k : {16, 64}) { // the K tile can also be smaller than the source's
      CAPTURE(gpu);
      CAPTURE(k);
      std::vector<Found> found = schedules(matmul_kernel(64, 64, k), gpu);
      CHECK(text_of(found[0]) == name);
      CHECK(found[0].k_tile == step);
      CHECK(found[0].epilogue_stages == pieces);
      CHECK(found[0].coarsening == std::vector<int64_t>{2, 4, 1});
      CHECK_FALSE(found[0].producer_warps);
      CHECK(found[0].split_k == 1);
      // Another schedule follows for launches without a tensor map. The host compares their costs.
      REQUIRE(found.size() >= 2);
      for (const Found &schedule : found)
        CHECK(schedule.cost);
      CHECK_FALSE(found[1].is_warp_specialized());
    }
  // wgmma keeps two epilogue stages.
  CHECK(schedules(matmul_kernel())[0].epilogue_stages == 2);
}

TEST_CASE("candidate_schedules: mma rejects operands it cannot load") {
  auto is = [](const std::string &text) { return specializes(text, "90"); };
  const std::string whole =
      with(with(matmul_kernel(64, 64, 64, "i8"), "{number = 0.0} : f32", "{value = 0} : i32"),
           ": f32", ": i32");
  CHECK(is(b_transposed(whole)));
  CHECK_FALSE(is(whole)); // contiguous along N
  CHECK_FALSE(is(a_transposed(b_transposed(whole))));
  CHECK_FALSE(is(matmul_kernel(64, 64, 32, "f32"))); // exact
  CHECK_FALSE(is(matmul_kernel(64, 64, 32, "f64")));
  CHECK_FALSE(is(matmul_kernel(256, 64, 32))); // no block tile is a multiple
  CHECK_FALSE(is(alone(matmul_kernel())));
  CHECK_FALSE(is(with(matmul_kernel(), "%at.a, %lda, %one", "%at.a, %lda, %lda")));
  CHECK(is(a_transposed(matmul_kernel())));
  CHECK(is(b_transposed(matmul_kernel())));
}

TEST_CASE("candidate_schedules: multistage has the longest K tile that fits") {
  auto coarsened = [](const std::string &text, const char *gpu) {
    for (const Found &schedule : schedules(text, gpu))
      if (!schedule.is_warp_specialized())
        return text_of(schedule);
    return std::string();
  };
  for (const char *elem : {"f16", "bf16"})
    for (const char *gpu : {"80", "90", "100"}) {
      CHECK(coarsened(matmul_kernel(128, 128, 64, elem), gpu) == "128x256x64 multistage");
      CHECK(coarsened(matmul_kernel(32, 64, 16, elem), gpu) == "128x256x64 multistage");
    }
  for (int step : {16, 32, 64})
    CHECK(coarsened(matmul_kernel(64, 64, step), "89") == "128x256x32 multistage");
  std::vector<Found> found = schedules(matmul_kernel(64, 128, 16), "80");
  REQUIRE(found.size() == 2);
  CHECK(found[0].coarsening == std::vector<int64_t>{2, 2, 1});
  CHECK(found[0].k_tile == 64);
  CHECK(found[0].cost);
}

TEST_CASE("candidate_schedules: multistage needs tensor cores and cp.async") {
  auto is_plain = [](const std::string &text, const char *gpu) {
    return schedules(text, gpu).size() == 1;
  };
  CHECK(is_plain(matmul_kernel(), "75"));            // no cp.async
  CHECK(is_plain(matmul_kernel(64, 64, 128), "89")); // no room for three stages
  std::string bytes = with(matmul_kernel(64, 64, 64, "i8"), "f32", "i32");
  bytes = with(bytes, "number = 0.0", "value = 0");
  CHECK(is_plain(bytes, "80")); // baseline is faster
  CHECK(schedules(bytes, "80")[0].cost);
  CHECK(is_plain(matmul_kernel(64, 64, 32, "f32"), "80")); // exact
  CHECK(is_plain(matmul_kernel(128, 256, 64), "80"));      // already large enough
  CHECK(is_plain(alone(matmul_kernel()), "80"));
  CHECK(is_plain(with(matmul_kernel(), "%at.a, %lda, %one", "%at.a, %lda, %lda"), "80"));
}

TEST_CASE("candidate_schedules: fma K tile has at most 1000 instructions") {
  auto step = [](const std::string &text, const char *gpu) {
    return schedules(text, gpu).back().k_tile;
  };
  for (const char *gpu : {"80", "90", "90a", "120"}) {
    CHECK(step(matmul_kernel(128, 128, 64, "f32"), gpu) == 8); // 128 accumulators per thread
    CHECK(step(matmul_kernel(128, 64, 64, "f32"), gpu) == 16);
  }
  CHECK(step(matmul_kernel(128, 128, 8, "f32"), "80") == 0);
  CHECK(step(matmul_kernel(64, 64, 32, "f32"), "80") == 0);
  CHECK(step(matmul_kernel(128, 128, 64, "f32"), "75") == 0);
  CHECK(step(matmul_kernel(128, 128, 64), "80") == 0);
}

TEST_CASE("candidate_schedules: mma K tile leaves room for two blocks") {
  auto step = [](const std::string &text, const char *gpu) {
    return schedules(text, gpu).back().k_tile;
  };
  CHECK(step(matmul_kernel(128, 128, 64), "89") == 32); // 64 KiB of 99
  CHECK(step(matmul_kernel(128, 64, 64), "89") == 0);
  CHECK(step(matmul_kernel(128, 128, 32), "89") == 0);
  CHECK(step(matmul_kernel(128, 128, 64), "75") == 32); // 64 KiB of 64
  CHECK(step(matmul_kernel(128, 128, 64), "80") == 0);
  CHECK(step(matmul_kernel(256, 256, 64), "75") == 0); // no K tile leaves room for two
}

TEST_CASE("candidate_schedules: baseline has a cost with tensor cores") {
  auto cost = [](int m, int n, const char *gpu, const char *elem) {
    return schedules(matmul_kernel(m, n, 64, elem), gpu).back().cost;
  };
  for (const char *gpu : {"75", "80", "90"}) {
    CHECK(cost(128, 128, gpu, "f16"));
    CHECK_FALSE(cost(128, 128, gpu, "f32"));
  }
  CHECK(cost(64, 64, "80", "bf16"));
}

TEST_CASE("candidate_schedules: cost needs host-known iteration counts") {
  std::string text = row_kernel(64);
  CHECK(schedules(text).back().cost);
  CHECK_FALSE(
      schedules(with(text, "%iterations = div %more, %width", "%iterations = mul %row, %width"))
          .back()
          .cost);
  // Scalar code has no cost.
  CHECK_FALSE(schedules("func @f(%p: ptr<f32>) {\n %a = load %p : f32\n store %p, %a\n return\n}")
                  .back()
                  .cost);
}

TEST_CASE("candidate_schedules: nothing but a matmul is warp-specialized") {
  CHECK_FALSE(specializes("func @f(%p: ptr<f32>[64]) {\n %a = load %p : f32[64]\n"
                          " store %p, %a\n return\n}"));
}

TEST_CASE("candidate_schedules: wgmma tile limits") {
  struct {
    int m, n, k;
    bool fits;
  } cases[] = {
      {64, 64, 64, true},    {64, 16, 16, true},   {64, 256, 64, true}, {128, 64, 64, true},
      {128, 256, 64, true},  {256, 128, 64, true}, {64, 8, 64, false},  {64, 64, 8, true},
      {64, 512, 16, false},  // an instruction has 256 columns
      {32, 64, 64, true},    // the columns take the place of the rows
      {32, 32, 64, false},   // an instruction has 64 rows
      {256, 256, 64, false}, // 256 accumulators per thread
      {512, 128, 64, false},
  };
  for (const auto &[m, n, k, fits] : cases) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CHECK(specializes(alone(matmul_kernel(m, n, k))) == fits);
  }
}

TEST_CASE("candidate_schedules: multistage wgmma needs a small 16-bit tile") {
  auto together = [](const std::string &text, const char *gpu = "90a") {
    for (const Found &schedule : schedules(text, gpu))
      if (schedule.kind == Schedule::Kind::multistage_wgmma)
        return text_of(schedule);
    return std::string();
  };
  for (const char *elem : {"f16", "bf16"}) {
    CHECK(together(matmul_kernel(64, 32, 64, elem)) == "64x32x128 multistage wgmma");
    CHECK(together(matmul_kernel(16, 16, 16, elem)) == "64x32x128 multistage wgmma");
  }
  CHECK(together(matmul_kernel(64, 64, 64)) == "");         // larger
  CHECK(together(matmul_kernel(64, 32, 64, "e4m3")) == ""); // not measured
  CHECK(together(with(matmul_kernel(64, 32, 64), "lda: i64 multiple_of 8",
                      "lda: i64 multiple_of 2")) == "");  // 4 bytes at a time
  CHECK(together(matmul_kernel(64, 32, 64), "80") == ""); // no wgmma
  CHECK(together(with(matmul_kernel(64, 32, 64), "lda: i64 multiple_of 8", "lda: i64")) ==
        ""); // no cp.async
}

TEST_CASE("candidate_schedules: programs with few rows get multistage") {
  auto alone_name = [](const std::string &text, const char *gpu = "90a") {
    for (const Found &schedule : schedules(text, gpu))
      if (schedule.kind == Schedule::Kind::multistage)
        return text_of(schedule);
    return std::string();
  };
  CHECK(alone_name(matmul_kernel(16, 64, 64)) == "16x64x128 multistage");
  CHECK(alone_name(matmul_kernel(32, 64, 16)) == "32x64x128 multistage");
  CHECK(alone_name(with(matmul_kernel(16, 64, 64), "lda: i64 multiple_of 8",
                        "lda: i64 multiple_of 2")) == ""); // 4 bytes at a time
  CHECK(alone_name(matmul_kernel(64, 64, 64)) == "");      // enough rows for wgmma
  CHECK(alone_name(matmul_kernel(16, 64, 64, "e4m3")) == "");
  CHECK(alone_name(alone(matmul_kernel(16, 64, 64))) == ""); // no cost
}

TEST_CASE("candidate_schedules: coarsens to block tiles, largest first") {
  using Names = std::vector<std::string>;
  const Names all = {"128x256x64 warp-specialized",
                     "128x256x64 warp-specialized, stream-K",
                     "128x256x64 warp-specialized, multicast 2",
                     "128x128x64 warp-specialized, ping-pong",
                     "64x128x64 warp-specialized",
                     "128x64x64 warp-specialized, ping-pong",
                     "64x64x128 warp-specialized",
                     "64x64x128 warp-specialized, multicast 4",
                     "64x32x128 warp-specialized",
                     "64x64x128 warp-specialized, split-K 4",
                     "64x32x128 warp-specialized, split-K 4",
                     "64x16x128 warp-specialized",
                     "64x16x128 warp-specialized, split-K 4",
                     "16x64x128 warp-specialized",
                     "16x64x128 warp-specialized, split-K 4"};
  CHECK(names(matmul_kernel(64, 64, 64)) == all);
  CHECK(names(matmul_kernel(32, 16, 64)) == all);
  CHECK(names(matmul_kernel(128, 128, 64)) == Names{all[0], all[1], all[2], all[3]});
  CHECK(names(matmul_kernel(128, 64, 64)) == Names{all[0], all[1], all[2], all[3], all[5]});
}

TEST_CASE("candidate_schedules: multicast only if TMA does all accesses") {
  auto multicasts = [](const std::string &text) {
    std::vector<std::string> found = names(text);
    return std::count(found.begin(), found.end(), "128x256x64 warp-specialized, multicast 2");
  };
  CHECK(multicasts(matmul_kernel(64, 64, 64)) == 1);
  // A block may have a tile outside of the grid, where threads must not load.
  std::string loads = with(matmul_kernel(64, 64, 64), "%result = cast %sum : f16[64,64]",
                           "%vbias = view %bias, %column, %one : view<f32>[64]\n"
                           "%each = load %vbias : f32[64]\n"
                           "%row.of.each = expand %each {axis = 0} : f32[1,64]\n"
                           "%added = broadcast %row.of.each : f32[64,64]\n"
                           "%more = add %sum, %added : f32[64,64]\n"
                           "%result = cast %more : f16[64,64]");
  CHECK(multicasts(with(loads, "%C: ptr<f16>", "%C: ptr<f16>, %bias: ptr<f32>")) == 0);
}

TEST_CASE("candidate_schedules: stream-K needs a zero start, no stores before it, no loaded tile") {
  auto has_stream_k = [](const std::string &text) {
    int found = 0;
    for (const Found &schedule : schedules(text)) {
      found += schedule.stream_k;
      CHECK(schedule.stream_k == contains(text_of(schedule), ", stream-K"));
      CHECK((!schedule.stream_k || (schedule.cost && schedule.consumer_groups == 1 &&
                                    schedule.split_k == 1 && schedule.multicast == 1)));
    }
    return found == 1;
  };
  CHECK(has_stream_k(matmul_kernel()));
  CHECK(has_stream_k(matmul_kernel(128, 128, 64, "bf16")));
  CHECK_FALSE(has_stream_k(alone(matmul_kernel())));
  CHECK_FALSE(has_stream_k(with(matmul_kernel(), "{number = 0.0}", "{number = 1.0}")));
  // Each part of a tile would store it.
  const std::string before = with(matmul_kernel(), "%K: i32", "%K: i32, %D: ptr<f32>");
  CHECK_FALSE(
      has_stream_k(with(before, "%sum = for_loop", "store %D, %nothing\n %sum = for_loop")));
  // The number of K iterations differs between programs.
  const std::string unknown = with(matmul_kernel(), "for_loop %K", "for_loop %pk");
  CHECK_FALSE(
      has_stream_k(with(unknown, "%nothing =", "%pk = program_id {axis = 2} : i32\n %nothing =")));
  // Only the block with the last part needs the tile of the epilogue.
  const std::string loads = with(with(matmul_kernel(), "store %vc, %result",
                                      "%vd = view %D, %at.c, %ldc, %one : view<f16>[64,64]\n"
                                      "%each = load %vd : f16[64,64]\n"
                                      "%more = add %result, %each : f16[64,64]\n"
                                      "store %vc, %more"),
                                 "%C: ptr<f16>", "%C: ptr<f16>, %D: ptr<f16>");
  CHECK(specializes(loads));
  CHECK_FALSE(has_stream_k(loads));
}

TEST_CASE("candidate_schedules: one schedule without a cost") {
  using Names = std::vector<std::string>;
  CHECK(names(alone(matmul_kernel(64, 64, 64))) == Names{"64x64x128 warp-specialized"});
  CHECK(names(alone(matmul_kernel(128, 64, 64))) == Names{"128x64x64 warp-specialized, ping-pong"});
  CHECK(names(alone(matmul_kernel(64, 256, 64))) == Names{"64x256x64 warp-specialized"});
  CHECK(names(matmul_kernel(256, 64, 64)) == Names{"256x64x64 warp-specialized"});
  // The host does not know the number of K iterations.
  std::string unknown = with(matmul_kernel(), "for_loop %K", "for_loop %pk");
  unknown = with(unknown, "%nothing =", "%pk = program_id {axis = 2} : i32\n %nothing =");
  CHECK(names(unknown) == Names{"128x256x64 warp-specialized"});
  CHECK_FALSE(schedules(unknown)[0].cost);
  CHECK(schedules(unknown)[0].k_tile == 0);
}

TEST_CASE("candidate_schedules: rejects a loaded iteration count") {
  std::string loaded = with(matmul_kernel(), "%K: i32", "%length: ptr<i32>");
  CHECK_FALSE(specializes(with(loaded, "%nothing =", "%K = load %length : i32\n %nothing =")));
}

TEST_CASE("candidate_schedules: coarsening follows the grid axis of the tile") {
  std::vector<Found> found = schedules(matmul_kernel(64, 64, 64));
  CHECK(found[0].coarsening == std::vector<int64_t>{2, 4, 1});
  CHECK(found[6].coarsening == std::vector<int64_t>{1, 1, 1});
  std::string exchanged =
      with(matmul_kernel(), "%pm = program_id {axis = 0}", "%pm = program_id {axis = 2}");
  CHECK(schedules(exchanged)[0].coarsening == std::vector<int64_t>{1, 4, 2});
}

TEST_CASE("candidate_schedules: K tile has at least 128 bytes") {
  CHECK(schedules(matmul_kernel(64, 64, 8))[0].k_tile == 64);
  CHECK(schedules(matmul_kernel(64, 64, 16))[0].k_tile == 64);
  CHECK(schedules(matmul_kernel(64, 64, 64))[0].k_tile == 64);
  CHECK(schedules(matmul_kernel(64, 64, 128))[0].k_tile == 128);
}

TEST_CASE("candidate_schedules: divides small programs only") {
  auto division = [](int rows, int columns) {
    for (const Found &schedule : schedules(matmul_kernel(rows, columns, 64)))
      if (schedule.tile.m == 64 && schedule.tile.n == 32)
        return schedule.division;
    return std::vector<int64_t>();
  };
  CHECK(division(64, 64) == std::vector<int64_t>{1, 2, 1});
  CHECK(division(64, 32).empty()); // the program has this tile
  CHECK(division(64, 128).empty());
}

TEST_CASE("candidate_schedules: keeps the source's K tile") {
  using Names = std::vector<std::string>;
  auto stays = [](const std::string &text, const Names &expected) {
    CAPTURE(text);
    CHECK(names(text) == expected);
    CHECK(schedules(text)[0].k_tile == 0);
  };
  // The loop does other work in each K iteration.
  std::string stores = with(matmul_kernel(64, 256, 16), "%K: i32", "%K: i32, %D: ptr<f16>");
  stores = with(stores, "yield %d", "%z = constant {number = 0.0} : f16\n store %D, %z\n yield %d");
  stays(stores, {"64x256x16 warp-specialized"});
  // The loop carries another value.
  std::string carries =
      with(matmul_kernel(64, 256, 16),
           "%sum = for_loop %K, %start : ", "%last, %sum = for_loop %K, %K, %start : i32, ");
  carries = with(carries, "(%t: i32, ", "(%t: i32, %x: i32, ");
  carries = with(carries, "yield %d", "%y = xor %x, %t : i32\n yield %y, %d");
  carries = with(carries, "%first.c = mul %row, %ldc",
                 "%last.wide = cast %last : i64\n"
                 "%z = add %row, %last.wide : i64\n"
                 "%first.c = mul %z, %ldc");
  stays(alone(carries), {"64x256x16 warp-specialized"});
  // An operand does not advance by its extent.
  for (const char *move : {"%k2 = add %k, %k : i64", "%k2 = add %tk, %zero : i64"}) {
    std::string moves =
        with(matmul_kernel(), "%down = mul %k,", std::string(move) + "\n %down = mul %k2,");
    moves = with(moves, "%one =", "%zero = constant {value = 0} : i64\n %one =");
    stays(moves,
          {"128x256x64 warp-specialized", "128x256x64 warp-specialized, stream-K",
           "128x256x64 warp-specialized, multicast 2", "128x128x64 warp-specialized, ping-pong",
           "64x128x64 warp-specialized", "128x64x64 warp-specialized, ping-pong"});
  }
}

TEST_CASE("candidate_schedules: ping-pong needs equal iteration counts") {
  auto ping_pongs = [](const std::string &text, const char *gpu = "90a") {
    int found = 0;
    for (const Found &schedule : schedules(text, gpu)) {
      found += schedule.consumer_groups > 1;
      CHECK((schedule.consumer_groups > 1) ==
            (text_of(schedule).find(", ping-pong") != std::string::npos));
      if (schedule.consumer_groups > 1) {
        CHECK(schedule.consumer_groups == 2);
        CHECK(schedule.cost);
        CHECK(schedule.split_k == 1);
        CHECK(schedule.work == Schedule::Work::all);
      }
    }
    return found;
  };
  CHECK(ping_pongs(matmul_kernel()) == 2); // 128 x 128 and 128 x 64
  CHECK(ping_pongs(matmul_kernel(128, 128, 16)) == 1);
  CHECK(ping_pongs(matmul_kernel(), "90") == 0);
  // If shared memory has no room for the results of two consumer groups, two warpgroups share one
  // tile.
  std::string stores = with(matmul_kernel(), "store %vc, %result",
                            "store %vc, %result\n store %vc, %result\n store %vc, %result");
  CHECK(ping_pongs(stores) == 0);
  std::vector<std::string> without = names(stores);
  CHECK(std::count(without.begin(), without.end(), "128x128x64 warp-specialized") == 1);
  without = names(matmul_kernel());
  CHECK(std::count(without.begin(), without.end(), "128x128x64 warp-specialized") == 0);
  // 128 x 128 accumulators fill the registers of one warpgroup.
  CHECK(ping_pongs(matmul_kernel(256, 64, 64)) == 0);
  CHECK(ping_pongs(alone(matmul_kernel())) == 0);
  std::string unknown = with(matmul_kernel(), "for_loop %K", "for_loop %pk");
  unknown = with(unknown, "%nothing =", "%pk = program_id {axis = 2} : i32\n %nothing =");
  CHECK(ping_pongs(unknown) == 0);
}

TEST_CASE("candidate_schedules: threads copy an operand read backward") {
  std::string backwards =
      with(matmul_kernel(), "%t.wide = cast %t", "%left = sub %K, %t : i32\n %t.wide = cast %left");
  for (const std::string &text :
       {backwards, with(matmul_kernel(), "add %down, %column", "sub %column, %down")}) {
    CHECK_FALSE(has_maps(text));
    CHECK(has_threads(text));
  }
}

TEST_CASE("candidate_schedules: rejects a tile without room for two stages") {
  CHECK(specializes(matmul_kernel(64, 64, 256)));
  CHECK_FALSE(specializes(matmul_kernel(64, 64, 512)));
  // Five results leave too little room beside the largest tile.
  std::string stores;
  for (int i = 0; i < 5; i++)
    stores += "store %vc, %result\n";
  CHECK(names(with(matmul_kernel(64, 64, 64), "store %vc, %result", stores)) ==
        std::vector<std::string>{"128x128x64 warp-specialized", "64x128x64 warp-specialized",
                                 "64x64x128 warp-specialized", "64x32x128 warp-specialized",
                                 "64x16x128 warp-specialized", "16x64x128 warp-specialized"});
}

TEST_CASE("candidate_schedules: threads copy boxes not 16-byte aligned") {
  auto every = [](int columns) {
    return with(matmul_kernel(), "%column = mul %pn.wide, %tn",
                "%far = constant {value = " + std::to_string(columns) +
                    "} : i64\n %column = mul %pn.wide, %far");
  };
  CHECK(has_maps(every(64)));
  CHECK(has_maps(every(72)));
  for (int columns : {68, 65}) {
    CHECK_FALSE(has_maps(every(columns)));
    CHECK(has_threads(every(columns)));
  }
}

namespace {

// A batch of matmuls: A and C of a program start after %matrix elements, which `first` computes.
std::string batch_of(const std::string &first) {
  std::string text = with(matmul_kernel(), "%pm.wide = cast",
                          "%pb = program_id {axis = 2} : i32\n %pb.wide = cast %pb : i64\n" +
                              first + "\n %pm.wide = cast");
  text = with(text, "%K: i32", "%K: i32, %batch: i64 multiple_of 8, %H: i32, %far: ptr<i64>");
  text = with(text, "%first = mul %row, %lda : i64",
              "%row.a = mul %row, %lda : i64\n %first = add %row.a, %matrix : i64");
  return with(text, "%first.c = mul %row, %ldc : i64",
              "%row.c = mul %row, %ldc : i64\n %first.c = add %row.c, %matrix : i64");
}

} // namespace

TEST_CASE("candidate_schedules: TMA loads the matrices of a batch") {
  CHECK(names(batch_of("%matrix = mul %pb.wide, %batch : i64")) == names(matmul_kernel()));
  CHECK(names(batch_of("%z = div %pb, %H : i32\n %z.wide = cast %z : i64\n"
                       "%matrix = mul %z.wide, %batch : i64")) == names(matmul_kernel()));
  // A loaded stride, and a matrix before the first one.
  for (const char *first : {"%stride = load %far : i64\n %matrix = mul %pb.wide, %stride : i64",
                            "%back = neg %pb.wide : i64\n %matrix = mul %back, %batch : i64"}) {
    CAPTURE(first);
    CHECK_FALSE(has_maps(batch_of(first)));
  }
}

TEST_CASE("matmul cost: a batch reads and writes all of its matrices") {
  // The matrices follow one another along axis 0, and the rows along axis 2.
  std::string text = batch_of("%matrix = mul %pb.wide, %batch : i64");
  text = with(text, "%pm = program_id {axis = 0}", "%pm = program_id {axis = 2}");
  text = with(text, "%pb = program_id {axis = 2}", "%pb = program_id {axis = 0}");
  constexpr int64_t k = 4096, matrix_bytes = 2 * ((64 + 64) * k + 64 * 64);
  const int64_t bytes_per_ns = find_gpu("90a")->costs->bytes_per_ns;
  for (const Found &schedule : schedules(text)) {
    if (!schedule.cost)
      continue;
    CAPTURE(text_of(schedule));
    const int64_t less = value_of(*schedule.cost, 132, k / 64);
    const int64_t more = value_of(*schedule.cost, 264, k / 64);
    CHECK(more - less >= 132 * matrix_bytes / bytes_per_ns);
  }
}

TEST_CASE("candidate_schedules: threads copy if a launch may lack TMA") {
  using Names = std::vector<std::string>;
  CHECK_FALSE(has_threads(matmul_kernel()));
  auto undeclared = [](const std::string &what) {
    return with(matmul_kernel(), what + " multiple_of 8", what);
  };
  auto names_of = [](const std::string &text, bool by_threads) {
    Names found;
    for (const Found &schedule : schedules(text))
      if (schedule.is_warp_specialized() && (schedule.producer_warps > 0) == by_threads)
        found.push_back(text_of(schedule));
    return found;
  };
  std::string strange = undeclared("%lda: i64");
  CHECK(names_of(strange, false) == names_of(matmul_kernel(), false));
  CHECK(names_of(strange, true) == Names{"128x256x64 warp-specialized, without TMA",
                                         "128x128x64 warp-specialized, without TMA",
                                         "64x128x64 warp-specialized, without TMA",
                                         "64x64x64 warp-specialized, without TMA"});
  // These schedules come after the others and before the baseline, which copies through registers.
  bool found = false;
  for (const Found &schedule : schedules(strange)) {
    found |= schedule.producer_warps > 0;
    if (!schedule.partials)
      CHECK(found == (schedule.producer_warps > 0 || !schedule.is_warp_specialized()));
    if (!schedule.producer_warps)
      continue;
    CHECK(schedule.cost);
    CHECK(schedule.split_k == 1);
    CHECK_FALSE(schedule.stream_k);
    CHECK((schedule.work == Schedule::Work::all));
    CHECK_FALSE(schedule.swap_operands);
  }
  CHECK(schedules(strange).back().copies);
  CHECK_FALSE(schedules(matmul_kernel()).back().copies);
  CHECK(schedules(matmul_kernel()).back().cost);
  CHECK(has_threads(undeclared("%ldb: i64")));
  CHECK(has_threads(with(matmul_kernel(), "%B: ptr<f16>", "%B: ptr<f16> aligned 2")));
  CHECK(has_threads(undeclared("%ldc: i64")));
  // Threads copy only operands that they support too.
  CHECK_FALSE(has_threads(matmul_kernel(64, 64, 64, "f32")));
  std::string tf32 =
      with(undeclared("%lda: i64"), "%b, %acc : f32", "%b, %acc {precision = \"tf32\"} : f32");
  CHECK_FALSE(has_threads(with(tf32, "f16", "f32")));
}

TEST_CASE("candidate_schedules: thread-copy tile without a cost is omitted") {
  // With a K tile of 256, there is no room for more than 64 columns. With threads, no such tile is
  // measured. A result with another axis needs no shared memory, so TMA has room for ping-pong.
  auto kernel = [](int step) {
    std::string text = with(matmul_kernel(128, 64, step), "store %vc, %result",
                            "%matrix = expand %result {axis = 0} : f16[1,128,64]\n"
                            "store %vc, %matrix");
    text = with(text, "%at.c, %ldc, %one : view<f16>[128,64]",
                "%at.c, %one, %ldc, %one : view<f16>[1,128,64]");
    return with(text, "%lda: i64 multiple_of 8", "%lda: i64");
  };
  const std::string text = kernel(256);
  REQUIRE(schedules(text)[0].cost);
  CHECK(names(text) == std::vector<std::string>{"128x64x256 warp-specialized, ping-pong"});
  CHECK(has_threads(alone(text))); // no schedule has a cost
  CHECK(has_threads(kernel(128)));
}

TEST_CASE("candidate_schedules: rejects an operand that is stored to") {
  auto stored = [](const std::string &pointer) {
    std::string text = with(alone(matmul_kernel()), "%K: i32", "%K: i32, %D: ptr<f16>, %odd: i1");
    text = with(text, "%one =", "%CD = select %odd, %C, %D : ptr<f16>\n %one =");
    return with(text, "store %vc, %result",
                "store %vc, %result\n %vd = view " + pointer +
                    ", %column, %ldc, %one : view<f16>[64,64]\n store %vd, %result");
  };
  CHECK(specializes(stored("%C")));
  CHECK(specializes(stored("%D")));
  CHECK_FALSE(specializes(stored("%A")));
  CHECK_FALSE(specializes(stored("%B")));
  CHECK_FALSE(specializes(stored("%CD"))); // may be A or B
  CHECK_FALSE(specializes(with(alone(matmul_kernel()), "%nothing =",
                               "%z = constant {number = 0.0} : f16\n store %A, %z\n %nothing =")));
}

TEST_CASE("candidate_schedules: all but second launches have a cost") {
  for (const Found &schedule : schedules(matmul_kernel()))
    CHECK(schedule.cost.has_value() == !schedule.is_second());
}

namespace {

// The number of schedules with split-K in a cluster.
int split_k(const std::string &text) {
  int found = 0;
  for (const Found &schedule : schedules(text)) {
    CHECK((schedule.split_k > 1) ==
          contains(text_of(schedule), "split-K " + std::to_string(schedule.split_k)));
    found += schedule.split_k > 1;
  }
  return found;
}

std::string with_epilogue(const std::string &operations, const std::string &parameters = "") {
  std::string text = with(matmul_kernel(), "%result = cast %sum : f16[64,64]",
                          operations + "\n %result = cast %more : f16[64,64]");
  return with(text, "%C: ptr<f16>", "%C: ptr<f16>" + parameters);
}

} // namespace

TEST_CASE("candidate_schedules: cluster split-K needs a simple epilogue") {
  CHECK(split_k(matmul_kernel()) == 4);
  CHECK(split_k(matmul_kernel(64, 64, 16, "bf16")) == 4);
  CHECK(split_k(with_epilogue(R"(
      %vbias = view %bias, %column, %one : view<f32>[64]
      %each = load %vbias : f32[64]
      %row.of.each = expand %each {axis = 0} : f32[1,64]
      %all = broadcast %row.of.each : f32[64,64]
      %more = add %sum, %all : f32[64,64])",
                              ", %bias: ptr<f32>")) == 4);
  CHECK(split_k(with_epilogue("%more = neg %sum : f32[64,64]")) == 4);
  CHECK(split_k(with_epilogue(R"(
      %greatest = reduce %sum {axis = 1, op = "max"} : f32[64]
      %column.of = expand %greatest {axis = 1} : f32[64,1]
      %all = broadcast %column.of : f32[64,64]
      %more = sub %sum, %all : f32[64,64])")) == 0);
  CHECK(split_k(with_epilogue("%more = trans %sum {perm = [1,0]} : f32[64,64]")) == 0);
  CHECK(split_k(with(matmul_kernel(), "store %vc, %result",
                     "store %vc, %result\n store %vc, %result")) == 0);
}

TEST_CASE("candidate_schedules: split-K needs a zero start and no stores") {
  CHECK(split_k(with(matmul_kernel(), "{number = 0.0}", "{number = 1.0}")) == 0);
  std::string stores = with(matmul_kernel(), "%K: i32", "%K: i32, %D: ptr<f16>");
  stores = with(stores, "yield %d", "%z = constant {number = 0.0} : f16\n store %D, %z\n yield %d");
  CHECK(split_k(stores) == 0);
  std::string before = with(matmul_kernel(), "%K: i32", "%K: i32, %D: ptr<f32>");
  CHECK(split_k(with(before, "%sum = for_loop", "store %D, %nothing\n %sum = for_loop")) == 0);
  CHECK(specializes(with(before, "%sum = for_loop", "store %D, %nothing\n %sum = for_loop")));
}

TEST_CASE("candidate_schedules: split-K needs a changeable K tile") {
  CHECK(split_k(with(matmul_kernel(), "%down = mul %k,",
                     "%k2 = add %k, %k : i64\n %down = mul %k2,")) == 0);
}

TEST_CASE("candidate_schedules: each program of a batch has its cluster") {
  std::string batched = with(matmul_kernel(), "%pn = program_id {axis = 1} : i32",
                             "%pn = program_id {axis = 1} : i32\n"
                             "%pb = program_id {axis = 2} : i32\n"
                             "%pb.wide = cast %pb : i64");
  batched =
      with(batched, "%first = mul %row, %lda : i64",
           "%each = constant {value = 4096} : i64\n %rows.before = mul %pb.wide, %each : i64\n"
           "%row.a = add %row, %rows.before : i64\n %first = mul %row.a, %lda : i64");
  batched = with(batched, "%first.c = mul %row, %ldc : i64",
                 "%row.c = add %row, %rows.before : i64\n %first.c = mul %row.c, %ldc : i64");
  CHECK(split_k(batched) == 4);
}

TEST_CASE("candidate_schedules: split-K needs a cost") {
  CHECK(split_k(alone(matmul_kernel())) == 0);
  CHECK(specializes(alone(matmul_kernel())));
}

TEST_CASE("candidate_schedules: rejects exact f32 and f16 accumulators") {
  CHECK_FALSE(specializes(matmul_kernel(64, 64, 64, "f32")));
  std::string half = with(matmul_kernel(), ": f32[64,64]", ": f16[64,64]");
  half = with(half, "number = 0.0} : f32", "number = 0.0} : f16");
  half = with(half, "%result = cast %sum : f16[64,64]", "%result = neg %sum : f16[64,64]");
  CHECK_FALSE(specializes(half));
}

namespace {

std::string tf32(const std::string &text) {
  return with(text, "%b, %acc : f32", "%b, %acc {precision = \"tf32\"} : f32");
}

// With accumulators and result in i32.
std::string sums_in_i32(std::string text) {
  text = with(text, "{number = 0.0} : f32", "{value = 0} : i32");
  text = with(text, ": f32[", ": i32[");
  return with(text, "multiple_of 8", "multiple_of 16");
}

} // namespace

TEST_CASE("candidate_schedules: tf32 needs an operand contiguous along K") {
  using Names = std::vector<std::string>;
  std::string f32 = matmul_kernel(64, 64, 32, "f32");
  CHECK_FALSE(specializes(b_transposed(f32)));
  const Names high = {"128x256x32 warp-specialized",
                      "128x256x32 warp-specialized, stream-K",
                      "128x256x32 warp-specialized, multicast 2",
                      "128x128x32 warp-specialized, ping-pong",
                      "64x128x32 warp-specialized",
                      "128x64x32 warp-specialized, ping-pong",
                      "64x64x64 warp-specialized",
                      "64x64x64 warp-specialized, multicast 4",
                      "64x32x64 warp-specialized",
                      "64x64x64 warp-specialized, split-K 4",
                      "64x32x64 warp-specialized, split-K 4",
                      "64x16x64 warp-specialized",
                      "64x16x64 warp-specialized, split-K 4",
                      "16x64x64 warp-specialized",
                      "16x64x64 warp-specialized, split-K 4"};
  CHECK(names(tf32(b_transposed(f32))) == high);
  // A comes from registers.
  CHECK(names(tf32(a_transposed(b_transposed(f32)))) == Names(high.begin(), high.end() - 2));
  CHECK(names(tf32(f32)) ==
        Names{"256x128x32 warp-specialized", "256x128x32 warp-specialized, stream-K",
              "256x128x32 warp-specialized, multicast 2", "128x128x32 warp-specialized, ping-pong",
              "128x64x32 warp-specialized", "64x128x32 warp-specialized, ping-pong",
              "64x64x64 warp-specialized", "64x64x64 warp-specialized, multicast 4",
              "32x64x64 warp-specialized", "64x64x64 warp-specialized, split-K 4",
              "32x64x64 warp-specialized, split-K 4", "16x64x64 warp-specialized",
              "16x64x64 warp-specialized, split-K 4"});
  CHECK_FALSE(specializes(tf32(a_transposed(f32))));
  CHECK(find_missed_schedule(parsed(tf32(a_transposed(f32))), *find_gpu("90a"))->kind ==
        RejectReason::not_along_k);
}

TEST_CASE("candidate_schedules: swaps operands for few rows, and if only B needs registers") {
  auto swapped = [](const std::string &text) {
    std::vector<Found> found = schedules(text);
    CHECK(found.size() > 1);
    for (const Schedule &schedule : found)
      CHECK(schedule.swap_operands ==
            (schedule.is_warp_specialized() && (found[0].swap_operands || schedule.tile.m < 64)));
    return found[0].swap_operands;
  };
  std::string f32 = matmul_kernel(64, 64, 32, "f32");
  CHECK(swapped(tf32(f32)));
  CHECK_FALSE(swapped(tf32(b_transposed(f32))));
  CHECK_FALSE(swapped(tf32(a_transposed(b_transposed(f32)))));
  // wgmma reads 16-bit operands from shared memory in either order.
  CHECK_FALSE(swapped(matmul_kernel()));
  CHECK_FALSE(swapped(a_transposed(matmul_kernel())));
  CHECK_FALSE(swapped(b_transposed(matmul_kernel())));
}

TEST_CASE("candidate_schedules: swaps the source's own tile too") {
  using Names = std::vector<std::string>;
  CHECK(names(tf32(alone(matmul_kernel(128, 64, 32, "f32")))) ==
        Names{"128x64x32 warp-specialized"});
  CHECK(names(tf32(alone(matmul_kernel(16, 64, 32, "f32")))) == Names{"16x64x64 warp-specialized"});
  CHECK(names(tf32(alone(matmul_kernel(32, 64, 32, "f32")))) == Names{"32x64x64 warp-specialized"});
  CHECK(names(tf32(alone(matmul_kernel(64, 32, 32, "f32")))).empty()); // 32 rows
}

TEST_CASE("candidate_schedules: i8 needs K-contiguous operands and i32 sums") {
  std::string i8 = b_transposed(matmul_kernel(64, 64, 64, "i8"));
  CHECK(specializes(sums_in_i32(i8)));
  CHECK(text_of(schedules(sums_in_i32(i8))[0]) == "128x256x128 warp-specialized");
  CHECK(split_k(sums_in_i32(i8)) == 4);
  CHECK(specializes(with(sums_in_i32(i8), "%b, %acc :", "%b, %acc {unsigned = 1} :")));
  CHECK_FALSE(specializes(sums_in_i32(matmul_kernel(64, 64, 64, "i8"))));
  CHECK_FALSE(specializes(with(i8, "multiple_of 8", "multiple_of 16"))); // f32 accumulators
  CHECK_FALSE(specializes(sums_in_i32(b_transposed(matmul_kernel(64, 64, 64, "i16")))));
}

TEST_CASE("candidate_schedules: FP8 needs K-contiguous operands and f32 sums") {
  for (const char *elem : {"e4m3", "e5m2"}) {
    std::string text = with(matmul_kernel(64, 64, 64, elem), "multiple_of 8", "multiple_of 16");
    CHECK(specializes(b_transposed(text)));
    CHECK(text_of(schedules(b_transposed(text))[0]) == "128x256x128 warp-specialized");
    CHECK_FALSE(specializes(text));
    CHECK_FALSE(specializes(b_transposed(text), "89"));
  }
}

TEST_CASE("candidates_for_code: kernel with print has only the baseline") {
  ir::Function silent = parsed(matmul_kernel());
  ir::Function speaking =
      parsed(with(matmul_kernel(), "return", "print {text = \"done\"}\n return"));
  for (const char *name : {"75", "80", "90", "90a"}) {
    std::string gpu = name;
    CAPTURE(gpu);
    auto names = [&](auto schedules, const ir::Function &fn) {
      std::string text;
      for (const Candidate &candidate : schedules(fn, *find_gpu(gpu)))
        text += "`" + text_of(candidate.schedule) + "` ";
      return text;
    };
    CHECK(names(candidates_for_code, silent) == names(candidate_schedules, silent));
    CHECK(names(candidates_for_code, speaking) == "`baseline` ");
    CHECK((names(candidate_schedules, speaking) == "`baseline` ") == (gpu != "90a"));
  }
}

TEST_CASE("candidate_schedules: looks through trans") { CHECK(specializes(transposed_a())); }

TEST_CASE("candidate_schedules: rejects a computed or reused operand") {
  CHECK_FALSE(specializes(
      with(matmul_kernel(), "%d = dot %a,", "%e = neg %a : f16[64,64]\n %d = dot %e,")));
  CHECK_FALSE(specializes(with(matmul_kernel(), "yield %d", "store %vb, %a\n yield %d")));
}

TEST_CASE("candidate_schedules: rejects an accumulator used in the loop") {
  CHECK_FALSE(specializes(with(matmul_kernel(), "yield %d",
                               "%half = cast %d : f16[64,64]\n store %vb, %half\n yield %d")));
}

namespace {

// The matmul kernel with `code` in place of its only dot. Then the loop is no matmul loop.
std::string other_dots(const std::string &code) {
  return with(matmul_kernel(), "%d = dot %a, %b, %acc : f32[64,64]", code);
}
const std::string two_dots = "%c = dot %a, %b, %acc : f32[64,64]\n"
                             "%half = cast %c : f16[64,64]\n"
                             "%d = dot %half, %b, %acc : f32[64,64]";

} // namespace

TEST_CASE("candidate_schedules: looks at each computation of an operand once") {
  // 40 squares would be 2^40 paths.
  std::string squares;
  for (int i = 0; i < 40; i++)
    squares += "%s" + std::to_string(i + 1) + " = mul %s" + std::to_string(i) + ", %s" +
               std::to_string(i) + " : f16[64,64]\n";
  CHECK(specializes(other_dots("%c = dot %a, %b, %acc : f32[64,64]\n"
                               "%s0 = cast %c : f16[64,64]\n" +
                               squares + "%d = dot %s40, %b, %acc : f32[64,64]")));
  CHECK_FALSE(specializes(other_dots("%s0 = neg %a : f16[64,64]\n" + squares +
                                     "%d = dot %s40, %b, %acc : f32[64,64]")));
}

TEST_CASE("candidate_schedules: threads have registers for the largest wgmma at the start") {
  // 64 x 128 accumulators: 64 registers and 26 more. Three blocks of 256 threads have 80 at the start.
  const Gpu &gpu = *find_gpu("90a");
  CHECK(registers_beside_one_thread(4, 3, gpu).at_start == 80);
  CHECK(registers_beside_one_thread(4, 2, gpu).at_start == 128);
  const std::string wide = with(matmul_kernel(64, 128), "dot %a, %b, %acc", "dot %a, %b, %start");
  CHECK(names(wide)[0] == "warp-specialized, 2 blocks per SM");
}

TEST_CASE("candidate_schedules: one block per SM has the stages for dots that stay in flight") {
  // Two dots that only accumulate.
  std::string text = with(matmul_kernel(), "%sum = for_loop %K, %start : f32[64,64]",
                          "%sum, %sum2 = for_loop %K, %start, %start : f32[64,64], f32[64,64]");
  text = with(text, "%acc: f32[64,64])", "%acc: f32[64,64], %acc2: f32[64,64])");
  text = with(text, "yield %d", "%e = dot %b, %a, %acc2 : f32[64,64]\n yield %d, %e");
  text = with(text, "%result = cast %sum :",
              "%both = add %sum, %sum2 : f32[64,64]\n"
              "%result = cast %both :");
  CHECK(names(text) == std::vector<std::string>{"warp-specialized"});
  // The second dot waits for the first one.
  CHECK(names(with(text, "dot %b, %a, %acc2", "dot %b, %a, %d")) ==
        std::vector<std::string>{"warp-specialized, 3 blocks per SM"});
}

TEST_CASE("candidate_schedules: TMA loads the operands of any dots") {
  CHECK(names(other_dots(two_dots)) ==
        std::vector<std::string>{"warp-specialized, 3 blocks per SM"});
  // An accumulator that the loop changes.
  CHECK(specializes(
      other_dots("%more = add %acc, %acc : f32[64,64]\n%d = dot %a, %b, %more : f32[64,64]")));
  CHECK_FALSE(specializes(other_dots(two_dots), "80"));
  CHECK_FALSE(specializes(other_dots(two_dots), "120"));
}

TEST_CASE("candidate_schedules: blocks share the loop of attention") {
  auto all_names = [](const std::string &text, const char *gpu = "90a") {
    std::vector<std::string> names;
    for (const Found &schedule : schedules(text, gpu))
      names.push_back(text_of(schedule));
    return names;
  };
  const std::vector<std::string> pair = {"warp-specialized, 3 blocks per SM, split loop, partials",
                                         "split loop, reduction"};
  auto has_pair = [&](const std::string &text) {
    const std::vector<std::string> names = all_names(text);
    CHECK(names.size() > 2);
    CHECK(std::count(names.begin(), names.end(), "warp-specialized, 3 blocks per SM") == 1);
    return std::vector(names.begin(), names.begin() + 2) == pair;
  };
  CHECK(has_pair(attention_kernel()));
  CHECK(all_names(attention_kernel(), "80") == std::vector<std::string>{"baseline"});
  for (const Found &schedule : schedules(attention_kernel())) {
    CHECK_FALSE(schedule.partials); // which are those of a matmul
    CHECK((schedule.work == Schedule::Work::all ||
           schedule.blocks_per_sm == schedules(attention_kernel())[0].blocks_per_sm));
    CHECK(schedule.cost.has_value() ==
          (schedule.is_warp_specialized() && schedule.work != Schedule::Work::reduction));
  }
  // The host computes a bound of the iterations, or none.
  CHECK(has_pair(attention_kernel("%least")));
  CHECK_FALSE(has_pair(attention_kernel("%own")));
  // Not for other guards, scales, or starts; not if the accumulators of two dots are no totals.
  const std::string text = attention_kernel();
  CHECK_FALSE(has_pair(with(text, "select %is.none, %zeros", "select %is.none, %key")));
  CHECK_FALSE(has_pair(with(text, "mul %grown, %scales.1", "add %grown, %scales.1")));
  CHECK_FALSE(has_pair(with(text, "%lowest, %zeros, %none", "%lowest, %zeros, %filled")
                           .insert(text.find("%largest,"), "%f = constant {number = 1.0} : f32\n"
                                                           "%filled = splat %f : f32[64,64]\n")));
  CHECK_FALSE(has_pair(other_dots(two_dots)));
}

TEST_CASE("candidate_schedules: rejects other dots than those of loaded tiles and a computed A") {
  // B is computed.
  CHECK_FALSE(specializes(other_dots("%c = dot %a, %b, %acc : f32[64,64]\n"
                                     "%half = cast %c : f16[64,64]\n"
                                     "%d = dot %a, %half, %acc : f32[64,64]")));
  // A loaded tile has another use.
  CHECK_FALSE(specializes(other_dots(two_dots + "\n%e = neg %b : f16[64,64]\nstore %vb, %e")));
  // A transposed A does not have the layout of registers.
  CHECK_FALSE(specializes(other_dots("%c = dot %a, %b, %acc : f32[64,64]\n"
                                     "%half = cast %c : f16[64,64]\n"
                                     "%turned = trans %half {perm = [1,0]} : f16[64,64]\n"
                                     "%d = dot %turned, %b, %acc : f32[64,64]")));
}

TEST_CASE("candidate_schedules: rejects stores and barriers beside several dots") {
  CHECK_FALSE(
      specializes(other_dots(two_dots + "\n%at = view %C, %one, %ldc, %one : view<f16>[64,64]\n"
                                        "store %at, %half")));
  CHECK_FALSE(specializes(with(other_dots(two_dots), "return", "barrier\n return")));
}

namespace {

// Attention with a bias, which the loop adds to the scores; `more` follows its load.
std::string biased_attention(const std::string &more = "", const std::string &load = "load %at.b") {
  const std::string text = with(attention_kernel(), "%O: ptr<f32>", "%O: ptr<f32>, %B: ptr<f32>");
  return with(text, "%score = dot %q, %k, %none : f32[64,64]",
              "%at.b = view %B, %at, %ld, %one : view<f32>[64,64]\n"
              "%bias = " +
                  load + " : f32[64,64]\n" + more +
                  "%raw = dot %q, %k, %none : f32[64,64]\n"
                  "%score = add %raw, %bias : f32[64,64]");
}

} // namespace

TEST_CASE("candidate_schedules: consumers load a bias beside the dots") {
  CHECK(names(biased_attention()) == names(attention_kernel()));
  CHECK(names(biased_attention("%on = cmp %none, %none {pred = \"lt\"} : i1[64,64]\n"
                               "%masked = load %at.b, %on, %none : f32[64,64]\n")) ==
        names(attention_kernel()));
  // A scalar.
  CHECK(specializes(biased_attention("%at.s = addptr %B, %t : ptr<f32>\n"
                                     "%s = load %at.s : f32\n")));
  CHECK_FALSE(specializes(biased_attention(), "80"));
}

TEST_CASE("candidate_schedules: rejects a loop that stores beside the dots") {
  CHECK_FALSE(specializes(biased_attention("store %at.b, %none\n")));
  // Also to memory that nothing loads.
  const std::string text = biased_attention("%at.s = view %S, %at, %ld, %one : view<f32>[64,64]\n"
                                            "store %at.s, %bias\n");
  CHECK_FALSE(specializes(with(text, "%B: ptr<f32>", "%B: ptr<f32>, %S: ptr<f32>")));
  CHECK_FALSE(specializes(biased_attention("print {text = \"iteration\"}\n")));
}

TEST_CASE("candidate_schedules: rejects loads of memory that the kernel stores to") {
  // Before the loop, and after it.
  auto stores_to = [](const std::string &pointer, const std::string &before) {
    return with(biased_attention(), before,
                "%at.s = view %" + pointer +
                    ", %zero, %ld, %one : view<f32>[64,64]\n"
                    "store %at.s, %none\n" +
                    before);
  };
  for (const char *before : {"%largest, %sum", "%sum.2 = expand"}) {
    CAPTURE(before);
    CHECK(specializes(stores_to("O", before)));
    CHECK_FALSE(specializes(stores_to("B", before)));
  }
}

TEST_CASE("candidate_schedules: rejects an operand that is computed from a load in the loop") {
  const std::string load = "%place = view %D, %one, %ldc, %one : view<f16>[64,64]\n"
                           "%tile = load %place : f16[64,64]\n";
  const std::string text = with(matmul_kernel(), "%C: ptr<f16>", "%C: ptr<f16>, %D: ptr<f16>");
  auto dots = [&](const std::string &before_loop, const std::string &before_dots) {
    return with(with(text, "%sum = for_loop", before_loop + "%sum = for_loop"),
                "%d = dot %a, %b, %acc : f32[64,64]",
                before_dots + "%c = dot %x, %b, %acc : f32[64,64]\n"
                              "%d = dot %a, %b, %c : f32[64,64]");
  };
  for (const std::string operand :
       {"%x = neg %tile : f16[64,64]\n", "%wide = cast %tile : f32[64,64]\n"
                                         "%e = exp2 %wide : f32[64,64]\n"
                                         "%x = cast %e : f16[64,64]\n"}) {
    CAPTURE(operand);
    CHECK(specializes(dots(load, operand)));
    CHECK_FALSE(specializes(dots("", load + operand)));
  }
  // Computed from another dot, and that from a load.
  const std::string half = "%u = dot %a, %b, %wide : f32[64,64]\n%x = cast %u : f16[64,64]\n";
  CHECK(specializes(dots("", load + "%wide = cast %tile : f32[64,64]\n" + half)));
}

TEST_CASE("candidate_schedules: accepts only for loops around the matmul") {
  const std::string loop = "%sum = for_loop %K, %start : f32[64,64] {";
  std::string body = matmul_kernel();
  body = body.substr(body.find(loop));
  body = body.substr(0, body.find("%result"));
  auto around = [&](const std::string &before, const std::string &behind) {
    std::string text = with(matmul_kernel(), body, before + body + "store %vs, %sum\n" + behind);
    text = with(text, "%C: ptr<f16>", "%C: ptr<f16>, %S: ptr<f32>, %odd: i1");
    text = with(text, "%start = splat",
                "%vs = view %S, %one, %ldc, %one : view<f32>[64,64]\n"
                "%start = splat");
    // The epilogue uses %start instead of the sum.
    return with(text, "%result = cast %sum : f16[64,64]", "%result = cast %start : f16[64,64]");
  };
  CHECK(specializes(around("", "")));
  CHECK(specializes(around("for_loop %K {\n (%wave: i32)\n", "yield\n }\n")));
  CHECK_FALSE(specializes(around("if_else %odd {\n", "yield\n } {\n yield\n }\n")));
  CHECK_FALSE(specializes(around("while_loop {\n condition %odd\n } {\n", "yield\n }\n")));

  // The producer thread cannot know an address that the outer loop carries.
  auto carried = [&](const std::string &next) {
    std::string text = around("%last = for_loop %K, %one : i64 {\n (%wave: i32, %x: i64)\n",
                              "%next = " + next + " : i64\n yield %next\n }\n");
    return with(text, "%at.a = add %first, %k :",
                "%down.x = mul %x, %lda : i64\n %first.x = add %first, %down.x : i64\n"
                "%at.a = add %first.x, %k :");
  };
  CHECK_FALSE(specializes(carried("add %x, %x")));
  CHECK(specializes(carried("add %x, %tk"))); // a formula of the counter
}

TEST_CASE("candidate_schedules: accepts bounds masks with zero fill") {
  const std::string columns = R"(
    %i = range {start = 0} : i32[STEP]
    %row.of.i = expand %i {axis = 0} : i32[1,STEP]
    %all.i = broadcast %row.of.i : i32[128,STEP]
    %size = constant {value = STEP} : i32
    %k32 = mul %t, %size : i32
    %left = sub %K, %k32 : i32
    %limit = splat %left : i32[128,STEP]
    %mask = cmp %all.i, %limit {pred = "PRED"} : i1[128,STEP]
    %number = constant {number = OTHER} : f16
    %other = splat %number : f16[128,STEP])";
  auto kernel = [&](const std::string &pred, const std::string &other, const std::string &operands,
                    int step) {
    return masked(with(with(columns, "PRED", pred), "OTHER", other), operands, step);
  };
  for (int step : {64, 16}) { // widened to a larger K tile
    CAPTURE(step);
    CHECK(specializes(kernel("lt", "0.0", "%mask, %other", step)));
    CHECK(specializes(kernel("lt", "0.0", "%mask", step)));
    CHECK_FALSE(specializes(kernel("lt", "1.0", "%mask, %other", step)));
    CHECK(specializes(kernel("ne", "0.0", "%mask, %other", step))); // threads compare each index
  }
}

TEST_CASE("candidate_schedules: threads copy an operand with strided elements") {
  const std::string strided = with(matmul_kernel(), "%at.a, %lda, %one", "%at.a, %lda, %ldb");
  for (const Found &found : schedules(strided))
    CHECK((found.kind != Schedule::Kind::warp_specialized || found.producer_warps > 0));
  CHECK(specializes(strided));
}

TEST_CASE("candidate_schedules: rejects a gathered operand") {
  std::string text =
      with(matmul_kernel(128, 128, 64), "%A: ptr<f16>", "%A: ptr<f16>, %P: ptr<f16>[128,64]");
  CHECK_FALSE(specializes(with(text, "load %va", "load %P")));
  // Row by row.
  text = with(matmul_kernel(128, 128, 64), "%A: ptr<f16>", "%A: ptr<f16>, %rows: ptr<i64>[128]");
  CHECK_FALSE(specializes(with(text, "%a = load %va", R"(
      %row.a = load %rows : i64[128]
      %each.row = expand %row.a {axis = 1} : i64[128,1]
      %all.rows = broadcast %each.row : i64[128,64]
      %all.ld = splat %lda : i64[128,64]
      %down.a = mul %all.rows, %all.ld : i64[128,64]
      %As = splat %A : ptr<f16>[128,64]
      %there = addptr %As, %down.a : ptr<f16>[128,64]
      %i = range {start = 0} : i32[64]
      %each.i = expand %i {axis = 0} : i32[1,64]
      %all.i = broadcast %each.i : i32[128,64]
      %q = addptr %there, %all.i : ptr<f16>[128,64]
      %a = load %q)")));
}
