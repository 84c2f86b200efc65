// Interrupts and crashes: an interrupted run leaves no child process, no temporary directory and no
// partial file.
#pragma once

#include "support/result.h"

namespace tritonc {

/// Handles SIGINT, SIGTERM and SIGHUP on a separate thread: kills children, removes temporary files
/// and ends the process by the signal. Under nohup, SIGHUP stays ignored.
void handle_interrupts();

/// Reports crashes, LLVM errors and lack of memory as messages with the right exit code.
void handle_crashes();

/// Reports the error, kills all children, removes temporary directories and ends the process. For
/// a Watchdog, whose thread cannot stop the thread that exceeds a limit.
[[noreturn]] void end_with(const Error &failure);

} // namespace tritonc
