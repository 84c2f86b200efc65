// How far a compilation or a measurement is, for whoever waits for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

namespace tritonc {

/// On a terminal, one line that is written over and over, and gone at the end; in a log, a line
/// now and then. What takes no time says nothing.
class Progress {
public:
  using Time = std::chrono::steady_clock::time_point;

  Progress(bool is_terminal, std::function<void(const std::string &)> write,
           std::function<Time()> now = std::chrono::steady_clock::now)
      : is_terminal_(is_terminal), write_(std::move(write)), now_(std::move(now)) {}

  /// What is done, and to what: "compiled", "variants" unless something else is said.
  void set_words(std::string done, std::string things) {
    done_ = std::move(done);
    things_ = std::move(things);
  }

  /// There are so many variants for GPUs, so many of which are done already. The others are so
  /// many jobs.
  void start(size_t variants, size_t variants_done, size_t jobs);

  /// One job is done, and with it a variant or not. May be called from all threads.
  void job_done(bool is_variant_done);

  /// Nothing more follows.
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
