// The tool: options in, files and an exit code out. What can be given is in command_line.h.
//
// Promises kept here: whatever cannot work is said before the work begins; outputs are written
// after everything has succeeded, all or none, the stamp last; an interrupted run leaves no child,
// no temporary directory and no half of a file.
//
// Tested by tests/compile/command_line_test.cpp.

#include "backend/child_process.h"
#include "backend/temporary_directory.h"
#include "cache_command.h"
#include "command_line.h"
#include "diagnostics_format.h"
#include "doctor_command.h"
#include "emit/c_header.h"
#include "emit/depfile.h"
#include "emit/files.h"
#include "emit/header.h"
#include "emit/host_archive.h"
#include "emit/manifest.h"
#include "emit/object.h"
#include "emit/page.h"
#include "emit/registration.h"
#include "emit/report.h"
#include "inspect_command.h"
#include "plan_report.h"

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

// --- What is said --------------------------------------------------------------------------------

// All that is wrong goes through here: at once to standard error, or, for programs, at the end as
// one document.
class Teller {
public:
  void set_format(DiagnosticsFormat format, std::string file) {
    format_ = format;
    file_ = std::move(file);
  }

  /// Whether standard error is for programs, so that nothing else may be written there.
  bool is_for_programs() const { return format_ != DiagnosticsFormat::text && file_.empty(); }

  void tell(const Finding &finding) {
    if (!is_for_programs())
      std::cerr << finding.drawn;
    findings_.push_back(finding);
  }

  /// Before the tool ends with this code. It is another if there is no way to say so.
  ExitCode finish(ExitCode code) {
    if (is_for_programs())
      std::cerr << formatted(findings_, format_, code);
    if (file_.empty())
      return code;
    std::optional<Failure> failure = write_files({{file_, formatted(findings_, format_, code)}});
    if (!failure)
      return code;
    std::cerr << text(*failure) << "\n";
    return code == ExitCode::ok ? exit_code_of(failure->id) : code;
  }

private:
  DiagnosticsFormat format_ = DiagnosticsFormat::text;
  std::string file_;
  std::vector<Finding> findings_;
};

Teller teller;

ExitCode fail(const Failure &failure) {
  teller.tell(finding(failure));
  return exit_code_of(failure.id);
}

ExitCode tell_all(const Findings &findings, ExitCode code) {
  for (const Finding &finding : findings.findings)
    teller.tell(finding);
  return code;
}

// --- Interrupts and crashes ----------------------------------------------------------------------

// Held while outputs are written: an interrupt waits until they belong together.
std::mutex writing;

// SIGINT, SIGTERM and SIGHUP are taken by a thread of their own, where everything may be called.
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
    // Other threads go on until the end: they must not start or make another.
    auto no_more_children = kill_children();
    auto no_more_directories = remove_temporary_directories();
    llvm::sys::RunInterruptHandlers(); // files that are not yet renamed
    // End as whoever sent the signal expects.
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
  teller.finish(fail({Message::internal_error, {"LLVM", reason}}));
  end_at_once(ExitCode::internal);
}

// Kept for the end: saying that there is no memory, and removing directories, takes some.
char *last_memory = new char[1 << 20];

void on_out_of_memory() {
  std::set_new_handler(nullptr);
  delete[] last_memory;
  teller.finish(fail({Message::out_of_memory, {}}));
  end_at_once(ExitCode::environment);
}

// Only what is allowed in a signal handler: no clean-up.
void on_crash(int) {
  const char text[] = "error: internal error: tritonc crashed; please report it with the command\n";
  [[maybe_unused]] ssize_t ignored = write(2, text, sizeof text - 1);
  _exit(int(ExitCode::internal));
}

void handle_crashes() {
  llvm::install_fatal_error_handler(on_llvm_error);
  std::set_new_handler(on_out_of_memory);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { on_out_of_memory(); });
  // A stack of its own, for the case that the stack is what ran out.
  static char stack[65536];
  stack_t alternative = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN); // write says EFBIG then
}

// "-" is standard output; anything else is a file.
bool write_to_stdout(const std::string &path, const std::string &contents) {
  if (path != "-")
    return false;
  std::cout << contents << std::flush;
  return true;
}

// --- Commands ------------------------------------------------------------------------------------

// Header, object, host code, manifest and report, as far as they are wanted.
Result<std::vector<OutputFile>> library_files(const CommandLine &line, const Library &library) {
  Result<Interface> interface = make_interface(library);
  if (!interface)
    return interface.failure();
  Result<Tables> tables = make_tables(*interface);
  if (!tables)
    return tables.failure();

  std::vector<OutputFile> files;
  std::optional<Bundle> made;
  if (!line.bundle.empty())
    made = make_bundle(*tables, fs::path(line.bundle).filename().string());
  const Bundle *bundle = made ? &*made : nullptr;
  if (!line.object.empty()) {
    Result<std::string> object = object_file(*tables, line.target, bundle);
    if (!object)
      return object.failure();
    files.push_back({line.object, std::move(*object)});
  }
  if (!line.host_code.empty()) {
    Result<std::string> archive = host_archive(library);
    if (!archive)
      return archive.failure();
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
  if (bundle) // before the object, which is of no use without
    files.insert(files.begin(), {line.bundle, std::move(made->bytes)});
  return files;
}

// What a build system takes as the product: the stamp if there is one.
std::string main_output(const CommandLine &line) {
  for (const std::string &path : {line.stamp, line.object, line.header, line.codes_file})
    if (!path.empty())
      return path;
  return line.output;
}

// All files, in the order in which they are written: the stamp says that the others are there.
Result<std::vector<OutputFile>> output_files(const CommandLine &line, CompileResult &result) {
  std::vector<OutputFile> files;
  if (line.compile.shards) {
    files.push_back({line.codes_file, code_file(std::move(result.codes))});
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
      return text.failure();
    files.push_back({line.depfile, std::move(*text)});
  }
  for (KeptFile &file : result.kept)
    files.push_back({(fs::path(line.keep_folder) / file.name).string(), std::move(file.content)});
  if (!line.stamp.empty())
    files.push_back({line.stamp, "", /*even_if_unchanged=*/true});
  return files;
}

// Takes away what an earlier run kept and this one did not: all that has a name such as ours.
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

std::optional<Failure> write_output(const CommandLine &line, CompileResult &result) {
  Result<std::vector<OutputFile>> files = output_files(line, result);
  if (!files)
    return files.failure();
  std::lock_guard lock(writing);
  if (std::optional<Failure> failure = write_files(*files))
    return failure;
  remove_stale(line, *files);
  return std::nullopt;
}

// Standard error has one document if it is for programs.
std::optional<Failure> check_standard_error(const CommandLine &line) {
  bool has_more = line.time_report || line.compile.explain || !line.compile.print_after.empty();
  if (teller.is_for_programs() && has_more)
    return usage("--time-report, --explain and --print-after write text on standard error, where "
                 "--diagnostics-format " +
                 line.diagnostics_format + " goes; give --diagnostics-to FILE");
  return std::nullopt;
}

// What limits a kernel, which ends the tool.
[[noreturn]] void on_exceeded(const Failure &failure) { end_at_once(teller.finish(fail(failure))); }

ExitCode run_compile(CommandLine &line) {
  if (std::optional<Failure> failure = complete(line))
    return fail(*failure);
  Watchdog watchdog(line.budget, on_exceeded);
  line.compile.watchdog = &watchdog;
  for (auto check : {check_combination, check_standard_error, check_outputs})
    if (std::optional<Failure> failure = check(line))
      return fail(*failure);

  Progress progress(isatty(STDERR_FILENO), [](const std::string &text) { std::cerr << text; });
  if (!line.is_quiet && !teller.is_for_programs())
    line.compile.progress = &progress;
  CompileResult result = compile(line.compile);
  std::cerr << result.printed;
  tell_all(result, result.code);
  std::optional<Failure> failure;
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
  if (std::optional<Failure> failure = complete(line))
    return fail(*failure);
  Watchdog watchdog(line.budget, on_exceeded);
  line.compile.watchdog = &watchdog;
  Plan plan = tritonc::plan(line.compile);
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
    return fail(options.failure());
  Result<std::string> text = run_cache_command(command, *options);
  if (!text)
    return fail(text.failure());
  std::cout << *text;
  return ExitCode::ok;
}

ExitCode run_inspect(const CommandLine &line) {
  Result<std::string> text = inspect(line.inspected, line.as_json);
  if (!text)
    return fail(text.failure());
  std::cout << *text;
  return ExitCode::ok;
}

ExitCode run_verify(const CommandLine &line) {
  Verification verification = verify(line.inspected, line.manifest);
  ExitCode code = ExitCode::ok;
  for (const Failure &problem : verification.problems) {
    ExitCode its_code = fail(problem);
    if (code == ExitCode::ok)
      code = its_code;
  }
  if (code == ExitCode::ok)
    std::cout << verification.images << " images, all as they should be\n";
  return code;
}

// What was measured before: JSON, or what a runner wrote.
Result<TuningData> read_measured(const std::string &path, std::vector<Failure> &differences) {
  std::ifstream file(path, std::ios::binary);
  if (file.peek() == '{' || !file)
    return read_tuning_data(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  Result<std::vector<RunnerReport>> reports = read_reports(path, text);
  if (!reports)
    return reports.failure();
  TuningData data;
  for (const RunnerReport &report : *reports)
    data.add(report.entry);
  differences = differences_of(*reports);
  return data;
}

// Says all of them; the code of the first.
ExitCode fail_all(const std::vector<Failure> &failures) {
  ExitCode code = ExitCode::ok;
  for (const Failure &failure : failures)
    if (ExitCode its_code = fail(failure); code == ExitCode::ok)
      code = its_code;
  return code;
}

std::optional<Failure> write_one(const std::string &path, const std::string &contents) {
  if (write_to_stdout(path, contents))
    return std::nullopt;
  std::lock_guard lock(writing);
  return write_files({{path, contents}});
}

RunnerReports run_with_progress(CommandLine &line, const std::string &what,
                                const std::vector<std::string> &plan) {
  Progress progress(isatty(2), [](const std::string &text) { std::cerr << text; });
  progress.set_words(what == "measure" ? "measured" : "compared", "problems");
  if (!line.is_quiet)
    line.tune.progress = &progress;
  return run_runner(line.tune, what, plan);
}

// Measures, or takes what was measured, and puts it together with what the output has.
ExitCode run_tune(CommandLine &line) {
  if (line.output.empty() && line.plan_file.empty())
    return fail(*usage("tritonc tune needs -o FILE.json, or --plan-to FILE"));
  if (line.tune.runner.empty() && line.tuning_from.empty())
    return fail(*usage("tritonc tune needs a runner, as triton_add_tuner() makes them, or --from"));
  TuningData data;
  if (!line.starts_anew && line.output != "-" && fs::exists(line.output)) {
    Result<TuningData> before = read_tuning_data(line.output);
    if (!before)
      return fail(before.failure());
    data = std::move(*before);
  }
  std::vector<Failure> differences;
  for (const std::string &path : line.tuning_from) {
    Result<TuningData> measured = read_measured(path, differences);
    if (!measured)
      return fail(measured.failure());
    data.add(*measured);
  }
  if (!line.tune.runner.empty()) {
    Result<std::vector<std::string>> plan = plan_tuning(line.tune);
    if (!plan)
      return fail(plan.failure());
    if (!line.plan_file.empty()) {
      std::optional<Failure> failure = write_one(line.plan_file, llvm::join(*plan, ""));
      return failure ? fail(*failure) : ExitCode::ok;
    }
    RunnerReports measured = run_with_progress(line, "measure", *plan);
    for (const RunnerReport &report : measured.reports)
      data.add(report.entry);
    differences = differences_of(measured.reports);
    if (measured.failure && measured.reports.empty())
      return fail(*measured.failure);
    if (measured.failure) // what was measured is kept
      differences.push_back(*measured.failure);
  }
  if (std::optional<Failure> failure = write_one(line.output, data.json()))
    return fail(*failure);
  return fail_all(differences);
}

// What a launch takes by itself beside the best, or whether all variants agree.
ExitCode run_bench(CommandLine &line, const std::string &what) {
  std::vector<RunnerReport> reports;
  for (const std::string &path : line.tuning_from) {
    std::ifstream file(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    Result<std::vector<RunnerReport>> read = read_reports(path, text);
    if (!read)
      return fail(read.failure());
    llvm::append_range(reports, *read);
  }
  if (line.tune.runner.empty() && line.tuning_from.empty())
    return fail(*usage("name a runner, as triton_add_tuner() makes them"));
  if (!line.tune.runner.empty()) {
    Result<std::vector<std::string>> plan = plan_tuning(line.tune);
    if (!plan)
      return fail(plan.failure());
    RunnerReports measured = run_with_progress(line, what, *plan);
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

// A page about all that compile would compile.
ExitCode run_report(CommandLine &line) {
  if (std::optional<Failure> failure = complete(line))
    return fail(*failure);
  Watchdog watchdog(line.budget, on_exceeded);
  line.compile.watchdog = &watchdog;
  if (line.compile.gpus.empty())
    return fail(*usage("--arch is missing, as in --arch 80,90a"));
  if (std::optional<Failure> failure = check_outputs(line))
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
  std::optional<Failure> failure = write_files({{line.output, std::move(page)}});
  return failure ? fail(*failure) : ExitCode::ok;
}

// For someone whose build does not work.
ExitCode run_doctor(CommandLine &line) {
  line.compile.tools.time_limit = std::chrono::seconds(line.timeout_seconds);
  Diagnosis diagnosis =
      examine_machine({line.compile.tools, line.cache_directory, line.cache_limit, line.launcher});
  std::cout << diagnosis.text;
  return diagnosis.code;
}

// --- The call ------------------------------------------------------------------------------------

DiagnosticsFormat format_named(const std::string &name) {
  return name == "json"    ? DiagnosticsFormat::json
         : name == "sarif" ? DiagnosticsFormat::sarif
                           : DiagnosticsFormat::text;
}

ExitCode run(int count, char **arguments) {
  // What is wrong with the command line itself is already said as it wants it.
  teller.set_format(format_named(diagnostics_format_in(count, arguments)), "");
  CommandLine line;
  Result<std::optional<Command>> command = read_command_line(count, arguments, line);
  if (!command)
    return fail(command.failure());
  if (!*command)
    return ExitCode::ok;
  // Not over a source or another output, whatever else is wrong.
  teller.set_format(format_named(line.diagnostics_format),
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

// Read by jemalloc, where the tool is linked with it. What code generation frees for one image it
// takes for the next: giving it back to the system in between costs page faults.
extern "C" const char *malloc_conf;
const char *malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1,thp:always,metadata_thp:always";

int main(int count, char **arguments) {
  using namespace tritonc;
  handle_crashes();
  try {
    handle_interrupts();
    return int(teller.finish(run(count, arguments)));
  } catch (const std::bad_alloc &) {
    return int(teller.finish(fail({Message::out_of_memory, {}})));
  } catch (const std::system_error &error) {
    bool has_no_thread = error.code() == std::errc::resource_unavailable_try_again;
    return int(teller.finish(fail(
        has_no_thread ? Failure{Message::no_thread, {error.what()}}
                      : Failure{Message::internal_error, {"the command line", error.what()}})));
  } catch (const std::exception &exception) {
    return int(
        teller.finish(fail({Message::internal_error, {"the command line", exception.what()}})));
  }
}
