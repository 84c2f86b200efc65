// Ends the tool when a kernel takes it more time or memory than anyone wants to give: a source must
// not be able to stop a build server.
#pragma once

#include "backend/result.h"

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
  int seconds = 60;            // of processor time for one task; ptxas has its own, --timeout
  long long bytes = 4ll << 30; // of memory for each task that is at work
};

class Watchdog {
public:
  /// `on_exceeded` is called once, on a thread of its own, while tasks go on.
  Watchdog(Budget budget, std::function<void(const Failure &)> on_exceeded);
  ~Watchdog();
  Watchdog(const Watchdog &) = delete;

  /// Work of this thread, as long as it lives: "`scale` for sm_80". Without a watchdog, nothing.
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
  std::optional<Failure> find_exceeded() const;

  Budget budget_;
  std::function<void(const Failure &)> on_exceeded_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::list<Task::Entry> tasks_;
  std::thread thread_;
};

struct Watchdog::Task::Entry {
  std::string name;
  clockid_t clock; // the processor time of its thread
  double started;
};

} // namespace tritonc
