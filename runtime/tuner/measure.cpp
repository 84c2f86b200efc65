// Measures launches so that the interval between two marks contains only launches.
//
// A launch costs the host some microseconds, as much as a small kernel costs the GPU. So the GPU
// first gets other work. While it runs that work, the host enqueues the whole turn:
//
//     [delay] A A  begin  A A ... A  end
//
// The launches before the first mark warm the caches for this kernel. With `is_cold` there are no
// such launches, and only one launch between the marks.
//
// The host was fast enough if the GPU has not reached the first mark when everything is enqueued.
// If it has, the turn is repeated with a longer delay.
//
// Tested by tests/unit/tuner/measure_test.cpp.

#include "measure.h"

#include <algorithm>
#include <cmath>

namespace tritonc::v1::tuner {

namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

class Measurement {
public:
  Measurement(Queue &queue, const std::vector<Enqueue> &launches, const Effort &effort)
      : queue_(queue), launches_(launches), effort_(effort), patience_(effort.patience),
        contestants_(launches.size()) {}

  std::vector<double> run() {
    for (size_t i = 0; i < launches_.size(); i++)
      estimate(i);
    double best = contestants_.front().estimated;
    for (const Contestant &one : contestants_)
      best = std::min(best, one.estimated);
    for (int round = 0; round < effort_.rounds; round++)
      for (size_t k = 0; k < launches_.size(); k++) {
        // Alternate the order, so that no variant profits from the launches before it.
        size_t i = round % 2 ? launches_.size() - 1 - k : k;
        bool is_slow = contestants_[i].estimated > effort_.slow * best;
        if (!is_slow || round < effort_.slow_rounds)
          contestants_[i].times.push_back(turn(i));
      }
    std::vector<double> medians;
    for (Contestant &one : contestants_)
      medians.push_back(median(std::move(one.times)));
    return medians;
  }

private:
  struct Contestant {
    double estimated = 0;      // time of one launch; milliseconds
    std::vector<double> times; // milliseconds, one per turn
  };

  void estimate(size_t i) {
    launches_[i](); // loads the code
    queue_.delay(0.1);
    double before = queue_.now();
    queue_.mark_begin();
    launches_[i]();
    queue_.mark_end();
    host_ = std::max(host_, queue_.now() - before);
    contestants_[i].estimated = queue_.wait();
  }

  int count_of(size_t i) const {
    if (effort_.is_cold)
      return 1;
    double count = std::ceil(effort_.interval / contestants_[i].estimated);
    return int(std::clamp(count, 1.0, double(effort_.max_launches)));
  }

  double turn(size_t i) {
    int count = count_of(i), before = effort_.is_cold ? 0 : 2;
    while (true) {
      double needed = host_ * (count + before) - before * contestants_[i].estimated;
      if (effort_.is_cold || needed > 0)
        queue_.delay(std::max(needed, 0.0));
      for (int k = 0; k < before; k++)
        launches_[i]();
      queue_.mark_begin();
      for (int k = 0; k < count; k++)
        launches_[i]();
      queue_.mark_end();
      bool is_late = queue_.has_begun();
      double time = queue_.wait() / count;
      if (!is_late || patience_-- <= 0)
        return time;
      host_ *= 1.5;
    }
  }

  Queue &queue_;
  const std::vector<Enqueue> &launches_;
  const Effort &effort_;
  int patience_;
  double host_ = 0; // max host time of a launch; milliseconds
  std::vector<Contestant> contestants_;
};

} // namespace

std::vector<double> measure(Queue &queue, const std::vector<Enqueue> &launches,
                            const Effort &effort) {
  return launches.empty() ? std::vector<double>() : Measurement(queue, launches, effort).run();
}

} // namespace tritonc::v1::tuner
