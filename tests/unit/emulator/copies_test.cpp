// Tests ops/copies.cpp (cp.async): the copied data, the order after waits, and each misuse.

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

// The reports of all modes.
std::string objections(Kernel &k, const std::function<void(Gpu &)> &body, Async async,
                       bool races = true) {
  k.options.async = async;
  k.options.races = races;
  k.run(body);
  return k.reports();
}

} // namespace

TEST_CASE("cp.async: copies the bytes and fills up with zeros") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Kernel k;
    k.options = mode;
    k.threads = 64;
    k.shared_bytes = 64 * 28;
    uint32_t *x = k.parameter("x", counting(64 * 4));
    uint32_t *y = k.unwritten<uint32_t>("y", 64 * 7);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x(), to = gpu.shared_base();
      gpu.cp_async_16(to + 16 * i, x + 4 * i, i % 2 ? 16 : 5);
      gpu.cp_async_8(to + 1024 + 8 * i, x + 4 * i, i % 2 ? 8 : 0);
      gpu.cp_async_4(to + 1536 + 4 * i, x + 4 * i, i % 2 ? 4 : 1);
      gpu.cp_async_commit();
      gpu.cp_async_wait(0);
      gpu.barrier();
      uint32_t j = 63 - i; // copied by another thread
      for (uint32_t word = 0; word < 4; word++)
        gpu.store(y + 7 * j + word, gpu.load_shared<uint32_t>(16 * j + 4 * word));
      for (uint32_t word = 0; word < 2; word++)
        gpu.store(y + 7 * j + 4 + word, gpu.load_shared<uint32_t>(1024 + 8 * j + 4 * word));
      gpu.store(y + 7 * j + 6, gpu.load_shared<uint32_t>(1536 + 4 * j));
    });
    CHECK(k.reports() == "");
    for (uint32_t i = 0; i < 64; i++) {
      const uint32_t *from = x + 4 * i, *to = y + 7 * i;
      uint32_t all = i % 2 ? ~0u : 0;
      CHECK(to[0] == from[0]);
      CHECK(to[1] == (from[1] & (all | 0xff)));
      CHECK(to[2] == (from[2] & all));
      CHECK(to[3] == (from[3] & all));
      CHECK(to[4] == (from[0] & all));
      CHECK(to[5] == (from[1] & all));
      CHECK(to[6] == (from[0] & (all | 0xff)));
    }
  }
}

TEST_CASE("cp_async_wait: leaves the last groups pending") {
  Kernel k;
  k.shared_bytes = 48;
  uint32_t *x = k.parameter("x", counting(4));
  uint32_t *y = k.unwritten<uint32_t>("y", 2);
  auto two_groups = [=](uint32_t pending) {
    return [=](Gpu &gpu) {
      if (gpu.tid_x() != 0)
        return;
      gpu.cp_async_4(gpu.shared_base(), x, 4);
      gpu.cp_async_commit();
      gpu.cp_async_4(gpu.shared_base() + 16, x + 1, 4);
      gpu.cp_async_commit();
      gpu.cp_async_wait(pending);
      gpu.store(y, gpu.load_shared<uint32_t>(0));
      gpu.store(y + 1, gpu.load_shared<uint32_t>(16));
    };
  };
  CHECK(objections(k, two_groups(0), Async::late) == "");
  CHECK(y[1] == 1001);
  CHECK(objections(k, two_groups(1), Async::late) != ""); // the second group is read while pending
  CHECK(y[0] == 1000);
  CHECK(y[1] == 0xffffffff);
  CHECK(said(k) == Contains("load of 4 bytes at offset 16 of shared memory before an asynchronous "
                            "copy has landed there: wait for the copy first"));
  CHECK(objections(k, two_groups(2), Async::late) != "");
  CHECK(y[0] == 0xffffffff);
  CHECK(objections(k, two_groups(1), Async::early) == ""); // with early copies the data is there
}

TEST_CASE("cp_async_wait: ignores uncommitted copies") {
  Kernel k;
  k.shared_bytes = 16;
  uint32_t *x = k.parameter("x", counting(4));
  auto body = [=](Gpu &gpu) {
    if (gpu.tid_x() != 0)
      return;
    gpu.cp_async_4(gpu.shared_base(), x, 4);
    gpu.cp_async_wait(0);
    gpu.load_shared<uint32_t>(0);
  };
  CHECK(objections(k, body, Async::late) != "");
}

TEST_CASE("cp_async_wait: orders only the thread's own copies") {
  Kernel k;
  k.threads = 64;
  k.shared_bytes = 256;
  uint32_t *x = k.parameter("x", counting(64));
  auto body = [=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    gpu.cp_async_4(gpu.shared_base() + 4 * i, x + i, 4);
    gpu.cp_async_commit();
    gpu.cp_async_wait(0);
    gpu.load_shared<uint32_t>(252 - 4 * i);
  };
  CHECK(doctest::String(objections(k, body, Async::early).c_str()) == Contains("race"));
  CHECK(doctest::String(objections(k, body, Async::late).c_str()) == Contains("race"));
}

TEST_CASE("cp.async: race with another thread's read of the buffer") {
  Kernel k;
  k.threads = 64;
  k.shared_bytes = 256;
  uint32_t *x = k.parameter("x", counting(64));
  auto body = [=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    gpu.store_shared<uint32_t>(4 * i, i);
    gpu.barrier();
    gpu.load_shared<uint32_t>(252 - 4 * i);
    gpu.cp_async_4(gpu.shared_base() + 4 * i, x + i, 4);
    gpu.cp_async_commit();
    gpu.cp_async_wait(0);
  };
  CHECK(doctest::String(objections(k, body, Async::early).c_str()) == Contains("race: "));
  CHECK(doctest::String(objections(k, body, Async::late).c_str()) == Contains("race: "));
}

TEST_CASE("cp.async: race with a write to the pending destination") {
  Kernel k;
  k.threads = 64;
  k.shared_bytes = 256;
  uint32_t *x = k.parameter("x", counting(64));
  auto reuse = [=](bool wait_before) {
    return [=](Gpu &gpu) {
      uint32_t i = gpu.tid_x();
      gpu.cp_async_4(gpu.shared_base() + 4 * i, x + i, 4);
      gpu.cp_async_commit();
      if (wait_before)
        gpu.cp_async_wait(0);
      gpu.barrier();
      gpu.store_shared<uint32_t>(252 - 4 * i, i);
      gpu.barrier();
      gpu.load_shared<uint32_t>(4 * i);
      gpu.cp_async_wait(0);
    };
  };
  CHECK(objections(k, reuse(true), Async::early) == "");
  CHECK(objections(k, reuse(true), Async::late) == "");
  objections(k, reuse(false), Async::late);
  CHECK(said(k) == Contains("of shared memory: another write to this memory came before "
                            "cp_async_wait"));
  CHECK(objections(k, reuse(false), Async::late, /*races=*/false) == "");
}

TEST_CASE("cp.async: race when the block ends before the wait") {
  Kernel k;
  k.shared_bytes = 256;
  uint32_t *x = k.parameter("x", counting(64));
  // The second group copies 0 bytes, but writes zeros.
  auto two_groups = [=](uint32_t pending) {
    return [=](Gpu &gpu) {
      uint32_t i = gpu.tid_x();
      gpu.cp_async_4(gpu.shared_base() + 4 * i, x + i, 4);
      gpu.cp_async_commit();
      gpu.cp_async_4(gpu.shared_base() + 128 + 4 * i, nullptr, 0);
      gpu.cp_async_commit();
      gpu.cp_async_wait(pending);
    };
  };
  CHECK(objections(k, two_groups(0), Async::late) == "");
  objections(k, two_groups(1), Async::late);
  CHECK(said(k) == Contains("cp_async_4 of 4 bytes to offset 128 of shared memory may land after "
                            "the block has ended: its thread does not wait for it"));
  CHECK(k.result.reports.size() == 1);
  CHECK(objections(k, two_groups(1), Async::late, /*races=*/false) == "");
}

TEST_CASE("cp.async: ignores the source address of 0 bytes") {
  Kernel k;
  k.shared_bytes = 16;
  uint32_t *y = k.unwritten<uint32_t>("y", 1);
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() != 0)
      return;
    gpu.cp_async_16(gpu.shared_base(), nullptr, 0);
    gpu.cp_async_commit();
    gpu.cp_async_wait(0);
    gpu.store(y, gpu.load_shared<uint32_t>(12));
  });
  CHECK(k.reports() == "");
  CHECK(y[0] == 0);
}

TEST_CASE("cp.async: rejects misaligned and out-of-bounds addresses") {
  Kernel k;
  k.shared_bytes = 64;
  uint32_t *x = k.parameter("x", counting(8));
  auto copy = [&](uint32_t to, const uint32_t *from, uint32_t bytes) {
    k.run([=](Gpu &gpu) {
      if (gpu.tid_x() == 0)
        gpu.cp_async_16(gpu.shared_base() + to, from, bytes);
    });
    return k.result.ok() ? -1 : int(k.result.reports[0].kind);
  };
  CHECK(copy(0, x, 16) == -1);
  CHECK(copy(48, x + 4, 16) == -1);
  CHECK(copy(8, x, 16) == int(Report::Kind::misaligned));
  CHECK(copy(0, x + 1, 16) == int(Report::Kind::misaligned));
  CHECK(copy(64, x, 16) == int(Report::Kind::out_of_bounds));
  CHECK(copy(0, x + 8, 16) == int(Report::Kind::out_of_bounds));
  CHECK(copy(0, x + 4, 17) == int(Report::Kind::misuse));
  CHECK(said(k) == Contains("cp_async_16 copies 17 bytes, but supports at most 16"));
}

TEST_CASE("cp_async_mbarrier_arrive: arrives when copies have landed") {
  for (const Options &mode : all_modes()) {
    CAPTURE(name_of(mode));
    Kernel k;
    k.options = mode;
    k.threads = 64;
    k.shared_bytes = 136;
    uint32_t *x = k.parameter("x", counting(32));
    uint32_t *y = k.unwritten<uint32_t>("y", 32);
    k.run([=](Gpu &gpu) {
      uint32_t i = gpu.tid_x(), mbarrier = gpu.shared_base() + 128;
      if (i == 0) {
        gpu.mbarrier_init(mbarrier, 32);
        gpu.fence_mbarrier_init();
      }
      gpu.barrier();
      if (i < 32) {
        gpu.cp_async_4(gpu.shared_base() + 4 * i, x + i, 4);
        gpu.cp_async_mbarrier_arrive(mbarrier);
      }
      gpu.mbarrier_wait(mbarrier, 0);
      if (i >= 32)
        gpu.store(y + i - 32, gpu.load_shared<uint32_t>(4 * (63 - i)));
    });
    CHECK(k.reports() == "");
    for (uint32_t i = 0; i < 32; i++)
      CHECK(y[i] == x[31 - i]);
  }
}

TEST_CASE("cp_async_mbarrier_arrive: needs no fence_mbarrier_init") {
  Kernel k;
  k.shared_bytes = 136;
  uint32_t *x = k.parameter("x", counting(32));
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x(), mbarrier = gpu.shared_base() + 128;
    if (i == 0)
      gpu.mbarrier_init(mbarrier, 32);
    gpu.barrier();
    gpu.cp_async_4(gpu.shared_base() + 4 * i, x + i, 4);
    gpu.cp_async_mbarrier_arrive(mbarrier);
    gpu.mbarrier_wait(mbarrier, 0);
  });
  CHECK(said(k) == ""); // cp.async uses the generic proxy
}

TEST_CASE("cp_async_mbarrier_arrive: does not cover later copies") {
  Kernel k;
  k.threads = 64;
  k.shared_bytes = 24;
  uint32_t *x = k.parameter("x", counting(8));
  auto body = [=](Gpu &gpu) {
    uint32_t i = gpu.tid_x(), mbarrier = gpu.shared_base() + 16;
    if (i == 0) {
      gpu.mbarrier_init(mbarrier, 1);
      gpu.fence_mbarrier_init();
    }
    gpu.barrier();
    if (i == 0) {
      gpu.cp_async_4(gpu.shared_base(), x, 4);
      gpu.cp_async_mbarrier_arrive(mbarrier);
      gpu.cp_async_4(gpu.shared_base() + 4, x + 1, 4);
    }
    gpu.mbarrier_wait(mbarrier, 0);
    if (i == 32) {
      gpu.load_shared<uint32_t>(0);
      gpu.load_shared<uint32_t>(4);
    }
  };
  for (Async async : {Async::early, Async::late}) {
    objections(k, body, async);
    REQUIRE(k.result.reports.size() >= 1);
    CHECK(said(k) == Contains("at offset 4"));
    CHECK(said(k) != Contains("at offset 0"));
  }
}
