// Runs `tritonc compile`. See compile_command.h.
//
// Tested by tests/unit/tool/command_line_test.cpp.

#include "tool/compile_command.h"

#include "compile.h"
#include "tool/command_line.h"
#include "tool/diagnostic_printer.h"
#include "tool/output_files.h"
#include "tool/signals.h"

#include <iostream>
#include <optional>
#include <unistd.h>

namespace tritonc {
namespace {

// Rejects options that print text to standard error if that gets a JSON or SARIF document.
std::optional<Error> check_standard_error(const CommandLine &line) {
  bool has_more = line.time_report || line.compile.explain || !line.compile.print_after.empty();
  if (printer.is_for_programs() && has_more)
    return usage("--time-report, --explain and --print-after write text to standard error, like "
                 "--diagnostics-format " +
                 line.diagnostics_format + "; add --diagnostics-to FILE");
  return std::nullopt;
}

} // namespace

ExitCode run_compile(CommandLine &line) {
  if (std::optional<Error> failure = complete(line))
    return fail(*failure);
  Watchdog watchdog(line.budget, end_with);
  line.compile.watchdog = &watchdog;
  for (auto check : {check_instantiation, check_standard_error, check_outputs})
    if (std::optional<Error> failure = check(line))
      return fail(*failure);

  Progress progress(isatty(STDERR_FILENO), [](const std::string &text) { std::cerr << text; });
  if (!line.is_quiet && !printer.is_for_programs())
    line.compile.progress = &progress;
  CompileResult result = compile(line.compile);
  std::optional<Error> failure = check_inputs_survive(line, result.dependencies);
  std::cerr << result.printed;
  print_all(result, result.code);
  if (result.code == ExitCode::ok && !failure)
    failure = result.times.measure(Step::files, [&] { return write_outputs(line, result); });
  if (line.time_report)
    std::cerr << result.times.report();
  if (result.code != ExitCode::ok)
    return result.code;
  return failure ? fail(*failure) : ExitCode::ok;
}

} // namespace tritonc
