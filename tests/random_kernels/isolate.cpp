// Runs work in a separate process. See isolate.h.
//
// Parent and child share a pipe. The child's output also goes there, so that the parent gets the
// text of a failed assertion. The work's result follows after a mark.

#include "random_kernels/isolate.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tritonc::random {
namespace {

constexpr char mark = '\x1d';

long long now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

void write_all(int to, const std::string &text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t count = write(to, text.data() + at, text.size() - at);
    if (count <= 0)
      return;
    at += size_t(count);
  }
}

// Removes inherited signal handlers, so that a crash ends the child.
void forget_handlers() {
  for (int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGINT, SIGTERM})
    std::signal(signal, SIG_DFL);
}

[[noreturn]] void be_child(const std::function<std::string()> &work, int pipe) {
  dup2(pipe, STDOUT_FILENO);
  dup2(pipe, STDERR_FILENO);
  forget_handlers();
  rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::string text = work();
  std::fflush(nullptr);
  write_all(pipe, std::string(1, mark) + text);
  _exit(0); // without running the parent's destructors
}

} // namespace

Child::Child(const std::function<std::string()> &work, int seconds)
    : deadline_(now() + 1000LL * seconds) {
  int ends[2];
  std::fflush(nullptr);
  if (pipe2(ends, O_CLOEXEC) != 0 || (process_ = fork()) < 0) {
    result_ = {Isolated::End::crashed, std::string("no process: ") + std::strerror(errno)};
    is_finished_ = true;
    return;
  }
  if (process_ == 0)
    be_child(work, ends[1]);
  close(ends[1]);
  pipe_ = ends[0];
  fcntl(pipe_, F_SETFL, O_NONBLOCK);
}

Child::Child(Child &&other) noexcept
    : process_(other.process_), pipe_(other.pipe_), deadline_(other.deadline_),
      is_finished_(other.is_finished_), result_(std::move(other.result_)) {
  other.process_ = other.pipe_ = -1;
  other.is_finished_ = true;
}

Child::~Child() {
  if (!is_finished_) {
    kill(process_, SIGKILL);
    finish();
  }
}

int Child::time_left() const { return int(std::max(0LL, deadline_ - now())); }

bool Child::poll() {
  if (is_finished_)
    return true;
  char buffer[4096];
  ssize_t count;
  while ((count = read(pipe_, buffer, sizeof buffer)) > 0)
    result_.text.append(buffer, size_t(count));
  bool has_ended = count == 0;
  if (!has_ended && now() >= deadline_) {
    kill(process_, SIGKILL);
    result_.end = Isolated::End::timed_out;
    has_ended = true;
  }
  if (has_ended)
    finish();
  return is_finished_;
}

void Child::finish() {
  int status = 0;
  waitpid(process_, &status, 0);
  close(pipe_);
  pipe_ = -1;
  is_finished_ = true;
  size_t at = result_.text.find(mark);
  result_.printed = result_.text.substr(0, at);
  if (result_.end == Isolated::End::timed_out)
    return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && at != std::string::npos) {
    result_.text.erase(0, at + 1);
    return;
  }
  result_.end = Isolated::End::crashed;
  if (WIFSIGNALED(status))
    result_.text += std::string("(") + strsignal(WTERMSIG(status)) + ")";
}

Isolated isolated(const std::function<std::string()> &work, int seconds) {
  Child child(work, seconds);
  while (!child.poll()) {
    pollfd wait = {child.readable(), POLLIN, 0};
    ::poll(&wait, 1, child.time_left() + 1);
  }
  return child.result();
}

} // namespace tritonc::random
