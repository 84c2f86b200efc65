// Tests bulk copies and bulk groups: the copied data, the order after waits, and each misuse.

#include "unit/emulator/kernel.h"
#include "unit/emulator/modes.h"
#include "unit/emulator/said.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;
using doctest::Contains;

namespace {

std::vector<uint32_t> counting(size_t n) {
  std::vector<uint32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 1000);
  return numbers;
}

constexpr uint32_t mbarrier_offset = 512;

// 64 threads, 512 bytes of data and an mbarrier for one arrival.
struct Bench : Kernel {
  Bench() {
    threads = 64;
    shared_bytes = mbarrier_offset + 8;
    options.workers = 1;
  }
};

uint32_t make(Gpu &gpu, bool fence = true) {
  uint32_t mbarrier = gpu.shared_base() + mbarrier_offset;
  if (gpu.tid_x() == 0) {
    gpu.mbarrier_init(mbarrier, 1);
    if (fence)
      gpu.fence_mbarrier_init();
  }
  gpu.barrier();
  return mbarrier;
}

} // namespace

TEST_CASE("bulk copy: global to shared and back, all modes") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    uint32_t *x = k.parameter("x", counting(128));
    uint32_t *y = k.unwritten<uint32_t>("y", 128);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x(), mbarrier = make(gpu);
      if (i == 0) {
        gpu.mbarrier_arrive_expect_tx(mbarrier, 512);
        gpu.bulk_load(gpu.shared_base(), x, 256, mbarrier);
        gpu.bulk_load(gpu.shared_base() + 256, x + 64, 256, mbarrier);
      }
      gpu.mbarrier_wait(mbarrier, 0);
      for (uint32_t word : {i, i + 64})
        gpu.store_shared<uint32_t>(4 * word, gpu.load_shared<uint32_t>(4 * word) + 1);
      gpu.fence_proxy_async();
      gpu.barrier();
      if (i == 0) {
        gpu.bulk_store(y, gpu.shared_base(), 512);
        gpu.bulk_commit();
        gpu.bulk_wait(0);
        gpu.load(y + 5); // readable after the wait
      }
    });
    CHECK(k.reports() == "");
    for (uint32_t i = 0; i < 128; i++)
      CHECK(y[i] == 1001 + i);
  }
}

TEST_CASE("mbarrier_complete_tx: counts the bytes of a copy that is left out") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    uint32_t *x = k.parameter("x", counting(64));
    uint32_t *y = k.unwritten<uint32_t>("y", 128);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x(), mbarrier = make(gpu);
      if (i == 0) {
        gpu.mbarrier_arrive_expect_tx(mbarrier, 512);
        gpu.bulk_load(gpu.shared_base(), x, 256, mbarrier);
        gpu.mbarrier_complete_tx(mbarrier, 256, gpu.shared_base() + 256);
      }
      gpu.mbarrier_wait(mbarrier, 0);
      for (uint32_t word : {i, i + 64})
        gpu.store(y + word, gpu.load_shared<uint32_t>(4 * word));
    });
    CHECK(k.reports() == "");
    for (uint32_t i = 0; i < 128; i++)
      CHECK(y[i] == (i < 64 ? 1000 + i : 0xffffffff));
  }
}

TEST_CASE("mbarrier_complete_tx: what was there must not be read before the wait") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu);
    if (gpu.tid_x() == 0) {
      gpu.mbarrier_arrive_expect_tx(mbarrier, 256);
      gpu.mbarrier_complete_tx(mbarrier, 256, gpu.shared_base());
      gpu.load_shared<uint32_t>(16);
    }
    gpu.mbarrier_wait(mbarrier, 0);
  });
  CHECK(said(k) == Contains("race: load of 4 bytes"));
}

TEST_CASE("bulk_load: reports a read before the wait") {
  Bench k;
  uint32_t *x = k.parameter("x", counting(128));
  auto body = [=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu);
    if (gpu.tid_x() == 0) {
      gpu.mbarrier_arrive_expect_tx(mbarrier, 512);
      gpu.bulk_load(gpu.shared_base(), x, 512, mbarrier);
      gpu.load_shared<uint32_t>(16);
    }
    gpu.mbarrier_wait(mbarrier, 0);
  };
  k.run(body);
  CHECK(said(k) == Contains("race: load of 4 bytes"));
  k.options.async = Async::late;
  k.options.races = false;
  k.run(body);
  CHECK(said(k) == Contains("before an asynchronous copy has landed there"));
}

TEST_CASE("bulk_load: a barrier does not wait for the copy") {
  Bench k;
  uint32_t *x = k.parameter("x", counting(128));
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu);
    if (gpu.tid_x() == 0) {
      gpu.mbarrier_arrive_expect_tx(mbarrier, 512);
      gpu.bulk_load(gpu.shared_base(), x, 512, mbarrier);
      gpu.mbarrier_wait(mbarrier, 0);
    }
    gpu.load_shared<uint32_t>(16);
  });
  CHECK(said(k) == Contains("race"));
}

TEST_CASE("bulk copy: races with unordered accesses of threads") {
  for (Async async : {Async::early, Async::late})
    for (bool is_write : {false, true})
      for (bool ordered : {false, true}) {
        Bench k;
        k.options.async = async;
        uint32_t *x = k.parameter("x", counting(128));
        k.run([=](Gpu &gpu) {
          uint32_t mbarrier = make(gpu);
          gpu.store_shared<uint32_t>(4 * gpu.tid_x(), 1);
          gpu.fence_proxy_async();
          gpu.barrier();
          if (is_write) {
            gpu.store_shared<uint32_t>(4 * gpu.tid_x(), 2);
            gpu.fence_proxy_async();
          } else {
            gpu.load_shared<uint32_t>(4 * gpu.tid_x());
          }
          if (ordered)
            gpu.barrier();
          if (gpu.tid_x() == 0) {
            gpu.mbarrier_arrive_expect_tx(mbarrier, 512);
            gpu.bulk_load(gpu.shared_base(), x, 512, mbarrier);
          }
          gpu.mbarrier_wait(mbarrier, 0);
        });
        if (ordered)
          CHECK(k.reports() == "");
        else
          CHECK(said(k) == Contains("race"));
      }
}

TEST_CASE("bulk copy: two copies in flight are not ordered") {
  for (Async async : {Async::early, Async::late}) {
    Bench k;
    k.options.async = async;
    uint32_t *x = k.parameter("x", counting(128));
    k.run([=](Gpu &gpu) {
      uint32_t mbarrier = make(gpu);
      if (gpu.tid_x() == 0) {
        gpu.mbarrier_arrive_expect_tx(mbarrier, 512);
        gpu.bulk_load(gpu.shared_base(), x, 256, mbarrier);
        gpu.bulk_load(gpu.shared_base() + 240, x + 64, 256, mbarrier);
      }
      gpu.mbarrier_wait(mbarrier, 0);
    });
    CHECK(said(k) == Contains("bytes at offset 240"));
  }
}

TEST_CASE("bulk_store: needs a proxy fence by the writing thread") {
  for (bool fence : {false, true}) {
    Bench k;
    uint32_t *y = k.unwritten<uint32_t>("y", 128);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x();
      gpu.store_shared<uint32_t>(8 * i, i);
      gpu.store_shared<uint32_t>(8 * i + 4, i);
      if (fence)
        gpu.fence_proxy_async();
      gpu.barrier();
      if (i == 0) {
        gpu.fence_proxy_async(); // its own writes only
        gpu.bulk_store(y, gpu.shared_base(), 512);
        gpu.bulk_commit();
        gpu.bulk_wait(0);
      }
    });
    if (fence)
      CHECK(k.reports() == "");
    else
      CHECK(said(k) == Contains("execute fence.proxy.async between the write and the"));
  }
}

TEST_CASE("bulk_store: a fence before the write has no effect") {
  Bench k;
  uint32_t *y = k.unwritten<uint32_t>("y", 128);
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    gpu.fence_proxy_async();
    gpu.store_shared<uint32_t>(8 * i, i);
    gpu.store_shared<uint32_t>(8 * i + 4, i);
    gpu.barrier();
    if (i == 0) {
      gpu.bulk_store(y, gpu.shared_base(), 512);
      gpu.bulk_commit();
      gpu.bulk_wait(0);
    }
  });
  CHECK(said(k) == Contains("fence.proxy.async"));
}

TEST_CASE("bulk_wait_read: the source may be overwritten afterwards") {
  enum Wait { none, weak, reading, all };
  for (Wait wait : {none, weak, reading, all})
    for (Async async : {Async::early, Async::late}) {
      CAPTURE(int(wait));
      CAPTURE(name_of(async));
      Bench k;
      k.options.async = async;
      uint32_t *y = k.unwritten<uint32_t>("y", 8);
      k.run([=](Gpu &gpu) {
        if (gpu.tid_x() != 0)
          return;
        for (uint32_t round = 0; round < 2; round++) {
          for (uint32_t word = 0; word < 4; word++)
            gpu.store_shared<uint32_t>(4 * word, round);
          gpu.fence_proxy_async();
          gpu.bulk_store(y + 4 * round, gpu.shared_base(), 16);
          gpu.bulk_commit();
          if (wait == weak)
            gpu.bulk_wait_read(1);
          if (wait == reading)
            gpu.bulk_wait_read(0);
          if (wait == all)
            gpu.bulk_wait(0);
        }
        gpu.bulk_wait_read(0);
      });
      if (wait == reading || wait == all) {
        CHECK(k.reports() == "");
        CHECK(y[0] == 0);
        CHECK(y[7] == 1);
      } else {
        CHECK(said(k) == Contains("race: "));
      }
    }
}

TEST_CASE("bulk_wait_read: does not wait for the write") {
  for (bool reading : {false, true}) {
    Bench k;
    uint32_t *y = k.parameter("y", counting(4));
    auto body = [=](Gpu &gpu) {
      if (gpu.tid_x() != 0)
        return;
      for (uint32_t word = 0; word < 4; word++)
        gpu.store_shared<uint32_t>(4 * word, 7);
      gpu.fence_proxy_async();
      gpu.bulk_store(y, gpu.shared_base(), 16);
      gpu.bulk_commit();
      if (reading)
        gpu.bulk_wait_read(0);
      else
        gpu.bulk_wait(0);
      gpu.load(y);
    };
    k.run(body);
    if (reading)
      CHECK(said(k) == Contains("race"));
    else
      CHECK(k.reports() == "");
  }
}

TEST_CASE("bulk_store: race when the block ends before the read") {
  for (Async async : {Async::early, Async::late})
    for (bool races : {true, false}) {
      Bench k;
      k.options.async = async;
      k.options.races = races;
      uint32_t *y = k.unwritten<uint32_t>("y", 4);
      k.run([=](Gpu &gpu) {
        if (gpu.tid_x() != 0)
          return;
        for (uint32_t word = 0; word < 4; word++)
          gpu.store_shared<uint32_t>(4 * word, 7);
        gpu.fence_proxy_async();
        gpu.bulk_store(y, gpu.shared_base(), 16);
        gpu.bulk_commit();
      });
      if (races)
        CHECK(said(k) ==
              Contains("bulk_store accesses the block's shared memory, possibly after the block "
                       "has ended"));
      else if (async == Async::late)
        CHECK(said(k) == Contains("after all threads of the block have exited"));
    }
}

TEST_CASE("bulk_load: race when the block ends before the write") {
  Bench k;
  uint32_t *x = k.parameter("x", counting(4));
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu);
    if (gpu.tid_x() == 0) {
      gpu.mbarrier_arrive_expect_tx(mbarrier, 16);
      gpu.bulk_load(gpu.shared_base(), x, 16, mbarrier);
    }
  });
  CHECK(said(k) == Contains("bulk_load accesses the block's shared memory, possibly after"));
}

TEST_CASE("bulk_load: the mbarrier needs fence_mbarrier_init") {
  Bench k;
  uint32_t *x = k.parameter("x", counting(4));
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, false);
    if (gpu.tid_x() == 0) {
      gpu.mbarrier_arrive_expect_tx(mbarrier, 16);
      gpu.bulk_load(gpu.shared_base(), x, 16, mbarrier);
    }
    gpu.mbarrier_wait(mbarrier, 0);
  });
  CHECK(said(k) == Contains("no fence_mbarrier_init follows its mbarrier_init"));
}

TEST_CASE("bulk_load: reports missing and unexpected bytes") {
  for (uint32_t expected : {16u, 48u})
    for (Async async : {Async::early, Async::late}) {
      Bench k;
      k.options.async = async;
      uint32_t *x = k.parameter("x", counting(8));
      k.run([=](Gpu &gpu) {
        uint32_t mbarrier = make(gpu);
        if (gpu.tid_x() == 0) {
          gpu.mbarrier_arrive_expect_tx(mbarrier, expected);
          gpu.bulk_load(gpu.shared_base(), x, 16, mbarrier);
          gpu.bulk_load(gpu.shared_base() + 16, x + 4, 16, mbarrier);
        }
        gpu.mbarrier_wait(mbarrier, 0);
        gpu.load_shared<uint32_t>(0);
        gpu.load_shared<uint32_t>(16);
      });
      if (expected == 16)
        CHECK(!k.result.ok());
      else
        CHECK(said(k) == Contains("deadlock"));
    }
}

TEST_CASE("bulk copy: rejects invalid sizes and addresses") {
  Bench k;
  uint32_t *x = k.parameter("x", counting(16));
  auto load = [&](uint32_t to, const uint32_t *from, uint32_t bytes, uint32_t at = 0) {
    k.run([=](Gpu &gpu) {
      uint32_t mbarrier = make(gpu);
      if (gpu.tid_x() == 0) {
        gpu.mbarrier_arrive_expect_tx(mbarrier, bytes);
        gpu.bulk_load(gpu.shared_base() + to, from, bytes, mbarrier + at);
      }
      gpu.mbarrier_wait(mbarrier, 0);
    });
    return k.result.ok() ? -1 : int(k.result.reports[0].kind);
  };
  CHECK(load(0, x, 64) == -1);
  CHECK(load(0, x, 0) == int(Report::Kind::misuse));
  CHECK(load(0, x, 24) == int(Report::Kind::misuse));
  CHECK(said(k) == Contains("bulk_load of 24 bytes: the size must be a positive multiple of 16"));
  CHECK(load(8, x, 16) == int(Report::Kind::misaligned));
  CHECK(load(0, x + 1, 16) == int(Report::Kind::misaligned));
  CHECK(load(512, x, 16) == int(Report::Kind::out_of_bounds));
  CHECK(load(0, x, 80) == int(Report::Kind::out_of_bounds));
  CHECK(load(0, x, 64, -4) == int(Report::Kind::misaligned));
  CHECK(load(0, x, 64, -8) == int(Report::Kind::misuse));
  CHECK(said(k) == Contains("there is no mbarrier at offset 504"));
}

TEST_CASE("bulk_load: rejects overwriting a live mbarrier") {
  Bench k;
  uint32_t *x = k.parameter("x", counting(4));
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu);
    if (gpu.tid_x() == 0) {
      gpu.mbarrier_init(mbarrier - 8, 1);
      gpu.mbarrier_arrive_expect_tx(mbarrier, 16);
      gpu.bulk_load(gpu.shared_base() + mbarrier_offset - 16, x, 16, mbarrier);
    }
    gpu.mbarrier_wait(mbarrier, 0);
  });
  CHECK(said(k) == Contains("bulk_load of 16 bytes at offset 504"));
  CHECK(said(k) == Contains("overwrites an mbarrier in use"));
}
