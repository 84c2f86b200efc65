// Shows the progress of a compilation or a measurement to the user.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

namespace tritonc {

/// On a terminal, updates one line and erases it at the end. In a log, writes a line from time to
/// time. A short run prints nothing.
class Progress {
public:
  using Time = std::chrono::steady_clock::time_point;

  Progress(bool is_terminal, std::function<void(const std::string &)> write,
           std::function<Time()> now = std::chrono::steady_clock::now)
      : is_terminal_(is_terminal), write_(std::move(write)), now_(std::move(now)) {}

  /// The words of the progress line; the default is "compiled" and "variants".
  void set_words(std::string done, std::string things) {
    done_ = std::move(done);
    things_ = std::move(things);
  }

  /// Starts the progress: the number of variants (one per GPU), how many are already done, and the
  /// number of jobs for the remaining variants.
  void start(size_t variants, size_t variants_done, size_t jobs);

  /// Counts one finished job, and a finished variant if `is_variant_done`. Thread-safe.
  void job_done(bool is_variant_done);

  /// Ends the progress and erases its line.
  void finish();

private:
  std::string text(Time now) const;

  const bool is_terminal_;
  const std::function<void(const std::string &)> write_;
  const std::function<Time()> now_;

  std::string done_ = "compiled", things_ = "variants";

  std::mutex mutex_;
  size_t variants_ = 0, variants_done_ = 0, jobs_ = 0, jobs_done_ = 0;
  Time started_, written_;
  bool is_line_there_ = false;
};

} // namespace tritonc
