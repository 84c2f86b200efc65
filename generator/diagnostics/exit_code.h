// The exit codes of the tritonc tool. Scripts depend on these values.

#pragma once

#include "diagnostics/diagnostics.h"

namespace tritonc {

enum class ExitCode : int {
  ok = 0,
  source_error = 1,   // error in a kernel
  usage = 2,          // error on the command line
  environment = 3,    // missing ptxas, full disk, ...
  backend_failed = 4, // ptxas or LLVM rejected the generated code
  gate = 5,           // --require violated, or warnings under --werror
  mismatch = 6,       // `verify` found a difference
  internal = 70,      // internal error (compiler bug)
};

/// The exit code for an error message.
ExitCode exit_code_of(Message id);

} // namespace tritonc
