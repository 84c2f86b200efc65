// Times two kernels in alternation, so that both run at the same GPU temperature and clock. A GPU
// slows down when it gets hot, so only ratios are reproducible.
#pragma once

#include <functional>
#include <vector>

namespace bench {

/// Enqueues one launch. Throws if the launch fails.
using Launch = std::function<void()>;

/// The work queue of the GPU. The GPU records the time when it reaches a mark in the queue.
class Queue {
public:
  static constexpr int mark_count = 3;

  virtual ~Queue() = default;
  /// Host time in milliseconds.
  virtual double now() = 0;
  /// Enqueues work that takes about `milliseconds`.
  virtual void delay(double milliseconds) = 0;
  virtual void mark(int number) = 0;
  /// Whether the GPU has reached the mark.
  virtual bool reached(int number) = 0;
  virtual void wait(int number) = 0;
  /// GPU time between two reached marks, in milliseconds.
  virtual double between(int first, int last) = 0;
};

struct Effort {
  int rounds = 40;          // number of rounds; both kernels run in each round
  int slow_rounds = 10;     // number of rounds if a launch takes longer than `slow`
  double slow = 20;         // milliseconds
  int warm_up = 4;          // rounds before the measurement
  double interval = 0.2;    // min duration of a turn, in milliseconds
  int max_launches = 50;    // max launches per turn
  int max_late_rounds = 40; // max repeated rounds; later late rounds count
};

/// Time of one launch in each round, in milliseconds.
struct Samples {
  std::vector<double> first, second;
  int launches = 0;    // per turn
  int late_rounds = 0; // counted rounds in which the GPU may have waited for the host
};

Samples alternate(Queue &queue, const Launch &first, const Launch &second, const Effort &effort);

/// The comparison of two kernels.
struct Comparison {
  double first = 0, second = 0; // median time of one launch, in milliseconds
  double ratio = 0;             // second / first: speed of the first kernel relative to the second
  double low = 0, high = 0;     // quartiles of the ratios per round
};

Comparison compared(const Samples &samples);

} // namespace bench
