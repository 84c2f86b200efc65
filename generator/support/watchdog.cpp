// Implements the watchdog thread that checks time and memory every 50 ms. See watchdog.h.
//
// The time limit uses CPU time, because wall-clock time also grows on a busy machine. The memory
// limit uses the resident memory of the whole process, because that is the resource that runs out.
//
// Tested by tests/unit/support/watchdog_test.cpp.

#include "support/watchdog.h"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace tritonc {
namespace {

constexpr std::chrono::milliseconds pause{50};

double seconds_of(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

// Reads the file without a stream, so this thread does not allocate memory. The first allocation of
// a thread from jemalloc ends the process if no memory is left.
long long resident_bytes() {
  char text[128] = {};
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  char *behind_all = text;
  if (length > 0)
    strtoll(text, &behind_all, 10);
  return strtoll(behind_all, nullptr, 10) * sysconf(_SC_PAGESIZE);
}

} // namespace

Watchdog::Watchdog(Budget budget, std::function<void(const Error &)> on_exceeded)
    : budget_(budget), on_exceeded_(std::move(on_exceeded)), thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, pause, [&] { return is_over_; }))
    if (std::optional<Error> failure = find_exceeded()) {
      lock.unlock();
      return on_exceeded_(*failure);
    }
}

std::optional<Error> Watchdog::find_exceeded() const {
  for (const Task::Entry &task : tasks_)
    if (budget_.seconds > 0 && seconds_of(task.clock) - task.started > budget_.seconds)
      return Error{Message::job_too_slow, {task.name, std::to_string(budget_.seconds)}};
  long long bytes = resident_bytes(), max_value = budget_.bytes * (long long)tasks_.size();
  if (budget_.bytes > 0 && !tasks_.empty() && bytes > max_value)
    return Error{Message::memory_exceeded, {std::to_string(bytes >> 20)}};
  return std::nullopt;
}

Watchdog::Task::Task(Watchdog *watchdog, std::string name) : watchdog_(watchdog) {
  if (!watchdog_)
    return;
  clockid_t clock = CLOCK_MONOTONIC;
  pthread_getcpuclockid(pthread_self(), &clock);
  std::lock_guard lock(watchdog_->mutex_);
  entry_ = watchdog_->tasks_.insert(watchdog_->tasks_.end(),
                                    {std::move(name), clock, seconds_of(clock)});
}

Watchdog::Task::~Task() {
  if (!watchdog_)
    return;
  std::lock_guard lock(watchdog_->mutex_);
  watchdog_->tasks_.erase(entry_);
}

} // namespace tritonc
