// Tests legs.cpp, isolate.cpp and campaign.cpp: failures are detected and located.

#include "random_kernels/campaign.h"
#include "random_kernels/generate.h"
#include "random_kernels/isolate.h"

#include "passes/pipeline.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace tritonc::random;

namespace {

// A kernel that has an input, and that some passes change.
Case good_case() {
  for (uint64_t seed = 0;; seed++) {
    Generated made = generate(seed);
    bool reads = false;
    for (size_t i = 0; i < made.kernel.parameters.size(); i++)
      reads |= made.kernel.parameters[i].role == Parameter::Role::input &&
               made.evaluation.contents[i].count > 0;
    if (reads && made.policy == std::string("products"))
      return case_of(made.kernel, made.evaluation);
  }
}

std::optional<Failure> run(const Case &tried) {
  Effort effort;
  return run_legs(tried, {}, effort);
}

} // namespace

TEST_CASE("run_legs: a correct kernel passes all legs") {
  Effort effort;
  std::optional<Failure> failure = run_legs(good_case(), {}, effort);
  CHECK_MESSAGE(!failure, text_of(*failure));
  CHECK(effort.interpreted > 3);
  CHECK(effort.emulated >= 3);
}

TEST_CASE("run_legs: a compile error is a failure") {
  Case tried = good_case();
  tried.source = "__global__ void k(int *x) { *x = undeclared; }";
  std::optional<Failure> failure = run(tried);
  REQUIRE(failure);
  CHECK(failure->kind == Failure::Kind::refused);
  CHECK(failure->text.find("undeclared identifier") != std::string::npos);
}

TEST_CASE("run_legs: a wrong result fails in the first leg") {
  Case tried = good_case();
  for (Argument &argument : tried.arguments)
    if (argument.is_written() && !argument.expected.empty()) {
      argument.expected[0].integer++;
      argument.expected[0].real++;
      argument.written[0] = true;
    }
  std::optional<Failure> failure = run(tried);
  REQUIRE(failure);
  CHECK(failure->kind == Failure::Kind::difference);
  CHECK(failure->stage == "as translated");
}

TEST_CASE("run_legs: a too short buffer is a failure") {
  Case tried = good_case();
  for (Argument &argument : tried.arguments)
    if (argument.count > 0 && argument.role == Parameter::Role::input)
      argument.count--;
  std::optional<Failure> failure = run(tried);
  REQUIRE(failure);
  CHECK(failure->kind == Failure::Kind::report);
}

TEST_CASE("is_alike: failures with the same probable cause") {
  Failure a{Failure::Kind::difference, "after `fold_add_into_dot` for sm_80", "y[3] is 4, not 5"};
  Failure b{Failure::Kind::difference, "after `fold_add_into_dot` for sm_75", "z[0] is 1, not 2"};
  CHECK(is_alike(a, b));
  b.stage = "after `split_dots_along_k` for sm_80";
  CHECK_FALSE(is_alike(a, b));
  Failure c{Failure::Kind::crash, "somewhere", "a.cpp:3: Assertion `x' failed"};
  Failure d{Failure::Kind::crash, "somewhere", "a.cpp:99: Assertion `x' failed"};
  CHECK(is_alike(c, d));
  d.text = "(Segmentation fault)";
  CHECK_FALSE(is_alike(c, d));
  Legs fewer = legs_for(a, {});
  CHECK(fewer.gpus == std::vector<std::string>{"80"});
  CHECK_FALSE(fewer.emulate);
}

TEST_CASE("isolated: ends after success, crash and endless loop") {
  Isolated good = isolated(
      [] {
        std::puts("at work");
        return std::string("done");
      },
      10);
  CHECK(good.text == "done");
  CHECK(good.printed == "at work\n");
  Isolated crash = isolated(
      []() -> std::string {
        std::fputs("on the way\n", stderr);
        std::abort();
      },
      10);
  CHECK(crash.end == Isolated::End::crashed);
  CHECK(crash.text == "on the way\n(Aborted)");
  Isolated endless = isolated(
      []() -> std::string {
        for (;;)
          pause();
      },
      1);
  CHECK(endless.end == Isolated::End::timed_out);
  std::string large(1'000'000, 'x');
  CHECK(isolated([&] { return large; }, 10).text == large);
}

TEST_CASE("campaign: resumes from its state file") {
  std::string state =
      (std::filesystem::temp_directory_path() / ("random-" + std::to_string(getpid()))).string();
  std::ofstream(state) << "100 118 2\n";
  Campaign campaign;
  campaign.from = 100;
  campaign.kernels = 20;
  campaign.state = state;
  campaign.legs.emulate = false;
  campaign.legs.gpus = {"80"};
  CampaignResult result = run(campaign);
  CHECK(result.kernels == 20);
  CHECK(result.failed == 2); // from before the resume
  CHECK(result.effort.interpreted >= 4);
  uint64_t from, next;
  std::ifstream(state) >> from >> next;
  CHECK(next == 120);
  std::filesystem::remove(state);
}
