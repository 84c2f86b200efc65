// Tests that random kernels exercise the passes: each pass changes some kernel. No random kernel has
// several dots of tiles that TMA loads, so attention is among the kernels.

#include "random_kernels/generate.h"
#include "random_kernels/print.h"

#include "ir/printer.h"
#include "ir/schedule.h"
#include "passes/pipeline.h"
#include "support/kernel_file.h"
#include "support/schedules.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <set>
#include <vector>

using namespace tritonc;

// Six more kernels cover rare features: tf32 with only A contiguous along K, split-K, a schedule in
// which all warps have the same role, two loops over one row, rows without gaps, and a division by
// a parameter in a loop.
TEST_CASE("passes: every pass changes one of 107 kernels") {
  constexpr uint64_t first = 100, swapped = 2543, divided = 1577, together = 5798, staged = 145,
                     joined = 147, quotient = 1425;
  std::vector<uint64_t> seeds = {swapped, divided, together, staged, joined, quotient};
  for (uint64_t seed = 0; seed < first; seed++)
    seeds.push_back(seed);
  std::vector<FrontEndInput> inputs;
  std::deque<test::KernelFile> files;
  for (uint64_t seed : seeds)
    inputs.push_back(files.emplace_back(random::source_of(random::generate(seed).kernel)).input);
  inputs.push_back({TRITONC_KERNELS_DIR "/attention.tc",
                    {{"TYPE", "half"},
                     {"D", "64"},
                     {"CAUSAL", "true"},
                     {"WINDOW", "false"},
                     {"TM", "64"},
                     {"TN", "64"}},
                    {},
                    ""});
  std::map<std::string, int> changes;
  for (const FrontEndInput &input : inputs) {
    FrontEndResult source = translate_source(input);
    CAPTURE(source.diagnostics_text);
    REQUIRE(source.errors == 0);
    // sm_75 for passes that only GPUs without cp.async need.
    for (const char *name : {"90a", "75"}) {
      const Gpu &gpu = *find_gpu(name);
      std::vector<Schedule> schedules = test::complete_schedules_for(source.kernels[0], gpu);
      if (auto launches = test::partials_launches_for(source.kernels[0], gpu))
        schedules.insert(schedules.end(), {launches->first, launches->second});
      for (const Schedule &schedule : schedules) {
        ir::Function compiled = ir::clone(source.kernels[0]);
        std::string before = ir::print(compiled);
        auto observe = [&](std::string_view pass, ir::Function &fn) {
          std::string after = ir::print(fn);
          changes[std::string(pass)] += after != before;
          before = std::move(after);
        };
        run_pipeline(compiled, gpu, observe, schedule);
      }
    }
  }
  for (std::string_view pass : pass_names())
    CHECK_MESSAGE(changes[std::string(pass)] > 0, std::string(pass));
}

// Most row kernels have a batched schedule, and some a split loop.
TEST_CASE("passes: row kernels have the schedules of kernels without a matmul") {
  const Gpu &gpu = *find_gpu("90a");
  int rows = 0, batched = 0, in_parts = 0;
  for (uint64_t seed = 0; rows < 60; seed++) {
    random::Generated made = random::generate(seed);
    if (made.policy != "rows")
      continue;
    rows++;
    test::KernelFile file(random::source_of(made.kernel));
    FrontEndResult source = translate_source(file.input);
    REQUIRE(source.errors == 0);
    for (const Schedule &schedule : test::schedules_for(source.kernels[0], gpu)) {
      batched += schedule.kind == Schedule::Kind::batched;
      in_parts += schedule.work == Schedule::Work::partials;
    }
  }
  CHECK(batched > 25);
  CHECK(in_parts > 8);
}
