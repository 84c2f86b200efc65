// The blocks of a cluster compute a sum through each other's shared memory (DSMEM). Each block sums
// one part.
//
// Every thread writes its words to the shared memory of the block that sums them, and arrives at
// that block's mbarrier. Each block then writes its sums to all blocks.

#include "robustness/seeded_bugs/test_kernel.h"

namespace tritonc::emulator::test {
namespace {

constexpr uint32_t blocks = 4, threads = 64, words = blocks * threads; // words per block

// Shared memory: words from all blocks, [block][thread]; the sums, [words]; an mbarrier.
constexpr uint32_t sums_offset = 4 * blocks * threads, mbarrier_offset = sums_offset + 4 * words;

enum Switch {
  right,
  no_barrier_after_init,
  no_fence_after_init,
  arrives_before_storing,
  no_wait,
  count_too_small,
  relaxed_before_reading,
  no_barrier_before_reading,
  arrives_too_early,
  own_block_only,
  wrong_slot,
  no_such_block,
  no_barrier_at_end,
};

const std::vector<Bug> bugs = {
    {"no cluster barrier after mbarrier_init", race},
    {"no fence after mbarrier_init", race},
    {"arrives before the words are stored", race | unwritten},
    {"no wait for the words", race | unwritten},
    {"an mbarrier for the arrivals of all blocks but one", race},
    {"the sums are read after a relaxed arrival", race},
    {"no cluster barrier before the sums are read", race | unwritten},
    {"arrives at the cluster's barrier before the sums are stored", race | unwritten},
    {"words go to the own block", unwritten},
    {"words of all blocks go to one place", race},
    {"the address of a block that there isn't", misuse},
    {"a block may end while others read its sums", race},
};

void kernel(Gpu &gpu, int bug, const uint32_t *x, uint32_t *y) {
  uint32_t tid = gpu.tid_x(), rank = gpu.cluster_ctarank(), block = gpu.ctaid_x();
  uint32_t base = gpu.shared_base(), mbarrier = base + mbarrier_offset;
  if (tid == 0) {
    gpu.mbarrier_init(mbarrier, threads * (bug == count_too_small ? blocks - 1 : blocks));
    if (bug != no_fence_after_init)
      gpu.fence_mbarrier_init();
  }
  if (bug != no_barrier_after_init) {
    gpu.cluster_arrive_relaxed();
    gpu.cluster_wait();
  } else {
    gpu.barrier();
  }

  for (uint32_t part = 0; part < blocks; part++) {
    uint32_t to = bug == own_block_only ? rank : part;
    uint32_t there = gpu.map_shared_rank(mbarrier, to);
    if (bug == arrives_before_storing)
      gpu.mbarrier_arrive_cluster(there);
    uint32_t stage = 4 * ((bug == wrong_slot ? 0 : rank) * threads + tid);
    gpu.store_cluster(gpu.map_shared_rank(base + stage, to + (bug == no_such_block ? 1 : 0)),
                      gpu.load(x + block * words + part * threads + tid));
    if (bug != arrives_before_storing)
      gpu.mbarrier_arrive_cluster(there);
  }
  if (bug != no_wait)
    gpu.mbarrier_wait(mbarrier, 0);
  uint32_t sum = 0;
  for (uint32_t i = 0; i < blocks; i++)
    sum += gpu.load_shared<uint32_t>(4 * (i * threads + threads - 1 - tid));
  if (bug == arrives_too_early)
    gpu.cluster_arrive();
  gpu.store_shared<uint32_t>(sums_offset + 4 * tid, sum);
  if (bug == relaxed_before_reading)
    gpu.cluster_arrive_relaxed();
  else if (bug != no_barrier_before_reading && bug != arrives_too_early)
    gpu.cluster_arrive();
  if (bug != no_barrier_before_reading)
    gpu.cluster_wait();
  for (uint32_t part = 0; part < blocks; part++) {
    uint32_t from = gpu.map_shared_rank(base + sums_offset + 4 * tid, part);
    gpu.store(y + block * words + part * threads + tid, gpu.load_cluster(from));
  }
  if (bug != no_barrier_at_end) {
    gpu.cluster_arrive();
    gpu.cluster_wait();
  }
}

bool run(Kernel &k, int bug) {
  constexpr uint32_t clusters = 2;
  k.threads = threads;
  k.shared_bytes = mbarrier_offset + 8;
  k.cluster = {blocks, 1, 1};
  k.grid = {clusters * blocks, 1, 1};
  std::vector<uint32_t> input;
  for (uint32_t i = 0; i < clusters * blocks * words; i++)
    input.push_back(i * i % 1009);
  const uint32_t *x = k.parameter("x", input);
  uint32_t *y = k.unwritten<uint32_t>("y", input.size());
  k.run([=](Gpu &gpu) { kernel(gpu, bug, x, y); });
  for (uint32_t block = 0; block < clusters * blocks; block++)
    for (uint32_t i = 0; i < words; i++) {
      uint32_t from = i / threads * threads + threads - 1 - i % threads, sum = 0;
      for (uint32_t other = 0; other < blocks; other++)
        sum += input[(block / blocks * blocks + other) * words + from];
      if (y[block * words + i] != sum)
        return false;
    }
  return true;
}

} // namespace

TestKernel shared_exchange() { return {"shared_exchange", bugs, run}; }

} // namespace tritonc::emulator::test
