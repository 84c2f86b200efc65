// Tests ops/mbarriers.cpp: phases, the order after waits, and each misuse.

#include "unit/emulator/kernel.h"
#include "unit/emulator/modes.h"
#include "unit/emulator/said.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;
using doctest::Contains;

namespace {

// A kernel of 64 threads with one mbarrier after 256 bytes of data.
struct Bench : Kernel {
  static constexpr uint32_t data_bytes = 256;
  explicit Bench(uint32_t thread_count = 64) {
    threads = thread_count;
    shared_bytes = data_bytes + 64;
    buffer("data", 0, data_bytes);
    buffer("ready", data_bytes, 8);
  }
};

uint32_t mbarrier_of(Gpu &gpu) { return gpu.shared_base() + Bench::data_bytes; }

// Thread 0 initializes the mbarrier for `count` arrivals; a barrier follows.
uint32_t make(Gpu &gpu, uint32_t count) {
  uint32_t mbarrier = mbarrier_of(gpu);
  if (gpu.tid_x() == 0) {
    gpu.mbarrier_init(mbarrier, count);
    gpu.fence_mbarrier_init();
  }
  gpu.barrier();
  return mbarrier;
}

} // namespace

TEST_CASE("mbarrier_wait: orders accesses before the arrivals") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    int *y = k.unwritten<int>("y", 32 * 3);
    k.run([=](Gpu &gpu) {
      uint32_t mbarrier = make(gpu, 32), i = gpu.tid_x();
      for (uint32_t phase = 0; phase < 3; phase++) {
        if (i < 32) { // these threads arrive,
          gpu.store_shared<int>(4 * i, int(i + 100 * phase));
          gpu.mbarrier_arrive(mbarrier);
        } else { // and these threads wait
          gpu.mbarrier_wait(mbarrier, phase % 2);
          gpu.store(y + 32 * phase + i - 32, gpu.load_shared<int>(4 * (63 - i)));
        }
        gpu.barrier();
      }
    });
    CHECK(k.reports() == "");
    for (int i = 0; i < 96; i++)
      CHECK(y[i] == 31 - i % 32 + 100 * (i / 32));
  }
}

TEST_CASE("mbarrier: race without a wait") {
  Bench k;
  int *y = k.unwritten<int>("y", 32);
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 32), i = gpu.tid_x();
    if (i < 32) {
      gpu.store_shared<int>(4 * i, int(i));
      gpu.mbarrier_arrive(mbarrier);
    } else {
      gpu.store(y + i - 32, gpu.load_shared<int>(4 * (63 - i)));
    }
  });
  CHECK(said(k) == Contains("race: "));
}

TEST_CASE("mbarrier_wait: the previous phase orders nothing of this one") {
  Bench k;
  int *y = k.unwritten<int>("y", 1);
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 1);
    if (gpu.tid_x() == 0) {
      gpu.store_shared<int>(0, 1);
      gpu.mbarrier_arrive(mbarrier);
    } else if (gpu.tid_x() == 32) {
      gpu.mbarrier_wait(mbarrier, 1); // the phase before the first: returns at once
      gpu.store(y, gpu.load_shared<int>(0));
    }
  });
  CHECK(said(k) == Contains("race: "));
}

TEST_CASE("mbarrier_wait: does not acquire a later phase's arrival") {
  Bench k(128);
  int *y = k.unwritten<int>("y", 1);
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 2), warp = gpu.tid_x() / 32;
    if (gpu.tid_x() % 32 != 0)
      return;
    if (warp < 2)
      gpu.mbarrier_arrive(mbarrier); // phase 0
    if (warp == 0) {
      gpu.mbarrier_wait(mbarrier, 0);
      gpu.store_shared<int>(0, 1);
      gpu.mbarrier_arrive(mbarrier); // phase 1, incomplete
    }
    if (warp == 2) {
      gpu.mbarrier_wait(mbarrier, 0);
      gpu.store(y, gpu.load_shared<int>(0));
    }
  });
  CHECK(said(k) == Contains("race: "));
}

TEST_CASE("mbarrier_test: returns whether a phase has ended") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Bench k;
    k.options = mode;
    int *y = k.unwritten<int>("y", 2);
    k.run([=](Gpu &gpu) {
      uint32_t mbarrier = make(gpu, 1), i = gpu.tid_x();
      if (i == 0) {
        gpu.store(y, int(gpu.mbarrier_test(mbarrier, 0)));
        gpu.store_shared<int>(0, 5);
        gpu.mbarrier_arrive(mbarrier);
      } else if (i == 32) {
        while (!gpu.mbarrier_test(mbarrier, 0))
          gpu.step();
        gpu.store(y + 1, gpu.load_shared<int>(0));
      }
    });
    CHECK(k.reports() == "");
    CHECK(y[0] == 0);
    CHECK(y[1] == 5);
  }
}

TEST_CASE("mbarrier: rejects use without mbarrier_init") {
  Bench k;
  k.run([=](Gpu &gpu) { gpu.mbarrier_arrive(mbarrier_of(gpu)); });
  CHECK(said(k) == Contains("mbarrier_arrive: there is no mbarrier at offset 256"));
}

TEST_CASE("mbarrier: rejects use after mbarrier_inval") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 64);
    if (gpu.tid_x() == 0)
      gpu.mbarrier_inval(mbarrier);
    gpu.barrier();
    gpu.mbarrier_arrive(mbarrier);
  });
  CHECK(said(k) == Contains("mbarrier_arrive: there is no mbarrier"));
}

TEST_CASE("mbarrier_inval: the memory may be reused") {
  Bench k;
  int *y = k.unwritten<int>("y", 64);
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 64), i = gpu.tid_x();
    gpu.mbarrier_arrive(mbarrier);
    gpu.mbarrier_wait(mbarrier, 0);
    gpu.barrier();
    if (i == 0) {
      gpu.mbarrier_inval(mbarrier);
      gpu.store_shared<int>(Bench::data_bytes, 7);
      gpu.store_shared<int>(Bench::data_bytes + 4, 7);
      gpu.mbarrier_init(mbarrier + 8, 1);
    }
    gpu.barrier();
    gpu.store(y + i, gpu.load_shared<int>(Bench::data_bytes));
  });
  CHECK(k.reports() == "");
}

TEST_CASE("mbarrier_inval: race with unordered uses") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 64), i = gpu.tid_x();
    gpu.mbarrier_arrive(mbarrier);
    gpu.mbarrier_wait(mbarrier, 0);
    if (i == 63)
      gpu.mbarrier_inval(mbarrier);
  });
  CHECK(said(k) == Contains("mbarrier_inval of the mbarrier"));
  CHECK(said(k) == Contains("is not ordered after its use by"));
}

TEST_CASE("mbarrier_init: rejects a second initialization") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 1);
    if (gpu.tid_x() == 0)
      gpu.mbarrier_init(mbarrier, 1);
  });
  CHECK(said(k) == Contains("is already initialized"));
}

TEST_CASE("mbarrier_init: rejects invalid counts") {
  for (uint32_t count : {0u, 1u << 20}) {
    Bench k;
    k.run([=](Gpu &gpu) {
      if (gpu.tid_x() == 0)
        gpu.mbarrier_init(mbarrier_of(gpu), count);
    });
    CHECK(said(k) == Contains("an mbarrier expects 1 to 1048575 arrivals"));
  }
}

TEST_CASE("mbarrier_init: rejects misaligned, out-of-bounds addresses") {
  Bench k;
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() == 0)
      gpu.mbarrier_init(mbarrier_of(gpu) + 4, 1);
  });
  CHECK(said(k) == Contains("which is not a multiple of 8"));
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() == 0)
      gpu.mbarrier_init(mbarrier_of(gpu) + 64, 1);
  });
  CHECK(k.result.reports.at(0).kind == Report::Kind::out_of_bounds);
}

TEST_CASE("mbarrier_arrive: rejects too many arrivals") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 1);
    if (gpu.tid_x() == 0) {
      gpu.mbarrier_arrive_expect_tx(mbarrier, 16); // keeps the phase open
      gpu.mbarrier_arrive(mbarrier);
    }
  });
  CHECK(said(k) == Contains("too many arrivals at the mbarrier at offset 256"));
  CHECK(said(k) == Contains("all 1 arrivals of phase 0 are complete, but the phase still expects "
                            "16 bytes"));
}

TEST_CASE("mbarrier_expect_tx: rejects too many bytes") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 2);
    if (gpu.tid_x() == 0) {
      gpu.mbarrier_expect_tx(mbarrier, 1 << 19);
      gpu.mbarrier_expect_tx(mbarrier, 1 << 19);
    }
  });
  CHECK(said(k) == Contains("counts at most 1048575 bytes, but now 1048576 bytes are expected"));
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 2);
    if (gpu.tid_x() == 0)
      gpu.mbarrier_arrive_expect_tx(mbarrier, 1 << 20);
  });
  CHECK(said(k) == Contains("but an mbarrier counts at most 1048575"));
}

TEST_CASE("mbarrier_wait: rejects an invalid parity") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 1);
    gpu.mbarrier_wait(mbarrier, 2);
  });
  CHECK(said(k) == Contains("mbarrier_wait: the parity is 2"));
}

TEST_CASE("mbarrier: rejects a store to its bytes") {
  Bench k;
  k.run([=](Gpu &gpu) {
    make(gpu, 1);
    if (gpu.tid_x() == 5)
      gpu.store_shared<uint16_t>(Bench::data_bytes + 6, 0);
  });
  CHECK(said(k) == Contains("overwrites an mbarrier in use"));
}

TEST_CASE("mbarrier_wait: deadlock report names missing arrivals") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 3);
    if (gpu.tid_x() == 0)
      gpu.mbarrier_arrive_expect_tx(mbarrier, 4096);
    gpu.mbarrier_wait(mbarrier, 0);
  });
  REQUIRE(k.result.reports.size() >= 1);
  CHECK(k.result.reports[0].kind == Report::Kind::deadlock);
  CHECK(said(k) == Contains("64 threads (0-63) wait at the mbarrier at offset 256"));
  CHECK(said(k) == Contains("phase of parity 0; 0 phases are complete; the current phase has 1 of "
                            "3 arrivals and expects 4096 more bytes"));
}

TEST_CASE("mbarrier_wait: deadlock when the parity is wrong") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 64);
    gpu.mbarrier_arrive(mbarrier);
    gpu.mbarrier_wait(mbarrier, 1); // returns at once: before the first phase
    gpu.mbarrier_wait(mbarrier, 0);
    gpu.mbarrier_wait(mbarrier, 1); // no thread arrives in this phase
  });
  CHECK(said(k) == Contains("deadlock"));
  CHECK(said(k) == Contains("phase of parity 1; 1 phases are complete; the current phase has 0 of "
                            "64 arrivals"));
}

TEST_CASE("mbarrier_init: race without a barrier before use") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = mbarrier_of(gpu);
    if (gpu.tid_x() == 0)
      gpu.mbarrier_init(mbarrier, 64);
    gpu.mbarrier_arrive(mbarrier);
  });
  CHECK(said(k) == Contains("mbarrier_arrive uses the mbarrier at offset 256"));
  CHECK(said(k) == Contains("but is not ordered after its initialization by thread 0"));
}

TEST_CASE("mbarrier_init: the block's threads need no fence") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = mbarrier_of(gpu);
    if (gpu.tid_x() == 0)
      gpu.mbarrier_init(mbarrier, 64);
    gpu.barrier();
    gpu.mbarrier_arrive(mbarrier);
    gpu.mbarrier_wait(mbarrier, 0);
  });
  CHECK(k.reports() == "");
}

TEST_CASE("mbarrier: reports expected bytes at the block's end") {
  Bench k;
  k.run([=](Gpu &gpu) {
    uint32_t mbarrier = make(gpu, 2);
    if (gpu.tid_x() == 0)
      gpu.mbarrier_arrive_expect_tx(mbarrier, 512);
  });
  CHECK(said(k) == Contains("has received 512 bytes less than expected"));
}
