// Interrupts and crashes. See signals.h.
//
// Tested by tests/robustness/faults_test.cpp and tests/unit/tool/command_line_test.cpp.

#include "tool/signals.h"

#include "support/child_process.h"
#include "support/temporary_directory.h"
#include "support/write_files.h"
#include "tool/diagnostic_printer.h"

#include "llvm/Support/ErrorHandling.h"

#include <csignal>
#include <new>
#include <thread>
#include <unistd.h>

namespace tritonc {

// A thread of its own may call any function; a signal handler may not.
void handle_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM})
    sigaddset(&signals, signal);
  struct sigaction inherited = {};
  sigaction(SIGHUP, nullptr, &inherited);
  if (inherited.sa_handler != SIG_IGN) // nohup ignores it
    sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    // Other threads still run, so the locks stop them from starting children and creating files.
    auto no_more_children = kill_children();
    auto no_more_directories = remove_temporary_directories();
    auto no_more_files = remove_temporary_files();
    // Die by the signal, as the sender expects.
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    raise(signal);
  }).detach();
}

namespace {

[[noreturn]] void end_at_once(ExitCode code) {
  auto no_more_children = kill_children();
  auto no_more_directories = remove_temporary_directories();
  auto no_more_files = remove_temporary_files();
  _exit(int(code));
}

void on_llvm_error(void *, const char *reason, bool) {
  end_with({Message::internal_error, {"LLVM", reason}});
}

// Reserve memory: the out-of-memory message and the removal of directories allocate.
char *last_memory = new char[1 << 20];

void on_out_of_memory() {
  std::set_new_handler(nullptr);
  delete[] last_memory;
  printer.finish(fail({Message::out_of_memory, {}}));
  end_at_once(ExitCode::environment);
}

// Calls only async-signal-safe functions, so it cannot clean up.
void on_crash(int) {
  const char text[] = "error: internal error: tritonc crashed; please report it with the command\n";
  [[maybe_unused]] ssize_t ignored = write(2, text, sizeof text - 1);
  _exit(int(ExitCode::internal));
}

} // namespace

void end_with(const Error &failure) { end_at_once(printer.finish(fail(failure))); }

void handle_crashes() {
  llvm::install_fatal_error_handler(on_llvm_error);
  std::set_new_handler(on_out_of_memory);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { on_out_of_memory(); });
  // An alternative stack, because a stack overflow may be the cause of the signal.
  static char stack[65536];
  stack_t alternative = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN); // write() then returns EFBIG
}

} // namespace tritonc
