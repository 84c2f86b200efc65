// Implements the progress line and its time estimate. See progress.h.
//
// The estimated time left assumes that the remaining jobs take as long as the finished jobs. All
// variants of a kernel have similar jobs, so the estimate is soon good enough.
//
// Tested by tests/unit/support/progress_test.cpp.

#include "support/progress.h"

namespace tritonc {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Delay before the first line. A short run needs no line, and a log needs fewer lines.
constexpr milliseconds wait_on_terminal{500}, wait_in_log{10'000};
constexpr milliseconds pause_on_terminal{100}, pause_in_log{10'000};

// ANSI: return to column 1 and erase the line.
constexpr const char *erase_line = "\r\033[K";

std::string time_text(seconds time) {
  auto count = time.count();
  std::string rest = std::to_string(count % 60) + " s";
  if (count < 60)
    return rest;
  if (count < 3600)
    return std::to_string(count / 60) + " min " + rest;
  return std::to_string(count / 3600) + " h " + std::to_string(count / 60 % 60) + " min";
}

} // namespace

void Progress::start(size_t variants, size_t variants_done, size_t jobs) {
  std::lock_guard lock(mutex_);
  variants_ = variants;
  variants_done_ = variants_done;
  jobs_ = jobs;
  jobs_done_ = 0;
  started_ = now_();
  // Makes the first line appear after the delay.
  written_ =
      started_ + (is_terminal_ ? wait_on_terminal - pause_on_terminal : wait_in_log - pause_in_log);
}

void Progress::job_done(bool is_variant_done) {
  std::lock_guard lock(mutex_);
  jobs_done_++;
  variants_done_ += is_variant_done;
  Time now = now_();
  if (now - written_ < (is_terminal_ ? pause_on_terminal : pause_in_log) || jobs_done_ == jobs_)
    return;
  written_ = now;
  write_(is_terminal_ ? erase_line + text(now) : text(now) + "\n");
  is_line_there_ = is_terminal_;
}

void Progress::finish() {
  std::lock_guard lock(mutex_);
  if (is_line_there_)
    write_(erase_line);
  is_line_there_ = false;
}

std::string Progress::text(Time now) const {
  seconds left = duration_cast<seconds>((now - started_) * (jobs_ - jobs_done_) / jobs_done_);
  return done_ + " " + std::to_string(variants_done_) + " of " + std::to_string(variants_) + " " +
         things_ + ", about " + time_text(left) + " left";
}

} // namespace tritonc
