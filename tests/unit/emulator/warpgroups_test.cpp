// Tests ops/warpgroups.cpp: results of wgmma, poison, the order after waits, each misuse, and
// setmaxnreg.

#include "models/fragments.h"
#include "models/matrix_descriptor.h"
#include "models/numbers.h"
#include "unit/emulator/kernel.h"
#include "unit/emulator/modes.h"
#include "unit/emulator/said.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;
using doctest::Contains;
using models::Swizzle;

namespace {

constexpr uint32_t a_offset = 0, b_offset = 8192;
constexpr unsigned columns = 32, registers = columns / 2;

// One warpgroup. A is 64 x 64 and B is 32 x 64, f16, both K-major with 128-byte swizzle, in shared
// memory. Element (i, j) of A is (3i + j) % 7 - 3; element (i, j) of B is (i + 5j) % 5 - 2.
struct Bench : Kernel {
  explicit Bench(uint32_t groups = 1) {
    threads = 128 * groups;
    shared_bytes = 16384;
    options.workers = 1;
    y = unwritten<float>("y", 64 * columns);
    memory.mark_initialized(y, 64 * columns * 4);
  }
  float *y;
};

float a_at(uint32_t i, uint32_t j) { return float((3 * i + j) % 7) - 3; }
float b_at(uint32_t i, uint32_t j) { return float((i + 5 * j) % 5) - 2; }
float product(uint32_t i, uint32_t j, uint32_t depth = 64) {
  float sum = 0;
  for (uint32_t k = 0; k < depth; k++)
    sum += a_at(i, k) * b_at(j, k);
  return sum;
}

uint32_t place(uint32_t row, uint32_t column) {
  return models::swizzled(Swizzle::span128, 128 * row + 2 * column);
}

// All threads of the first warpgroup write the operands.
void write_operands(Gpu &gpu, bool fence = true) {
  if (gpu.tid_x() < 128) {
    for (uint32_t i = gpu.tid_x(); i < 64 * 64; i += 128)
      gpu.store_shared<uint16_t>(a_offset + place(i / 64, i % 64),
                                 models::to_half(a_at(i / 64, i % 64)));
    for (uint32_t i = gpu.tid_x(); i < columns * 64; i += 128)
      gpu.store_shared<uint16_t>(b_offset + place(i / 64, i % 64),
                                 models::to_half(b_at(i / 64, i % 64)));
    if (fence)
      gpu.fence_proxy_async();
  }
  gpu.barrier();
}

uint64_t descriptor(Gpu &gpu, uint32_t offset, uint32_t k = 0) {
  models::MatrixDescriptor descriptor;
  descriptor.start = ((gpu.shared_base() + offset) & 0x3ffff) + 32 * k;
  descriptor.leading = 16;
  descriptor.stride = 1024;
  descriptor.swizzle = Swizzle::span128;
  return models::encode_descriptor(descriptor);
}

Registers<float> zero() {
  Registers<float> d;
  d.n = registers;
  return d;
}

Registers<float> multiply(Gpu &gpu, uint32_t k, const Registers<float> &d, bool add = true,
                          uint32_t line = __builtin_LINE()) {
  return gpu.wgmma_f16(registers, descriptor(gpu, a_offset, k), descriptor(gpu, b_offset, k), add,
                       0, 0, d, line);
}

Registers<float> wait(Gpu &gpu, uint32_t pending, const Registers<float> &d,
                      uint32_t line = __builtin_LINE()) {
  return gpu.wgmma_wait_f32(registers, pending, d, line);
}

void store(Gpu &gpu, float *y, const Registers<float> &d) {
  for (unsigned i = 0; i < registers; i++) {
    models::Place at = models::place_in_d(gpu.tid_x() % 128, i);
    gpu.store(y + at.row * columns + at.column, d[i]);
  }
}

bool is_right(const float *y, uint32_t depth = 64) {
  for (uint32_t i = 0; i < 64; i++)
    for (uint32_t j = 0; j < columns; j++)
      if (y[i * columns + j] != product(i, j, depth))
        return false;
  return true;
}

} // namespace

TEST_CASE("wgmma: matmul in four steps") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    float *y = k.y;
    k.run([=](Gpu &gpu) {
      write_operands(gpu);
      Registers<float> d = zero();
      gpu.wgmma_fence();
      for (uint32_t step = 0; step < 4; step++)
        d = multiply(gpu, step, d, step > 0);
      gpu.wgmma_commit();
      d = wait(gpu, 0, d);
      store(gpu, y, d);
    });
    CHECK(k.reports() == "");
    CHECK(is_right(y));
  }
}

TEST_CASE("wgmma: two accumulators, overlapping groups") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    float *y = k.y;
    k.run([=](Gpu &gpu) {
      write_operands(gpu);
      Registers<float> even = zero(), odd = zero();
      for (unsigned i = 0; i < registers; i++)
        odd[i] = 100; // wgmma adds to it
      for (uint32_t step = 0; step < 4; step += 2) {
        gpu.wgmma_fence();
        even = multiply(gpu, step, even);
        gpu.wgmma_commit();
        odd = multiply(gpu, step + 1, odd);
        gpu.wgmma_commit();
        even = wait(gpu, 1, even);
      }
      odd = wait(gpu, 0, odd);
      for (unsigned i = 0; i < registers; i++)
        even[i] += odd[i] - 100;
      store(gpu, y, even);
    });
    CHECK(k.reports() == "");
    CHECK(is_right(y));
  }
}

TEST_CASE("wgmma_wait: several accumulators in one wait") {
  auto both = [](Gpu &gpu, uint32_t pending, const Registers<float> &first,
                 const Registers<float> &second) {
    Registers<float> all;
    all.n = 2 * registers;
    for (unsigned i = 0; i < registers; i++) {
      all[i] = first[i];
      all[registers + i] = second[i];
    }
    return gpu.wgmma_wait_f32(2 * registers, pending, all);
  };
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    float *y = k.y;
    bool found = false, *is_poison = &found;
    k.run([=](Gpu &gpu) {
      write_operands(gpu);
      Registers<float> first = zero(), second = zero();
      gpu.wgmma_fence();
      first = multiply(gpu, 0, first);
      gpu.wgmma_commit();
      second = multiply(gpu, 1, second);
      gpu.wgmma_commit();
      Registers<float> all = both(gpu, 1, first, second);
      if (gpu.tid_x() == 0)
        *is_poison = std::isnan(all[registers]) && !std::isnan(all[0]);
      for (unsigned i = 0; i < registers; i++) {
        first[i] = all[i];
        second[i] = all[registers + i];
      }
      all = both(gpu, 0, first, second);
      for (unsigned i = 0; i < registers; i++)
        first[i] = all[i] + all[registers + i];
      store(gpu, y, first);
    });
    CHECK(k.reports() == "");
    CHECK(found);
    CHECK(is_right(y, 32));
  }
}

TEST_CASE("wgmma: A in registers") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    float *y = k.y;
    k.run([=](Gpu &gpu) {
      write_operands(gpu);
      uint32_t row = 16 * (gpu.tid_x() / 32), lane = gpu.tid_x() % 32;
      Registers<float> d = zero();
      Words<4> a[4];
      for (uint32_t step = 0; step < 4; step++)
        for (uint32_t r = 0; r < 4; r++) {
          models::Place at = models::place_in_a(16, 2, lane, r, 0);
          at.row += row;
          at.column += 16 * step;
          a[step][r] = models::to_half(a_at(at.row, at.column)) |
                       uint32_t(models::to_half(a_at(at.row, at.column + 1))) << 16;
        }
      gpu.wgmma_fence();
      for (uint32_t step = 0; step < 4; step++)
        d = gpu.wgmma_f16_ra(registers, a[step], descriptor(gpu, b_offset, step), 1, 0, d);
      gpu.wgmma_commit();
      store(gpu, y, wait(gpu, 0, d));
    });
    CHECK(k.reports() == "");
    CHECK(is_right(y));
  }
}

TEST_CASE("wgmma: integers") {
  for (Async async : {Async::early, Async::late}) {
    Kernel k;
    k.threads = 128;
    k.shared_bytes = 4096;
    k.options.async = async;
    int32_t *y = k.unwritten<int32_t>("y", 64 * 8);
    k.run([=](Gpu &gpu) {
      // 32-byte swizzle: A is 64 x 32, B is 8 x 32.
      for (uint32_t i = gpu.tid_x(); i < 64 * 32; i += 128)
        gpu.store_shared<int8_t>(models::swizzled(Swizzle::span32, i), int8_t(i % 11) - 5);
      for (uint32_t i = gpu.tid_x(); i < 8 * 32; i += 128)
        gpu.store_shared<int8_t>(2048 + models::swizzled(Swizzle::span32, i), int8_t(i % 7) - 3);
      gpu.fence_proxy_async();
      gpu.barrier();
      models::MatrixDescriptor a;
      a.start = gpu.shared_base() & 0x3ffff;
      a.leading = 16;
      a.stride = 256;
      a.swizzle = Swizzle::span32;
      models::MatrixDescriptor b = a;
      b.start += 2048;
      Registers<int32_t> d;
      d.n = 4;
      for (unsigned i = 0; i < 4; i++)
        d[i] = 1000;
      gpu.wgmma_fence();
      d = gpu.wgmma_s8(4, models::encode_descriptor(a), models::encode_descriptor(b), 1, d);
      gpu.wgmma_commit();
      d = gpu.wgmma_wait_s32(4, 0, d);
      for (unsigned i = 0; i < 4; i++) {
        models::Place at = models::place_in_d(gpu.tid_x(), i);
        gpu.store(y + at.row * 8 + at.column, d[i]);
      }
    });
    CHECK(k.reports() == "");
    uint32_t wrong = 0;
    for (int i = 0; i < 64; i++)
      for (int j = 0; j < 8; j++) {
        int32_t sum = 1000;
        for (int depth = 0; depth < 32; depth++)
          sum += ((32 * i + depth) % 11 - 5) * ((32 * j + depth) % 7 - 3);
        wrong += y[8 * i + j] != sum;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("wgmma: accumulators are poison before the wait") {
  enum Missing { wait_at_all, commit, strong_wait };
  for (Missing missing : {wait_at_all, commit, strong_wait})
    for (Async async : {Async::early, Async::late}) {
      CAPTURE(int(missing));
      Bench k;
      k.options.async = async;
      k.options.races = false;
      float *y = k.y;
      k.run([=](Gpu &gpu) {
        write_operands(gpu);
        Registers<float> d = zero();
        gpu.wgmma_fence();
        d = multiply(gpu, 0, d);
        if (missing != commit)
          gpu.wgmma_commit();
        if (missing != wait_at_all)
          d = wait(gpu, missing == strong_wait ? 1 : 0, d);
        store(gpu, y, d);
      });
      CHECK(std::isnan(y[0]));
      CHECK(std::isnan(y[64 * columns - 1]));
    }
}

TEST_CASE("wgmma_wait: hands out values while the next is pending") {
  Bench k;
  float *y = k.y;
  k.run([=](Gpu &gpu) {
    write_operands(gpu);
    Registers<float> first = zero(), second = zero();
    gpu.wgmma_fence();
    first = multiply(gpu, 0, first);
    gpu.wgmma_commit();
    second = multiply(gpu, 1, second);
    gpu.wgmma_commit();
    store(gpu, y, wait(gpu, 1, first));
    wait(gpu, 0, second);
  });
  CHECK(k.reports() == "");
  CHECK(is_right(y, 16));
}

TEST_CASE("wgmma: needs a proxy fence after stores to operands") {
  Bench k;
  float *y = k.y;
  k.run([=](Gpu &gpu) {
    write_operands(gpu, false);
    Registers<float> d = zero();
    gpu.wgmma_fence();
    d = multiply(gpu, 0, d);
    gpu.wgmma_commit();
    store(gpu, y, wait(gpu, 0, d));
  });
  CHECK(said(k) == Contains("wgmma_f16"));
  CHECK(said(k) == Contains("through the async proxy"));
}

TEST_CASE("wgmma: operands reusable after every warp's wait") {
  enum Then { barrier_after_wait, barrier_before_wait, no_barrier };
  for (Then then : {barrier_after_wait, barrier_before_wait, no_barrier})
    for (Async async : {Async::early, Async::late}) {
      CAPTURE(int(then));
      CAPTURE(name_of(async));
      Bench k;
      k.options.async = async;
      float *y = k.y;
      k.run([=](Gpu &gpu) {
        write_operands(gpu);
        Registers<float> d = zero();
        gpu.wgmma_fence();
        d = multiply(gpu, 0, d);
        gpu.wgmma_commit();
        if (then == barrier_before_wait)
          gpu.barrier();
        if (then != barrier_before_wait)
          d = wait(gpu, 0, d);
        if (then == barrier_after_wait)
          gpu.barrier();
        gpu.store_shared<uint16_t>(b_offset + place(gpu.tid_x() / 8, 0), 0);
        if (then == barrier_before_wait)
          d = wait(gpu, 0, d);
        store(gpu, y, d);
      });
      if (then == barrier_after_wait) {
        // All threads of a row write the same element, unordered.
        CHECK(said(k) != Contains("wgmma"));
        CHECK(is_right(y, 16));
      } else {
        CHECK(said(k) == Contains("the tensor core of warp"));
      }
    }
}

TEST_CASE("wgmma_fence: needed before the first wgmma") {
  Bench k;
  k.run([=](Gpu &gpu) {
    write_operands(gpu);
    multiply(gpu, 0, zero());
  });
  CHECK(said(k) == Contains("wgmma_f16: no wgmma_fence since the threads last had access to its "
                            "accumulators"));
}

TEST_CASE("wgmma_fence: needed to reuse returned accumulators") {
  for (bool fence : {true, false}) {
    Bench k;
    k.run([=](Gpu &gpu) {
      write_operands(gpu);
      Registers<float> d = zero();
      gpu.wgmma_fence();
      for (uint32_t step = 0; step < 2; step++) {
        d = multiply(gpu, step, d);
        gpu.wgmma_commit();
        d = wait(gpu, 0, d);
        if (fence)
          gpu.wgmma_fence();
      }
    });
    if (fence)
      CHECK(k.reports() == "");
    else
      CHECK(said(k) == Contains("no wgmma_fence since"));
  }
}

TEST_CASE("wgmma_fence: needed per group for A in registers") {
  Bench k;
  k.run([=](Gpu &gpu) {
    write_operands(gpu);
    Registers<float> d = zero();
    Words<4> a = {};
    gpu.wgmma_fence();
    d = gpu.wgmma_f16_ra(registers, a, descriptor(gpu, b_offset), 1, 0, d);
    gpu.wgmma_commit();
    d = gpu.wgmma_f16_ra(registers, a, descriptor(gpu, b_offset), 1, 0, d);
    gpu.wgmma_commit();
    wait(gpu, 0, d);
  });
  CHECK(said(k) == Contains("wgmma_f16_ra takes A from registers without a wgmma_fence since"));
}

TEST_CASE("wgmma: rejects modified pending accumulators") {
  enum Touch { one, copy_used_twice, copy_waited_for };
  for (Touch touch : {one, copy_used_twice, copy_waited_for}) {
    CAPTURE(int(touch));
    Bench k;
    k.run([=](Gpu &gpu) {
      write_operands(gpu);
      Registers<float> d = zero();
      gpu.wgmma_fence();
      d = multiply(gpu, 0, d);
      Registers<float> copy = d;
      if (touch == one)
        d[3] = 0;
      d = multiply(gpu, 1, d);
      if (touch == copy_used_twice)
        d = multiply(gpu, 2, copy);
      gpu.wgmma_commit();
      d = wait(gpu, 0, touch == copy_waited_for ? copy : d);
    });
    CHECK(k.result.reports.at(0).kind == Report::Kind::misuse);
    if (touch == one)
      CHECK(said(k) == Contains("some accumulators were changed"));
    else
      CHECK(said(k) == Contains("these accumulators are an outdated copy"));
  }
}

TEST_CASE("wgmma: rejects invalid descriptors") {
  struct Case {
    std::function<Registers<float>(Gpu &, const Registers<float> &)> wgmma;
    const char *text;
  };
  Case cases[] = {
      {[](Gpu &gpu, const Registers<float> &d) {
         return gpu.wgmma_f16(registers, descriptor(gpu, 16384 - 4096), descriptor(gpu, b_offset),
                              1, 0, 0, d);
       },
       "wgmma_f16: the descriptor of A reaches to offset"},
      {[](Gpu &gpu, const Registers<float> &d) {
         return gpu.wgmma_f16(registers, descriptor(gpu, a_offset),
                              descriptor(gpu, b_offset) | 1ull << 48, 1, 0, 0, d);
       },
       "wgmma_f16: the descriptor of B: reserved bits"},
      {[](Gpu &gpu, const Registers<float> &d) {
         return gpu.wgmma_f16(registers, descriptor(gpu, a_offset) | 1ull << 60,
                              descriptor(gpu, b_offset), 1, 0, 0, d);
       },
       "wgmma_f16: the descriptor of A: reserved bits"},
      {[](Gpu &gpu, const Registers<float> &d) {
         return gpu.wgmma_f16(registers, descriptor(gpu, a_offset),
                              descriptor(gpu, b_offset, gpu.tid_x() == 77), 1, 0, 0, d);
       },
       "wgmma_f16: the matrix descriptor of B is not the same for all threads of the warpgroup"},
      {[](Gpu &gpu, const Registers<float> &d) {
         Registers<float> odd = d;
         odd.n = 6;
         return gpu.wgmma_f16(6, descriptor(gpu, a_offset), descriptor(gpu, b_offset), 1, 0, 0,
                              odd);
       },
       "wgmma_f16 with N = 12: N must be a multiple of 8"},
  };
  for (const Case &one : cases) {
    CAPTURE(one.text);
    Bench k;
    k.run([&](Gpu &gpu) {
      write_operands(gpu);
      gpu.wgmma_fence();
      one.wgmma(gpu, zero());
    });
    CHECK(said(k) == Contains(one.text));
  }
}

TEST_CASE("wgmma: divergence when a warp is alone") {
  Bench k;
  k.run([=](Gpu &gpu) {
    write_operands(gpu);
    gpu.wgmma_fence();
    if (gpu.tid_x() < 32)
      multiply(gpu, 0, zero());
  });
  CHECK(!k.result.ok());
}

TEST_CASE("wgmma: race when the block ends before the read") {
  Bench k;
  k.run([=](Gpu &gpu) {
    write_operands(gpu);
    gpu.wgmma_fence();
    multiply(gpu, 0, zero());
    gpu.wgmma_commit();
  });
  CHECK(said(k) == Contains("wgmma_f16 accesses the block's shared memory, possibly after"));
}

TEST_CASE("setmaxnreg: moves registers between warpgroups") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Kernel k;
    k.options = mode;
    k.threads = 384; // 168 registers each
    k.run([=](Gpu &gpu) {
      if (gpu.tid_x() < 256)
        gpu.setmaxnreg_inc(240);
      else
        gpu.setmaxnreg_dec(24);
    });
    CHECK(k.reports() == "");
  }
}

TEST_CASE("setmaxnreg: the blocks of an SM share its registers") {
  Kernel k;
  k.threads = 256;
  auto body = [](Gpu &gpu) {
    if (gpu.tid_x() < 128)
      gpu.setmaxnreg_inc(136);
    else
      gpu.setmaxnreg_dec(24);
  };
  k.run(body); // 256 registers each
  CHECK(k.reports() != "");
  k.blocks_per_sm = 3; // 80 registers each
  k.run(body);
  CHECK(k.reports() == "");
}
TEST_CASE("setmaxnreg: rejects unavailable registers") {
  auto run = [](uint32_t threads, auto body) {
    Kernel k;
    k.threads = threads;
    k.options.workers = 1;
    k.run(body);
    return std::string(k.reports());
  };
  auto text = [](const std::string &what) { return doctest::String(what.c_str()); };
  CHECK(text(run(384, [](Gpu &gpu) {
          if (gpu.tid_x() < 256)
            gpu.setmaxnreg_inc(240);
          else
            gpu.setmaxnreg_dec(32);
        })) == Contains("setmaxnreg_inc to 240 registers per thread; the warpgroup has 168"));
  CHECK(text(run(384, [](Gpu &gpu) { gpu.setmaxnreg_dec(20); })) ==
        Contains("setmaxnreg_dec to 20 registers: expected a multiple of 8 from 24 to 256"));
  CHECK(text(run(384, [](Gpu &gpu) { gpu.setmaxnreg_inc(236); })) ==
        Contains("setmaxnreg_inc to 236 registers: expected a multiple of 8"));
  CHECK(text(run(384, [](Gpu &gpu) { gpu.setmaxnreg_dec(176); })) ==
        Contains("setmaxnreg_dec to 176 registers, but the threads of the warpgroup have only "
                 "168"));
  CHECK(text(run(384, [](Gpu &gpu) { gpu.setmaxnreg_inc(160); })) ==
        Contains("setmaxnreg_inc to 160 registers, but the threads of the warpgroup have 168"));
  // Not all warps of the warpgroup call it.
  CHECK(run(384, [](Gpu &gpu) {
          if (gpu.tid_x() < 32)
            gpu.setmaxnreg_dec(40);
        }) != "");
  CHECK(run(96, [](Gpu &gpu) { gpu.setmaxnreg_dec(40); }) != "");
}
