// Child processes: posix_spawn, one pipe for both outputs, a deadline, and the whole process group
// killed at the end whatever the end was, so that what a child has started does not outlive it.
//
// The pipe may stay open longer than the child lives (a grandchild holds it), and the child may
// live longer than the pipe is open. So neither says when to stop: the child's own death does, seen
// through a pidfd, or by asking every few milliseconds where the kernel has none.
//
// Tested by tests/backend/child_process_test.cpp.

#include "backend/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <set>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tritonc {
namespace {

using Clock = std::chrono::steady_clock;

// Children that run now, for kill_children: those of run_child, and those of start_child.
std::mutex running_mutex;
std::set<pid_t> running, started;

// How long a launcher may take to stop what it has started.
constexpr std::chrono::seconds time_to_end(3);

class FileDescriptor {
public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(const FileDescriptor &) = delete;
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0)
      ::close(fd_);
    fd_ = -1;
  }

private:
  int fd_;
};

std::vector<char *> pointers(const std::vector<std::string> &strings) {
  std::vector<char *> result;
  for (const std::string &string : strings)
    result.push_back(const_cast<char *>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

// The same for every user and machine, as far as a child can do with it.
std::vector<std::string> environment(const std::string &directory) {
  std::vector<std::string> result = {"LC_ALL=C", "TMPDIR=" + directory};
  for (const char *name : {"PATH", "LD_LIBRARY_PATH"})
    if (const char *value = std::getenv(name))
      result.push_back(std::string(name) + "=" + value);
  return result;
}

// Starts the child; 0 or an errno.
int spawn(const std::vector<std::string> &arguments, char *const *variables,
          const posix_spawn_file_actions_t &actions, pid_t &pid) {
  // A group of its own, and no signal blocked or ignored because we do so.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);

  int error = posix_spawn(&pid, arguments[0].c_str(), &actions, &attributes,
                          pointers(arguments).data(), variables);
  posix_spawnattr_destroy(&attributes);
  return error;
}

// What the child does with its files before it begins.
class FileActions {
public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions &) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }

  void read(const std::string &path) {
    posix_spawn_file_actions_addopen(&actions_, 0, path.c_str(), O_RDONLY, 0);
  }
  void write(int fd, const std::string &path) {
    posix_spawn_file_actions_addopen(&actions_, fd, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0666);
  }
  void duplicate(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  const posix_spawn_file_actions_t &get() const { return actions_; }

private:
  posix_spawn_file_actions_t actions_;
};

// Takes what is in the pipe now. False once nothing more can come.
bool drain(int fd, std::string &output, size_t limit) {
  std::array<char, 16384> buffer;
  for (;;) {
    ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno == EAGAIN;
    if (count == 0)
      return false;
    size_t room = limit - std::min(limit, output.size());
    output.append(buffer.data(), std::min(room, size_t(count)));
  }
}

// Leaves the child uncollected.
bool has_ended(pid_t pid) {
  siginfo_t ended = {};
  waitid(P_PID, pid, &ended, WEXITED | WNOHANG | WNOWAIT);
  return ended.si_pid == pid;
}

// Waits until the child ends, reading its output meanwhile. False: the time is over.
// Leaves the child uncollected, so that its number still names its group and nobody else's.
bool wait_for_end(pid_t pid, int pipe, const ChildLimits &limits, std::string &output) {
  FileDescriptor death(int(syscall(SYS_pidfd_open, pid, 0)));
  Clock::time_point deadline = Clock::now() + limits.time;
  bool open = true;
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0)
      return false;
    if (!death.valid())
      left = std::min(left, std::chrono::milliseconds(5));

    pollfd events[] = {{death.get(), POLLIN, 0}, {open ? pipe : -1, POLLIN, 0}};
    poll(events, 2, int(std::min<long long>(left.count() + 1, 60'000)));
    if (open)
      open = drain(pipe, output, limits.output_bytes);

    if (has_ended(pid)) {
      if (open)
        drain(pipe, output, limits.output_bytes);
      return true;
    }
  }
}

// Kills what is left of the group and collects its leader; the leader's status.
int end_group(pid_t pid) {
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

ChildResult result_of(int status) {
  return WIFEXITED(status) ? ChildResult{ChildResult::End::exited, WEXITSTATUS(status), ""}
                           : ChildResult{ChildResult::End::signalled, WTERMSIG(status), ""};
}

// Tells the groups to end, and waits a moment for it.
void ask_to_end(const std::set<pid_t> &leaders) {
  for (pid_t pid : leaders)
    kill(-pid, SIGTERM);
  const Clock::time_point deadline = Clock::now() + time_to_end;
  for (pid_t pid : leaders)
    while (!has_ended(pid) && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

} // namespace

ChildResult run_child(const std::vector<std::string> &arguments, const std::string &directory,
                      const ChildLimits &limits) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return {ChildResult::End::not_started, errno, ""};
  FileDescriptor reading(ends[0]), writing(ends[1]);
  fcntl(reading.get(), F_SETFL, O_NONBLOCK);

  FileActions files;
  files.read("/dev/null");
  files.duplicate(writing.get(), 1);
  files.duplicate(writing.get(), 2);
  std::vector<std::string> variables = environment(directory);
  pid_t pid = 0;
  {
    std::lock_guard lock(running_mutex);
    if (int error = spawn(arguments, pointers(variables).data(), files.get(), pid))
      return {ChildResult::End::not_started, error, ""};
    running.insert(pid);
  }
  writing.close();

  std::string output;
  int status = 0;
  bool ended = wait_for_end(pid, reading.get(), limits, output);
  {
    std::lock_guard lock(running_mutex);
    status = end_group(pid);
    running.erase(pid);
  }
  ChildResult result = result_of(status);
  if (!ended)
    result = {ChildResult::End::timed_out, 0, ""};
  result.output = std::move(output);
  return result;
}

int start_child(const std::vector<std::string> &arguments, const ChildFiles &files, int &pid) {
  FileActions actions;
  actions.read(files.input.empty() ? "/dev/null" : files.input);
  actions.write(1, files.output);
  actions.write(2, files.errors);
  std::lock_guard lock(running_mutex);
  int error = spawn(arguments, environ, actions.get(), pid);
  if (error == 0)
    started.insert(pid);
  return error;
}

std::optional<ChildResult> ended_child(int pid) {
  std::lock_guard lock(running_mutex);
  if (!has_ended(pid))
    return std::nullopt;
  started.erase(pid);
  return result_of(end_group(pid));
}

std::unique_lock<std::mutex> kill_children() {
  std::unique_lock lock(running_mutex);
  ask_to_end(started);
  std::set<pid_t> all = running;
  all.insert(started.begin(), started.end());
  for (pid_t pid : all)
    kill(-pid, SIGKILL);
  // Left uncollected, as in wait_for_end: run_child and ended_child collect them.
  siginfo_t ended;
  for (pid_t pid : all)
    while (waitid(P_PID, pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
  return lock;
}

} // namespace tritonc
