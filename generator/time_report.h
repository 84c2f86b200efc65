// Where the time of a compilation goes: --time-report.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace tritonc {

/// Steps of a compilation, in the order in which they come.
enum class Step { front_end, passes, lower, optimize, ptx, ptxas, fatbinary, host_code };
inline constexpr size_t step_count = size_t(Step::host_code) + 1;

/// Seconds that each step took, as a clock on the wall sees it: of ptxas, until it has answered.
class StepTimes {
public:
  /// Calls `work` and counts how long that took.
  template <typename Work> auto measure(Step step, const Work &work) {
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

  /// A table, a line for each step, and how much longer all took than ptxas alone. Jobs that ran
  /// side by side are summed.
  std::string report() const;

private:
  std::array<double, step_count> seconds_ = {};
};

} // namespace tritonc
