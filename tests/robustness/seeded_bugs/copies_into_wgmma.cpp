// C = A B^T with a producer warpgroup that gathers operands by cp.async, and a consumer warpgroup.
// Such kernels serve operands that a tensor map cannot describe.
//
// An index array gives the order of A's rows. cp.async writes through the generic proxy, and wgmma
// reads through the async proxy. So each producer thread waits for its copies, executes the proxy
// fence, and then arrives at the stage's mbarrier.

#include "models/fragments.h"
#include "models/matrix_descriptor.h"
#include "robustness/seeded_bugs/test_kernel.h"

#include <algorithm>

namespace tritonc::emulator::test {
namespace {

constexpr uint32_t tile = 64, step = 64, depth = 5 * step, stages = 2, registers = tile / 2;
constexpr uint32_t operand_bytes = tile * step * 2, stage_bytes = 2 * operand_bytes;
constexpr uint32_t full_offset = stages * stage_bytes, empty_offset = full_offset + 8 * stages;

enum Switch {
  right,
  no_proxy_fence,
  proxy_fence_before_wait,
  no_wait_for_copies,
  wait_too_weak,
  arrives_by_copies,
  full_count_too_small,
  no_wait_for_full,
  no_wait_for_empty,
  release_too_early,
  one_warp_releases,
  swizzle_differs,
  fence_by_reader,
};

const std::vector<Bug> bugs = {
    {"no fence.proxy.async", race},
    {"fence.proxy.async before the wait for the copies", race},
    {"no wait for the copies", unwritten},
    {"the wait for the copies allows one group", unwritten | race},
    {"the copies arrive by themselves, so no thread can execute a fence", race},
    {"full after the arrivals of half of the threads", deadlock},
    {"no wait for a full stage", race},
    {"no wait for an empty stage", deadlock},
    {"a stage is released before the wait for its wgmma", race},
    {"one warp alone says that a stage was read", race},
    {"chunks of A change places by another rule", values},
    {"fence.proxy.async by those who read", race},
};

struct Operands {
  const uint16_t *a, *b;
  const uint32_t *index;
  float *c;
};

uint64_t descriptor(uint32_t address) {
  models::MatrixDescriptor descriptor;
  descriptor.start = address & 0x3ffff;
  descriptor.leading = 16;
  descriptor.stride = 1024;
  descriptor.swizzle = models::Swizzle::span128;
  return models::encode_descriptor(descriptor);
}

void gather(Gpu &gpu, int bug, const Operands &x) {
  uint32_t tid = gpu.tid_x() % 128, base = gpu.shared_base();
  constexpr uint32_t steps = depth / step;
  auto publish = [&](uint32_t k) {
    if (bug != no_proxy_fence && bug != proxy_fence_before_wait && bug != fence_by_reader)
      gpu.fence_proxy_async();
    gpu.mbarrier_arrive(base + full_offset + 8 * (k % stages));
  };
  for (uint32_t k = 0; k < steps; k++) {
    gpu.step();
    uint32_t stage = base + k % stages * stage_bytes;
    if (bug != no_wait_for_empty)
      gpu.mbarrier_wait(base + empty_offset + 8 * (k % stages), 1 - k / stages % 2);
    for (uint32_t i = tid; i < 512; i += 128) {
      uint32_t row = i / 8, chunk = i % 8, at = k * step + chunk * 8;
      uint32_t other = bug == swizzle_differs ? (row + 1) % 8 : row % 8;
      gpu.cp_async_16(stage + row * 128 + ((chunk ^ other) << 4),
                      x.a + gpu.load(x.index + row) * depth + at, 16);
      gpu.cp_async_16(stage + operand_bytes + row * 128 + ((chunk ^ row % 8) << 4),
                      x.b + row * depth + at, 16);
    }
    if (bug == arrives_by_copies) {
      gpu.cp_async_mbarrier_arrive(base + full_offset + 8 * (k % stages));
      continue;
    }
    gpu.cp_async_commit();
    if (bug == proxy_fence_before_wait)
      gpu.fence_proxy_async();
    if (bug != no_wait_for_copies)
      gpu.cp_async_wait(bug == wait_too_weak ? 1 : 0);
    publish(k);
  }
}

void multiply(Gpu &gpu, int bug, const Operands &x) {
  uint32_t tid = gpu.tid_x() % 128, base = gpu.shared_base();
  constexpr uint32_t steps = depth / step;
  Registers<float> d;
  d.n = registers;
  for (uint32_t k = 0; k < steps; k++) {
    gpu.step();
    uint32_t stage = base + k % stages * stage_bytes;
    if (bug != no_wait_for_full)
      gpu.mbarrier_wait(base + full_offset + 8 * (k % stages), k / stages % 2);
    if (bug == fence_by_reader)
      gpu.fence_proxy_async();
    gpu.wgmma_fence();
    for (uint32_t ahead = 0; ahead < 2 * step; ahead += 32)
      d = gpu.wgmma_f16(registers, descriptor(stage + ahead),
                        descriptor(stage + operand_bytes + ahead), k > 0 || ahead > 0, 0, 0, d);
    gpu.wgmma_commit();
    auto release = [&] {
      if (bug == one_warp_releases ? tid == 0 : tid % 32 == 0)
        gpu.mbarrier_arrive(base + empty_offset + 8 * (k % stages));
    };
    if (bug == release_too_early)
      release();
    d = gpu.wgmma_wait_f32(registers, 0, d);
    if (bug != release_too_early)
      release();
  }
  for (uint32_t i = 0; i < registers; i++) {
    models::Place at = models::place_in_d(tid, i);
    gpu.store(x.c + at.row * tile + at.column, d[i]);
  }
}

void kernel(Gpu &gpu, int bug, const Operands &x) {
  uint32_t base = gpu.shared_base();
  if (gpu.tid_x() == 0) {
    for (uint32_t i = 0; i < stages; i++) {
      gpu.mbarrier_init(base + full_offset + 8 * i, bug == full_count_too_small ? 64 : 128);
      gpu.mbarrier_init(base + empty_offset + 8 * i, bug == one_warp_releases ? 1 : 4);
    }
    if (bug == arrives_by_copies)
      gpu.fence_mbarrier_init();
  }
  gpu.barrier();
  if (gpu.tid_x() < 128)
    gather(gpu, bug, x);
  else
    multiply(gpu, bug, x);
}

bool run(Kernel &k, int bug) {
  k.threads = 256;
  k.shared_bytes = empty_offset + 8 * stages;
  Operands x;
  x.a = k.parameter("a", small_halves(2 * tile, depth, 1));
  x.b = k.parameter("b", small_halves(tile, depth, 2));
  std::vector<uint32_t> index;
  for (uint32_t i = 0; i < tile; i++)
    index.push_back(i * 37 % (2 * tile));
  x.index = k.parameter("index", index);
  x.c = k.unwritten<float>("c", tile * tile);
  k.run([=](Gpu &gpu) { kernel(gpu, bug, x); });
  static const std::vector<float> expected = sums_of_products(
      tile, tile, depth, [&](uint32_t i, uint32_t e) { return small_integer(index[i], e, 1); },
      [](uint32_t j, uint32_t e) { return small_integer(j, e, 2); });
  return std::equal(expected.begin(), expected.end(), x.c);
}

} // namespace

TestKernel copies_into_wgmma() { return {"copies_into_wgmma", bugs, run}; }

} // namespace tritonc::emulator::test
