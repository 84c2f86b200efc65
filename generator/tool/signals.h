// Interrupts and crashes: an interrupted run leaves no child process, no temporary directory and no
// partial file.
#pragma once

#include "support/result.h"

#include <mutex>

namespace tritonc {

/// Lock it while the tool writes outputs: an interrupt waits until the outputs are consistent.
extern std::mutex writing_outputs;

/// Handles SIGINT, SIGTERM and SIGHUP on a separate thread: kills children, removes temporary files
/// and ends the process by the signal.
void handle_interrupts();

/// Reports crashes, LLVM errors and lack of memory as messages with the right exit code.
void handle_crashes();

/// Reports the error, kills all children, removes temporary directories and ends the process. For
/// a Watchdog, whose thread cannot stop the thread that exceeds a limit.
[[noreturn]] void end_with(const Error &failure);

} // namespace tritonc
