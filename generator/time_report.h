// Where the time of a compilation goes: --time-report.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace tritonc {

/// Steps of a compilation, in the order in which they come.
enum class Step {
  front_end,
  structures,
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

/// How often each step was taken, and its seconds, as a clock on the wall sees them: of ptxas,
/// until it has answered.
class StepTimes {
public:
  /// Calls `work` and adds how long that took.
  template <typename Work> auto measure(Step step, const Work &work) {
    counts_[size_t(step)]++;
    struct Watch {
      double &seconds;
      std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
      ~Watch() {
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      }
    } watch{seconds_[size_t(step)]};
    return work();
  }

  void add(const StepTimes &other);

  int count(Step step) const { return counts_[size_t(step)]; }

  /// A table, a line for each step, and how much longer all took than ptxas alone. Jobs that ran
  /// side by side are summed.
  std::string report() const;

private:
  std::array<double, step_count> seconds_ = {};
  std::array<int, step_count> counts_ = {};
};

} // namespace tritonc
