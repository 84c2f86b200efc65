// Tests measure.cpp on a queue whose clock the test sets: what is between the marks, and whether
// the host's time gets there.

#include "measure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace tritonc::tuner;

namespace {

/// A GPU that does what is enqueued, one after the other, while the host goes on.
class Clock : public Queue {
public:
  double host_cost = 0.003; // of a launch; milliseconds
  int extra_late = 0;       // for so many turns the host is held up, each time longer
  double late_by = 0.1;     // milliseconds
  std::string log;          // what was enqueued

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

TEST_CASE("the GPU's time is measured, also of launches that cost the host more") {
  Clock clock;
  std::vector<double> times = measured(clock, {0.001, 0.01, 0.5});
  CHECK(times[0] == doctest::Approx(0.001));
  CHECK(times[1] == doctest::Approx(0.01));
  CHECK(times[2] == doctest::Approx(0.5));
  CHECK(measured(clock, {}).empty());
}

TEST_CASE("a turn for which the host is late is taken again") {
  Clock clock;
  SUBCASE("once or twice") { clock.extra_late = 3; }
  SUBCASE("never") {}
  std::vector<double> times = measured(clock, {0.004});
  CHECK(times[0] == doctest::Approx(0.004));
}

TEST_CASE("but not for ever") {
  Clock clock;
  clock.extra_late = 1 << 30;
  Effort effort;
  effort.patience = 5;
  CHECK(measured(clock, {0.004}, effort)[0] > 0.04);
}

TEST_CASE("variants take turns, from the front and from the back") {
  Clock clock;
  Effort effort;
  effort.rounds = 2;
  effort.most_launches = 1;
  measured(clock, {1, 1.1, 1.2}, effort);
  // Of each an estimate; then the rounds. A turn has two launches in front of it.
  CHECK(clock.log == "ad(a)bd(b)cd(c)"
                     "aa(a)bb(b)cc(c)"
                     "cc(c)bb(b)aa(a)");
}

TEST_CASE("what is far slower than the fastest has fewer turns") {
  Clock clock;
  Effort effort;
  effort.rounds = 6;
  effort.slow_rounds = 2;
  effort.most_launches = 1;
  measured(clock, {1, 3}, effort);
  CHECK(std::count(clock.log.begin(), clock.log.end(), 'a') == 2 + 6 * 3);
  CHECK(std::count(clock.log.begin(), clock.log.end(), 'b') == 2 + 2 * 3);
}

TEST_CASE("cold launches have other work in front of them, and are alone") {
  Clock clock;
  Effort effort;
  effort.rounds = 2;
  effort.is_cold = true;
  measured(clock, {0.1}, effort);
  CHECK(clock.log == "ad(a)"
                     "d(a)d(a)");
}
