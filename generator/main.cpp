// The main program of tritonc: reads the command line, runs one command and returns an exit code.
// Each command has a file in tool/.
//
// Tested by tests/unit/tool/command_line_test.cpp.

#include "support/write_files.h"
#include "tool/cache_command.h"
#include "tool/command_line.h"
#include "tool/compile_command.h"
#include "tool/diagnostic_printer.h"
#include "tool/doctor_command.h"
#include "tool/inspect_command.h"
#include "tool/plan_command.h"
#include "tool/report_command.h"
#include "tool/signals.h"
#include "tool/tune_command.h"

#include <exception>
#include <fcntl.h>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>

namespace tritonc {
namespace {

DiagnosticsFormat format_named(const std::string &name) {
  return name == "json"    ? DiagnosticsFormat::json
         : name == "sarif" ? DiagnosticsFormat::sarif
                           : DiagnosticsFormat::text;
}

ExitCode run(int count, char **arguments) {
  // Errors in the command line itself already use the requested format.
  printer.set_format(format_named(diagnostics_format_in(count, arguments)), "");
  CommandLine line;
  Result<std::optional<Command>> command = read_command_line(count, arguments, line);
  if (!command)
    return fail(command.error());
  if (!*command)
    return ExitCode::ok;
  // Never write messages over an input or another output, even if the options are wrong.
  printer.set_format(
      format_named(line.diagnostics_format),
      has_own_file(line) && !check_writable({line.diagnostics_file}) ? line.diagnostics_file : "");
  switch (**command) {
  case Command::compile:
    return run_compile(line);
  case Command::plan:
    return run_plan(line);
  case Command::report:
    return run_report(line);
  case Command::doctor:
    return run_doctor(line);
  case Command::cache_status:
    return run_cache(line, CacheCommand::status);
  case Command::cache_clear:
    return run_cache(line, CacheCommand::clear);
  case Command::cache_trim:
    return run_cache(line, CacheCommand::trim);
  case Command::inspect:
    return run_inspect(line);
  case Command::verify:
    return run_verify(line);
  case Command::tune:
    return run_tune(line);
  case Command::bench:
    return run_bench(line, "measure");
  case Command::check:
    return run_bench(line, "check");
  }
  return ExitCode::internal;
}

// Opens closed standard descriptors, so that the next output file does not get the number 1 or 2
// and messages do not end in it. Writing to them fails, like writing to a closed descriptor.
void occupy_closed_descriptors() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0) [[maybe_unused]]
      int opened = open("/dev/null", O_RDONLY);
}

} // namespace
} // namespace tritonc

// Options for jemalloc, if the tool is linked with it. Code generation reuses freed memory for the
// next image, so returning the memory to the system in between costs page faults.
extern "C" const char *malloc_conf;
const char *malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1,thp:always,metadata_thp:always";

int main(int count, char **arguments) {
  using namespace tritonc;
  occupy_closed_descriptors();
  handle_crashes();
  try {
    handle_interrupts();
    return int(printer.finish(run(count, arguments)));
  } catch (const std::bad_alloc &) {
    return int(printer.finish(fail({Message::out_of_memory, {}})));
  } catch (const std::system_error &error) {
    bool has_no_thread = error.code() == std::errc::resource_unavailable_try_again;
    return int(printer.finish(
        fail(has_no_thread ? Error{Message::no_thread, {error.what()}}
                           : Error{Message::internal_error, {"the command line", error.what()}})));
  } catch (const std::exception &exception) {
    return int(
        printer.finish(fail({Message::internal_error, {"the command line", exception.what()}})));
  }
}
