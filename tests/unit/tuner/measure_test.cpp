// Tests runtime/tuner/measure.cpp with a simulated queue and clock: only launches are between the
// marks, and host time does not count.

#include "measure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace tritonc::tuner;

namespace {

/// A simulated GPU that runs the enqueued work in order, in parallel to the host.
class Clock : public Queue {
public:
  double host_cost = 0.003; // host time of a launch; milliseconds
  int extra_late = 0;       // number of turns with an additional, growing host delay
  double late_by = 0.1;     // the additional delay; milliseconds
  std::string log;          // the enqueued work

  double now() override { return host_; }
  void delay(double milliseconds) override {
    enqueue(std::max(milliseconds, 0.01));
    log += "d";
  }
  void mark_begin() override {
    begin_ = std::max(gpu_, host_);
    log += "(";
  }
  void mark_end() override {
    if (extra_late-- > 0)
      host_ += late_by *= 3;
    end_ = std::max(gpu_, host_);
    log += ")";
  }
  bool has_begun() override { return host_ >= begin_; }
  double wait() override {
    host_ = std::max(host_, end_);
    return end_ - begin_;
  }
  void launch(double takes, char name) {
    host_ += host_cost;
    enqueue(takes);
    log += name;
  }

private:
  void enqueue(double takes) { gpu_ = std::max(gpu_, host_) + takes; }

  double host_ = 0, gpu_ = 0, begin_ = 0, end_ = 0;
};

std::vector<double> measured(Clock &clock, std::vector<double> times, const Effort &effort = {}) {
  std::vector<Enqueue> launches;
  for (std::size_t i = 0; i < times.size(); i++)
    launches.push_back([&clock, i, time = times[i]] { clock.launch(time, char('a' + i)); });
  return measure(clock, launches, effort);
}

} // namespace

TEST_CASE("measure: returns GPU time when the host is slower") {
  Clock clock;
  std::vector<double> times = measured(clock, {0.001, 0.01, 0.5});
  CHECK(times[0] == doctest::Approx(0.001));
  CHECK(times[1] == doctest::Approx(0.01));
  CHECK(times[2] == doctest::Approx(0.5));
  CHECK(measured(clock, {}).empty());
}

TEST_CASE("measure: repeats a turn when the host is late") {
  Clock clock;
  SUBCASE("host is late at first") { clock.extra_late = 3; }
  SUBCASE("host is never late") {}
  std::vector<double> times = measured(clock, {0.004});
  CHECK(times[0] == doctest::Approx(0.004));
}

TEST_CASE("measure: stops repeating after `patience` turns") {
  Clock clock;
  clock.extra_late = 1 << 30;
  Effort effort;
  effort.patience = 5;
  CHECK(measured(clock, {0.004}, effort)[0] > 0.04);
}

TEST_CASE("measure: alternates the order of the turns") {
  Clock clock;
  Effort effort;
  effort.rounds = 2;
  effort.max_launches = 1;
  measured(clock, {1, 1.1, 1.2}, effort);
  // First one estimate per launch, then the rounds. A turn has two launches before its first mark.
  CHECK(clock.log == "ad(a)bd(b)cd(c)"
                     "aa(a)bb(b)cc(c)"
                     "cc(c)bb(b)aa(a)");
}

TEST_CASE("measure: slow launches get fewer turns") {
  Clock clock;
  Effort effort;
  effort.rounds = 6;
  effort.slow_rounds = 2;
  effort.max_launches = 1;
  measured(clock, {1, 3}, effort);
  CHECK(std::count(clock.log.begin(), clock.log.end(), 'a') == 2 + 6 * 3);
  CHECK(std::count(clock.log.begin(), clock.log.end(), 'b') == 2 + 2 * 3);
}

TEST_CASE("measure: cold launches are single, after other work") {
  Clock clock;
  Effort effort;
  effort.rounds = 2;
  effort.is_cold = true;
  measured(clock, {0.1}, effort);
  CHECK(clock.log == "ad(a)"
                     "d(a)d(a)");
}
