// A fast Hopper GEMM, C = A B^T: warp-specialized, persistent, with multicast of B in clusters of
// two.
//
// A is M x K, B is N x K, C is M x N, row-major f16. A block computes tiles of 128 x 64: two
// consumer warpgroups with 64 rows each. The first thread of a third warpgroup issues all copies.
// The blocks of a cluster compute adjacent rows; each copies one half of B's tile to both blocks.
// *full* mbarriers signal the consumers that a stage is loaded. *empty* mbarriers signal the
// producers of both blocks that a stage was read, with one arrival per consumer warp of both
// blocks. A warpgroup's epilogue uses shared memory (stmatrix) and a tensor copy, while the next
// tile's copies are in flight.

#include "models/matrix_descriptor.h"
#include "robustness/seeded_bugs/test_kernel.h"
#include "unit/emulator/tensor_maps.h"

#include <algorithm>

namespace tritonc::emulator::test {
namespace {

constexpr uint32_t rows_of_group = 64, groups = 2, rows = groups * rows_of_group, columns = 64;
constexpr uint32_t step = 64, depth = 4 * step, stages = 3, registers = columns / 2;
constexpr uint32_t a_bytes = rows * step * 2, b_bytes = columns * step * 2;
constexpr uint32_t stage_bytes = a_bytes + b_bytes;
constexpr uint32_t staging_offset = stages * stage_bytes;
constexpr uint32_t staging_bytes = rows_of_group * columns * 2;
constexpr uint32_t full_offset = staging_offset + groups * staging_bytes;
constexpr uint32_t empty_offset = full_offset + 8 * stages;
constexpr uint32_t shared_bytes = empty_offset + 8 * stages;
constexpr uint32_t m = 4 * rows, n = 2 * columns; // two clusters' rows, two columns of tiles

enum Switch {
  right,
  // The circular buffer.
  producer_parity,
  consumer_parity,
  parity_never_flips,
  no_wait_for_full,
  no_wait_for_empty,
  waits_for_wrong_empty,
  release_wrong_stage,
  release_too_early,
  wait_too_weak,
  one_arrival_per_group,
  no_last_release,
  ring_restarts,
  // The cluster.
  no_remote_arrival,
  empty_count_too_small,
  empty_count_too_large,
  own_block_only,
  expects_own_half,
  half_at_wrong_place,
  wrong_half,
  both_copy_all,
  no_cluster_barrier_after_init,
  no_fence_after_init,
  no_cluster_barrier_at_end,
  // The matmul.
  sums_go_on,
  no_wait_before_epilogue,
  groups_swapped,
  // The epilogue.
  no_proxy_fence,
  proxy_fence_after_barrier,
  no_barrier_before_store,
  no_wait_before_staging,
  wait_before_staging_too_weak,
  other_thread_waits,
  no_barrier_after_wait,
  no_bulk_commit,
  staging_overlaps,
  staging_in_stage,
  staging_not_swizzled,
  one_barrier_for_both,
  store_coordinates,
  no_wait_at_end,
  // Registers.
  too_many_registers,
  one_warp_gives_registers,
};

const std::vector<Bug> bugs = {
    {"the producer begins with parity 0", deadlock},
    {"consumers begin with parity 1", race},
    {"the consumers' parity never flips", unwritten | deadlock | misuse},
    {"no wait for a full stage", race | values},
    {"no wait for an empty stage", misuse},
    {"the producer waits for the next stage to be empty", deadlock},
    {"releases the stage that is read now", deadlock},
    {"releases a stage before the wait for its wgmma", race},
    {"the wait before a release allows two groups", race},
    {"one warp alone says that its warpgroup has read a stage", race},
    {"the last stage of a tile is not released", deadlock},
    {"stage and parity start again with each tile", deadlock},

    {"consumers tell only their own block's producer", race},
    {"empty after the arrivals of one block", race},
    {"empty after one arrival too many", deadlock},
    {"B's half goes to the own block only", deadlock},
    {"expects the bytes of half of B", race},
    {"B's halves lie at the same place", race | values},
    {"each block copies the other's half", values},
    {"both blocks copy all of B to both", race},
    {"no cluster barrier after mbarrier_init", race},
    {"no fence after mbarrier_init", race},
    {"no cluster barrier at the end", race},

    {"sums of one tile go on with the next", values},
    {"no wait for the last step before the epilogue", values},
    {"the warpgroups take each other's rows of A", values},

    {"no fence.proxy.async before the store", race},
    {"fence.proxy.async after the barrier", race},
    {"no barrier between staging and store", race | values},
    {"no wait before staging is written again", race},
    {"the wait before staging allows one store", race},
    {"another thread than the storing one waits", race},
    {"no barrier after the wait of one thread", race},
    {"no bulk_commit", race},
    {"both warpgroups stage at the same place", race | values},
    {"staging overlaps a stage", race | values},
    {"staging is written without the swizzle", values},
    {"both warpgroups use one named barrier", race},
    {"coordinates of the store swapped", values},
    {"no wait for stores at the end", race},

    {"consumers ask for more registers than there are", deadlock},
    {"the producing warp alone gives registers back", deadlock},
};

struct Operands {
  const void *a, *b, *c; // tensor maps
};

uint64_t descriptor(uint32_t address) {
  models::MatrixDescriptor descriptor;
  descriptor.start = address & 0x3ffff;
  descriptor.leading = 16;
  descriptor.stride = 1024;
  descriptor.swizzle = models::Swizzle::span128;
  return models::encode_descriptor(descriptor);
}

// A stage of the circular buffer and the parity of its next phase.
struct Position {
  uint32_t stage = 0, parity = 0;
  void advance() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

void produce(Gpu &gpu, int bug, const Operands &x) {
  uint32_t base = gpu.shared_base(), full = base + full_offset, empty = base + empty_offset;
  uint32_t rank = gpu.cluster_ctarank();
  Position at;
  at.parity = bug == producer_parity ? 0 : 1; // at first, all stages are empty
  for (uint32_t tile = 0; tile < m / rows / 2 * (n / columns); tile++) {
    uint32_t m0 = (tile / (n / columns) * 2 + rank) * rows, n0 = tile % (n / columns) * columns;
    if (bug == ring_restarts)
      at = {0, 1};
    for (uint32_t k = 0; k < depth; k += step) {
      gpu.step();
      uint32_t mbarrier = full + 8 * at.stage, stage = base + at.stage * stage_bytes;
      uint32_t waits_for = bug == waits_for_wrong_empty ? (at.stage + 1) % stages : at.stage;
      if (bug != no_wait_for_empty)
        gpu.mbarrier_wait(empty + 8 * waits_for, at.parity);
      uint32_t bytes = stage_bytes;
      if (bug == expects_own_half)
        bytes -= b_bytes / 2;
      gpu.mbarrier_arrive_expect_tx(mbarrier, bytes);
      gpu.tma_load_2d(stage, x.a, k, m0, mbarrier);
      uint32_t half = bug == wrong_half ? 1 - rank : rank;
      uint32_t to = stage + a_bytes + rank * b_bytes / 2;
      if (bug == half_at_wrong_place)
        to = stage + a_bytes;
      uint32_t blocks = bug == own_block_only ? 1u << rank : 0b11;
      gpu.tma_load_multicast_2d(to, x.b, k, n0 + half * columns / 2, mbarrier, blocks);
      if (bug == both_copy_all)
        gpu.tma_load_multicast_2d(stage + a_bytes + (1 - rank) * b_bytes / 2, x.b, k,
                                  n0 + (1 - half) * columns / 2, mbarrier, 0b11);
      at.advance();
    }
  }
}

void consume(Gpu &gpu, int bug, const Operands &x) {
  uint32_t base = gpu.shared_base(), full = base + full_offset, empty = base + empty_offset;
  uint32_t rank = gpu.cluster_ctarank(), group = gpu.tid_x() / 128, tid = gpu.tid_x() % 128;
  uint32_t warp = tid / 32, lane = tid % 32;
  uint32_t staging = base + staging_offset + (bug == staging_overlaps ? 0 : group) * staging_bytes;
  if (bug == staging_in_stage)
    staging -= 1024;
  uint32_t named = bug == one_barrier_for_both ? 1 : group + 1;
  uint32_t storing = 0, waiting = bug == other_thread_waits ? 1 : 0; // threads of the warpgroup

  Registers<float> d;
  d.n = registers;
  auto wait = [&](uint32_t pending) { d = gpu.wgmma_wait_f32(registers, pending, d); };
  // Lane 0 signals block 0, lane 1 signals block 1.
  auto release = [&](uint32_t stage) {
    if (bug == release_wrong_stage)
      stage = (stage + 1) % stages;
    if (bug == one_arrival_per_group && warp > 0)
      return;
    if (bug == no_remote_arrival) {
      if (lane == 0)
        gpu.mbarrier_arrive(empty + 8 * stage);
    } else if (lane < 2) {
      gpu.mbarrier_arrive_cluster(gpu.map_shared_rank(empty + 8 * stage, lane));
    }
  };

  Position at;
  at.parity = bug == consumer_parity ? 1 : 0;
  for (uint32_t tile = 0; tile < m / rows / 2 * (n / columns); tile++) {
    uint32_t m0 = (tile / (n / columns) * 2 + rank) * rows, n0 = tile % (n / columns) * columns;
    uint32_t before = 0; // the stage of the previous iteration
    if (bug == ring_restarts)
      at = {};
    for (uint32_t k = 0; k < depth; k += step) {
      gpu.step();
      if (bug != no_wait_for_full)
        gpu.mbarrier_wait(full + 8 * at.stage, bug == parity_never_flips ? 0 : at.parity);
      uint32_t stage = base + at.stage * stage_bytes, b = stage + a_bytes;
      uint32_t a = stage + (bug == groups_swapped ? 1 - group : group) * (rows_of_group * step * 2);
      gpu.wgmma_fence();
      for (uint32_t ahead = 0; ahead < 2 * step; ahead += 32) {
        bool add = k > 0 || ahead > 0 || (bug == sums_go_on && tile > 0);
        d = gpu.wgmma_f16(registers, descriptor(a + ahead), descriptor(b + ahead), add, 0, 0, d);
      }
      gpu.wgmma_commit();
      if (bug == release_too_early) {
        release(at.stage);
      } else if (k > 0) { // the previous iteration has ended; this one may be pending
        wait(bug == wait_too_weak ? 2 : 1);
        release(before);
      }
      before = at.stage;
      at.advance();
    }
    if (bug != no_wait_before_epilogue)
      wait(0);
    if (bug != release_too_early && bug != no_last_release)
      release(before);

    if (tid == waiting && bug != no_wait_before_staging)
      gpu.bulk_wait_read(bug == wait_before_staging_too_weak ? 1 : 0);
    if (bug != no_barrier_after_wait)
      gpu.barrier_sync(named, 128);
    for (uint32_t j = 0; j < columns / 16; j++) {
      Words<4> words;
      for (uint32_t i = 0; i < 4; i++)
        words[i] = models::to_half(d[8 * j + 2 * i]) |
                   uint32_t(models::to_half(d[8 * j + 2 * i + 1])) << 16;
      uint32_t row = warp * 16 + lane % 16, chunk = 2 * j + lane / 16;
      if (bug != staging_not_swizzled)
        chunk ^= row % 8;
      gpu.stmatrix_x4(staging + 128 * row + 16 * chunk, words);
    }
    if (bug != no_proxy_fence && bug != proxy_fence_after_barrier)
      gpu.fence_proxy_async();
    if (bug != no_barrier_before_store)
      gpu.barrier_sync(named, 128);
    if (bug == proxy_fence_after_barrier)
      gpu.fence_proxy_async();
    if (tid == storing) {
      uint32_t row = m0 + group * rows_of_group;
      if (bug == store_coordinates)
        gpu.tma_store_2d(x.c, row, n0, staging);
      else
        gpu.tma_store_2d(x.c, n0, row, staging);
      if (bug != no_bulk_commit)
        gpu.bulk_commit();
    }
  }
  if (tid == storing && bug != no_wait_at_end)
    gpu.bulk_wait_read(0);
}

void kernel(Gpu &gpu, int bug, const Operands &x) {
  uint32_t base = gpu.shared_base(), group = gpu.tid_x() / 128;
  uint32_t arrivals = 2 * groups * 4; // consumer warps of both blocks
  if (bug == one_arrival_per_group)
    arrivals /= 4;
  if (bug == no_remote_arrival || bug == empty_count_too_small)
    arrivals /= 2;
  if (bug == empty_count_too_large)
    arrivals++;
  if (gpu.tid_x() == 0) {
    for (uint32_t i = 0; i < stages; i++) {
      gpu.mbarrier_init(base + full_offset + 8 * i, 1);
      gpu.mbarrier_init(base + empty_offset + 8 * i, arrivals);
    }
    if (bug != no_fence_after_init)
      gpu.fence_mbarrier_init();
  }
  if (bug == no_cluster_barrier_after_init) {
    gpu.barrier();
  } else {
    gpu.cluster_arrive_relaxed();
    gpu.cluster_wait();
  }

  if (group == groups) {
    if (bug != one_warp_gives_registers || gpu.tid_x() < 128 * groups + 32)
      gpu.setmaxnreg_dec(40);
    if (gpu.tid_x() == 128 * groups)
      produce(gpu, bug, x);
  } else {
    gpu.setmaxnreg_inc(bug == too_many_registers ? 240 : 232);
    consume(gpu, bug, x);
  }
  if (bug != no_cluster_barrier_at_end) {
    gpu.cluster_arrive();
    gpu.cluster_wait();
  }
}

bool run(Kernel &k, int bug) {
  k.threads = 128 * (groups + 1);
  k.shared_bytes = shared_bytes;
  k.grid = k.cluster = {2, 1, 1};
  k.buffer("stages", 0, staging_offset);
  k.buffer("staging", staging_offset, groups * staging_bytes);
  k.buffer("full", full_offset, 8 * stages);
  k.buffer("empty", empty_offset, 8 * stages);
  auto map_of = [&](const char *name, const uint16_t *of, uint32_t height, uint32_t width,
                    uint32_t box_rows) {
    return tensor_map(k, name, of, models::DataType::f16, {width, height}, {64, box_rows},
                      models::Swizzle::span128);
  };
  Operands x;
  x.a = map_of("a_map", k.parameter("a", small_halves(m, depth, 1)), m, depth, rows);
  x.b = map_of("b_map", k.parameter("b", small_halves(n, depth, 2)), n, depth, columns / 2);
  uint16_t *c = k.unwritten<uint16_t>("c", m * n);
  x.c = map_of("c_map", c, m, n, rows_of_group);
  k.run([=](Gpu &gpu) { kernel(gpu, bug, x); });
  static const std::vector<float> expected = sums_of_products(
      m, n, depth, [](uint32_t i, uint32_t e) { return small_integer(i, e, 1); },
      [](uint32_t j, uint32_t e) { return small_integer(j, e, 2); });
  return std::equal(expected.begin(), expected.end(), c,
                    [](float sum, uint16_t half) { return models::from_half(half) == sum; });
}

} // namespace

TestKernel persistent_gemm() { return {"persistent_gemm", bugs, run}; }

} // namespace tritonc::emulator::test
