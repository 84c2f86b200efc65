// Keeps host time out of the interval between two marks.
//
// A launch costs the host some microseconds, as much as a small kernel costs the GPU. So the queue
// first gets enough work that the host can enqueue the whole round before the GPU reaches mark 0:
//
//     [delay] B A B  mark 0  A A ... A  mark 1  B B ... B  mark 2
//
// The launches before mark 0 also warm the caches. If the GPU has reached mark 0 when everything is
// enqueued, the host was late, and the round is repeated with a longer delay. Every other round
// begins with B, so that neither kernel has an advantage.
//
// Tested by alternate_test.cpp.

#include "alternate.h"

#include "statistics.h"

#include <algorithm>
#include <cmath>

namespace bench {

namespace {

void repeat(const Launch &launch, int count) {
  for (int i = 0; i < count; i++)
    launch();
}

struct Estimate {
  double first, second; // time of one launch, in milliseconds
  double host;          // host time of one launch
};

Estimate estimate(Queue &queue, const Launch &first, const Launch &second) {
  constexpr int count = 3;
  first(); // loads the kernel
  second();
  queue.mark(0);
  queue.wait(0);
  queue.delay(0.2);
  double before = queue.now();
  queue.mark(0);
  repeat(first, count);
  queue.mark(1);
  repeat(second, count);
  queue.mark(2);
  double host = (queue.now() - before) / (2 * count);
  queue.wait(2);
  return {queue.between(0, 1) / count, queue.between(1, 2) / count, host};
}

} // namespace

Samples alternate(Queue &queue, const Launch &first, const Launch &second, const Effort &effort) {
  Estimate cost = estimate(queue, first, second);
  double shorter = std::min(cost.first, cost.second), longer = std::max(cost.first, cost.second);
  Samples result;
  result.launches =
      int(std::clamp(std::ceil(effort.interval / shorter), 1.0, double(effort.max_launches)));
  int rounds = longer > effort.slow ? effort.slow_rounds : effort.rounds;
  double host = 1.5 * cost.host * (2 * result.launches + 3), covered = 2 * shorter + longer;
  double delay = std::max(host - covered, 0.0);

  int patience = effort.max_late_rounds;
  for (int round = -effort.warm_up; round < rounds;) {
    bool swapped = round % 2 != 0;
    const Launch &a = swapped ? second : first, &b = swapped ? first : second;
    if (delay > 0)
      queue.delay(delay);
    b();
    a();
    b();
    queue.mark(0);
    repeat(a, result.launches);
    queue.mark(1);
    repeat(b, result.launches);
    queue.mark(2);
    bool late = queue.reached(0);
    queue.wait(2);
    if (late && patience > 0) {
      patience--;
      delay = std::clamp(2 * delay, 0.1, 20.0);
      continue;
    }
    if (round++ < 0)
      continue;
    double a_time = queue.between(0, 1) / result.launches;
    double b_time = queue.between(1, 2) / result.launches;
    result.first.push_back(swapped ? b_time : a_time);
    result.second.push_back(swapped ? a_time : b_time);
    result.late_rounds += late;
  }
  return result;
}

Comparison compared(const Samples &samples) {
  std::vector<double> ratios;
  for (size_t i = 0; i < samples.first.size(); i++)
    ratios.push_back(samples.second[i] / samples.first[i]);
  Comparison result;
  result.first = median(samples.first);
  result.second = median(samples.second);
  result.ratio = result.second / result.first;
  result.low = quantile(ratios, 0.25);
  result.high = quantile(ratios, 0.75);
  return result;
}

} // namespace bench
