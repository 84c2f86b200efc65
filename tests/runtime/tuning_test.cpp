// Tests runtime/src/tuning.cpp: launches choose by what was measured, where it says something.

#include "runtime/form_kernel.h"
#include "runtime/machine.h"
#include "runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace tritonc;

namespace {

constexpr std::int16_t none = abi::not_measured;

/// What was measured of a kernel with two variants for some n.
class Measured {
public:
  /// `beside_costs`: the times are beside the costs of forms.
  Measured(const char *first_form, const char *second_form, bool beside_costs)
      : form_names_{first_form, second_form}, beside_costs_(beside_costs) {}
  Measured(const Measured &) = delete;

  /// A problem, the times of both variants as logarithms, and which form those had. `cost`: of
  /// both.
  void add(std::int32_t n, std::int16_t large, std::int16_t small, std::uint16_t form,
           std::int64_t cost = 1) {
    problems_.push_back(abi::logarithm(n));
    times_.insert(times_.end(), {large, small});
    costs_.insert(costs_.end(), 2, std::int16_t(abi::logarithm(cost)));
    forms_.insert(forms_.end(), {form, form});
  }

  void attach_to(abi::kernel &kernel) {
    tuning_ = {"some GPU",
               90,
               10,
               &n_argument_,
               problems_.data(),
               times_.data(),
               beside_costs_ ? costs_.data() : nullptr,
               forms_.data(),
               form_names_,
               1,
               std::uint32_t(problems_.size()),
               beside_costs_ ? 2u : 1u,
               beside_costs_};
    kernel.tunings = &tuning_;
    kernel.tuning_count = 1;
  }

  /// Once it is attached.
  abi::tuning &tuning() { return tuning_; }

private:
  const std::uint32_t n_argument_ = 2;
  const char *form_names_[2];
  bool beside_costs_;
  std::vector<std::int32_t> problems_;
  std::vector<std::int16_t> times_, costs_;
  std::vector<std::uint16_t> forms_;
  abi::tuning tuning_;
};

/// The kernel with tiles of 64 and of 16, and what was measured of it.
struct Setting {
  explicit Setting(const std::string &settings = "multiprocessors=10")
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

TEST_CASE("logarithms are those of the mathematical library, rounded down") {
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

TEST_CASE("what was measured goes before the rule") {
  Setting s;
  // 9 programs of 64 would leave a multiprocessor idle, 10 don't: see the rule's test.
  REQUIRE(s.chosen(64 * 9) == "copy_16");
  REQUIRE(s.chosen(64 * 10) == "copy_64");
  s.measured(64 * 9, 0, 100);
  s.measured(64 * 100, 100, 0);
  SUBCASE("for the problems themselves") {
    CHECK(s.chosen(64 * 100) == "copy_16");
    // A recent launch again: nothing is chosen anew.
    CHECK(s.chosen(64 * 9) == "copy_16");
    s.sample.kernel.tuning_count = 0;
    CHECK(s.chosen(64 * 100) == "copy_16");
  }
  SUBCASE("for others the nearest ones count most") {
    CHECK(s.chosen(64 * 12) == "copy_64");
    CHECK(s.chosen(64 * 80) == "copy_16");
    CHECK(s.chosen(64 * 5) == "copy_64");
    CHECK(s.chosen(64 * 1000) == "copy_16");
  }
}

TEST_CASE("requirements exclude variants all the same") {
  Setting s;
  s.measured(64, 0, 100);
  CHECK(s.chosen(64 * 3) == "copy_64");
  CHECK(s.chosen(16 * 5) == "copy_16");
  CHECK(s.chosen(17) == "requirement_failed");
}

TEST_CASE("missing images do, too") {
  Setting s;
  s.measured(64, 0, 100);
  s.sample.images[0].pop_back(); // for sm_90a; that for sm_80 does not run there
  s.sample.variants[0].image_count = 1;
  CHECK(s.chosen(64 * 3) == "copy_16");
}

TEST_CASE("a variant that is named runs, whatever was measured") {
  Setting s;
  s.measured(64, 0, 100);
  std::int32_t small = 16;
  CHECK(s.chosen(64 * 3, &small) == "copy_16");
}

TEST_CASE("what was not measured is not chosen while something was") {
  Setting s;
  SUBCASE("the large one") { s.measured(64 * 10, none, 500); }
  SUBCASE("at another problem it was") {
    s.measured(64 * 10, none, 0);
    s.measured(64 * 11, 300, 0);
  }
  CHECK(s.chosen(64 * 10) == "copy_16");
}

TEST_CASE("where none was measured the rule chooses") {
  Setting s;
  s.measured(64 * 10, none, none);
  CHECK(s.chosen(64 * 9) == "copy_16");
  CHECK(s.chosen(64 * 10) == "copy_64");
}

TEST_CASE("data are of a GPU") {
  Setting s;
  s.measured(64 * 10, 100, 0);
  SUBCASE("of another architecture they say nothing") {
    s.measurements.tuning().sm = 80;
    CHECK(s.chosen(64 * 10) == "copy_64");
  }
  SUBCASE("nor of another size") {
    s.measurements.tuning().multiprocessors = 11;
    CHECK(s.chosen(64 * 10) == "copy_64");
  }
  SUBCASE("of two that differ only in their names, those of this name count") {
    std::int16_t others[] = {0, 100};
    abi::tuning both[] = {s.measurements.tuning(), s.measurements.tuning()};
    both[1].times = others;
    s.sample.kernel.tunings = both;
    s.sample.kernel.tuning_count = 2;
    device_info device;
    REQUIRE(s.machine.runtime().current_device(device).ok());
    SUBCASE("the first") { CHECK(s.chosen(64 * 10) == "copy_16"); }
    SUBCASE("the second") {
      both[1].gpu = device.name;
      CHECK(s.chosen(64 * 10) == "copy_64");
    }
  }
}

TEST_CASE("many problems: those far away say little") {
  Setting s;
  for (int i = 0; i < 40; i++)
    s.measured(64 * 1000 * (i + 1), 1000, 0);
  s.measured(64 * 10, 0, 100);
  s.measured(64 * 20, 0, 100);
  CHECK(s.chosen(64 * 14) == "copy_64");
  CHECK(s.chosen(64 * 1500) == "copy_16");
}

TEST_CASE("several problems in one direction say no more than one in the other") {
  Setting s;
  for (int n : {64 * 37, 64 * 39, 64 * 40, 64 * 41, 64 * 43})
    s.measured(n, 1000, 0);
  s.measured(64 * 10, 0, 1000);
  CHECK(s.chosen(64 * 17) == "copy_64"); // though by their number they are nearer
  CHECK(s.chosen(64 * 30) == "copy_16");
}

TEST_CASE("problems that were measured twice, and many with the same arguments") {
  Setting s;
  for (int i = 0; i < 30; i++) {
    s.measured(64 * 10, 0, 100);
    s.measured(64 * 40, 100, 0);
  }
  CHECK(s.chosen(64 * 10) == "copy_64");
  CHECK(s.chosen(64 * 12) == "copy_64");
  CHECK(s.chosen(64 * 40) == "copy_16");
}

TEST_CASE("what is far slower by the nearest problem is not chosen by others") {
  Setting s;
  s.measured(64 * 10, 0, 4000);
  for (int i = 0; i < 20; i++)
    s.measured(64 * (11 + i), 4000, 0);
  CHECK(s.chosen(64 * 10) == "copy_64");
  CHECK(s.chosen(64 * 11) == "copy_16");
}

TEST_CASE("a launch again asks nothing more for there being data") {
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

/// Tiles of 64 and of 16, each in two forms: `few`, which is cheap for n up to 1000, and `many`.
struct FormSetting {
  FormSetting() : machine(Machine::as_driver, "multiprocessors=10") {
    kernel.add_variant(16, {{"few", {"n 1000 <="}, "n"}, {"many", {}, "n 2 *"}});
    described = kernel.kernel();
  }

  void measured(std::int32_t n, std::int16_t large, std::int16_t small, std::uint16_t form,
                std::int64_t cost = 1000) {
    measurements.add(n, large, small, form, cost);
    measurements.attach_to(described);
  }

  /// "64 many"
  std::string chosen(std::int32_t n) {
    args.n = n;
    status launched = machine.runtime().launch(described, {}, &args, nullptr, nullptr);
    if (!launched.ok())
      return launched.name();
    std::uint32_t blocks = machine.driver().last_launch().grid[0];
    return (blocks == unsigned(n + 63) / 64 ? "64 " : "16 ") + noted_form().form;
  }

  Machine machine;
  FormKernel kernel{{{"few", {"n 1000 <="}, "n"}, {"many", {}, "n 2 *"}}};
  abi::kernel described;
  FormArgs args = form_args();
  Measured measurements{"few", "many", true};
};

} // namespace

TEST_CASE("beside costs, measurements say how wrong those were, of each form apart") {
  FormSetting s;
  REQUIRE(s.chosen(900) == "64 few"); // equal costs: the first
  REQUIRE(s.chosen(1100) == "64 many");
  s.measured(990, 0, 500, 0);
  s.measured(1010, 500, 0, 1);
  CHECK(s.chosen(910) == "64 few");
  CHECK(s.chosen(995) == "64 few");
  CHECK(s.chosen(1005) == "16 many"); // though 990 is as near
  CHECK(s.chosen(1400) == "16 many");
  CHECK(s.chosen(100) == "64 few");
}

TEST_CASE("problems on the other side of a step are further away") {
  FormSetting s;
  // 900 is between them, and costs as much as the one or the other.
  auto chosen = [&](std::int64_t cost_of_700, std::int64_t cost_of_1150) {
    FormSetting other;
    other.measured(700, 0, 200, 0, cost_of_700);
    other.measured(1150, 200, 0, 0, cost_of_1150);
    return other.chosen(900);
  };
  CHECK(chosen(900, 3600) == "64 few");
  CHECK(chosen(225, 900) == "16 few");
}

TEST_CASE("a form that no problem near has: what there is of others") {
  FormSetting s;
  s.measured(500, 700, 0, 0);
  CHECK(s.chosen(400) == "16 few");
  CHECK(s.chosen(2000) == "16 many");
}

TEST_CASE("without costs what was measured beside them says nothing") {
  FormSetting s;
  s.measured(64 * 9, 500, 0, 0);
  REQUIRE(s.chosen(64 * 9) == "16 few");
  FormKernel without{{{"few"}}};
  without.add_variant(16, {{"few"}});
  abi::kernel described = without.kernel();
  described.tunings = &s.measurements.tuning();
  described.tuning_count = 1;
  s.args.n = 64 * 20;
  REQUIRE(s.machine.runtime().launch(described, {}, &s.args, nullptr, nullptr).ok());
  CHECK(s.machine.driver().last_launch().grid[0] == 20); // the first that fills the device
}
