// Two producer warps pass data to two consumer warps through a double buffer. Each half has two
// named barriers: *full* and *empty*.
//
// A warp that waits calls barrier_sync; a warp that only signals calls barrier_arrive. Both count
// as arrivals.

#include "robustness/seeded_bugs/test_kernel.h"

namespace tritonc::emulator::test {
namespace {

constexpr uint32_t group = 64, threads = 2 * group, pieces = 6;

enum Switch {
  right,
  no_sync_on_full,
  no_sync_on_empty,
  consumer_only_arrives,
  producer_only_arrives,
  tells_before_writing,
  tells_before_reading,
  one_barrier_for_both_halves,
  wrong_half,
  too_few_threads,
  no_first_arrival,
  one_warp_missing,
};

const std::vector<Bug> bugs = {
    {"the consumers don't wait for a full half", race | deadlock},
    {"the producers don't wait for an empty half", race | deadlock},
    {"the consumers arrive where they should wait", race},
    {"the producers arrive where they should wait", race},
    {"the producers tell before they write", race},
    {"the consumers tell before they read", race},
    {"one pair of barriers for both halves", deadlock},
    {"the consumers read the other half", race},
    {"the barriers are for half of the threads", race},
    {"no warp announces the empty halves at first", deadlock},
    {"one of the producers' warps does not tell", deadlock},
};

void kernel(Gpu &gpu, int bug, const uint32_t *x, uint32_t *y) {
  uint32_t tid = gpu.tid_x() % group;
  bool produces = gpu.tid_x() < group;
  uint32_t count = bug == too_few_threads ? group : threads;
  auto full = [&](uint32_t i) { return 1 + (bug == one_barrier_for_both_halves ? 0 : i % 2); };
  auto empty = [&](uint32_t i) { return 3 + (bug == one_barrier_for_both_halves ? 0 : i % 2); };

  if (produces) {
    for (uint32_t i = 0; i < pieces; i++) {
      if (bug == producer_only_arrives)
        gpu.barrier_arrive(empty(i), count);
      else if (bug != no_sync_on_empty)
        gpu.barrier_sync(empty(i), count);
      bool tells = bug != one_warp_missing || tid < 32;
      if (bug == tells_before_writing)
        gpu.barrier_arrive(full(i), count);
      gpu.store_shared<uint32_t>(4 * (i % 2 * group + tid), gpu.load(x + i * group + tid));
      if (bug != tells_before_writing && tells)
        gpu.barrier_arrive(full(i), count);
    }
  } else {
    if (bug != no_first_arrival) {
      gpu.barrier_arrive(empty(0), count);
      gpu.barrier_arrive(empty(1), count);
    }
    for (uint32_t i = 0; i < pieces; i++) {
      if (bug == consumer_only_arrives)
        gpu.barrier_arrive(full(i), count);
      else if (bug != no_sync_on_full)
        gpu.barrier_sync(full(i), count);
      // Before the consumers wait for the next half, they signal that the previous one is empty. No
      // warp waits for the last two signals, so they are omitted.
      bool tells = i + 2 < pieces;
      if (bug == tells_before_reading && tells)
        gpu.barrier_arrive(empty(i), count);
      uint32_t half = bug == wrong_half ? 1 - i % 2 : i % 2;
      uint32_t value = gpu.load_shared<uint32_t>(4 * (half * group + group - 1 - tid));
      if (bug != tells_before_reading && tells)
        gpu.barrier_arrive(empty(i), count);
      gpu.store(y + i * group + tid, value + 1);
    }
  }
}

bool run(Kernel &k, int bug) {
  k.threads = threads;
  k.shared_bytes = 2 * 4 * group;
  std::vector<uint32_t> input;
  for (uint32_t i = 0; i < pieces * group; i++)
    input.push_back(3 * i);
  const uint32_t *x = k.parameter("x", input);
  uint32_t *y = k.unwritten<uint32_t>("y", pieces * group);
  k.run([=](Gpu &gpu) { kernel(gpu, bug, x, y); });
  for (uint32_t i = 0; i < pieces; i++)
    for (uint32_t j = 0; j < group; j++)
      if (y[i * group + j] != input[i * group + group - 1 - j] + 1)
        return false;
  return true;
}

} // namespace

TestKernel named_barriers() { return {"named_barriers", bugs, run}; }

} // namespace tritonc::emulator::test
