// Two kernels timed in turn, so that both meet the same GPU: it becomes hotter and slower as it
// works, and ratios are all that can be measured twice.
#pragma once

#include <functional>
#include <vector>

namespace bench {

/// Enqueues one launch. Throws if it cannot.
using Launch = std::function<void()>;

/// What the GPU has still to do, and when it did the rest. A mark is a place in the queue; the GPU
/// notes the time when it gets there.
class Queue {
public:
  static constexpr int mark_count = 3;

  virtual ~Queue() = default;
  /// The host's clock, in milliseconds.
  virtual double now() = 0;
  /// Enqueues work that takes about so long.
  virtual void delay(double milliseconds) = 0;
  virtual void mark(int number) = 0;
  /// Whether the GPU has got to the mark already.
  virtual bool reached(int number) = 0;
  virtual void wait(int number) = 0;
  /// The GPU's time between two marks that it has reached, in milliseconds.
  virtual double between(int first, int last) = 0;
};

struct Effort {
  int rounds = 40;       // how often both take their turn
  int slow_rounds = 10;  // the same for launches that take longer than `slow`
  double slow = 20;      // milliseconds
  int warm_up = 4;       // rounds before, which don't count
  double interval = 0.2; // each turn is so many launches that it takes this long, in milliseconds
  int max_launches = 50; // but not more than this
  int max_late_rounds = 40; // then rounds in which the host was late count, too
};

/// Milliseconds of one launch, round by round.
struct Samples {
  std::vector<double> first, second;
  int launches = 0;    // in each turn
  int late_rounds = 0; // among those that count: the GPU may have waited for the host
};

Samples alternate(Queue &queue, const Launch &first, const Launch &second, const Effort &effort);

/// What is said of two kernels by their samples.
struct Comparison {
  double first = 0, second = 0; // medians, in milliseconds of one launch
  double ratio = 0;             // second / first: how many times as fast the first one is
  double low = 0, high = 0;     // quartiles of the ratio of each round
};

Comparison compared(const Samples &samples);

} // namespace bench
