// Tests tests/bench/alternate.cpp with a simulated GPU.

#include "alternate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace bench;

namespace {

// Simulates host, GPU and queue. Times are in milliseconds.
class SimulatedQueue : public Queue {
public:
  double per_launch = 0.005; // host time of one call
  bool can_delay = true;
  double host = 0, gpu = 0;
  int delays = 0;
  std::string order; // launches and marks since the last mark 0

  Launch kernel(char name, double milliseconds) {
    return [=, this] {
      host += per_launch;
      gpu = std::max(gpu, host) + milliseconds;
      order += name;
    };
  }

  double now() override { return host; }
  void delay(double milliseconds) override {
    delays++;
    host += per_launch;
    if (can_delay)
      gpu = std::max(gpu, host) + milliseconds;
  }
  void mark(int number) override {
    if (number == 0)
      order.clear();
    order += char('0' + number);
    host += 0.001;
    gpu = std::max(gpu, host);
    marks_[number] = gpu;
  }
  bool reached(int number) override { return marks_[number] <= host; }
  void wait(int number) override { host = std::max(host, marks_[number]); }
  double between(int first, int last) override { return marks_[last] - marks_[first]; }

private:
  double marks_[mark_count] = {};
};

} // namespace

TEST_CASE("alternate: host time does not count for short kernels") {
  SimulatedQueue queue;
  Samples samples = alternate(queue, queue.kernel('a', 0.002), queue.kernel('b', 0.003), {});
  CHECK(samples.launches == 50);
  CHECK(samples.late_rounds == 0);
  REQUIRE(samples.first.size() == 40);
  for (double time : samples.first)
    CHECK(time == doctest::Approx(0.002));
  for (double time : samples.second)
    CHECK(time == doctest::Approx(0.003));
}

TEST_CASE("alternate: counts late rounds after max_late_rounds") {
  SimulatedQueue queue;
  queue.can_delay = false;
  Samples samples = alternate(queue, queue.kernel('a', 0.002), queue.kernel('b', 0.003), {});
  CHECK(samples.first.size() == 40);
  CHECK(samples.late_rounds > 0);
  CHECK(compared(samples).first > 0.004); // includes host time, so it must be reported
}

TEST_CASE("alternate: launches long kernels once, without a delay") {
  SimulatedQueue queue;
  Samples samples = alternate(queue, queue.kernel('a', 2), queue.kernel('b', 3), {});
  CHECK(samples.launches == 1);
  CHECK(queue.delays == 1); // delay of the estimate
  CHECK(samples.first.size() == 40);
  CHECK(compared(samples).ratio == doctest::Approx(1.5));
}

TEST_CASE("alternate: very long kernels get slow_rounds rounds") {
  SimulatedQueue queue;
  CHECK(alternate(queue, queue.kernel('a', 15), queue.kernel('b', 25), {}).first.size() == 10);
}

TEST_CASE("alternate: swaps the order in every other round") {
  SimulatedQueue queue;
  Effort effort;
  effort.rounds = 1;
  effort.warm_up = 0;
  alternate(queue, queue.kernel('a', 2), queue.kernel('b', 3), effort);
  CHECK(queue.order == "0a1b2");
  effort.rounds = 2;
  Samples samples = alternate(queue, queue.kernel('a', 2), queue.kernel('b', 3), effort);
  CHECK(queue.order == "0b1a2");
  CHECK(samples.first[1] == doctest::Approx(2));
  CHECK(samples.second[1] == doctest::Approx(3));
}

TEST_CASE("compared: returns medians, their ratio and quartiles") {
  Comparison result = compared({{1, 1, 2}, {1, 1.5, 4}, 1, 0});
  CHECK(result.first == 1);
  CHECK(result.second == 1.5);
  CHECK(result.ratio == 1.5);
  CHECK(result.low == 1.25);
  CHECK(result.high == 1.75);
}
