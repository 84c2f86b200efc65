// Runs child processes: untrusted tools such as ptxas with limits on time and output (run_child),
// and the user's programs in parallel to the compiler (start_child).
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct ChildLimits {
  std::chrono::milliseconds time = std::chrono::minutes(10);
  size_t output_bytes = 1 << 20; // stdout and stderr together; run_child drops the rest
};

struct ChildResult {
  enum class End { exited, signalled, timed_out, not_started };
  End end;
  int code;           // exit status, signal number, or errno of the spawn
  std::string output; // stdout and stderr, interleaved in order of arrival
};

/// Runs `arguments[0]` (a path) in a new process group, without a shell, with a minimal environment
/// and `directory` as TMPDIR. When run_child returns, all processes of the group are dead. If
/// SIGKILL ends this process, the child also gets SIGKILL.
ChildResult run_child(const std::vector<std::string> &arguments, const std::string &directory,
                      const ChildLimits &limits = {});

struct ChildFiles {
  std::string input; // path; empty = /dev/null
  std::string output, errors;
};

/// Starts `arguments[0]` (a path) in a new process group, with the environment of the compiler, and
/// does not wait for it. Returns 0 or the errno of the spawn. The program may be a launcher that
/// runs another program elsewhere and stops that program on SIGTERM. The child gets SIGTERM if
/// SIGKILL ends this process, and also if the calling thread ends. So the thread must wait for the
/// child.
int start_child(const std::vector<std::string> &arguments, const ChildFiles &files, int &pid);

/// Returns how a child of start_child ended, without its output; nullopt while the child runs.
/// After a result, all processes of the group are dead and the system may reuse `pid`.
std::optional<ChildResult> ended_child(int pid);

/// Kills a child of start_child with all processes of its group, and waits for its death.
void end_child(int pid);

/// Kills all running children and waits for their death; for the handler of an interrupt. Children
/// of start_child first get SIGTERM and 3 s to end. While the returned lock lives, no child starts
/// and no call of run_child or ended_child returns.
[[nodiscard]] std::unique_lock<std::mutex> kill_children();

} // namespace tritonc
