// The exit code of each message: a column of diagnostics.def.
//
// Tested by tests/unit/diagnostics/exit_code_test.cpp.

#include "diagnostics/exit_code.h"

namespace tritonc {

ExitCode exit_code_of(Message id) {
  static constexpr ExitCode codes[] = {
#define MESSAGE(name, severity, text) ExitCode::source_error,
#define ERROR(name, exit_code, text) ExitCode::exit_code,
#include "diagnostics/diagnostics.def"
  };
  return codes[size_t(id)];
}

} // namespace tritonc
