// Runs builds and tests of mutants, with limits.

#pragma once

#include "mutate/campaign.h"

#include <chrono>
#include <optional>
#include <string>

namespace tritonc::mutate {

struct Command {
  std::string text; // one program with its arguments, for bash
  std::string directory;
  std::string log; // path; gets stdout and stderr
  std::optional<std::chrono::duration<double>> time;
  size_t max_bytes = 0; // of resident memory; 0 = no limit
};

/// Runs a command in a process group. It fails if its program exceeds max_bytes or writes a file of
/// more than 256 MiB. When run_command returns, all processes of the group are dead. On
/// SIGINT or SIGTERM it kills the group and throws Interrupted; main blocks both signals.
End run_command(const Command &command);

struct Interrupted {
  int signal;
};

/// SIGINT and SIGTERM arrive in run_command only.
void block_interrupts();

} // namespace tritonc::mutate
