// Tests launch_dependents and dependency_wait (programmatic dependent launch): a kernel that starts
// early must not access global memory before dependency_wait.

#include "unit/emulator/kernel.h"
#include "unit/emulator/modes.h"
#include "unit/emulator/said.h"
#include "unit/emulator/tensor_maps.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;
using doctest::Contains;

namespace {

constexpr uint32_t mbarrier_offset = 512;

/// Thread 0 does one operation on `x`, 128 elements.
struct Bench : Kernel {
  Bench() {
    threads = 32;
    shared_bytes = mbarrier_offset + 8;
    starts_early = true;
    std::vector<uint32_t> numbers(128, 5);
    x = parameter("x", numbers);
  }
  uint32_t *x;
};

using Access = void (*)(Gpu &gpu, uint32_t *x, uint32_t mbarrier);

struct Case {
  const char *name;
  Access access;
  const char *said;
};

const Case cases[] = {
    {"a load", [](Gpu &gpu, uint32_t *x, uint32_t) { gpu.load(x + 3); }, "load of 4 bytes at"},
    {"a store", [](Gpu &gpu, uint32_t *x, uint32_t) { gpu.store(x + 3, 1); },
     "store of 4 bytes at"},
    {"an addition", [](Gpu &gpu, uint32_t *x, uint32_t) { gpu.atomic_add(x + 3, 1); },
     "atomic operation of 4 bytes at"},
    {"a generic load", [](Gpu &gpu, uint32_t *x, uint32_t) { gpu.load_generic(x + 3); },
     "load of 4 bytes at"},
    {"cp.async",
     [](Gpu &gpu, uint32_t *x, uint32_t) { gpu.cp_async_16(gpu.shared_base(), x + 4, 16); },
     "cp_async_16 of 16 bytes at"},
    {"a bulk copy in",
     [](Gpu &gpu, uint32_t *x, uint32_t mbarrier) {
       gpu.mbarrier_arrive_expect_tx(mbarrier, 256);
       gpu.bulk_load(gpu.shared_base(), x, 256, mbarrier);
       gpu.mbarrier_wait(mbarrier, 0);
     },
     "bulk_load of 256 bytes at"},
    {"a bulk copy out",
     [](Gpu &gpu, uint32_t *x, uint32_t) {
       gpu.bulk_store(x, gpu.shared_base(), 256);
       gpu.bulk_commit();
     },
     "bulk_store of 256 bytes at"},
};

/// The position of dependency_wait relative to the operation.
enum class Waits { before, behind, in_another_thread };

void run(Bench &k, Access access, Waits waits) {
  uint32_t *x = k.x;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = gpu.shared_base() + mbarrier_offset;
    bool is_first = gpu.tid_x() == 0;
    if (is_first) {
      gpu.mbarrier_init(mbarrier, 1);
      gpu.fence_mbarrier_init();
      for (uint32_t i = 0; i < 128; i++)
        gpu.store_shared<uint32_t>(4 * i, i); // allowed: shared memory belongs to the block
      gpu.fence_proxy_async();
    }
    gpu.launch_dependents();
    if (waits == Waits::before || (waits == Waits::in_another_thread && !is_first))
      gpu.dependency_wait();
    gpu.barrier();
    if (is_first)
      access(gpu, x, mbarrier);
    if (waits == Waits::behind)
      gpu.dependency_wait();
    gpu.cp_async_commit();
    gpu.cp_async_wait(0);
    if (is_first)
      gpu.bulk_wait(0);
  });
}

} // namespace

TEST_CASE("dependency_wait: reports earlier global accesses, even if late") {
  for (const Case &row : cases)
    for (const Options &mode : all_modes())
      for (Waits waits : {Waits::behind, Waits::in_another_thread}) {
        CAPTURE(row.name);
        CAPTURE(name_of(mode));
        Bench k;
        k.options = mode;
        run(k, row.access, waits);
        REQUIRE(k.result.reports.size() == 1);
        CHECK(k.result.reports[0].kind == Report::Kind::misuse);
        CHECK(said(k) == Contains(row.said));
        CHECK(said(k) ==
              Contains("before dependency_wait: the previous launch may still be running"));
      }
}

TEST_CASE("dependency_wait: allows global accesses afterwards") {
  for (const Case &row : cases)
    for (const Options &mode : all_modes()) {
      CAPTURE(row.name);
      CAPTURE(name_of(mode));
      Bench k;
      k.options = mode;
      run(k, row.access, Waits::before);
      CHECK(k.reports() == "");
    }
}

TEST_CASE("dependency_wait: reports earlier tensor copies") {
  for (const Options &mode : all_modes())
    for (bool is_late : {false, true})
      for (bool is_store : {false, true}) {
        CAPTURE(name_of(mode));
        CAPTURE(is_late);
        CAPTURE(is_store);
        Bench k;
        k.options = mode;
        // A map in a kernel parameter is usable before the wait; a map in global memory is not.
        const auto *in_memory = static_cast<const std::byte *>(
            tensor_map(k, "map", k.x, models::DataType::u32, {128}, {64}));
        alignas(64) static std::byte map[models::tensor_map_bytes];
        std::memcpy(map, in_memory, sizeof map);
        k.run([=](Gpu &gpu) {
          uint32_t mbarrier = gpu.shared_base() + mbarrier_offset;
          bool is_first = gpu.tid_x() == 0;
          if (is_first) {
            gpu.mbarrier_init(mbarrier, 1);
            gpu.fence_mbarrier_init();
            gpu.prefetch_tensor_map(map);
            for (uint32_t i = 0; i < 64; i++)
              gpu.store_shared<uint32_t>(4 * i, i);
            gpu.fence_proxy_async();
          }
          gpu.barrier();
          if (!is_late)
            gpu.dependency_wait();
          if (is_first && is_store) {
            gpu.tma_store_1d(map, 0, gpu.shared_base());
            gpu.bulk_commit();
          } else if (is_first) {
            gpu.mbarrier_arrive_expect_tx(mbarrier, 256);
            gpu.tma_load_1d(gpu.shared_base(), map, 0, mbarrier);
          }
          if (is_late)
            gpu.dependency_wait();
          if (is_store)
            gpu.bulk_wait(0);
          else
            gpu.mbarrier_wait(mbarrier, 0);
        });
        if (!is_late)
          CHECK(k.reports() == "");
        else
          CHECK(said(k) == Contains("of 256 bytes at byte 0 of `x` before dependency_wait"));
      }
}

TEST_CASE("dependency_wait: not needed without starts_early") {
  for (const Case &row : cases) {
    CAPTURE(row.name);
    Bench k;
    k.starts_early = false;
    k.run([=, x = k.x, access = row.access](Gpu &gpu) {
      uint32_t mbarrier = gpu.shared_base() + mbarrier_offset;
      if (gpu.tid_x() == 0) {
        gpu.mbarrier_init(mbarrier, 1);
        gpu.fence_mbarrier_init();
        for (uint32_t i = 0; i < 128; i++)
          gpu.store_shared<uint32_t>(4 * i, i);
        gpu.fence_proxy_async();
      }
      gpu.launch_dependents();
      gpu.barrier();
      if (gpu.tid_x() == 0)
        access(gpu, x, mbarrier);
      gpu.cp_async_commit();
      gpu.cp_async_wait(0);
      gpu.bulk_wait(0);
    });
    CHECK(k.reports() == "");
  }
}

TEST_CASE("launch_dependents: no effect; repeated waits are allowed") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.grid = {4, 1, 1};
    k.options = mode;
    uint32_t *y = k.unwritten<uint32_t>("y", 128);
    k.run([=, x = k.x](Gpu &gpu) {
      uint32_t i = 32 * gpu.ctaid_x() + gpu.tid_x();
      gpu.launch_dependents();
      gpu.dependency_wait();
      gpu.launch_dependents();
      gpu.dependency_wait();
      gpu.store(y + i, gpu.load(x + i) + i);
    });
    CHECK(k.reports() == "");
    for (uint32_t i = 0; i < 128; i++)
      CHECK(y[i] == 5 + i);
  }
}

TEST_CASE("dependency_wait: needed again in each launch") {
  Bench k;
  auto waiting = [x = k.x](Gpu &gpu) {
    gpu.dependency_wait();
    gpu.load(x);
  };
  k.run(waiting);
  CHECK(k.reports() == "");
  k.run([x = k.x](Gpu &gpu) { gpu.load(x); });
  CHECK(said(k) == Contains("before dependency_wait"));
  k.run(waiting);
  CHECK(k.reports() == "");
}
