// Runs a program that we do not trust to end, to be brief, or to tell the truth; or, beside us, one
// that the user names.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct ChildLimits {
  std::chrono::milliseconds time = std::chrono::minutes(2);
  size_t output_bytes = 1 << 20; // stdout and stderr together; what comes after is dropped
};

struct ChildResult {
  enum class End { exited, signalled, timed_out, not_started };
  End end;
  int code;           // exit status, signal number, or errno of the start
  std::string output; // stdout and stderr as they came
};

/// Runs `arguments[0]` (a path) in a process group of its own, without a shell, with a minimal
/// environment and `directory` as its TMPDIR. When this returns, nothing of the group is alive.
ChildResult run_child(const std::vector<std::string> &arguments, const std::string &directory,
                      const ChildLimits &limits = {});

struct ChildFiles {
  std::string input; // empty: nothing to read
  std::string output, errors;
};

/// Starts `arguments[0]` (a path) beside us, in a process group of its own, with our environment.
/// 0, or the errno of the start. It may be a launcher, which has a program run elsewhere and stops
/// it when it is told to end.
int start_child(const std::vector<std::string> &arguments, const ChildFiles &files, int &pid);

/// How a child that was started has ended, without its output; nothing while it runs. Then nothing
/// of its group is alive, and its number is no longer its own.
std::optional<ChildResult> ended_child(int pid);

/// Kills every child that runs now and waits for its death; for a program that is being
/// interrupted. Those of start_child are told to end before, and have a moment for it. None starts,
/// and no run_child or ended_child returns, while the result lives.
[[nodiscard]] std::unique_lock<std::mutex> kill_children();

} // namespace tritonc
