// The watchdog detects a kernel whose compilation exceeds its time or memory budget, so that a
// source cannot block a build server.
#pragma once

#include "support/result.h"

#include <condition_variable>
#include <ctime>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace tritonc {

struct Budget {
  int seconds = 60;            // CPU seconds per task; 0 = no limit; for ptxas see --timeout
  long long bytes = 4ll << 30; // bytes of memory per running task; 0 = no limit
};

class Watchdog {
public:
  /// Calls `on_exceeded` at most once, on a separate thread, while the tasks continue.
  Watchdog(Budget budget, std::function<void(const Error &)> on_exceeded);
  ~Watchdog();
  Watchdog(const Watchdog &) = delete;

  /// Registers the current thread's work while the object lives: "`scale` for sm_80". Does nothing
  /// if `watchdog` is null.
  class Task {
  public:
    Task(Watchdog *watchdog, std::string name);
    ~Task();
    Task(const Task &) = delete;

  private:
    struct Entry;
    friend class Watchdog;
    Watchdog *watchdog_;
    std::list<Entry>::iterator entry_;
  };

private:
  void watch();
  std::optional<Error> find_exceeded() const;

  Budget budget_;
  std::function<void(const Error &)> on_exceeded_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::list<Task::Entry> tasks_;
  std::thread thread_;
};

struct Watchdog::Task::Entry {
  std::string name;
  clockid_t clock; // CPU time of the task's thread
  double started;
};

} // namespace tritonc
