// The main program of tritonc: runs the commands, writes the outputs and returns an exit code. For
// the options see tool/command_line.h.
//
// This file guarantees:
//   - It reports unusable options and outputs before the work begins.
//   - It writes outputs only after everything has succeeded, all or none, the stamp last.
//   - An interrupted run leaves no child process, no temporary directory and no partial file.
//
// Tested by tests/compile/command_line_test.cpp.

#include "diagnose/diagnostics_format.h"
#include "emit/cpp/c_header.h"
#include "emit/cpp/header.h"
#include "emit/cpp/registration.h"
#include "emit/files.h"
#include "emit/object/host_archive.h"
#include "emit/object/object.h"
#include "emit/report/depfile.h"
#include "emit/report/html_report.h"
#include "emit/report/manifest.h"
#include "emit/report/report.h"
#include "support/child_process.h"
#include "support/temporary_directory.h"
#include "tool/cache_command.h"
#include "tool/command_line.h"
#include "tool/doctor_command.h"
#include "tool/inspect_command.h"
#include "tool/plan_report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace tritonc {
namespace {

namespace fs = std::filesystem;

// --- Messages ------------------------------------------------------------------------------------

// Prints all messages: as text immediately to standard error, or as one JSON or SARIF document at
// the end.
class DiagnosticPrinter {
public:
  void set_format(DiagnosticsFormat format, std::string file) {
    format_ = format;
    file_ = std::move(file);
  }

  /// Whether standard error gets a JSON or SARIF document, so nothing else may be written there.
  bool is_for_programs() const { return format_ != DiagnosticsFormat::text && file_.empty(); }

  void tell(const Diagnostic &finding) {
    if (!is_for_programs())
      std::cerr << finding.drawn;
    findings_.push_back(finding);
  }

  /// Writes the document before the tool ends with `code`. Returns the exit code, which differs
  /// from `code` if writing fails.
  ExitCode finish(ExitCode code) {
    if (is_for_programs())
      std::cerr << formatted(findings_, format_, code);
    if (file_.empty())
      return code;
    std::optional<Error> failure = write_files({{file_, formatted(findings_, format_, code)}});
    if (!failure)
      return code;
    std::cerr << text(*failure) << "\n";
    return code == ExitCode::ok ? exit_code_of(failure->id) : code;
  }

private:
  DiagnosticsFormat format_ = DiagnosticsFormat::text;
  std::string file_;
  std::vector<Diagnostic> findings_;
};

DiagnosticPrinter printer;

ExitCode fail(const Error &failure) {
  printer.tell(diagnostic(failure));
  return exit_code_of(failure.id);
}

ExitCode tell_all(const DiagnosticList &findings, ExitCode code) {
  for (const Diagnostic &finding : findings.findings)
    printer.tell(finding);
  return code;
}

// --- Interrupts and crashes ----------------------------------------------------------------------

// Locked while the tool writes outputs: an interrupt waits until the outputs are consistent.
std::mutex writing;

// Handles SIGINT, SIGTERM and SIGHUP on a separate thread, which may call any function.
void handle_interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    std::lock_guard lock(writing);
    // Other threads still run, so the locks stop them from starting children or making directories.
    auto no_more_children = kill_children();
    auto no_more_directories = remove_temporary_directories();
    llvm::sys::RunInterruptHandlers(); // removes temporary output files
    // Die by the signal, as the sender expects.
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    raise(signal);
  }).detach();
}

[[noreturn]] void end_at_once(ExitCode code) {
  auto no_more_children = kill_children();
  auto no_more_directories = remove_temporary_directories();
  _exit(int(code));
}

void on_llvm_error(void *, const char *reason, bool) {
  printer.finish(fail({Message::internal_error, {"LLVM", reason}}));
  end_at_once(ExitCode::internal);
}

// Reserve memory: the out-of-memory message and the removal of directories allocate.
char *last_memory = new char[1 << 20];

void on_out_of_memory() {
  std::set_new_handler(nullptr);
  delete[] last_memory;
  printer.finish(fail({Message::out_of_memory, {}}));
  end_at_once(ExitCode::environment);
}

// Calls only async-signal-safe functions, so it cannot clean up.
void on_crash(int) {
  const char text[] = "error: internal error: tritonc crashed; please report it with the command\n";
  [[maybe_unused]] ssize_t ignored = write(2, text, sizeof text - 1);
  _exit(int(ExitCode::internal));
}

void handle_crashes() {
  llvm::install_fatal_error_handler(on_llvm_error);
  std::set_new_handler(on_out_of_memory);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { on_out_of_memory(); });
  // An alternative stack, because a stack overflow may be the cause of the signal.
  static char stack[65536];
  stack_t alternative = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN); // write() then returns EFBIG
}

// Writes to standard output if the path is "-"; else returns false.
bool write_to_stdout(const std::string &path, const std::string &contents) {
  if (path != "-")
    return false;
  std::cout << contents << std::flush;
  return true;
}

// --- Commands ------------------------------------------------------------------------------------

// The requested library files: header, object, host code, manifest, report and so on.
Result<std::vector<OutputFile>> library_files(const CommandLine &line, const Library &library) {
  Result<Interface> interface = make_interface(library);
  if (!interface)
    return interface.error();
  Result<Tables> tables = make_tables(*interface);
  if (!tables)
    return tables.error();

  std::vector<OutputFile> files;
  std::optional<Bundle> made;
  if (!line.bundle.empty())
    made = make_bundle(*tables, fs::path(line.bundle).filename().string());
  const Bundle *bundle = made ? &*made : nullptr;
  if (!line.object.empty()) {
    Result<std::string> object = object_file(*tables, line.target, bundle);
    if (!object)
      return object.error();
    files.push_back({line.object, std::move(*object)});
  }
  if (!line.host_code.empty()) {
    Result<std::string> archive = host_archive(library);
    if (!archive)
      return archive.error();
    files.push_back({line.host_code, std::move(*archive)});
  }
  if (!line.header.empty())
    files.push_back({line.header, line.object.empty()
                                      ? self_contained_header(library, *interface, *tables)
                                      : object_mode_header(library, *interface)});
  if (!line.c_header.empty())
    files.push_back({line.c_header, c_header(library, *interface)});
  if (!line.registration.empty())
    files.push_back({line.registration, registration(*interface, line.object.empty())});
  if (!line.manifest.empty())
    files.push_back({line.manifest, manifest(library, bundle)});
  if (!line.report.empty() && !write_to_stdout(line.report, report(library, bundle)))
    files.push_back({line.report, report(library, bundle)});
  if (bundle) // before the object, which needs the bundle
    files.insert(files.begin(), {line.bundle, std::move(made->bytes)});
  return files;
}

// The output that a build system depends on: the stamp if any.
std::string main_output(const CommandLine &line) {
  for (const std::string &path : {line.stamp, line.object, line.header, line.codes_file})
    if (!path.empty())
      return path;
  return line.output;
}

// All files in writing order. The stamp is last, because it says that all other files exist.
Result<std::vector<OutputFile>> output_files(const CommandLine &line, CompileResult &result) {
  std::vector<OutputFile> files;
  if (line.compile.shards) {
    files.push_back({line.codes_file, shard_file(std::move(result.codes))});
  } else if (line.compile.stage == Stage::library) {
    Result<std::vector<OutputFile>> library = library_files(line, result.library);
    if (!library)
      return library;
    files = std::move(*library);
  } else if (!write_to_stdout(line.output, result.stage_output)) {
    files.push_back({line.output, std::move(result.stage_output)});
  }
  if (!line.depfile.empty()) {
    std::string target = line.depfile_target.empty() ? main_output(line) : line.depfile_target;
    Result<std::string> text = depfile({target}, result.dependencies);
    if (!text)
      return text.error();
    files.push_back({line.depfile, std::move(*text)});
  }
  for (KeptFile &file : result.kept)
    files.push_back({(fs::path(line.keep_folder) / file.name).string(), std::move(file.content)});
  if (!line.stamp.empty())
    files.push_back({line.stamp, "", /*even_if_unchanged=*/true});
  return files;
}

// Removes files of an earlier --keep that this run did not write. It recognizes the files by name.
void remove_stale(const CommandLine &line, const std::vector<OutputFile> &files) {
  std::set<fs::path> current;
  for (const OutputFile &file : files)
    current.insert(file.path);
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(line.keep_folder, error)) {
    std::string stem = entry.path().stem().string();
    size_t dash = stem.rfind('-');
    bool is_ours = dash != std::string::npos && stem.size() - dash == 13 &&
                   stem.find_first_not_of("0123456789abcdef", dash + 1) == std::string::npos;
    if (is_ours && !current.count(entry.path()))
      fs::remove(entry.path(), error);
  }
}

std::optional<Error> write_output(const CommandLine &line, CompileResult &result) {
  Result<std::vector<OutputFile>> files = output_files(line, result);
  if (!files)
    return files.error();
  std::lock_guard lock(writing);
  if (std::optional<Error> failure = write_files(*files))
    return failure;
  remove_stale(line, *files);
  return std::nullopt;
}

// Rejects options that print text to standard error if that gets a JSON or SARIF document.
std::optional<Error> check_standard_error(const CommandLine &line) {
  bool has_more = line.time_report || line.compile.explain || !line.compile.print_after.empty();
  if (printer.is_for_programs() && has_more)
    return usage("--time-report, --explain and --print-after write text to standard error, like "
                 "--diagnostics-format " +
                 line.diagnostics_format + "; add --diagnostics-to FILE");
  return std::nullopt;
}

// Ends the tool when a kernel exceeds its time or memory budget.
[[noreturn]] void on_exceeded(const Error &failure) { end_at_once(printer.finish(fail(failure))); }

ExitCode run_compile(CommandLine &line) {
  if (std::optional<Error> failure = complete(line))
    return fail(*failure);
  Watchdog watchdog(line.budget, on_exceeded);
  line.compile.watchdog = &watchdog;
  for (auto check : {check_instantiation, check_standard_error, check_outputs})
    if (std::optional<Error> failure = check(line))
      return fail(*failure);

  Progress progress(isatty(STDERR_FILENO), [](const std::string &text) { std::cerr << text; });
  if (!line.is_quiet && !printer.is_for_programs())
    line.compile.progress = &progress;
  CompileResult result = compile(line.compile);
  std::cerr << result.printed;
  tell_all(result, result.code);
  std::optional<Error> failure;
  if (result.code == ExitCode::ok)
    failure = result.times.measure(Step::files, [&] { return write_output(line, result); });
  if (line.time_report)
    std::cerr << result.times.report();
  if (result.code != ExitCode::ok)
    return result.code;
  if (failure)
    return fail(*failure);
  return std::cout.good() ? ExitCode::ok
                          : fail({Message::cannot_write, {"standard output", "it is closed"}});
}

ExitCode run_plan(CommandLine &line) {
  if (std::optional<Error> failure = complete(line))
    return fail(*failure);
  Watchdog watchdog(line.budget, on_exceeded);
  line.compile.watchdog = &watchdog;
  Plan plan = tritonc::plan(line.compile.rules());
  if (plan.code != ExitCode::ok)
    return tell_all(plan, plan.code);
  PlannedKernels planned = plan_kernels(line.compile);
  if (tell_all(planned, planned.code) != ExitCode::ok)
    return planned.code;
  std::cout << (line.as_json ? plan_json(line.compile, plan, planned)
                             : plan_text(line.compile, plan, planned));
  return ExitCode::ok;
}

ExitCode run_cache(const CommandLine &line, CacheCommand command) {
  Result<CacheOptions> options = cache_options(line.cache_directory, line.cache_limit);
  if (!options)
    return fail(options.error());
  Result<std::string> text = run_cache_command(command, *options);
  if (!text)
    return fail(text.error());
  std::cout << *text;
  return ExitCode::ok;
}

ExitCode run_inspect(const CommandLine &line) {
  Result<std::string> text = inspect(line.inspected, line.as_json);
  if (!text)
    return fail(text.error());
  std::cout << *text;
  return ExitCode::ok;
}

ExitCode run_verify(const CommandLine &line) {
  Verification verification = verify(line.inspected, line.manifest);
  ExitCode code = ExitCode::ok;
  for (const Error &problem : verification.problems) {
    ExitCode its_code = fail(problem);
    if (code == ExitCode::ok)
      code = its_code;
  }
  if (code == ExitCode::ok)
    std::cout << verification.images << " images, all valid\n";
  return code;
}

// Reads earlier measurements: JSON or tuner output.
Result<TuningData> read_measured(const std::string &path, std::vector<Error> &differences) {
  std::ifstream file(path, std::ios::binary);
  if (file.peek() == '{' || !file)
    return read_tuning_data(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  Result<std::vector<TunerReport>> reports = read_reports(path, text);
  if (!reports)
    return reports.error();
  TuningData data;
  for (const TunerReport &report : *reports)
    data.add(report.entry);
  differences = differences_of(*reports);
  return data;
}

// Reports all failures and returns the exit code of the first.
ExitCode fail_all(const std::vector<Error> &failures) {
  ExitCode code = ExitCode::ok;
  for (const Error &failure : failures)
    if (ExitCode its_code = fail(failure); code == ExitCode::ok)
      code = its_code;
  return code;
}

std::optional<Error> write_one(const std::string &path, const std::string &contents) {
  if (write_to_stdout(path, contents))
    return std::nullopt;
  std::lock_guard lock(writing);
  return write_files({{path, contents}});
}

TunerReports run_with_progress(CommandLine &line, const std::string &what,
                               const std::vector<std::string> &plan) {
  Progress progress(isatty(2), [](const std::string &text) { std::cerr << text; });
  progress.set_words(what == "measure" ? "measured" : "compared", "problems");
  if (!line.is_quiet)
    line.tune.progress = &progress;
  return run_tuner(line.tune, what, plan);
}

// Measures or reads earlier measurements, and merges the results into the output file.
ExitCode run_tune(CommandLine &line) {
  if (line.output.empty() && line.plan_file.empty())
    return fail(*usage("tritonc tune needs -o FILE.json, or --plan-to FILE"));
  if (line.tune.tuner.empty() && line.tuning_from.empty())
    return fail(*usage("tritonc tune needs a tuner, which triton_add_tuner() builds, or --from"));
  TuningData data;
  if (!line.starts_anew && line.output != "-" && fs::exists(line.output)) {
    Result<TuningData> before = read_tuning_data(line.output);
    if (!before)
      return fail(before.error());
    data = std::move(*before);
  }
  std::vector<Error> differences;
  for (const std::string &path : line.tuning_from) {
    Result<TuningData> measured = read_measured(path, differences);
    if (!measured)
      return fail(measured.error());
    data.add(*measured);
  }
  if (!line.tune.tuner.empty()) {
    Result<std::vector<std::string>> plan = plan_tuning(line.tune);
    if (!plan)
      return fail(plan.error());
    if (!line.plan_file.empty()) {
      std::optional<Error> failure = write_one(line.plan_file, llvm::join(*plan, ""));
      return failure ? fail(*failure) : ExitCode::ok;
    }
    TunerReports measured = run_with_progress(line, "measure", *plan);
    for (const TunerReport &report : measured.reports)
      data.add(report.entry);
    differences = differences_of(measured.reports);
    if (measured.failure && measured.reports.empty())
      return fail(*measured.failure);
    if (measured.failure) // keeps the finished measurements
      differences.push_back(*measured.failure);
  }
  if (std::optional<Error> failure = write_one(line.output, data.json()))
    return fail(*failure);
  return fail_all(differences);
}

// Compares the launch's choice with the best variant, or checks that all variants agree.
ExitCode run_bench(CommandLine &line, const std::string &what) {
  std::vector<TunerReport> reports;
  for (const std::string &path : line.tuning_from) {
    std::ifstream file(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    Result<std::vector<TunerReport>> read = read_reports(path, text);
    if (!read)
      return fail(read.error());
    llvm::append_range(reports, *read);
  }
  if (line.tune.tuner.empty() && line.tuning_from.empty())
    return fail(*usage("missing tuner, which triton_add_tuner() builds"));
  if (!line.tune.tuner.empty()) {
    Result<std::vector<std::string>> plan = plan_tuning(line.tune);
    if (!plan)
      return fail(plan.error());
    TunerReports measured = run_with_progress(line, what, *plan);
    if (measured.failure)
      return fail(*measured.failure);
    llvm::append_range(reports, measured.reports);
  }
  if (what == "measure")
    std::cout << (line.as_json ? bench_json(reports) : bench_table(reports));
  ExitCode code = fail_all(differences_of(reports));
  if (what == "check" && code == ExitCode::ok)
    std::cout << reports.size() << " problems, all variants agree\n";
  return code;
}

// Compiles like run_compile and writes an HTML page about the result.
ExitCode run_report(CommandLine &line) {
  if (std::optional<Error> failure = complete(line))
    return fail(*failure);
  Watchdog watchdog(line.budget, on_exceeded);
  line.compile.watchdog = &watchdog;
  if (line.compile.gpus.empty())
    return fail(*usage("missing --arch, such as --arch 80,90a"));
  if (std::optional<Error> failure = check_outputs(line))
    return fail(*failure);
  if (line.compile.name.empty())
    line.compile.name = fs::path(line.compile.sources[0]).stem().string();
  line.compile.details = line.compile.explain = true;
  CompileResult result = compile(line.compile);
  if (tell_all(result, result.code) != ExitCode::ok)
    return result.code;
  std::string page = report_page(result.library, result.printed);
  if (write_to_stdout(line.output, page))
    return ExitCode::ok;
  std::lock_guard lock(writing);
  std::optional<Error> failure = write_files({{line.output, std::move(page)}});
  return failure ? fail(*failure) : ExitCode::ok;
}

// Diagnoses a build that does not work.
ExitCode run_doctor(CommandLine &line) {
  line.compile.tools.time_limit = std::chrono::seconds(line.timeout_seconds);
  Diagnosis diagnosis =
      examine_machine({line.compile.tools, line.cache_directory, line.cache_limit, line.launcher});
  std::cout << diagnosis.text;
  return diagnosis.code;
}

// --- Entry point ---------------------------------------------------------------------------------

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
  // Never write messages over a source or another output, even if the options are wrong.
  printer.set_format(format_named(line.diagnostics_format),
                     has_own_file(line) ? line.diagnostics_file : "");
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

} // namespace
} // namespace tritonc

// Options for jemalloc, if the tool is linked with it. Code generation reuses freed memory for the
// next image, so returning the memory to the system in between costs page faults.
extern "C" const char *malloc_conf;
const char *malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1,thp:always,metadata_thp:always";

int main(int count, char **arguments) {
  using namespace tritonc;
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
