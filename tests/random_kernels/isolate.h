// Runs work in a separate process, so that a crash or an endless loop is a normal result.

#pragma once

#include <functional>
#include <string>

namespace tritonc::random {

struct Isolated {
  enum class End { done, crashed, timed_out };
  End end = End::done;
  std::string text;    // returned by the work; after a crash, the printed text
  std::string printed; // to stdout and stderr
};

/// Runs `work` in a child process. Requires that this process has no other running thread.
Isolated isolated(const std::function<std::string()> &work, int seconds);

/// The same without waiting, for several children at a time.
class Child {
public:
  Child(const std::function<std::string()> &work, int seconds);
  ~Child();
  Child(Child &&other) noexcept;
  Child &operator=(Child &&) = delete;

  /// The read end of its pipe, which becomes readable on output and at the child's end.
  int readable() const { return pipe_; }
  /// Reads the available output. Returns true after the child has ended.
  bool poll();
  /// Milliseconds until the child is stopped.
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
