// Tests ops/signals.cpp, and races between blocks that signals order.

#include "unit/emulator/kernel.h"
#include "unit/emulator/modes.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

namespace {

// What the threads of a block do between a barrier and a signal, or after a wait for it.
struct Steps {
  bool has_barrier_before = true, has_barrier_after = true, is_signaled = true;
};

// Block i writes x[i]. Then it adds x[i - 1], which the block before it has written.
std::string reports_of(const Steps &steps, const Options &options = {}) {
  Kernel k;
  k.options = options;
  k.threads = 64;
  k.grid.x = 5;
  int *x = k.parameter<int>("x", std::vector<int>(5 * 64));
  uint64_t *signals = k.parameter<uint64_t>("signals", std::vector<uint64_t>(5));
  int *sums = k.parameter<int>("sums", std::vector<int>(5 * 64));
  k.run([=](Gpu &gpu) {
    const uint32_t block = gpu.ctaid_x(), i = gpu.tid_x();
    gpu.store(x + 64 * block + i, int(block), 10);
    if (steps.has_barrier_before)
      gpu.barrier();
    if (i == 0 && steps.is_signaled)
      gpu.signal(signals + block, 11);
    if (block == 0)
      return;
    if (i == 0 && steps.is_signaled)
      gpu.wait_signal(signals + block - 1, 12);
    if (steps.has_barrier_after)
      gpu.barrier();
    gpu.store(sums + 64 * block + i, gpu.load(x + 64 * (block - 1) + 63 - i, 13) + int(block));
  });
  if (k.reports().empty())
    for (int i = 0; i < 5 * 64; i++)
      CHECK(sums[i] == (i < 64 ? 0 : 2 * (i / 64) - 1));
  return k.reports().substr(0, k.reports().find(" [kernel"));
}

} // namespace

TEST_CASE("signal: orders what comes before it and after the wait") {
  for (Options options : all_modes())
    for (int workers : {1, 3}) {
      CAPTURE(name_of(options));
      options.workers = workers;
      CHECK(reports_of({}, options) == "");
    }
}

TEST_CASE("signal: without it, or without barriers around it, blocks race") {
  const std::string race = "k.tc:13:1: error: race: load at byte ";
  auto race_of = [&](const Steps &steps) {
    Options options;
    options.workers = 1;
    return reports_of(steps, options).substr(0, race.size());
  };
  CHECK(race_of({.is_signaled = false}) == race);
  CHECK(race_of({.has_barrier_before = false}) == race);
  CHECK(race_of({.has_barrier_after = false}) == race);
  CHECK(race_of({}) == "");
}

TEST_CASE("wait_signal: only a block before this one may give the signal") {
  Kernel k;
  k.grid.x = 2;
  uint64_t *signals = k.parameter<uint64_t>("signals", {0});
  k.run([=](Gpu &gpu) {
    if (gpu.ctaid_x() == 1)
      gpu.signal(signals);
    else
      gpu.wait_signal(signals, 7);
  });
  CHECK(
      k.reports() ==
      "k.tc:7:1: error: wait for a signal at byte 0 of `signals`: all blocks before this one have "
      "ended [kernel k, program (0, 0, 0), thread 0]\n");
}

TEST_CASE("signal: a signal is taken before the next one is given") {
  Kernel k;
  uint64_t *signals = k.parameter<uint64_t>("signals", {0});
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() > 0)
      return;
    gpu.signal(signals);
    gpu.wait_signal(signals);
    gpu.signal(signals);
    gpu.signal(signals, 7);
  });
  CHECK(k.reports() ==
        "k.tc:7:1: error: signal at byte 0 of `signals`: no block has waited for the "
        "last one [kernel k, program (0, 0, 0), thread 0]\n");
}

TEST_CASE("signal: rejects an address outside of memory") {
  Kernel k;
  uint64_t *signals = k.parameter<uint64_t>("signals", {0});
  k.run([=](Gpu &gpu) { gpu.signal(signals + 1, 7); });
  CHECK(k.reports() == "k.tc:7:1: error: signal of 8 bytes at byte 8 of `signals`, which has 8 "
                       "bytes [kernel k, program (0, 0, 0), thread 0]\n");
  k.run([=](Gpu &gpu) { gpu.wait_signal(signals + 1, 7); });
  CHECK(k.result.reports.size() == 1);
}
