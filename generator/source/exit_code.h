// The exit codes of the tool. Scripts rely on them.

#pragma once

namespace tritonc {

enum class ExitCode : int {
  ok = 0,
  source_error = 1,   // something is wrong in a kernel
  usage = 2,          // something is wrong on the command line
  environment = 3,    // ptxas is missing, the disk is full, ...
  backend_failed = 4, // ptxas or LLVM refused what we gave them
  gate = 5,           // a limit that the caller set was not met
  mismatch = 6,       // verify found something wrong
  internal = 70,      // our bug
};

} // namespace tritonc
