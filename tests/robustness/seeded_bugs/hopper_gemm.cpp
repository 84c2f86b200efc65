// A Hopper GEMM, C = A B^T, without warp specialization: tensor copies fill a circular buffer with
// one mbarrier per stage; wgmma computes.
//
// A is M x K, B is N x K, row-major f16. A block of 128 threads computes 64 x 64.

#include "models/fragments.h"
#include "models/matrix_descriptor.h"
#include "robustness/seeded_bugs/test_kernel.h"
#include "unit/emulator/tensor_maps.h"

#include <algorithm>

namespace tritonc::emulator::test {
namespace {

constexpr uint32_t tile = 64, step = 64, depth = 320, stages = 3, registers = tile / 2;
constexpr uint32_t operand_bytes = tile * step * 2, stage_bytes = 2 * operand_bytes;
constexpr uint32_t mbarriers_offset = stages * stage_bytes;

enum Switch {
  right,
  refill_before_wait,
  wait_too_weak,
  no_barrier_before_refill,
  wrong_parity,
  parity_never_flips,
  expects_too_little,
  expects_too_much,
  no_wait_for_copy,
  no_barrier_after_init,
  no_fence_after_init,
  mbarriers_in_stage,
  count_too_large,
  wrong_stride,
  wrong_advance,
  wrong_swizzle,
  wrong_transpose,
  reads_next_stage,
  operands_overlap,
  no_wgmma_fence,
  no_wgmma_commit,
  no_wgmma_wait,
  step_not_added,
  coordinates_swapped,
  everybody_copies,
  box_beyond_memory,
  arrives_twice,
};

const std::vector<Bug> bugs = {
    {"a stage is refilled before the wait for the wgmma that read it", race},
    {"the wait before a refill allows one group", race},
    {"no barrier between the wait for wgmma and the refill", race},
    {"the parity is that of the next turn", deadlock},
    {"the parity is always 0", race},
    {"expects the bytes of A alone", race},
    {"expects more bytes than are copied", deadlock},
    {"no wait for the copies after the first", race},
    {"no barrier after mbarrier_init", race},
    {"no fence after mbarrier_init", race},
    {"the mbarriers lie in a stage", misuse},
    {"mbarriers for two arrivals", deadlock},
    {"the descriptors' stride is half as large", values},
    {"B's descriptor advances twice as fast", race | unwritten | bounds},
    {"the descriptors say spans of 64 bytes", values},
    {"B is said to be N-major", values},
    {"multiplies the stage after", race | values},
    {"B's half of a stage begins in A's", race | values},
    {"no wgmma_fence", misuse},
    {"no wgmma_commit", race | values},
    {"no wgmma_wait after the loop", values | race},
    {"the third step is not added to the sum", values},
    {"coordinates of A swapped", values},
    {"all threads of the first warp copy", misuse},
    {"the tensor map of B has more rows than the memory", bounds},
    {"arrives once more after announcing the bytes", misuse},
};

struct Operands {
  const void *a, *b; // tensor maps
  float *c;
  uint32_t n;
};

uint64_t descriptor(int bug, uint32_t address) {
  models::MatrixDescriptor descriptor;
  descriptor.start = address & 0x3ffff;
  descriptor.leading = 16;
  descriptor.stride = bug == wrong_stride ? 512 : 1024;
  descriptor.swizzle = bug == wrong_swizzle ? models::Swizzle::span64 : models::Swizzle::span128;
  return models::encode_descriptor(descriptor);
}

void kernel(Gpu &gpu, int bug, const Operands &x) {
  uint32_t tid = gpu.tid_x(), m0 = gpu.ctaid_x() * tile, n0 = gpu.ctaid_y() * tile;
  uint32_t base = gpu.shared_base();
  uint32_t mbarriers = base + mbarriers_offset - (bug == mbarriers_in_stage ? 1024 : 0);
  constexpr uint32_t steps = depth / step;

  if (tid == 0) {
    for (uint32_t i = 0; i < stages; i++)
      gpu.mbarrier_init(mbarriers + 8 * i, bug == count_too_large ? 2 : 1);
    if (bug != no_fence_after_init)
      gpu.fence_mbarrier_init();
  }
  if (bug != no_barrier_after_init)
    gpu.barrier();

  auto copy = [&](uint32_t k) {
    uint32_t stage = k % stages, mbarrier = mbarriers + 8 * stage, a = base + stage * stage_bytes;
    uint32_t bytes = stage_bytes;
    if (bug == expects_too_little)
      bytes = operand_bytes;
    if (bug == expects_too_much)
      bytes += 128;
    gpu.mbarrier_arrive_expect_tx(mbarrier, bytes);
    if (bug == arrives_twice)
      gpu.mbarrier_arrive(mbarrier);
    if (bug == coordinates_swapped)
      gpu.tma_load_2d(a, x.a, m0, k * step, mbarrier);
    else
      gpu.tma_load_2d(a, x.a, k * step, m0, mbarrier);
    gpu.tma_load_2d(a + (bug == operands_overlap ? operand_bytes / 2 : operand_bytes), x.b,
                    k * step, n0, mbarrier);
  };
  bool copies = bug == everybody_copies ? tid < 32 : tid == 0;
  if (copies)
    for (uint32_t k = 0; k < stages; k++)
      copy(k);

  Registers<float> d;
  d.n = registers;
  auto wait = [&](uint32_t pending) { d = gpu.wgmma_wait_f32(registers, pending, d); };
  for (uint32_t k = 0; k < steps; k++) {
    gpu.step();
    uint32_t parity = k / stages % 2;
    if (bug == wrong_parity)
      parity = (k + 1) / stages % 2;
    if (bug == parity_never_flips)
      parity = 0;
    if (bug != no_wait_for_copy || k == 0)
      gpu.mbarrier_wait(mbarriers + 8 * (k % stages), parity);
    uint32_t stage = bug == reads_next_stage ? (k + 1) % stages : k % stages;
    uint32_t a = base + stage * stage_bytes;
    uint32_t b = a + (bug == operands_overlap ? operand_bytes / 2 : operand_bytes);
    if (bug != no_wgmma_fence)
      gpu.wgmma_fence();
    for (uint32_t k16 = 0; k16 < step / 16; k16++) {
      bool add = k > 0 || k16 > 0;
      if (bug == step_not_added && k == 3 && k16 == 0)
        add = false;
      uint32_t ahead = 32 * k16;
      d = gpu.wgmma_f16(registers, descriptor(bug, a + ahead),
                        descriptor(bug, b + ahead * (bug == wrong_advance ? 2 : 1)), add, 0,
                        bug == wrong_transpose, d);
    }
    if (bug != no_wgmma_commit)
      gpu.wgmma_commit();
    if (bug == wait_too_weak)
      wait(1);
    else if (bug != refill_before_wait && !(bug == no_wgmma_wait && k == steps - 1))
      wait(0);
    if (bug != no_barrier_before_refill)
      gpu.barrier(); // every warp has waited
    if (copies && k + stages < steps)
      copy(k + stages);
    if (bug == refill_before_wait)
      wait(0);
  }
  if (bug == wait_too_weak)
    wait(0);

  for (uint32_t i = 0; i < registers; i++) {
    models::Place at = models::place_in_d(tid, i);
    gpu.store(x.c + (m0 + at.row) * x.n + n0 + at.column, d[i]);
  }
}

bool run(Kernel &k, int bug) {
  constexpr uint32_t m = 2 * tile, n = tile;
  k.threads = 128;
  k.shared_bytes = mbarriers_offset + 8 * stages;
  k.grid = {m / tile, n / tile, 1};
  Operands x;
  x.n = n;
  auto map_of = [&](const char *name, const uint16_t *of, uint32_t rows) {
    return tensor_map(k, name, of, models::DataType::f16, {depth, rows}, {step, tile},
                      models::Swizzle::span128);
  };
  x.a = map_of("a_map", k.parameter("a", small_halves(m, depth, 1)), m);
  x.b = map_of("b_map", k.parameter("b", small_halves(n, depth, 2)),
               bug == box_beyond_memory ? n + 64 : n);
  x.c = k.unwritten<float>("c", m * n);
  if (bug == box_beyond_memory)
    k.grid.y++;
  k.run([=](Gpu &gpu) { kernel(gpu, bug, x); });
  static const std::vector<float> expected = sums_of_products(
      m, n, depth, [](uint32_t i, uint32_t e) { return small_integer(i, e, 1); },
      [](uint32_t j, uint32_t e) { return small_integer(j, e, 2); });
  return std::equal(expected.begin(), expected.end(), x.c);
}

} // namespace

TestKernel hopper_gemm() { return {"hopper_gemm", bugs, run}; }

} // namespace tritonc::emulator::test
