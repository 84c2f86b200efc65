// Measures the time of each compilation step for --time-report.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace tritonc {

/// Steps of a compilation, in order.
enum class Step {
  front_end,
  schedules,
  passes,
  lower,
  optimize,
  ptx,
  ptxas,
  fatbinary,
  host_code,
  cache,
  files
};
inline constexpr size_t step_count = size_t(Step::files) + 1;

/// Count and wall-clock seconds of each step. The time of ptxas includes the wait for its process.
class StepTimes {
public:
  /// Calls `work` and adds its time to `step`.
  template <typename Work> auto measure(Step step, const Work &work) {
    struct Watch {
      StepTimes &times;
      Step step;
      std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
      ~Watch() {
        times.add(step,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
    } watch{*this, step};
    return work();
  }

  void add(Step step, double seconds) {
    counts_[size_t(step)]++;
    seconds_[size_t(step)] += seconds;
  }
  void add(const StepTimes &other);

  int count(Step step) const { return counts_[size_t(step)]; }

  /// A table with one line per step, and the ratio of the total time to the time of ptxas. The
  /// times of parallel jobs add up.
  std::string report() const;

private:
  std::array<double, step_count> seconds_ = {};
  std::array<int, step_count> counts_ = {};
};

} // namespace tritonc
