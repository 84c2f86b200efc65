// Does the emulator find bugs? Every kernel here is right, and the emulator says so; with one bug
// it objects, by a finding or because the results are wrong. And does every barrier, fence and wait
// of the right kernels matter? Without it there is an objection too.
//
// This tests the emulator: a bug that it doesn't find is a hole in it.

#include "emulated/modes.h"
#include "emulated/seeded_bugs/subject.h"
#include "emulated/skipped_sites.h"

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

const std::vector<Subject> &subjects() {
  static const std::vector<Subject> all = {
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

unsigned by_of(Finding::Kind kind) {
  using Kind = Finding::Kind;
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
  std::string findings;
};

/// One run; `sites`, if there are any, see or skip what synchronises.
Outcome run(const Subject &subject, int bug, const Options &mode,
            std::function<abi::host_code(const abi::host_code &)> instead = nullptr) {
  Kernel kernel;
  kernel.name = subject.name;
  kernel.options = mode;
  kernel.instead = std::move(instead);
  bool is_right = subject.run(kernel, bug);
  Outcome outcome;
  for (const Finding &finding : kernel.result.findings)
    outcome.by |= by_of(finding.kind);
  // Results of a launch that was ended by a finding are no results.
  bool ended = outcome.by & ~unsigned(race | unwritten);
  if (!is_right && !ended)
    outcome.by |= values;
  outcome.findings = kernel.findings();
  return outcome;
}

} // namespace

TEST_CASE("the emulator finds nothing wrong with right kernels") {
  for (const Subject &subject : subjects())
    for (const Options &mode : all_modes()) {
      CAPTURE(subject.name);
      CAPTURE(name_of(mode));
      Outcome outcome = run(subject, 0, mode);
      CHECK(outcome.findings == "");
      CHECK(text_of(outcome.by) == "");
    }
}

TEST_CASE("the emulator finds every bug") {
  unsigned count = 0, missed = 0;
  std::map<std::string, unsigned> by_mode; // how many bugs it finds
  for (const Subject &subject : subjects()) {
    CAPTURE(subject.name);
    std::printf("%s\n", subject.name);
    for (size_t i = 0; i < subject.bugs.size(); i++) {
      const Bug &bug = subject.bugs[i];
      CAPTURE(bug.name);
      unsigned by = 0, modes = 0;
      for (const Options &mode : all_modes()) {
        unsigned now = run(subject, int(i) + 1, mode).by;
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

TEST_CASE("the emulator objects when a barrier, a fence or a wait is missing") {
  unsigned count = 0, needless = 0;
  for (const Subject &subject : subjects()) {
    CAPTURE(subject.name);
    std::unique_ptr<SkippedSites> sites;
    auto instead = [&](const abi::host_code &code) {
      if (!sites)
        sites = std::make_unique<SkippedSites>(code);
      return sites->code(code);
    };
    run(subject, 0, all_modes().front(), instead);
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
          by = run(subject, 0, mode, instead).by;
      const char *reason = nullptr;
      for (const Subject::Needless &one : subject.needless)
        if (one.operation == site.operation && one.nth == n)
          reason = one.reason;
      if (reason) {
        needless++;
        std::printf("%s: %s in line %u is not needed: %s\n", subject.name, site.operation.c_str(),
                    site.place.line, reason);
        CHECK(by == 0);
      } else {
        CHECK(by != 0);
      }
    }
  }
  std::printf("%u places, %u of them not needed\n", count, needless);
}
