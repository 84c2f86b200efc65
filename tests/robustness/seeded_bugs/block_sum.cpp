// Sum and max of a block's elements: shuffles within a warp, shared memory between warps.

#include "robustness/seeded_bugs/test_kernel.h"

#include <algorithm>
#include <bit>

namespace tritonc::emulator::test {
namespace {

constexpr uint32_t threads = 128, warps = threads / 32, elements = 1000;

enum Switch {
  right,
  no_barrier,
  barrier_too_early,
  no_barrier_before_reuse,
  all_lanes_write,
  shuffle_missing,
  shuffle_wrong,
  one_warp_too_many,
  buffer_too_small,
  no_warp_sync,
  barrier_for_some,
};

const std::vector<Bug> bugs = {
    {"no barrier between writing and reading the warps' sums", race | unwritten},
    {"the barrier comes before the writing", race},
    {"no barrier before the buffer is used for the maxima", race},
    {"every lane writes its warp's sum", race},
    {"one step of the shuffles is missing", values},
    {"one step of the shuffles goes up, not across", values},
    {"one sum more is read than was written", unwritten},
    {"the last warp's sum is beyond the buffer", bounds},
    {"lanes read what others of their warp wrote without warp_sync", race},
    {"the first warp alone is at the second barrier", deadlock},
};

void kernel(Gpu &gpu, int bug, const float *x, float *y) {
  uint32_t tid = gpu.tid_x(), lane = tid % 32, warp = tid / 32;
  // Shared memory, in words: one sum per warp, then one value per thread.
  constexpr uint32_t own = 4 * (warps + 1);
  auto shuffled = [&](float value, uint32_t mask) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    bits = bug == shuffle_wrong && mask == 4 ? gpu.shfl_up(bits, mask) : gpu.shfl_bfly(bits, mask);
    return std::bit_cast<float>(bits);
  };
  uint32_t lowest = bug == shuffle_missing ? 2 : 1;

  float sum = 0, highest = -100;
  for (uint32_t i = tid; i < elements; i += threads) {
    float value = gpu.load(x + gpu.ctaid_x() * elements + i);
    sum += value;
    highest = std::max(highest, value);
  }
  for (uint32_t mask = 16; mask >= lowest; mask /= 2)
    sum += shuffled(sum, mask);

  if (bug == barrier_too_early)
    gpu.barrier();
  if (lane == 0 || bug == all_lanes_write)
    gpu.store_shared<float>(4 * warp + (bug == buffer_too_small && warp == 3 ? 4096 : 0), sum);
  if (bug != no_barrier && bug != barrier_too_early)
    gpu.barrier();
  if (tid == 0) {
    float all = 0;
    for (uint32_t i = 0; i < warps + (bug == one_warp_too_many); i++)
      all += gpu.load_shared<float>(4 * i);
    gpu.store(y + 2 * gpu.ctaid_x(), all);
  }

  if (bug != no_barrier_before_reuse && !(bug == barrier_for_some && warp > 0))
    gpu.barrier();
  // Max, through shared memory within the warp, too.
  gpu.store_shared<float>(own + 4 * tid, highest);
  if (bug != no_warp_sync)
    gpu.warp_sync();
  for (uint32_t i = 1; i < 32; i++)
    highest = std::max(highest, gpu.load_shared<float>(own + 4 * (32 * warp + (lane + i) % 32)));
  if (lane == 0)
    gpu.store_shared<float>(4 * warp, highest);
  gpu.barrier();
  if (tid == 0) {
    float all = -100;
    for (uint32_t i = 0; i < warps; i++)
      all = std::max(all, gpu.load_shared<float>(4 * i));
    gpu.store(y + 2 * gpu.ctaid_x() + 1, all);
  }
}

bool run(Kernel &k, int bug) {
  constexpr uint32_t blocks = 2;
  k.threads = threads;
  k.shared_bytes = 4 * (warps + 1 + threads);
  k.grid = {blocks, 1, 1};
  std::vector<float> input;
  for (uint32_t i = 0; i < blocks * elements; i++)
    input.push_back(float(small_integer(i, 0, 3) + (i % elements == 777 ? 10 + i / elements : 0)));
  const float *x = k.parameter("x", input);
  float *y = k.unwritten<float>("y", 2 * blocks);
  k.run([=](Gpu &gpu) { kernel(gpu, bug, x, y); });
  for (uint32_t block = 0; block < blocks; block++) {
    auto begin = input.begin() + block * elements;
    float sum = 0;
    for (uint32_t i = 0; i < elements; i++)
      sum += begin[i];
    if (y[2 * block] != sum || y[2 * block + 1] != *std::max_element(begin, begin + elements))
      return false;
  }
  return true;
}

} // namespace

TestKernel block_sum() { return {"block_sum", bugs, run}; }

} // namespace tritonc::emulator::test
