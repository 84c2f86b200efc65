// Runs builds and tests of mutants. See run_command.h.
//
// Tested by tests/mutate/run_command_test.cpp.

#include "mutate/run_command.h"

#include "support/child_process.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <stdexcept>

#include <unistd.h>

namespace tritonc::mutate {
namespace {

using Clock = std::chrono::steady_clock;

sigset_t interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

// Sleeps for 10 ms, or until an interrupt.
void wait_a_little() {
  sigset_t signals = interrupts();
  timespec time = {0, 10'000'000};
  if (int signal = sigtimedwait(&signals, nullptr, &time); signal > 0) {
    auto no_more_children = kill_children();
    throw Interrupted{signal};
  }
}

// The resident memory of a process. A limit on its addresses would not do: the emulator reserves
// many more than it uses.
size_t resident_bytes(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  size_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * size_t(sysconf(_SC_PAGESIZE));
}

void kill_group(int pid) {
  kill(-pid, SIGKILL);
  while (!ended_child(pid))
    wait_a_little();
}

} // namespace

void block_interrupts() {
  sigset_t signals = interrupts();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

End run_command(const Command &command) {
  // As an argument, the folder may have any name.
  std::string script = "exec 2>&1 && cd \"$0\" && ulimit -c 0";
  if (command.max_bytes > 0)
    script += " && ulimit -f 262144";
  script += " && exec " + command.text;
  int pid = 0;
  if (int error = start_child({"/bin/bash", "-c", script, command.directory},
                              {"", command.log, "/dev/null"}, pid))
    throw std::runtime_error("cannot start bash: error " + std::to_string(error));
  Clock::time_point start = Clock::now();
  for (;;) {
    if (std::optional<ChildResult> result = ended_child(pid))
      return result->end == ChildResult::End::exited && result->code == 0 ? End::passed
                                                                          : End::failed;
    if (command.time && Clock::now() - start > *command.time) {
      kill_group(pid);
      return End::timed_out;
    }
    if (command.max_bytes > 0 && resident_bytes(pid) > command.max_bytes) {
      kill_group(pid);
      return End::failed;
    }
    wait_a_little();
  }
}

} // namespace tritonc::mutate
