// Prints the messages of the tool. See diagnostic_printer.h.
//
// Tested by tests/unit/tool/command_line_test.cpp and tests/unit/diagnose/diagnostics_format_test.cpp.

#include "tool/diagnostic_printer.h"

#include "support/write_files.h"

#include <iostream>
#include <optional>

namespace tritonc {

DiagnosticPrinter printer;

void DiagnosticPrinter::print(const Diagnostic &message) {
  if (!is_for_programs())
    std::cerr << message.drawn;
  diagnostics_.push_back(message);
}

ExitCode DiagnosticPrinter::finish(ExitCode code) {
  if (is_for_programs())
    std::cerr << formatted(diagnostics_, format_, code);
  if (file_.empty())
    return code;
  std::optional<Error> failure = write_files({{file_, formatted(diagnostics_, format_, code)}});
  if (!failure)
    return code;
  std::cerr << text(*failure) << "\n";
  return code == ExitCode::ok ? exit_code_of(failure->id) : code;
}

ExitCode fail(const Error &failure) {
  printer.print(diagnostic(failure));
  return exit_code_of(failure.id);
}

ExitCode fail_all(const std::vector<Error> &failures) {
  ExitCode code = ExitCode::ok;
  for (const Error &failure : failures)
    if (ExitCode its_code = fail(failure); code == ExitCode::ok)
      code = its_code;
  return code;
}

ExitCode print_all(const DiagnosticList &diagnostics, ExitCode code) {
  for (const Diagnostic &message : diagnostics.diagnostics)
    printer.print(message);
  return code;
}

} // namespace tritonc
