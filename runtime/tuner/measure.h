// Measures launches in turns. The GPU becomes hotter and slower as it works, so turns give all
// launches the same conditions.
#pragma once

#include <functional>
#include <vector>

#include <tritonc/tuner.hpp>

namespace tritonc::v1::tuner {

/// Enqueues one launch. Throws on errors.
using Enqueue = std::function<void()>;

/// A queue of GPU work with two marks. The GPU records the time when it reaches a mark.
class Queue {
public:
  virtual ~Queue() = default;
  /// Returns the host's clock in milliseconds.
  virtual double now() = 0;
  /// Enqueues work that takes about this long, and always some work. The work evicts the operands
  /// of the launches from the GPU's caches.
  virtual void delay(double milliseconds) = 0;
  virtual void mark_begin() = 0;
  virtual void mark_end() = 0;
  /// Returns whether the GPU has reached the first mark.
  virtual bool has_begun() = 0;
  /// Waits for the second mark. Returns the GPU's time between the marks in milliseconds.
  virtual double wait() = 0;
};

struct Effort {
  int rounds = 15;        // turns per launch
  int slow_rounds = 3;    // turns per slow launch
  double slow = 2;        // a launch is slow if it takes this many times as long as the fastest
  double interval = 0.3;  // target length of a turn; milliseconds
  int max_launches = 100; // max launches per turn
  bool is_cold = false;   // a turn is one launch with cold caches
  int patience = 100;     // max number of repeated turns, because the host was late
};

/// Returns the median time of each launch in milliseconds.
std::vector<double> measure(Queue &queue, const std::vector<Enqueue> &launches,
                            const Effort &effort);

} // namespace tritonc::v1::tuner
