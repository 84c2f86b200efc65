// Measures the speed of the emulator on matmuls like those of compiled kernels. Prints the times
// and checks no limit. One step is a 128 x 128 x 64 f16 tile. Ampere: four warps with mma.sync,
// which is 640 collective operations in 48 calls. Hopper: two warpgroups with wgmma and tensor
// copies.

#include "unit/emulator/kernel.h"

#include "models/fragments.h"
#include "models/matrix_descriptor.h"
#include "models/numbers.h"
#include "unit/emulator/tensor_maps.h"

#include <doctest/doctest.h>

#include <ctime>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

namespace {

// CPU time of this thread, because the machine may run other processes.
double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

constexpr uint32_t M = 128, N = 128, K = 64; // tile sizes
constexpr uint32_t depth = 2048;

// ---- Ampere: A is M x depth, B depth x N ----

// Rows are padded by 16 bytes, so that addresses need no swizzle.
constexpr uint32_t a_pitch = 2 * K + 16, b_pitch = 2 * N + 16;
constexpr uint32_t b_begin = M * a_pitch;

struct Load {
  uint32_t address;
  Words<4> words;
};
struct Product {
  Words<4> a;
  Words<2> b;
  Vector<float, 4> c, d;
};
struct Copy {
  uint32_t to;
  alignas(8) const void *from;
  uint32_t bytes;
};

void with_mma(Gpu &gpu, const uint16_t *a, const uint16_t *b, float *c) {
  const uint32_t thread = gpu.tid_x(), warp = thread / 32, lane = thread % 32;
  const uint32_t row = 64 * (warp / 2), column = 64 * (warp % 2), base = gpu.shared_base();
  static const size_t copy = operation_number(Row::cp_async_16),
                      load = operation_number(Row::ldmatrix_x4),
                      load_trans = operation_number(Row::ldmatrix_x4_trans),
                      multiply = operation_number(Row::mma_m16n8k16_f16);
  Vector<float, 4> sums[4][8] = {};
  for (uint32_t k = 0; k < depth; k += K) {
    Copy copies[16];
    for (uint32_t i = 0; i < 8; i++) {
      uint32_t chunk = thread + 128 * i;
      copies[i] = {base + chunk / 8 * a_pitch + chunk % 8 * 16,
                   a + chunk / 8 * depth + k + chunk % 8 * 8, 16};
      copies[8 + i] = {base + b_begin + chunk / 16 * b_pitch + chunk % 16 * 16,
                       b + (k + chunk / 16) * N + chunk % 16 * 8, 16};
    }
    gpu.call(copy, copies, 16, 1);
    gpu.cp_async_commit(2);
    gpu.cp_async_wait(0, 3);
    gpu.barrier(4);
    for (uint32_t kk = 0; kk < K; kk += 16) {
      Load of_a[4], of_b[4];
      for (uint32_t i = 0; i < 4; i++) {
        of_a[i].address = base + (row + 16 * i + lane % 16) * a_pitch + 2 * kk + lane / 16 * 16;
        of_b[i].address =
            base + b_begin + (kk + lane % 16) * b_pitch + 2 * (column + 16 * i) + lane / 16 * 16;
      }
      gpu.call(load, of_a, 4, 5);
      gpu.call(load_trans, of_b, 4, 6);
      Product products[32];
      for (uint32_t i = 0; i < 32; i++) {
        Product &p = products[i];
        p.a = of_a[i / 8].words;
        const Words<4> &words = of_b[i % 8 / 2].words;
        p.b = {words[i % 2 * 2], words[i % 2 * 2 + 1]};
        p.c = sums[i / 8][i % 8];
      }
      gpu.call(multiply, products, 32, 7);
      for (uint32_t i = 0; i < 32; i++)
        sums[i / 8][i % 8] = products[i].d;
    }
    gpu.barrier(8);
  }
  for (uint32_t i = 0; i < 32; i++)
    for (uint32_t j = 0; j < 4; j++)
      gpu.store(c + (row + 16 * (i / 8) + lane / 4 + j / 2 * 8) * N + column + i % 8 * 8 +
                    lane % 4 * 2 + j % 2,
                sums[i / 8][i % 8][j], 9);
}

// ---- Hopper: A is M x depth, B N x depth, through tensor maps ----

constexpr uint32_t stages = 3, operand_bytes = M * K * 2, stage_bytes = 2 * operand_bytes;
constexpr uint32_t full = stages * stage_bytes, empty = full + 8 * stages; // mbarriers

uint64_t descriptor(uint32_t address) {
  models::MatrixDescriptor descriptor;
  descriptor.start = address & 0x3ffff;
  descriptor.leading = 16;
  descriptor.stride = 1024;
  descriptor.swizzle = models::Swizzle::span128;
  return models::encode_descriptor(descriptor);
}

constexpr uint32_t registers = N / 2;
struct Multiply {
  uint32_t count;
  uint64_t a, b;
  uint32_t add, transposed_a, transposed_b;
  float c[registers], d[registers];
};
struct Wait {
  uint32_t count, pending;
  float c[registers], d[registers];
};

void with_wgmma(Gpu &gpu, const void *a_map, const void *b_map, float *c) {
  const uint32_t thread = gpu.tid_x(), group = thread / 128, base = gpu.shared_base();
  if (thread == 0) {
    for (uint32_t i = 0; i < stages; i++) {
      gpu.mbarrier_init(base + full + 8 * i, 1);
      gpu.mbarrier_init(base + empty + 8 * i, 2);
    }
    gpu.fence_mbarrier_init();
  }
  gpu.barrier();
  if (group == 2) { // the producer
    if (thread == 256)
      for (uint32_t k = 0; k < depth / K; k++) {
        uint32_t stage = k % stages, at = base + stage * stage_bytes;
        if (k >= stages)
          gpu.mbarrier_wait(base + empty + 8 * stage, (k / stages - 1) % 2);
        gpu.mbarrier_arrive_expect_tx(base + full + 8 * stage, stage_bytes);
        gpu.tma_load_2d(at, a_map, k * K, 0, base + full + 8 * stage);
        gpu.tma_load_2d(at + operand_bytes, b_map, k * K, 0, base + full + 8 * stage);
      }
    return;
  }
  static const size_t multiply = operation_number(Row::wgmma_f16),
                      wait = operation_number(Row::wgmma_wait_f32);
  Multiply product = {registers, 0, 0, 1, 0, 0, {}, {}};
  Wait waits = {registers, 0, {}, {}};
  for (uint32_t k = 0; k < depth / K; k++) {
    uint32_t stage = k % stages, a = base + stage * stage_bytes + group * 64 * 128;
    uint32_t b = base + stage * stage_bytes + operand_bytes;
    gpu.mbarrier_wait(base + full + 8 * stage, k / stages % 2);
    gpu.wgmma_fence();
    for (uint32_t k16 = 0; k16 < K / 16; k16++) {
      product.a = descriptor(a + 32 * k16);
      product.b = descriptor(b + 32 * k16);
      gpu.call(multiply, &product, 1, 10);
      std::copy_n(product.d, registers, product.c);
    }
    gpu.wgmma_commit();
    std::copy_n(product.d, registers, waits.c);
    gpu.call(wait, &waits, 1, 11);
    std::copy_n(waits.d, registers, product.c);
    gpu.barrier_sync(1 + group, 128);
    if (thread % 128 == 0)
      gpu.mbarrier_arrive(base + empty + 8 * stage);
  }
  for (uint32_t i = 0; i < registers; i++) {
    models::Place at = models::place_in_d(thread % 128, i);
    gpu.store(c + (64 * group + at.row) * N + at.column, waits.d[i]);
  }
}

// ---- both ----

// Element k of row i of A and of column j of B.
float a_at(uint32_t i, uint32_t k) { return float((i * 7 + k * 3) % 9) - 4; }
float b_at(uint32_t j, uint32_t k) { return float((j * 5 + k) % 7) - 3; }

void measure(Kernel &kernel, const char *name, const float *c,
             const std::function<void(Gpu &)> &body) {
  kernel.options.workers = 1;
  struct {
    const char *name;
    bool races;
    Order order;
  } modes[] = {{"bounds only", false, Order::forward},
               {"with races", true, Order::forward},
               {"random order", false, Order::random},
               {"random order, with races", true, Order::random}};
  for (const auto &mode : modes) {
    kernel.options.races = mode.races;
    kernel.options.order = mode.order;
    double best = 1e9;
    for (int repeat = 0; repeat < 3; repeat++) {
      double start = cpu_seconds();
      kernel.run(body);
      best = std::min(best, cpu_seconds() - start);
    }
    CHECK(kernel.reports() == "");
    std::string what = std::string(name) + ", " + mode.name;
    MESSAGE(what << ": " << best * 1e3 / (depth / K) << " ms per 128 x 128 x 64");
  }
  for (uint32_t i = 0; i < M; i += 37)
    for (uint32_t j = 0; j < N; j += 11) {
      float sum = 0;
      for (uint32_t k = 0; k < depth; k++)
        sum += a_at(i, k) * b_at(j, k);
      CHECK(c[i * N + j] == sum);
    }
}

} // namespace

TEST_CASE("emulator: prints the time of a matmul by mma.sync") {
  Kernel k;
  std::vector<uint16_t> of_a(M * depth), of_b(depth * N);
  for (uint32_t i = 0; i < of_a.size(); i++)
    of_a[i] = models::to_half(a_at(i / depth, i % depth));
  for (uint32_t i = 0; i < of_b.size(); i++)
    of_b[i] = models::to_half(b_at(i % N, i / N));
  uint16_t *a = k.parameter<uint16_t>("a", of_a), *b = k.parameter<uint16_t>("b", of_b);
  float *c = k.unwritten<float>("c", M * N);
  k.threads = 128;
  k.shared_bytes = b_begin + K * b_pitch;
  measure(k, "mma.sync", c, [=](Gpu &gpu) { with_mma(gpu, a, b, c); });
}

TEST_CASE("emulator: prints the time of a matmul by wgmma") {
  Kernel k;
  std::vector<uint16_t> of_a(M * depth), of_b(N * depth);
  for (uint32_t i = 0; i < of_a.size(); i++)
    of_a[i] = models::to_half(a_at(i / depth, i % depth));
  for (uint32_t i = 0; i < of_b.size(); i++)
    of_b[i] = models::to_half(b_at(i / depth, i % depth));
  auto map_of = [&](const char *name, const std::vector<uint16_t> &of, uint32_t rows) {
    return tensor_map(k, std::string(name) + "_map", k.parameter<uint16_t>(name, of),
                      models::DataType::f16, {depth, rows}, {K, rows}, models::Swizzle::span128);
  };
  const void *a = map_of("a", of_a, M), *b = map_of("b", of_b, N);
  float *c = k.unwritten<float>("c", M * N);
  k.threads = 384;
  k.shared_bytes = empty + 8 * stages;
  measure(k, "wgmma", c, [=](Gpu &gpu) { with_wgmma(gpu, a, b, c); });
}
