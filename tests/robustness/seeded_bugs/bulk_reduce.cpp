// Blocks reduce their parts of the input: bulk loads, then reducing tensor copies.
//
// Each block processes `rounds` chunks of 256 integers in sequence. It doubles them, adds them to
// the result by a tensor copy, and stores them in its part of a log by a bulk copy. Then it reads
// back the last chunk from the log.

#include "robustness/seeded_bugs/test_kernel.h"
#include "unit/emulator/tensor_maps.h"

namespace tritonc::emulator::test {
namespace {

constexpr uint32_t threads = 64, piece = 256, bytes = 4 * piece, rounds = 3, blocks = 3;
constexpr uint32_t out_offset = bytes, mbarrier_offset = 2 * bytes;

enum Switch {
  right,
  no_proxy_fence,
  no_barrier_before_copies_out,
  no_wait_for_copy_in,
  next_piece_too_early,
  expects_too_little,
  no_wait_before_writing_again,
  wait_too_weak,
  store_instead_of_reduce,
  waits_for_reading_only,
  no_wait_at_end,
  one_group_left_out,
  copies_too_many_bytes,
  adds_one_row_too_low,
};

const std::vector<Bug> bugs = {
    {"no fence.proxy.async before the copies out", race},
    {"no barrier before the copies out", race},
    {"no wait for the copy in", race},
    {"the next piece is copied in before all have read this one", race},
    {"expects half of the bytes", race},
    {"no wait before the source of the copies out is written again", race},
    {"the wait before that allows one group", race},
    {"stores where it has to add", race | values},
    {"reads back from the log what has only been read from shared memory", race},
    {"no wait at the end", race},
    {"the last group is not committed", race},
    {"the bulk copy takes more than there is", bounds},
    {"adds to the row below", values},
};

struct Operands {
  const int32_t *x;
  const void *y; // tensor map
  int32_t *log, *last;
};

void kernel(Gpu &gpu, int bug, const Operands &o) {
  uint32_t tid = gpu.tid_x(), block = gpu.ctaid_x();
  uint32_t base = gpu.shared_base(), mbarrier = base + mbarrier_offset;
  if (tid == 0) {
    gpu.mbarrier_init(mbarrier, 1);
    gpu.fence_mbarrier_init();
  }
  gpu.barrier();
  auto copy_in = [&](uint32_t round) {
    gpu.mbarrier_arrive_expect_tx(mbarrier, bug == expects_too_little ? bytes / 2 : bytes);
    const int32_t *from = o.x + (block * rounds + round) * piece;
    gpu.bulk_load(base, from, bytes / 2, mbarrier);
    gpu.bulk_load(base + bytes / 2, from + piece / 2, bytes / 2, mbarrier);
  };
  if (tid == 0)
    copy_in(0);
  for (uint32_t round = 0; round < rounds; round++) {
    gpu.step();
    if (bug != no_wait_for_copy_in)
      gpu.mbarrier_wait(mbarrier, round % 2);
    int32_t mine[piece / threads];
    for (uint32_t i = 0; i < piece / threads; i++)
      mine[i] = 2 * gpu.load_shared<int32_t>(4 * (tid + i * threads));
    if (tid == 0 && round > 0 && bug != no_wait_before_writing_again)
      gpu.bulk_wait_read(bug == wait_too_weak ? 1 : 0);
    // All threads have read the loaded chunk; the stored chunk may be overwritten.
    if (bug != next_piece_too_early)
      gpu.barrier();
    if (tid == 0 && round + 1 < rounds)
      copy_in(round + 1);
    if (bug == next_piece_too_early)
      gpu.barrier();
    for (uint32_t i = 0; i < piece / threads; i++)
      gpu.store_shared<int32_t>(out_offset + 4 * (tid + i * threads), mine[i]);
    if (bug != no_proxy_fence)
      gpu.fence_proxy_async();
    if (bug != no_barrier_before_copies_out)
      gpu.barrier();
    if (tid == 0) {
      uint32_t from = base + out_offset;
      if (bug == store_instead_of_reduce)
        gpu.tma_store_2d(o.y, 0, 0, from);
      else
        gpu.tma_reduce_add_2d(o.y, 0, bug == adds_one_row_too_low, from);
      gpu.bulk_store(o.log + (block * rounds + round) * piece, from,
                     bug == copies_too_many_bytes ? bytes + 16 : bytes);
      if (!(bug == one_group_left_out && round + 1 == rounds))
        gpu.bulk_commit();
    }
  }
  if (tid == 0) {
    if (bug == waits_for_reading_only)
      gpu.bulk_wait_read(0);
    else if (bug != no_wait_at_end)
      gpu.bulk_wait(0);
    gpu.store(o.last + block, gpu.load(o.log + (block * rounds + rounds - 1) * piece));
  }
}

bool run(Kernel &k, int bug) {
  k.threads = threads;
  k.shared_bytes = mbarrier_offset + 8;
  k.grid = {blocks, 1, 1};
  std::vector<int32_t> input;
  for (uint32_t i = 0; i < blocks * rounds * piece; i++)
    input.push_back(small_integer(i, 1, 5));
  Operands o;
  o.x = k.parameter("x", input);
  int32_t *y = k.parameter("y", std::vector<int32_t>(piece, 1000));
  o.y = tensor_map(k, "y_map", y, models::DataType::s32, {16, 16}, {16, 16});
  o.log = k.unwritten<int32_t>("log", input.size());
  o.last = k.unwritten<int32_t>("last", blocks);
  k.run([=](Gpu &gpu) { kernel(gpu, bug, o); });
  for (uint32_t i = 0; i < piece; i++) {
    int32_t sum = 1000;
    for (uint32_t part = 0; part < blocks * rounds; part++)
      sum += 2 * input[part * piece + i];
    if (y[i] != sum)
      return false;
  }
  for (uint32_t i = 0; i < input.size(); i++)
    if (o.log[i] != 2 * input[i])
      return false;
  for (uint32_t block = 0; block < blocks; block++)
    if (o.last[block] != 2 * input[(block * rounds + rounds - 1) * piece])
      return false;
  return true;
}

} // namespace

TestKernel bulk_reduce() { return {"bulk_reduce", bugs, run}; }

} // namespace tritonc::emulator::test
