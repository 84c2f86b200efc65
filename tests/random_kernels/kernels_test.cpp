// Tests random kernels in all legs, from the seed of the day (support/sample.h), and the kernels of
// found/, which failed once. `tests/campaign random` runs any number of random kernels.

#include "random_kernels/campaign.h"
#include "support/sample.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tritonc::random;

namespace {

constexpr uint64_t kernels = 50;
constexpr uint64_t first_seeds = 1'000'000'000;

uint64_t first_seed() {
  uint64_t first =
      tritonc::test::hash_of("random kernels\n" + tritonc::test::sample_seed()) % first_seeds;
  MESSAGE("the same kernels: tests/campaign random --from ", first, " --kernels ", kernels);
  return first;
}

CampaignResult run_kernels(uint64_t from, uint64_t count) {
  Campaign campaign;
  campaign.from = from;
  campaign.kernels = count;
  campaign.jobs = 2;                  // PROCESSORS in CMakeLists.txt
  campaign.seconds_per_kernel = 1000; // for kernels that hang: a busy machine may be very slow
  campaign.seconds_to_reduce = 30;
  CampaignResult result = run(campaign);
  for (const Found &found : result.found)
    FAIL_CHECK("seed " << found.seed << ": " << text_of(found.failure) << "\n" << found.text);
  CHECK(result.failed == 0);
  CHECK(result.kernels == count);
  return result;
}

} // namespace

TEST_CASE("random kernels: all legs agree") {
  CampaignResult result = run_kernels(first_seed(), kernels);
  CHECK(result.effort.interpreted > int(5 * kernels));
  CHECK(result.effort.emulated > int(3 * kernels));
  CHECK(result.effort.batched > 0);
}

// Few kernels have split-K schedules, so these seeds are fixed.
TEST_CASE("random kernels: all legs agree, with split-K") {
  for (uint64_t seed : {1577, 100000096}) {
    CAPTURE(seed);
    Effort effort = run_kernels(seed, 1).effort;
    CHECK(effort.specialized > 0);
    CHECK(effort.split_k > 0);
    CHECK(effort.in_parts > 0);
  }
}

// Row kernels. The loop of the first one has several parts, the second one has unsigned maxima.
TEST_CASE("random kernels: all legs agree, with totals in parts and batched programs") {
  for (uint64_t seed : {3357, 3078}) {
    CAPTURE(seed);
    Effort effort = run_kernels(seed, 1).effort;
    CHECK(effort.in_parts > 0);
    CHECK(effort.batched > 0);
  }
}

TEST_CASE("random kernels: kernels of found/ pass") {
  int count = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(TRITONC_TESTS_DIR "/random_kernels/found")) {
    if (entry.path().extension() != ".tc")
      continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    std::string problem;
    std::optional<Case> tried = read_case(text.str(), problem);
    CAPTURE(entry.path().string());
    REQUIRE_MESSAGE(tried, problem);
    std::optional<Failure> failure = replay(*tried, {}, 60);
    CHECK_MESSAGE(!failure, text_of(*failure));
    count++;
  }
  CHECK(count > 0);
}
