// Tests tests/support/one_image.h: a launch of a kernel with one image runs this image.

#include "support/one_image.h"

#include "unit/runtime/config_kernel.h"
#include "unit/runtime/machine.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;

namespace {

/// Launches each image for sm_90a of two variants. Returns "tile schedule: outcome" for each.
std::vector<std::string> outcomes(const std::vector<ConfigText> &schedules) {
  Machine machine(Machine::as_driver);
  ConfigKernel kernel(schedules);
  kernel.add_variant(128, schedules);
  ConfigArgs args = schedule_args();
  std::vector<std::string> found;
  for (auto &one : test::images_of(kernel.kernel())) {
    if (std::string(one->info->gpu) != "sm_90a")
      continue;
    status launched = machine.runtime().launch(one->kernel, {}, &args, nullptr, nullptr);
    std::string outcome = launched.ok() ? "runs " + noted_launch().schedule : launched.name();
    found.push_back(std::to_string(one->choice[0]) + " " + one->info->schedule + ": " + outcome);
    [[maybe_unused]] auto *kept = one.release(); // the launch cache knows its address
  }
  return found;
}

} // namespace

TEST_CASE("one image: each schedule of each variant runs") {
  std::vector<ConfigText> schedules = {{"fast", {}, "1"}, {"slow", {}, "1000"}, {"plain"}};
  CHECK(outcomes(schedules) ==
        std::vector<std::string>{"64 fast: runs fast", "64 slow: runs slow", "64 plain: runs plain",
                                 "128 fast: runs fast", "128 slow: runs slow",
                                 "128 plain: runs plain"});
}

TEST_CASE("one image: an image that does not take the arguments does not run, and no other does") {
  CHECK(outcomes({{"fast", {"n 7 % 0 =="}, "1"}, {"plain"}}) ==
        std::vector<std::string>{"64 fast: requirement_failed", "64 plain: runs plain",
                                 "128 fast: requirement_failed", "128 plain: runs plain"});
}

TEST_CASE("one image: a pair of launches is one image") {
  std::vector<ConfigText> schedules = pair_of_configs("n 4 *", "1");
  schedules.push_back({"plain"});
  std::vector<std::string> found = outcomes(schedules);
  REQUIRE(found.size() == 4);
  CHECK(found[0] == "64 " + schedules[0].name + ": runs " + schedules[1].name);
  CHECK(found[1] == "64 plain: runs plain");
}

TEST_CASE("one image: the kernel itself still chooses") {
  Machine machine(Machine::as_driver);
  ConfigKernel kernel({{"slow", {}, "1000"}, {"fast", {}, "1"}});
  auto images = test::images_of(kernel.kernel());
  ConfigArgs args = schedule_args();
  REQUIRE(machine.runtime().launch(kernel.kernel(), {}, &args, nullptr, nullptr).ok());
  CHECK(noted_launch().schedule == "fast");
}
