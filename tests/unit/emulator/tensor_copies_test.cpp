// Tests tensor copies: copied data, clipping, swizzle, reductions, multicast, and each misuse.
// bulk_copies_test.cpp tests the order after waits.

#include "unit/emulator/kernel.h"
#include "unit/emulator/modes.h"
#include "unit/emulator/said.h"
#include "unit/emulator/tensor_maps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;
using doctest::Contains;
using models::DataType;
using models::Swizzle;

namespace {

std::vector<int32_t> counting(size_t n) {
  std::vector<int32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 1000);
  return numbers;
}

constexpr uint32_t mbarrier_offset = 4096;

struct Bench : Kernel {
  Bench() {
    threads = 32;
    shared_bytes = mbarrier_offset + 8;
    options.workers = 1;
  }
};

uint32_t make(Gpu &gpu) {
  uint32_t mbarrier = gpu.shared_base() + mbarrier_offset;
  if (gpu.tid_x() == 0) {
    gpu.mbarrier_init(mbarrier, 1);
    gpu.fence_mbarrier_init();
  }
  gpu.barrier();
  return mbarrier;
}

} // namespace

TEST_CASE("tensor copy: boxes of 1 to 5 dimensions") {
  // 2 x 3 x 4 x 5 x 8 elements; a box of 1 x 2 x 2 x 3 x 4 from the middle.
  constexpr uint32_t sizes[] = {8, 5, 4, 3, 2}, box[] = {4, 3, 2, 2, 1}, at[] = {4, 1, 2, 1, 1};
  for (const Options &mode : all_modes())
    for (unsigned rank = 1; rank <= 5; rank++) {
      CAPTURE(name_of(mode));
      CAPTURE(rank);
      Bench k;
      k.options = mode;
      uint32_t total = 1, elements = 1;
      for (unsigned i = 0; i < rank; i++) {
        total *= sizes[i];
        elements *= box[i];
      }
      int32_t *x = k.parameter("x", counting(total));
      int32_t *y = k.parameter("y", std::vector<int32_t>(total, -1));
      auto map_of = [&](const char *name, const void *of) {
        return tensor_map(k, name, of, DataType::s32, {sizes, sizes + rank}, {box, box + rank});
      };
      const void *from = map_of("from", x), *to = map_of("to", y);
      k.run([=](Gpu &gpu) {
        uint32_t mbarrier = make(gpu), here = gpu.shared_base();
        if (gpu.tid_x() == 0) {
          gpu.prefetch_tensor_map(from);
          gpu.mbarrier_arrive_expect_tx(mbarrier, 4 * elements);
          switch (rank) {
          case 1:
            gpu.tma_load_1d(here, from, at[0], mbarrier);
            break;
          case 2:
            gpu.tma_load_2d(here, from, at[0], at[1], mbarrier);
            break;
          case 3:
            gpu.tma_load_3d(here, from, at[0], at[1], at[2], mbarrier);
            break;
          case 4:
            gpu.tma_load_4d(here, from, at[0], at[1], at[2], at[3], mbarrier);
            break;
          case 5:
            gpu.tma_load_5d(here, from, at[0], at[1], at[2], at[3], at[4], mbarrier);
            break;
          }
        }
        gpu.mbarrier_wait(mbarrier, 0);
        for (uint32_t i = gpu.tid_x(); i < elements; i += 32)
          gpu.store_shared<int32_t>(4 * i, -gpu.load_shared<int32_t>(4 * i));
        gpu.fence_proxy_async();
        gpu.barrier();
        if (gpu.tid_x() == 0) {
          switch (rank) {
          case 1:
            gpu.tma_store_1d(to, at[0], here);
            break;
          case 2:
            gpu.tma_store_2d(to, at[0], at[1], here);
            break;
          case 3:
            gpu.tma_store_3d(to, at[0], at[1], at[2], here);
            break;
          case 4:
            gpu.tma_store_4d(to, at[0], at[1], at[2], at[3], here);
            break;
          case 5:
            gpu.tma_store_5d(to, at[0], at[1], at[2], at[3], at[4], here);
            break;
          }
          gpu.bulk_commit();
          gpu.bulk_wait_read(0);
        }
      });
      CHECK(k.reports() == "");
      uint32_t wrong = 0;
      for (uint32_t i = 0; i < total; i++) {
        bool inside = true;
        for (uint32_t dimension = 0, rest = i; dimension < rank; dimension++) {
          uint32_t c = rest % sizes[dimension];
          inside &= c >= at[dimension] && c < at[dimension] + box[dimension];
          rest /= sizes[dimension];
        }
        wrong += y[i] != (inside ? -x[i] : -1);
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("tensor copy: out-of-bounds elements") {
  Bench k;
  int32_t *x = k.parameter("x", counting(6 * 8));
  int32_t *y = k.parameter("y", std::vector<int32_t>(6 * 8, -1));
  int32_t *seen = k.unwritten<int32_t>("seen", 4 * 8);
  const void *from = tensor_map(k, "from", x, DataType::s32, {8, 6}, {8, 4});
  const void *to = tensor_map(k, "to", y, DataType::s32, {8, 6}, {8, 4});
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu), here = gpu.shared_base(), i = gpu.tid_x();
    if (i == 0) {
      gpu.mbarrier_arrive_expect_tx(mbarrier, 128);
      gpu.tma_load_2d(here, from, -4, 3, mbarrier);
    }
    gpu.mbarrier_wait(mbarrier, 0);
    gpu.store(seen + i, gpu.load_shared<int32_t>(4 * i));
    if (i == 0) {
      gpu.tma_store_2d(to, 4, 4, here);
      gpu.bulk_commit();
      gpu.bulk_wait_read(0);
    }
  });
  CHECK(k.reports() == "");
  for (int r = 0; r < 4; r++)
    for (int c = 0; c < 8; c++)
      CHECK(seen[8 * r + c] == (r < 3 && c >= 4 ? 1000 + 8 * (3 + r) + c - 4 : 0));
  // Only rows 0 and 1 and columns 0 to 3 of the box were stored; they were out of bounds in the
  // load.
  for (int i = 0; i < 48; i++)
    CHECK(y[i] == (i >= 32 && i % 8 >= 4 ? 0 : -1));
}

TEST_CASE("tma_store: writes whole 16-byte chunks past the tensor") {
  for (bool room : {true, false}) {
    Bench k;
    int32_t *y = k.parameter("y", std::vector<int32_t>(room ? 8 : 5, -1));
    const void *map = tensor_map(k, "map", y, DataType::s32, {5}, {8});
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x();
      if (i < 8)
        gpu.store_shared<int32_t>(4 * i, int32_t(i));
      gpu.fence_proxy_async();
      gpu.barrier();
      if (i == 0) {
        gpu.tma_store_1d(map, 0, gpu.shared_base());
        gpu.bulk_commit();
        gpu.bulk_wait_read(0);
      }
    });
    if (room) {
      CHECK(k.reports() == "");
      CHECK(std::equal(y, y + 8, std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}.begin()));
    } else {
      CHECK(said(k) == Contains("tma_store_1d"));
    }
  }
}

TEST_CASE("tma_load: swizzles chunks by address") {
  for (Swizzle swizzle : {Swizzle::span32, Swizzle::span64, Swizzle::span128}) {
    uint32_t width = models::span_of(swizzle) / 4;
    Bench k;
    int32_t *x = k.parameter("x", counting(width * 16));
    int32_t *y = k.unwritten<int32_t>("y", width * 16);
    const void *map = tensor_map(k, "map", x, DataType::s32, {width, 16}, {width, 16}, swizzle);
    k.run([=](Gpu &gpu) {
      uint32_t mbarrier = make(gpu), here = gpu.shared_base() + 1024;
      if (gpu.tid_x() == 0) {
        gpu.mbarrier_arrive_expect_tx(mbarrier, width * 64);
        gpu.tma_load_2d(here, map, 0, 0, mbarrier);
      }
      gpu.mbarrier_wait(mbarrier, 0);
      for (uint32_t i = gpu.tid_x(); i < width * 16; i += 32) {
        uint32_t offset = models::swizzled(swizzle, 1024 + 4 * i);
        gpu.store(y + i, gpu.load_shared<int32_t>(offset));
      }
    });
    CHECK(k.reports() == "");
    CHECK(std::equal(x, x + width * 16, y));
  }
}

TEST_CASE("tma_reduce: add, min, max") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    k.grid = {4, 1, 1};
    int32_t *sum = k.parameter("sum", std::vector<int32_t>(64, 5));
    int32_t *low = k.parameter("low", std::vector<int32_t>(64, 50));
    int32_t *high = k.parameter("high", std::vector<int32_t>(64, 50));
    auto map_of = [&](const char *name, int32_t *of) {
      return tensor_map(k, name, of, DataType::s32, {8, 8}, {8, 4});
    };
    const void *add = map_of("add", sum), *min = map_of("min", low), *max = map_of("max", high);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x(), here = gpu.shared_base();
      gpu.store_shared<int32_t>(4 * i, int32_t(30 * (gpu.ctaid_x() + 1) + i));
      gpu.fence_proxy_async();
      gpu.barrier();
      if (i == 0) {
        gpu.tma_reduce_add_2d(add, 0, 4, here);
        gpu.tma_reduce_min_2d(min, 0, 4, here);
        gpu.tma_reduce_max_2d(max, 0, 4, here);
        gpu.bulk_commit();
        gpu.bulk_wait_read(0);
      }
    });
    CHECK(k.reports() == ""); // reductions are atomic, so blocks don't race
    for (int i = 0; i < 32; i++) {
      CHECK(sum[i] == 5);
      CHECK(sum[32 + i] == 5 + 30 * (1 + 2 + 3 + 4) + 4 * i);
      CHECK(low[32 + i] == std::min(50, 30 + i));
      CHECK(high[32 + i] == 120 + i);
    }
  }
}

TEST_CASE("tma_store: blocks that store to one address race") {
  Bench k;
  k.grid = {2, 1, 1};
  int32_t *y = k.unwritten<int32_t>("y", 64);
  const void *map = tensor_map(k, "map", y, DataType::s32, {8, 8}, {8, 4});
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    gpu.store_shared<int32_t>(4 * i, 1);
    gpu.fence_proxy_async();
    gpu.barrier();
    if (i == 0) {
      gpu.tma_store_2d(map, 0, 3 * gpu.ctaid_x(), gpu.shared_base());
      gpu.bulk_commit();
      gpu.bulk_wait_read(0);
    }
  });
  CHECK(said(k) == Contains("race"));
}

TEST_CASE("tma_load_multicast: one copy for several blocks") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    k.grid = k.cluster = {4, 1, 1};
    int32_t *x = k.parameter("x", counting(64));
    int32_t *y = k.parameter("y", std::vector<int32_t>(4 * 32, -1));
    const void *map = tensor_map(k, "map", x, DataType::s32, {8, 8}, {8, 4});
    k.run([=](Gpu &gpu) {
      uint32_t mbarrier = make(gpu), i = gpu.tid_x(), rank = gpu.cluster_ctarank();
      gpu.cluster_arrive_relaxed();
      gpu.cluster_wait();
      bool gets = rank == 1 || rank == 3;
      if (i == 0 && gets)
        gpu.mbarrier_arrive_expect_tx(mbarrier, 128);
      if (i == 0 && rank == 2)
        gpu.tma_load_multicast_2d(gpu.shared_base() + 256, map, 0, 4, mbarrier, 0b1010);
      if (gets) {
        gpu.mbarrier_wait(mbarrier, 0);
        gpu.store(y + 32 * rank + i, gpu.load_shared<int32_t>(256 + 4 * i));
      }
      gpu.cluster_arrive();
      gpu.cluster_wait();
    });
    CHECK(k.reports() == "");
    for (int i = 0; i < 128; i++)
      CHECK(y[i] == (i / 32 % 2 ? 1032 + i % 32 : -1));
  }
}

TEST_CASE("tma_load_multicast: needs the other blocks' mbarriers") {
  for (bool synchronized : {true, false}) {
    Bench k;
    k.grid = k.cluster = {2, 1, 1};
    int32_t *x = k.parameter("x", counting(64));
    const void *map = tensor_map(k, "map", x, DataType::s32, {8, 8}, {8, 4});
    k.run([=](Gpu &gpu) {
      uint32_t mbarrier = make(gpu), rank = gpu.cluster_ctarank();
      if (synchronized) {
        gpu.cluster_arrive_relaxed();
        gpu.cluster_wait();
      }
      if (gpu.tid_x() == 0) {
        gpu.mbarrier_arrive_expect_tx(mbarrier, 128);
        if (rank == 1)
          gpu.tma_load_multicast_2d(gpu.shared_base() + 256, map, 0, 4, mbarrier, 0b11);
      }
      gpu.mbarrier_wait(mbarrier, 0);
    });
    if (synchronized)
      CHECK(k.reports() == "");
    else
      CHECK(!k.result.ok());
  }
}

TEST_CASE("tensor copy: rejects invalid operands") {
  Bench k;
  int32_t *x = k.parameter("x", counting(64));
  const void *map = tensor_map(k, "map", x, DataType::s32, {8, 8}, {8, 4});
  const void *reals = tensor_map(k, "reals", x, DataType::tf32, {8, 8}, {8, 4});
  const void *line = tensor_map(k, "line", x, DataType::s32, {64}, {8});
  const void *beyond = tensor_map(k, "beyond", x, DataType::s32, {8, 9}, {8, 4});
  std::byte *damaged = k.parameter("damaged", std::vector<std::byte>(128));
  struct Case {
    std::function<void(Gpu &, uint32_t mbarrier)> copy;
    const char *text;
  };
  Case cases[] = {
      {[=](Gpu &gpu, uint32_t mbarrier) {
         gpu.tma_load_2d(gpu.shared_base() + 64, map, 0, 0, mbarrier);
       },
       "tma_load_2d of 128 bytes at offset 64 of shared memory, which is not a multiple of 128"},
      {[=](Gpu &gpu, uint32_t mbarrier) {
         gpu.tma_load_2d(gpu.shared_base() + 4096, map, 0, 0, mbarrier);
       },
       "tma_load_2d of 128 bytes at offset 4096 of shared memory, which has 4104 bytes"},
      {[=](Gpu &gpu, uint32_t mbarrier) {
         gpu.tma_load_2d(gpu.shared_base(), line, 0, 0, mbarrier);
       },
       "tma_load_2d with a tensor map of rank 1"},
      {[=](Gpu &gpu, uint32_t mbarrier) {
         gpu.tma_load_2d(gpu.shared_base(), damaged, 0, 0, mbarrier);
       },
       "tma_load_2d: "},
      {[=](Gpu &gpu, uint32_t mbarrier) {
         gpu.tma_load_2d(gpu.shared_base(), static_cast<const std::byte *>(map) + 32, 0, 0,
                         mbarrier);
       },
       "of the tensor map is not a multiple of 64"},
      {[=](Gpu &gpu, uint32_t mbarrier) {
         gpu.tma_load_2d(gpu.shared_base(), beyond, 0, 8, mbarrier);
       },
       "tma_load_2d"}, // the tensor is larger than its memory
      {[=](Gpu &gpu, uint32_t mbarrier) {
         gpu.tma_load_multicast_2d(gpu.shared_base(), map, 0, 0, mbarrier, 0);
       },
       "tma_load_multicast_2d to no block: the mask is 0"},
      {[=](Gpu &gpu, uint32_t mbarrier) {
         gpu.tma_load_multicast_2d(gpu.shared_base(), map, 0, 0, mbarrier, 3);
       },
       "tma_load_multicast_2d to the blocks of mask 0x3, but the cluster size is 1"},
      {[=](Gpu &gpu, uint32_t mbarrier) {
         gpu.tma_load_2d(gpu.shared_base(), map, 2, 0, mbarrier);
       },
       "tma_load_2d: coordinate 0 is 2, an offset of 8 bytes, which is not a multiple of 16"},
      {[=](Gpu &gpu, uint32_t) { gpu.tma_store_2d(map, 0, -1, gpu.shared_base()); },
       "tma_store_2d: coordinate 1 is -1, but a copy to a tensor cannot start at a negative "
       "coordinate"},
      {[=](Gpu &gpu, uint32_t) { gpu.tma_reduce_add_2d(map, -4, 0, gpu.shared_base()); },
       "tma_reduce_add_2d: coordinate 0 is -4, but a copy to a tensor cannot start at a negative "
       "coordinate"},
      {[=](Gpu &gpu, uint32_t) { gpu.tma_store_2d(map, 0, 0, gpu.shared_base() + 64); },
       "tma_store_2d of 128 bytes at offset 64 of shared memory, which is not a multiple of 128"},
      {[=](Gpu &gpu, uint32_t) { gpu.tma_reduce_min_2d(reals, 0, 0, gpu.shared_base()); },
       "tma_reduce_min_2d: "},
      {[=](Gpu &gpu, uint32_t) { gpu.prefetch_tensor_map(damaged); }, "prefetch_tensor_map: "},
  };
  for (const Case &one : cases) {
    CAPTURE(one.text);
    k.run([&](Gpu &gpu) {
      uint32_t mbarrier = make(gpu);
      for (uint32_t word = gpu.tid_x(); word < 256; word += 32)
        gpu.store_shared<int32_t>(4 * word, 0);
      gpu.fence_proxy_async();
      gpu.barrier();
      if (gpu.tid_x() == 0) {
        gpu.mbarrier_arrive_expect_tx(mbarrier, 128);
        one.copy(gpu, mbarrier);
        gpu.mbarrier_wait(mbarrier, 0);
      }
    });
    CHECK(said(k) == Contains(one.text));
  }
}
