// Tests alternate.cpp, on a GPU whose times are known.

#include "alternate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace bench;

namespace {

// A host and a GPU with a queue between them, in milliseconds.
class SimulatedQueue : public Queue {
public:
  double per_launch = 0.005; // of the host
  bool can_delay = true;
  double host = 0, gpu = 0;
  int delays = 0;
  std::string order; // of the launches after the last mark 0

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

TEST_CASE("kernels shorter than their launch are timed without the host") {
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

TEST_CASE("a host that is always late is waited for, and then told of") {
  SimulatedQueue queue;
  queue.can_delay = false;
  Samples samples = alternate(queue, queue.kernel('a', 0.002), queue.kernel('b', 0.003), {});
  CHECK(samples.first.size() == 40);
  CHECK(samples.late_rounds > 0);
  CHECK(compared(samples).first > 0.004); // the host's time, which is why it has to be told
}

TEST_CASE("long kernels are launched once each, without a delay") {
  SimulatedQueue queue;
  Samples samples = alternate(queue, queue.kernel('a', 2), queue.kernel('b', 3), {});
  CHECK(samples.launches == 1);
  CHECK(queue.delays == 1); // of the estimate
  CHECK(samples.first.size() == 40);
  CHECK(compared(samples).ratio == doctest::Approx(1.5));
}

TEST_CASE("very long kernels get fewer rounds") {
  SimulatedQueue queue;
  CHECK(alternate(queue, queue.kernel('a', 15), queue.kernel('b', 25), {}).first.size() == 10);
}

TEST_CASE("each begins every other round, and its times stay its own") {
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

TEST_CASE("a comparison has medians, their ratio and the quartiles of the rounds'") {
  Comparison result = compared({{1, 1, 2}, {1, 1.5, 4}, 1, 0});
  CHECK(result.first == 1);
  CHECK(result.second == 1.5);
  CHECK(result.ratio == 1.5);
  CHECK(result.low == 1.25);
  CHECK(result.high == 1.75);
}
