// Runs `tritonc report`. See report_command.h.
//
// Tested by tests/unit/tool/command_line_test.cpp.

#include "tool/report_command.h"

#include "compile.h"
#include "emit/report/html_report.h"
#include "support/write_files.h"
#include "tool/command_line.h"
#include "tool/diagnostic_printer.h"
#include "tool/signals.h"

#include <filesystem>
#include <optional>

namespace tritonc {

ExitCode run_report(CommandLine &line) {
  if (std::optional<Error> failure = complete(line))
    return fail(*failure);
  Watchdog watchdog(line.budget, end_with);
  line.compile.watchdog = &watchdog;
  if (line.compile.gpus.empty())
    return fail(*usage("missing --arch, such as --arch 80,90a"));
  if (std::optional<Error> failure = check_outputs(line))
    return fail(*failure);
  if (line.compile.name.empty())
    line.compile.name = std::filesystem::path(line.compile.sources[0]).stem().string();
  line.compile.details = line.compile.explain = true;
  CompileResult result = compile(line.compile);
  std::optional<Error> failure = check_inputs_survive(line, result.dependencies);
  if (print_all(result, result.code) != ExitCode::ok)
    return result.code;
  if (!failure)
    failure = write_files({{line.output, report_page(result.library, result.printed)}});
  return failure ? fail(*failure) : ExitCode::ok;
}

} // namespace tritonc
