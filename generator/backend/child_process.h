// Runs a program that we do not trust to end, to be brief, or to tell the truth.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
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

/// Kills every child that runs now and waits for its death; for a program that is being
/// interrupted. None starts, and no run_child returns, while the result lives.
[[nodiscard]] std::unique_lock<std::mutex> kill_children();

} // namespace tritonc
