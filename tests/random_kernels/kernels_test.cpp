// Tests a fixed set of random kernels in all legs, and the kernels of found/, which failed once.
// tests/campaign runs any number of random kernels.

#include "random_kernels/campaign.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

using namespace tritonc::random;

namespace {

constexpr uint64_t kernels = 2000;

} // namespace

TEST_CASE("random kernels: all legs agree") {
  Campaign campaign;
  campaign.kernels = kernels;
  campaign.jobs = int(std::thread::hardware_concurrency());
  campaign.seconds_to_reduce = 30;
  CampaignResult result = run(campaign);
  for (const Found &found : result.found)
    FAIL_CHECK("seed " << found.seed << ": " << text_of(found.failure) << "\n" << found.text);
  CHECK(result.failed == 0);
  CHECK(result.kernels == kernels);
  CHECK(result.effort.interpreted > int(5 * kernels));
  CHECK(result.effort.emulated > int(3 * kernels));
  CHECK(result.effort.specialized > int(kernels / 100));
  CHECK(result.effort.split_k > int(kernels / 1000));
  CHECK(result.effort.in_parts > int(kernels / 1000));
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
