// Implements child processes with one pipe for stdout and stderr, and a deadline. At the end it
// always kills the whole process group, so no grandchild outlives the child.
//
// After SIGKILL, the compiler cannot stop its children. So each child asks the OS kernel for a
// signal at the death of its parent (prctl with PR_SET_PDEATHSIG). The child must make this call
// before it runs the program. posix_spawn has no such call, so `spawn` uses clone, in the same way
// as glibc's posix_spawn. The OS kernel sends the signal when the thread ends that started the
// child. That thread waits for the child, so it ends earlier only if the whole process dies.
//
// The state of the pipe does not show the end of the child: a grandchild may hold the pipe open,
// and the child may close the pipe early. So run_child waits for the death of the child through a
// pidfd. If the OS kernel has no pidfd, run_child polls every 5 ms.
//
// Tested by tests/unit/support/child_process_test.cpp.

#include "support/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <sched.h>
#include <set>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tritonc {
namespace {

using Clock = std::chrono::steady_clock;

// Running children of run_child (`running`) and of start_child (`started`), for kill_children.
std::mutex running_mutex;
std::set<pid_t> running, started;

// Time for a launcher to stop its program after SIGTERM.
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

// A minimal environment, so that a tool behaves the same for every user and machine.
std::vector<std::string> environment(const std::string &directory) {
  std::vector<std::string> result = {"LC_ALL=C", "TMPDIR=" + directory};
  for (const char *name : {"PATH", "LD_LIBRARY_PATH"})
    if (const char *value = std::getenv(name))
      result.push_back(std::string(name) + "=" + value);
  return result;
}

struct Start {
  const std::vector<std::string> &arguments;
  char *const *variables;
  int streams[3];   // the child's stdin, stdout and stderr
  int death_signal; // that the child gets when its parent dies
};

// What the child shares with its parent until it runs the program.
struct Handover {
  const Start &start;
  std::vector<char *> arguments;
  pid_t parent;
  int error; // errno of the child's failed call
};

bool redirect(int from, int to) {
  return from == to ? fcntl(from, F_SETFD, 0) == 0 : dup2(from, to) == to; // without O_CLOEXEC
}

// The child's first function. It shares all memory with the parent, whose thread waits. So it only
// makes system calls. Returns if it cannot run the program.
int become_program(void *data) {
  Handover &handover = *static_cast<Handover *>(data);
  const Start &start = handover.start;
  // Exec resets handlers, but not signals that the parent ignores. Handlers are functions of the
  // parent, so no signal may arrive before.
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; signal++)
    sigaction(signal, &standard, nullptr); // fails for SIGKILL and SIGSTOP
  sigset_t none;
  sigemptyset(&none);
  bool is_ready = setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, start.death_signal) == 0;
  for (int i = 0; i < 3; i++)
    is_ready = is_ready && redirect(start.streams[i], i);
  is_ready = is_ready && sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
  bool is_orphan = getppid() != handover.parent; // the parent died before prctl
  if (is_ready && !is_orphan)
    execve(handover.arguments[0], handover.arguments.data(), start.variables);
  handover.error = errno;
  return 1;
}

// Starts the child; returns 0 or an errno. The thread waits until the child runs the program.
int spawn(const Start &start, pid_t &pid) {
  Handover handover = {start, pointers(start.arguments), getpid(), 0};
  std::vector<char> stack(64 << 10);
  // A handler of the parent must not run in the child: it would change the memory of the parent.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid = clone(become_program, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD,
              &handover);
  int error = pid < 0 ? errno : handover.error;
  if (pid > 0 && error != 0)
    waitpid(pid, nullptr, 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

// Reads the available data from the pipe. Returns false at the end of the pipe.
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

// Whether the child has ended. Does not reap the child.
bool has_ended(pid_t pid) {
  siginfo_t ended = {};
  waitid(P_PID, pid, &ended, WEXITED | WNOHANG | WNOWAIT);
  return ended.si_pid == pid;
}

// Waits for the end of the child and reads its output meanwhile. Returns false on a timeout. Does
// not reap the child, so its pid still identifies its process group.
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

// Kills the rest of the group and reaps the leader. Returns the leader's status.
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

// Sends SIGTERM to the groups and waits up to time_to_end for their leaders.
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

  FileDescriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!input.valid())
    return {ChildResult::End::not_started, errno, ""};

  std::vector<std::string> variables = environment(directory);
  pid_t pid = 0;
  {
    std::lock_guard lock(running_mutex);
    if (int error = spawn({arguments,
                           pointers(variables).data(),
                           {input.get(), writing.get(), writing.get()},
                           SIGKILL},
                          pid))
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
  constexpr int writes = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const char *source = files.input.empty() ? "/dev/null" : files.input.c_str();
  FileDescriptor input(open(source, O_RDONLY | O_CLOEXEC));
  FileDescriptor output(open(files.output.c_str(), writes, 0666));
  FileDescriptor errors(open(files.errors.c_str(), writes, 0666));
  if (!input.valid() || !output.valid() || !errors.valid())
    return errno;
  std::lock_guard lock(running_mutex);
  // SIGTERM, because a launcher stops its program elsewhere.
  int error = spawn({arguments, environ, {input.get(), output.get(), errors.get()}, SIGTERM}, pid);
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

void end_child(int pid) {
  std::lock_guard lock(running_mutex);
  started.erase(pid);
  ask_to_end({pid}); // a launcher stops its program elsewhere
  end_group(pid);
}

std::unique_lock<std::mutex> kill_children() {
  std::unique_lock lock(running_mutex);
  ask_to_end(started);
  std::set<pid_t> all = running;
  all.insert(started.begin(), started.end());
  for (pid_t pid : all)
    kill(-pid, SIGKILL);
  // Does not reap the children, like wait_for_end: run_child and ended_child reap them.
  siginfo_t ended;
  for (pid_t pid : all)
    while (waitid(P_PID, pid, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
  return lock;
}

} // namespace tritonc
