// Work in a process of its own, so that a crash or an endless loop is a result like any other.

#pragma once

#include <functional>
#include <string>

namespace tritonc::random {

struct Isolated {
  enum class End { done, crashed, timed_out };
  End end = End::done;
  std::string text;    // what the work returned; of a crash, what it printed on the way
  std::string printed; // to stdout and stderr
};

/// Runs `work` in a child process. Needs that no other thread is at work in this one.
Isolated isolated(const std::function<std::string()> &work, int seconds);

/// The same, without waiting: several children at a time.
class Child {
public:
  Child(const std::function<std::string()> &work, int seconds);
  ~Child();
  Child(Child &&other) noexcept;
  Child &operator=(Child &&) = delete;

  /// The end of its pipe that becomes readable when there is something, and at its end.
  int readable() const { return pipe_; }
  /// Takes what there is. True once it has ended.
  bool poll();
  /// Milliseconds until it is stopped.
  int time_left() const;
  const Isolated &result() const { return result_; }

private:
  void finish();

  int process_ = -1, pipe_ = -1;
  long long deadline_ = 0;
  bool is_finished_ = false;
  Isolated result_;
};

} // namespace tritonc::random
