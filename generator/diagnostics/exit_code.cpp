// The exit code of each message: a column of diagnostics.def.
//
// Tested by tests/unit/tool/command_line_test.cpp.

#include "diagnostics/exit_code.h"

namespace tritonc {

ExitCode exit_code_of(Message id) {
  switch (id) {
#define MESSAGE(name, severity, text)
#define ERROR(name, exit_code, text)                                                               \
  case Message::name:                                                                              \
    return ExitCode::exit_code;
#include "diagnostics/diagnostics.def"
  default:
    return ExitCode::source_error;
  }
}

} // namespace tritonc
