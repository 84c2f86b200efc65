// Tests that the emulator finds seeded bugs. For each correct kernel it must report nothing. With
// one bug it must make a report or compute wrong results. Without any one barrier, fence, or wait
// of the correct kernel, the same must happen.
//
// This tests the emulator: a bug that it does not find is a gap in its checks.

#include "robustness/seeded_bugs/test_kernel.h"
#include "robustness/skipped_sites.h"
#include "unit/emulator/modes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;
namespace abi = tritonc::abi;

namespace {

const std::vector<TestKernel> &test_kernels() {
  static const std::vector<TestKernel> all = {
      ampere_gemm(), block_sum(),         hopper_gemm(),    persistent_gemm(),
      bulk_reduce(), copies_into_wgmma(), named_barriers(), shared_exchange(),
  };
  return all;
}

struct Name {
  unsigned by;
  const char *text;
};
constexpr Name names[] = {
    {race, "race"},         {unwritten, "unwritten"},
    {deadlock, "deadlock"}, {divergence, "divergence"},
    {misuse, "misuse"},     {bounds, "bounds"},
    {values, "values"},
};

std::string text_of(unsigned by) {
  std::string text;
  for (const Name &name : names)
    if (by & name.by)
      text += (text.empty() ? "" : ", ") + std::string(name.text);
  return text;
}

unsigned by_of(Report::Kind kind) {
  using Kind = Report::Kind;
  switch (kind) {
  case Kind::race:
    return race;
  case Kind::uninitialized:
    return unwritten;
  case Kind::deadlock:
  case Kind::too_many_steps:
    return deadlock;
  case Kind::divergence:
    return divergence;
  case Kind::out_of_bounds:
  case Kind::misaligned:
    return bounds;
  default:
    return misuse;
  }
}

struct Outcome {
  unsigned by = 0;
  std::string reports;
};

/// One run. `sites`, if not null, records or skips synchronizing calls.
Outcome run(const TestKernel &test_kernel, int bug, const Options &mode,
            std::function<abi::host_code(const abi::host_code &)> instead = nullptr) {
  Kernel kernel;
  kernel.name = test_kernel.name;
  kernel.options = mode;
  kernel.instead = std::move(instead);
  bool is_right = test_kernel.run(kernel, bug);
  Outcome outcome;
  for (const Report &report : kernel.result.reports)
    outcome.by |= by_of(report.kind);
  // Results are meaningless after a report that ended the launch.
  bool ended = outcome.by & ~unsigned(race | unwritten);
  if (!is_right && !ended)
    outcome.by |= values;
  outcome.reports = kernel.reports();
  return outcome;
}

} // namespace

TEST_CASE("seeded bugs: no report for correct kernels") {
  for (const TestKernel &test_kernel : test_kernels())
    for (const Options &mode : all_modes()) {
      CAPTURE(test_kernel.name);
      CAPTURE(name_of(mode));
      Outcome outcome = run(test_kernel, 0, mode);
      CHECK(outcome.reports == "");
      CHECK(text_of(outcome.by) == "");
    }
}

TEST_CASE("seeded bugs: the emulator finds every bug") {
  unsigned count = 0, missed = 0;
  std::map<std::string, unsigned> by_mode; // how many bugs it finds
  for (const TestKernel &test_kernel : test_kernels()) {
    CAPTURE(test_kernel.name);
    std::printf("%s\n", test_kernel.name);
    for (size_t i = 0; i < test_kernel.bugs.size(); i++) {
      const Bug &bug = test_kernel.bugs[i];
      CAPTURE(bug.name);
      unsigned by = 0, modes = 0;
      for (const Options &mode : all_modes()) {
        unsigned now = run(test_kernel, int(i) + 1, mode).by;
        by |= now;
        modes += now != 0;
        by_mode[name_of(mode)] += now != 0;
      }
      CHECK(by != 0);
      CHECK(text_of(by & bug.by) == text_of(bug.by));
      count++;
      missed += by == 0;
      std::printf("  %-70s %2u of 18 modes: %s\n", bug.name, modes, text_of(by).c_str());
    }
  }
  std::printf("%u bugs, %u not found\n", count, missed);
  for (const auto &[mode, found] : by_mode)
    std::printf("  %-26s finds %u\n", mode.c_str(), found);
}

TEST_CASE("seeded bugs: finds each missing barrier, fence and wait") {
  unsigned count = 0, needless = 0;
  for (const TestKernel &test_kernel : test_kernels()) {
    CAPTURE(test_kernel.name);
    std::unique_ptr<SkippedSites> sites;
    auto instead = [&](const abi::host_code &code) {
      if (!sites)
        sites = std::make_unique<SkippedSites>(code);
      return sites->code(code);
    };
    run(test_kernel, 0, all_modes().front(), instead);
    std::map<std::string, unsigned> nth;
    for (const SkippedSites::Site &site : sites->found()) {
      unsigned n = nth[site.operation]++;
      CAPTURE(site.operation);
      CAPTURE(site.place.line);
      count++;
      sites->skip(&site);
      unsigned by = 0;
      for (const Options &mode : all_modes())
        if (by == 0)
          by = run(test_kernel, 0, mode, instead).by;
      const char *reason = nullptr;
      for (const TestKernel::Needless &one : test_kernel.needless)
        if (one.operation == site.operation && one.nth == n)
          reason = one.reason;
      if (reason) {
        needless++;
        std::printf("%s: %s in line %u is not needed: %s\n", test_kernel.name,
                    site.operation.c_str(), site.place.line, reason);
        CHECK(by == 0);
      } else {
        CHECK(by != 0);
      }
    }
  }
  std::printf("%u places, %u of them not needed\n", count, needless);
}
