// An Ampere GEMM, C = A B: cp.async fills a circular buffer in shared memory; ldmatrix, mma.sync.
//
// One block of 128 threads computes 64 x 64; each warp computes 32 x 32. A is M x K, B is K x N,
// row-major f16. K is not a multiple of the K tile (64), so the last copies are partial.

#include "robustness/seeded_bugs/test_kernel.h"

#include <algorithm>

namespace tritonc::emulator::test {
namespace {

constexpr uint32_t tile = 64, step = 64, depth = 208, stages = 3;
constexpr uint32_t operand_bytes = tile * step * 2, stage_bytes = 2 * operand_bytes;

enum Switch {
  right,
  no_barrier_after_wait,
  barrier_before_wait,
  no_barrier_before_refill,
  wait_too_weak,
  no_commit,
  refill_too_early,
  swizzle_differs,
  not_transposed,
  misaligned_row,
  stage_out_of_bounds,
  divergent_barrier,
  halves_of_b_swapped,
  tail_not_cut,
  wrong_row_of_a,
  first_stage_not_loaded,
};

const std::vector<Bug> bugs = {
    {"no barrier after the wait for the copies", race | values},
    {"the barrier comes before the wait", race},
    {"no barrier before a stage is refilled", race},
    {"the wait allows one group too many", unwritten | values},
    {"no commit", unwritten},
    {"refills the stage that is read now", values},
    {"the swizzle of A's reads is another one", values},
    {"ldmatrix of B without .trans", values},
    {"rows of A begin 8 bytes too late", bounds},
    {"stages are 7 times as far apart as there is room", bounds},
    {"a barrier in a branch that half of the block takes", deadlock},
    {"the halves of B's fragment swapped", values},
    {"copies at the end of a row are not cut", bounds},
    {"A's fragment one row too low", values},
    {"the loop begins without the first stage", unwritten},
};

struct Operands {
  const uint16_t *a, *b;
  float *c;
  uint32_t n;
};

void kernel(Gpu &gpu, int bug, const Operands &x) {
  uint32_t tid = gpu.tid_x(), lane = tid % 32, warp = tid / 32;
  uint32_t n0 = gpu.ctaid_x() * tile;
  uint32_t row0 = warp % 2 * 32, column0 = warp / 2 * 32;
  uint32_t base = gpu.shared_base();
  Vector<float, 4> sums[2][4] = {};
  constexpr uint32_t steps = (depth + step - 1) / step;

  // Rows of 128 bytes with swizzled 16-byte chunks.
  auto place = [](uint32_t row, uint32_t chunk) { return row * 128 + ((chunk ^ row % 8) << 4); };
  auto load = [&](uint32_t k, uint32_t stage) {
    uint32_t a = base + stage * stage_bytes * (bug == stage_out_of_bounds ? 7 : 1);
    uint32_t b = a + operand_bytes;
    for (uint32_t i = tid; i < 512; i += 128) {
      uint32_t row = i / 8, chunk = i % 8, at = k * step + chunk * 8;
      uint32_t bytes = at < depth ? std::min<uint32_t>(16, 2 * (depth - at)) : 0;
      if (bug == tail_not_cut)
        bytes = 16;
      gpu.cp_async_16(a + place(row, chunk), x.a + row * depth + at, bytes);
    }
    for (uint32_t i = tid; i < 512; i += 128) {
      uint32_t row = i / 8, chunk = i % 8, at = k * step + row;
      gpu.cp_async_16(b + place(row, chunk), x.b + std::min(at, depth - 1) * x.n + n0 + chunk * 8,
                      at < depth ? 16 : 0);
    }
  };
  auto commit = [&] {
    if (bug != no_commit)
      gpu.cp_async_commit();
  };

  for (uint32_t k = 0; k < stages - 1; k++) {
    if (bug != first_stage_not_loaded || k > 0)
      load(k, k);
    commit();
  }
  for (uint32_t k = 0; k < steps; k++) {
    gpu.step();
    // Fill the stage that the previous iteration read.
    if (uint32_t next = k + stages - 1; next < steps)
      load(next, (bug == refill_too_early ? k : next) % stages);
    commit();
    if (bug == barrier_before_wait)
      gpu.barrier();
    gpu.cp_async_wait(stages - 1 + (bug == wait_too_weak));
    if (bug != no_barrier_after_wait && bug != barrier_before_wait)
      gpu.barrier();

    uint32_t a_stage = base + k % stages * stage_bytes, b_stage = a_stage + operand_bytes;
    for (uint32_t k16 = 0; k16 < step / 16; k16++) {
      Words<4> a[2], b[2];
      for (uint32_t i = 0; i < 2; i++) {
        uint32_t row = row0 + i * 16 + lane % 16, chunk = k16 * 2 + lane / 16;
        if (bug == wrong_row_of_a)
          row = std::min(row + 1, tile - 1);
        uint32_t at = place(row, chunk);
        if (bug == swizzle_differs)
          at = row * 128 + ((chunk ^ (row + 1) % 8) << 4);
        a[i] = gpu.ldmatrix_x4(a_stage + at + (bug == misaligned_row ? 8 : 0));
      }
      for (uint32_t j = 0; j < 2; j++) {
        uint32_t row = k16 * 16 + lane % 16, chunk = (column0 + j * 16) / 8 + lane / 16;
        b[j] = bug == not_transposed ? gpu.ldmatrix_x4(b_stage + place(row, chunk))
                                     : gpu.ldmatrix_x4_trans(b_stage + place(row, chunk));
      }
      for (uint32_t i = 0; i < 2; i++)
        for (uint32_t j = 0; j < 4; j++) {
          uint32_t half = bug == halves_of_b_swapped ? 1 - j % 2 : j % 2;
          Words<2> part = {b[j / 2][2 * half], b[j / 2][2 * half + 1]};
          sums[i][j] = gpu.mma_m16n8k16_f16(a[i], part, sums[i][j]);
        }
    }
    if (bug != no_barrier_before_refill)
      gpu.barrier();
  }
  if (bug == divergent_barrier && tid < 64)
    gpu.barrier();

  for (uint32_t i = 0; i < 2; i++)
    for (uint32_t j = 0; j < 4; j++) {
      uint32_t row = row0 + i * 16 + lane / 4, column = n0 + column0 + j * 8 + lane % 4 * 2;
      for (uint32_t e = 0; e < 4; e++)
        gpu.store(x.c + (row + e / 2 * 8) * x.n + column + e % 2, sums[i][j][e]);
    }
}

bool run(Kernel &k, int bug) {
  constexpr uint32_t n = 2 * tile;
  k.threads = 128;
  k.shared_bytes = stages * stage_bytes;
  k.grid = {n / tile, 1, 1};
  Operands x;
  x.n = n;
  x.a = k.parameter("a", small_halves(tile, depth, 1));
  x.b = k.parameter("b", small_halves(depth, n, 2));
  x.c = k.unwritten<float>("c", tile * n);
  k.run([=](Gpu &gpu) { kernel(gpu, bug, x); });
  static const std::vector<float> expected = sums_of_products(
      tile, n, depth, [](uint32_t i, uint32_t e) { return small_integer(i, e, 1); },
      [](uint32_t j, uint32_t e) { return small_integer(e, j, 2); });
  return std::equal(expected.begin(), expected.end(), x.c);
}

} // namespace

TestKernel ampere_gemm() { return {"ampere_gemm", bugs, run}; }

} // namespace tritonc::emulator::test
