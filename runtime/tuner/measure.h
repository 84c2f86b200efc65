// How long launches take, each in turn with all others, so that all of them meet the same GPU: it
// becomes hotter and slower as it works.
#pragma once

#include <functional>
#include <vector>

#include <tritonc/tuner.hpp>

namespace tritonc::v1::tuner {

/// Enqueues one launch. Throws if it cannot.
using Enqueue = std::function<void()>;

/// What the GPU has still to do, and how long the part between two marks took it. It notes the time
/// when it gets to a mark.
class Queue {
public:
  virtual ~Queue() = default;
  /// The host's clock, in milliseconds.
  virtual double now() = 0;
  /// Enqueues work that takes about so long, and at least some; none of what launches read or write
  /// is in the caches behind it.
  virtual void delay(double milliseconds) = 0;
  virtual void mark_begin() = 0;
  virtual void mark_end() = 0;
  /// Whether the GPU has got to the beginning already.
  virtual bool has_begun() = 0;
  /// The GPU's time between both marks in milliseconds, once it has got to the end.
  virtual double wait() = 0;
};

struct Effort {
  int rounds = 15;     // how often each takes its turn
  int slow_rounds = 3; // the same for those that take `slow` times as long as the fastest
  double slow = 2;
  double interval = 0.3;   // a turn is so many launches that it takes this long, in milliseconds
  int most_launches = 100; // but not more than this
  bool is_cold = false;    // a turn is one launch, with empty caches
  int patience = 100;      // so many turns for which the host was late are taken again
};

/// The median time of one launch in milliseconds, for each of them.
std::vector<double> measure(Queue &queue, const std::vector<Enqueue> &launches,
                            const Effort &effort);

} // namespace tritonc::v1::tuner
