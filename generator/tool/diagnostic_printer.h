// Prints the messages of the tool: as text immediately to standard error, or as one JSON or SARIF
// document at the end.
#pragma once

#include "diagnose/diagnostics_format.h"
#include "diagnostics/exit_code.h"
#include "support/result.h"

#include <string>
#include <utility>
#include <vector>

namespace tritonc {

class DiagnosticPrinter {
public:
  void set_format(DiagnosticsFormat format, std::string file) {
    format_ = format;
    file_ = std::move(file);
  }

  /// Whether standard error gets a JSON or SARIF document, so nothing else may be written there.
  bool is_for_programs() const { return format_ != DiagnosticsFormat::text && file_.empty(); }

  void print(const Diagnostic &message);

  /// Keeps the file of set_format as it is: it is an input.
  void write_no_file() { file_.clear(); }

  /// Writes the document before the tool ends with `code`. Returns the exit code, which differs
  /// from `code` if writing fails.
  ExitCode finish(ExitCode code);

private:
  DiagnosticsFormat format_ = DiagnosticsFormat::text;
  std::string file_;
  std::vector<Diagnostic> diagnostics_;
};

/// The printer of this process. Crash handlers use it too.
extern DiagnosticPrinter printer;

/// Prints the error and returns its exit code.
ExitCode fail(const Error &failure);

/// Prints all errors and returns the exit code of the first.
ExitCode fail_all(const std::vector<Error> &failures);

/// Prints all diagnostics and returns `code`.
ExitCode print_all(const DiagnosticList &diagnostics, ExitCode code);

} // namespace tritonc
