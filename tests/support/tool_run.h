// Runs a program and collects its exit code and output.
#pragma once

#include "support/child_process.h"
#include "support/result.h" // before doctest, which also defines MESSAGE

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace tritonc {

struct ToolRun {
  int code;
  std::string output; // stdout and stderr
};

/// Runs the command in /tmp. Fails the test if the program does not exit by itself.
inline ToolRun run_program(const std::vector<std::string> &command) {
  ChildResult child = run_child(command, "/tmp");
  REQUIRE(child.end == ChildResult::End::exited);
  return {child.code, child.output};
}

/// Runs a shell script, for example to set the environment or limits.
inline ToolRun run_shell(const std::string &script) {
  return run_program({"/bin/sh", "-c", script});
}

} // namespace tritonc
