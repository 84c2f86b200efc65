// Tests runtime/src/select/tuning.cpp: launches choose variants by measurements.

#include "unit/runtime/config_kernel.h"
#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace tritonc;

namespace {

constexpr std::int16_t none = abi::not_measured;

/// Measurements of a kernel with two variants for some n.
class Measured {
public:
  /// `beside_costs`: the times are relative to the costs of the schedules.
  Measured(const char *first_schedule, const char *second_schedule, bool beside_costs)
      : schedule_names_{first_schedule, second_schedule}, beside_costs_(beside_costs) {}
  Measured(const Measured &) = delete;

  /// Adds a problem with the times of both variants, as logarithms. Both variants had this schedule
  /// and this cost.
  void add(std::int32_t n, std::int16_t large, std::int16_t small, std::uint16_t schedule,
           std::int64_t cost = 1) {
    problems_.push_back(abi::logarithm(n));
    times_.insert(times_.end(), {large, small});
    costs_.insert(costs_.end(), 2, std::int16_t(abi::logarithm(cost)));
    schedules_.insert(schedules_.end(), {schedule, schedule});
  }

  void attach_to(abi::kernel &kernel) {
    tuning_ = {"some GPU",
               90,
               10,
               &n_argument_,
               problems_.data(),
               times_.data(),
               beside_costs_ ? costs_.data() : nullptr,
               schedules_.data(),
               schedule_names_,
               1,
               std::uint32_t(problems_.size()),
               beside_costs_ ? 2u : 1u,
               beside_costs_};
    kernel.tunings = &tuning_;
    kernel.tuning_count = 1;
  }

  /// Valid after attach_to.
  abi::tuning &tuning() { return tuning_; }

private:
  const std::uint32_t n_argument_ = 2;
  const char *schedule_names_[2];
  bool beside_costs_;
  std::vector<std::int32_t> problems_;
  std::vector<std::int16_t> times_, costs_;
  std::vector<std::uint16_t> schedules_;
  abi::tuning tuning_;
};

/// The kernel with tiles of 64 and 16, and its measurements.
struct Setting {
  explicit Setting(const std::string &settings = "sms=10")
      : machine(Machine::as_driver, settings) {}

  void measured(std::int32_t n, std::int16_t large, std::int16_t small) {
    measurements.add(n, large, small, 0);
    measurements.attach_to(sample.kernel);
  }

  std::string chosen(std::int32_t n, const std::int32_t *choice = nullptr) {
    args.n = n;
    status launched = machine.runtime().launch(sample.kernel, {}, &args, choice, nullptr);
    return launched.ok() ? machine.driver().last_launch().kernel : launched.name();
  }

  Machine machine;
  SampleKernel sample;
  SampleArgs args = good_args();
  Measured measurements{"", "another", false};
};

} // namespace

TEST_CASE("logarithm: equals 1024 * log2, rounded down") {
  const std::int64_t values[] = {
      1, 2, 3, 5, 7, 100, 1023, 1024, 1025, 123456789, (std::int64_t(1) << 40) + 12345, INT64_MAX};
  for (std::int64_t value : values) {
    CAPTURE(value);
    CHECK(abi::logarithm(value) == doctest::Approx(1024 * std::log2(double(value))).epsilon(1e-3));
  }
  CHECK(abi::logarithm(1) == 0);
  CHECK(abi::logarithm(4096) == 12 * 1024);
  CHECK(abi::logarithm(0) == -1024);
  CHECK(abi::logarithm(-5) == -1024);
  static_assert(abi::logarithm(8) == 3 * 1024, "and a constant expression");
}

TEST_CASE("tuning: measurements override the default rule") {
  Setting s;
  // 9 programs of tile 64 would leave one of 10 SMs idle. launch_test.cpp tests this rule.
  REQUIRE(s.chosen(64 * 9) == "copy_16");
  REQUIRE(s.chosen(64 * 10) == "copy_64");
  s.measured(64 * 9, 0, 100);
  s.measured(64 * 100, 100, 0);
  SUBCASE("measured problems") {
    CHECK(s.chosen(64 * 100) == "copy_16");
    // A repeated launch makes no new choice.
    CHECK(s.chosen(64 * 9) == "copy_16");
    s.sample.kernel.tuning_count = 0;
    CHECK(s.chosen(64 * 100) == "copy_16");
  }
  SUBCASE("other problems: the nearest problem decides") {
    CHECK(s.chosen(64 * 12) == "copy_64");
    CHECK(s.chosen(64 * 80) == "copy_16");
    CHECK(s.chosen(64 * 5) == "copy_64");
    CHECK(s.chosen(64 * 1000) == "copy_16");
  }
}

TEST_CASE("tuning: requirements still exclude variants") {
  Setting s;
  s.measured(64, 0, 100);
  CHECK(s.chosen(64 * 3) == "copy_64");
  CHECK(s.chosen(16 * 5) == "copy_16");
  CHECK(s.chosen(17) == "requirement_failed");
}

TEST_CASE("tuning: missing images still exclude variants") {
  Setting s;
  s.measured(64, 0, 100);
  s.sample.images[0].pop_back(); // for sm_90a; the image for sm_80 does not run on sm_90
  s.sample.variants[0].image_count = 1;
  CHECK(s.chosen(64 * 3) == "copy_16");
}

TEST_CASE("tuning: a named variant runs despite measurements") {
  Setting s;
  s.measured(64, 0, 100);
  std::int32_t small = 16;
  CHECK(s.chosen(64 * 3, &small) == "copy_16");
}

TEST_CASE("tuning: an unmeasured variant loses to a measured one") {
  Setting s;
  SUBCASE("tile 64 is never measured") { s.measured(64 * 10, none, 500); }
  SUBCASE("tile 64 is measured for another problem") {
    s.measured(64 * 10, none, 0);
    s.measured(64 * 11, 300, 0);
  }
  CHECK(s.chosen(64 * 10) == "copy_16");
}

TEST_CASE("tuning: default rule applies, when nothing was measured") {
  Setting s;
  s.measured(64 * 10, none, none);
  CHECK(s.chosen(64 * 9) == "copy_16");
  CHECK(s.chosen(64 * 10) == "copy_64");
}

TEST_CASE("tuning: uses only data of this GPU") {
  Setting s;
  s.measured(64 * 10, 100, 0);
  SUBCASE("ignores another architecture") {
    s.measurements.tuning().sm = 80;
    CHECK(s.chosen(64 * 10) == "copy_64");
  }
  SUBCASE("ignores another number of SMs") {
    s.measurements.tuning().num_sms = 11;
    CHECK(s.chosen(64 * 10) == "copy_64");
  }
  SUBCASE("the name decides between two GPUs") {
    std::int16_t others[] = {0, 100};
    abi::tuning both[] = {s.measurements.tuning(), s.measurements.tuning()};
    both[1].times = others;
    s.sample.kernel.tunings = both;
    s.sample.kernel.tuning_count = 2;
    device_info device;
    REQUIRE(s.machine.runtime().current_device(device).ok());
    SUBCASE("first GPU") { CHECK(s.chosen(64 * 10) == "copy_16"); }
    SUBCASE("second GPU") {
      both[1].gpu = device.name;
      CHECK(s.chosen(64 * 10) == "copy_64");
    }
  }
}

TEST_CASE("tuning: distant problems have little weight") {
  Setting s;
  for (int i = 0; i < 40; i++)
    s.measured(64 * 1000 * (i + 1), 1000, 0);
  s.measured(64 * 10, 0, 100);
  s.measured(64 * 20, 0, 100);
  CHECK(s.chosen(64 * 14) == "copy_64");
  CHECK(s.chosen(64 * 1500) == "copy_16");
}

TEST_CASE("tuning: a cluster of problems weighs like one problem") {
  Setting s;
  for (int n : {64 * 37, 64 * 39, 64 * 40, 64 * 41, 64 * 43})
    s.measured(n, 1000, 0);
  s.measured(64 * 10, 0, 1000);
  CHECK(s.chosen(64 * 17) == "copy_64"); // although more problems favor copy_16
  CHECK(s.chosen(64 * 30) == "copy_16");
}

TEST_CASE("tuning: far from all problems, the mean times decide") {
  Setting s;
  // More than 2^14 times as large as 64. The variants differ in their number of problems.
  auto measured = [&](std::int16_t large, std::int16_t small) {
    s.measured(1 << 21, none, small);
    s.measured(1 << 25, large, small);
    s.measured(1 << 30, none, small);
  };
  SUBCASE("variant with more problems is faster") {
    measured(600, 500);
    CHECK(s.chosen(64) == "copy_16");
  }
  SUBCASE("variant with more problems is slower") {
    measured(400, 500);
    CHECK(s.chosen(64) == "copy_64");
  }
}

TEST_CASE("tuning: accepts duplicate problems") {
  Setting s;
  for (int i = 0; i < 30; i++) {
    s.measured(64 * 10, 0, 100);
    s.measured(64 * 40, 100, 0);
  }
  CHECK(s.chosen(64 * 10) == "copy_64");
  CHECK(s.chosen(64 * 12) == "copy_64");
  CHECK(s.chosen(64 * 40) == "copy_16");
}

TEST_CASE("tuning: the nearest problem excludes a far slower variant") {
  Setting s;
  s.measured(64 * 10, 0, 4000);
  for (int i = 0; i < 20; i++)
    s.measured(64 * (11 + i), 4000, 0);
  CHECK(s.chosen(64 * 10) == "copy_64");
  CHECK(s.chosen(64 * 11) == "copy_16");
}

TEST_CASE("tuning: repeated launch makes no extra driver calls") {
  Setting s;
  s.machine.driver().new_context();
  s.measured(64 * 10, 100, 0);
  REQUIRE(s.chosen(64 * 10) == "copy_16");
  REQUIRE(s.chosen(64 * 10) == "copy_16");
  int before = s.machine.driver().calls();
  REQUIRE(s.chosen(64 * 10) == "copy_16");
  int with_data = s.machine.driver().calls() - before;
  Setting without;
  without.machine.driver().new_context();
  without.sample.kernel.tuning_count = 0;
  for (int i = 0; i < 2; i++)
    without.chosen(64 * 10);
  before = without.machine.driver().calls();
  without.chosen(64 * 10);
  CHECK(with_data == without.machine.driver().calls() - before);
}

namespace {

/// Tiles of 64 and 16, each with two schedules: `few`, the cheaper one, for n up to 1000, and
/// `many`.
struct FormSetting {
  FormSetting() : machine(Machine::as_driver, "sms=10") {
    kernel.add_variant(16, {{"few", {"n 1000 <="}, "n"}, {"many", {}, "n 2 *"}});
    described = kernel.kernel();
  }

  void measured(std::int32_t n, std::int16_t large, std::int16_t small, std::uint16_t schedule,
                std::int64_t cost = 1000) {
    measurements.add(n, large, small, schedule, cost);
    measurements.attach_to(described);
  }

  /// "64 many"
  std::string chosen(std::int32_t n) {
    args.n = n;
    status launched = machine.runtime().launch(described, {}, &args, nullptr, nullptr);
    if (!launched.ok())
      return launched.name();
    std::uint32_t blocks = machine.driver().last_launch().grid[0];
    return (blocks == unsigned(n + 63) / 64 ? "64 " : "16 ") + noted_launch().schedule;
  }

  Machine machine;
  ConfigKernel kernel{{{"few", {"n 1000 <="}, "n"}, {"many", {}, "n 2 *"}}};
  abi::kernel described;
  ConfigArgs args = schedule_args();
  Measured measurements{"few", "many", true};
};

} // namespace

TEST_CASE("tuning: corrects costs, separately per schedule") {
  FormSetting s;
  REQUIRE(s.chosen(900) == "64 few"); // equal costs: the first
  REQUIRE(s.chosen(1100) == "64 many");
  s.measured(990, 0, 500, 0);
  s.measured(1010, 500, 0, 1);
  CHECK(s.chosen(910) == "64 few");
  CHECK(s.chosen(995) == "64 few");
  CHECK(s.chosen(1005) == "16 many"); // although 990 is near too
  CHECK(s.chosen(1400) == "16 many");
  CHECK(s.chosen(100) == "64 few");
}

TEST_CASE("tuning: problems with another cost are more distant") {
  FormSetting s;
  // 900 lies between both problems and has the same cost as one of them.
  auto chosen = [&](std::int64_t cost_of_700, std::int64_t cost_of_1150) {
    FormSetting other;
    other.measured(700, 0, 200, 0, cost_of_700);
    other.measured(1150, 200, 0, 0, cost_of_1150);
    return other.chosen(900);
  };
  CHECK(chosen(900, 3600) == "64 few");
  CHECK(chosen(225, 900) == "16 few");
}

TEST_CASE("tuning: uses data of other schedules, when its own is missing") {
  FormSetting s;
  s.measured(500, 700, 0, 0);
  CHECK(s.chosen(400) == "16 few");
  CHECK(s.chosen(2000) == "16 many");
}

TEST_CASE("tuning: ignores cost-relative data, when costs are unknown") {
  FormSetting s;
  s.measured(64 * 9, 500, 0, 0);
  REQUIRE(s.chosen(64 * 9) == "16 few");
  ConfigKernel without{{{"few"}}};
  without.add_variant(16, {{"few"}});
  abi::kernel described = without.kernel();
  described.tunings = &s.measurements.tuning();
  described.tuning_count = 1;
  s.args.n = 64 * 20;
  REQUIRE(s.machine.runtime().launch(described, {}, &s.args, nullptr, nullptr).ok());
  CHECK(s.machine.driver().last_launch().grid[0] == 20); // the first that fills the device
}
