// The command line: options in, files and an exit code out.
//
// Promises kept here: whatever cannot work is said before the work begins; outputs are written
// after everything has succeeded, all or none, the stamp last; an interrupted run leaves no child,
// no temporary directory and no half of a file.
//
// Tested by tests/compile/command_line_test.cpp.

#include "backend/child_process.h"
#include "backend/temporary_directory.h"
#include "cache_command.h"
#include "compile.h"
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
#include "tune_command.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <unistd.h>

namespace tritonc {
namespace {

namespace fs = std::filesystem;

struct CommandLine {
  CompileOptions compile;
  std::vector<std::string> defines; // as given: NAME or NAME=VALUE
  std::vector<std::string> architectures;
  std::vector<std::string> ptx;     // architectures, or auto
  std::vector<std::string> emulate; // of the architectures
  std::string name_space;
  std::string embed;
  std::string header, c_header, registration, object, bundle, host_code, manifest, report, depfile,
      stamp;
  std::string target;         // triple of the object
  std::string depfile_target; // what the depfile is about, as the build system calls it
  std::string keep_folder;
  std::string shard;             // "0/4"
  std::string codes_file;        // of the shard
  std::vector<std::string> keep; // names of stages
  bool time_report = false, is_quiet = false;
  std::vector<std::string> warnings; // as given: NAME, no-NAME, error, error=NAME
  std::string diagnostics_format, diagnostics_file;
  std::string cache_directory, cache_limit; // as given
  TuneOptions tune;
  std::vector<std::string> tuning_from; // measured before, as JSON or as a runner says it
  std::string plan_file;
  bool starts_anew = false;
  std::string launcher;
  std::vector<std::string> inspected;
  bool as_json = false;
  std::string emit, output;
  std::string min_driver, compression; // as given
  int timeout_seconds = 120;
  Budget budget;
  std::string memory_limit; // as given
};

const std::vector<std::pair<std::string, Stage>> stages = {
    {"tile-ir", Stage::tile_ir},     {"llvm", Stage::llvm},   {"ptx", Stage::ptx},
    {"host-llvm", Stage::host_llvm}, {"cubin", Stage::cubin}, {"sass-stats", Stage::sass_stats},
};

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

// --- From the command line to options ------------------------------------------------------------

std::optional<Failure> usage(const std::string &text) { return Failure{Message::usage, {text}}; }

std::vector<Define> parse_defines(const std::vector<std::string> &texts) {
  std::vector<Define> defines;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    bool has_value = equals != std::string::npos;
    defines.push_back({text.substr(0, equals), has_value ? text.substr(equals + 1) : "1"});
  }
  return defines;
}

// The names in lists such as "80,90a".
std::vector<std::string> names_in(const std::vector<std::string> &texts) {
  std::vector<std::string> names;
  for (llvm::StringRef list : texts)
    for (llvm::StringRef rest = list; !rest.empty();) {
      size_t end = rest.find_first_of(",;");
      names.push_back(rest.take_front(end).trim().str());
      rest = end == llvm::StringRef::npos ? "" : rest.drop_front(end + 1);
    }
  return names;
}

std::optional<Failure> parse_architectures(const std::vector<std::string> &texts,
                                           std::vector<const Gpu *> &gpus) {
  for (const std::string &name : names_in(texts)) {
    const Gpu *gpu = find_gpu(name);
    if (!gpu)
      return Failure{Message::unknown_gpu, {name, llvm::join(gpu_names(), ", ")}};
    if (!llvm::is_contained(gpus, gpu))
      gpus.push_back(gpu);
  }
  return std::nullopt;
}

// Behind the GPUs that are asked for: PTX. `auto` is that of the first of them which later ones
// run; where all have code that they don't, that of the first without what is its own.
std::optional<Failure> parse_ptx(const std::vector<std::string> &texts,
                                 std::vector<const Gpu *> &gpus) {
  for (const std::string &name : names_in(texts)) {
    const Gpu *ptx = find_ptx(name);
    if (name == "auto") {
      auto is_older = [](const Gpu *a, const Gpu *b) {
        return std::pair(a->suffix != 0, a->sm) < std::pair(b->suffix != 0, b->sm);
      };
      auto oldest = std::min_element(gpus.begin(), gpus.end(), is_older);
      if (oldest == gpus.end())
        return usage("--ptx auto needs --arch");
      ptx = find_ptx(std::to_string((*oldest)->sm));
    } else if (!ptx && find_gpu(name)) {
      return usage("--ptx " + name + ": later GPUs don't run what only that one has; write --ptx " +
                   std::to_string(find_gpu(name)->sm));
    }
    if (!ptx)
      return Failure{Message::unknown_gpu, {name, llvm::join(gpu_names(), ", ")}};
    if (!llvm::is_contained(gpus, ptx))
      gpus.push_back(ptx);
  }
  return std::nullopt;
}

// The first of: what was asked for, and the name of the header.
std::string library_name(const CommandLine &line) {
  if (!line.name_space.empty())
    return line.name_space;
  const std::string &header = line.header.empty() ? line.c_header : line.header;
  return line.compile.name.empty() ? fs::path(header).stem().string() : line.compile.name;
}

std::vector<std::string> output_paths(const CommandLine &line) {
  std::vector<std::string> paths;
  for (const std::string &path :
       {line.header, line.c_header, line.registration, line.bundle, line.object, line.host_code,
        line.manifest, line.report, line.depfile, line.output, line.codes_file, line.stamp,
        line.diagnostics_file})
    if (!path.empty() && path != "-")
      paths.push_back(path);
  if (!line.keep_folder.empty())
    paths.push_back((fs::path(line.keep_folder) / "index.json").string());
  return paths;
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

// Whether the options make sense together.
std::optional<Failure> check_combination(const CommandLine &line) {
  bool one_stage = line.compile.stage != Stage::library;
  bool is_shard = line.compile.shards != 0;
  if (is_shard == line.codes_file.empty())
    return usage("--shard I/N and --codes-to FILE go together");
  if (is_shard &&
      (one_stage || !(line.header + line.object + line.manifest + line.report).empty() ||
       !line.keep.empty()))
    return usage("--shard only writes machine code, with --codes-to; a call with --codes makes the "
                 "library of all shards");
  if (!one_stage && !is_shard && line.header.empty() && line.object.empty())
    return Failure{Message::no_output, {}};
  if (one_stage &&
      !(line.header + line.c_header + line.object + line.manifest + line.report).empty())
    return usage("--emit shows one stage of one variant; it does not go with --header, --c-header, "
                 "--object, --manifest or --report");
  if (one_stage && line.output.empty())
    return usage("--emit needs -o FILE, or -o - for standard output");
  if (!one_stage && !line.output.empty())
    return usage("-o goes with --emit; a library is written with --header and --object");
  if (line.embed == "object" && !line.header.empty() && line.object.empty())
    return usage("--embed object needs --object FILE beside --header");
  if ((line.embed == "bundle") == line.bundle.empty())
    return usage("--embed bundle and --bundle FILE go together");
  if (!line.bundle.empty() && line.object.empty())
    return usage("--embed bundle needs --object FILE, which has all but the compiled kernels");
  if (line.embed == "header" && !line.object.empty())
    return usage("--embed header puts the code into the header; leave out --object");
  if (line.compile.gpus.empty() && line.compile.stage != Stage::tile_ir)
    return usage("--arch is missing, as in --arch 80,90a");
  if (line.compile.emulate.empty() != line.host_code.empty())
    return usage("--emulate and --host-code FILE.a go together");
  if (!line.c_header.empty() && line.object.empty())
    return usage("--c-header needs --object FILE: there is no code in it");
  if (!line.registration.empty() && line.header.empty())
    return usage("--registration needs --header FILE: it is about what that declares");
  if (!line.host_code.empty() && line.object.empty())
    return usage("--emulate needs --object FILE: host code cannot be embedded in a header");
  for (const Gpu *gpu : line.compile.emulate)
    if (!llvm::is_contained(line.compile.gpus, gpu))
      return usage("--emulate names " + std::string(gpu->name) + ", which --arch does not");
  if (!line.target.empty() && !line.host_code.empty())
    return usage("--emulate compiles for this machine; it does not go with --target");
  if (line.keep.empty() != line.keep_folder.empty())
    return usage("--keep STAGE,... and --keep-in FOLDER go together");
  if (one_stage && !line.keep.empty())
    return usage("--keep goes with a library, not with --emit");
  return std::nullopt;
}

// Whether --diagnostics-to names a file that is nothing else.
bool has_own_file(const CommandLine &line) {
  std::vector<std::string> files = line.compile.sources;
  llvm::append_range(files, output_paths(line));
  fs::path own = fs::weakly_canonical(line.diagnostics_file);
  auto is_own = [&](const std::string &path) { return fs::weakly_canonical(path) == own; };
  return llvm::count_if(files, is_own) == 1; // as itself
}

// Whether all outputs can be written, and none of them twice or over an input.
std::optional<Failure> check_outputs(const CommandLine &line) {
  std::set<fs::path> taken;
  for (const std::string &source : line.compile.sources)
    taken.insert(fs::weakly_canonical(source));
  for (const std::string &path : output_paths(line))
    if (!taken.insert(fs::weakly_canonical(path)).second)
      return usage("`" + path + "` is given twice, or is also a source");
  return check_writable(output_paths(line));
}

// Code that is packed by zstd is for drivers from CUDA 12.4 on.
std::optional<Failure> choose_compression(const CommandLine &line, ToolchainOptions &tools) {
  constexpr int with_zstd = 12040;
  int major = 0, minor = 0;
  auto [before, after] = llvm::StringRef(line.min_driver).split('.');
  bool is_version = !before.getAsInteger(10, major) && !after.getAsInteger(10, minor) &&
                    major >= 12 && major < 100 && minor >= 0 && minor < 100;
  if (!line.min_driver.empty() && !is_version)
    return usage("--min-driver " + line.min_driver +
                 ": write the version of CUDA that it is for, " + "12.0 or later");
  tools.oldest_driver = major * 1000 + minor * 10;
  bool is_old = tools.oldest_driver && tools.oldest_driver < with_zstd;
  bool by_zstd = line.compression == "balance" || line.compression == "size";
  if (is_old && by_zstd)
    return usage("--compress " + line.compression + " is for drivers from CUDA 12.4 on, and " +
                 "--min-driver is " + line.min_driver + "; use speed or none");
  tools.compression = !line.compression.empty() ? line.compression : is_old ? "speed" : "balance";
  return std::nullopt;
}

// -W as C compilers have it; the last one about a name counts.
std::optional<Failure> choose_warnings(CommandLine &line) {
  DiagnosticOptions &options = line.compile.messages;
  for (llvm::StringRef text : line.warnings) {
    if (text == "error") {
      line.compile.warnings_are_errors = true;
      continue;
    }
    bool is_error = text.consume_front("error="), is_off = !is_error && text.consume_front("no-");
    std::string name = text.str();
    if (!is_warning_name(name))
      return Failure{Message::unknown_warning, {name, llvm::join(warning_names(), ", ")}};
    llvm::erase(options.off, name);
    if (is_off)
      options.off.push_back(name);
    if (is_error && !llvm::is_contained(options.errors, name))
      options.errors.push_back(name);
  }
  return std::nullopt;
}

// What the texts of the command line mean.
std::optional<Failure> complete(CommandLine &line) {
  CompileOptions &options = line.compile;
  options.defines = parse_defines(line.defines);
  if (std::optional<Failure> failure = parse_architectures(line.architectures, options.gpus))
    return failure;
  if (std::optional<Failure> failure = parse_architectures(line.emulate, options.emulate))
    return failure;
  if (std::optional<Failure> failure = parse_ptx(line.ptx, options.gpus))
    return failure;
  // Whoever emulates one GPU may emulate one that has nothing but PTX.
  if (!options.emulate.empty())
    llvm::copy_if(options.gpus, std::back_inserter(options.emulate),
                  [](const Gpu *gpu) { return gpu->is_ptx(); });
  for (const auto &[name, stage] : stages) {
    if (name == line.emit)
      options.stage = stage;
    if (llvm::is_contained(line.keep, name))
      options.keep.push_back(stage);
  }
  if (!line.shard.empty()) {
    auto [shard, shards] = llvm::StringRef(line.shard).split('/');
    if (shard.getAsInteger(10, options.shard) || shards.getAsInteger(10, options.shards) ||
        options.shard < 0 || options.shard >= options.shards)
      return usage("--shard " + line.shard + " does not read as I/N, with I from 0 to N - 1");
  }
  if (std::optional<Failure> failure = choose_compression(line, options.tools))
    return failure;
  if (std::optional<Failure> failure = choose_warnings(line))
    return failure;
  options.name = library_name(line);
  options.tools.time_limit = std::chrono::seconds(line.timeout_seconds);
  Result<CacheOptions> cache = cache_options(line.cache_directory, line.cache_limit);
  if (!cache)
    return cache.failure();
  options.cache = *cache;
  if (!line.memory_limit.empty()) {
    Result<uint64_t> bytes = parse_size(line.memory_limit);
    if (!bytes)
      return bytes.failure();
    line.budget.bytes = (long long)std::min<uint64_t>(*bytes, 1ull << 50);
  }
  return std::nullopt;
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

// --- Options -------------------------------------------------------------------------------------

void add_source_options(CLI::App &command, CommandLine &line) {
  auto list = [&](const char *name, std::vector<std::string> &values, const char *text) {
    command.add_option(name, values, text)->allow_extra_args(false);
  };
  command.add_option("SOURCES", line.compile.sources, "Triton-C files")->required();
  list("-D", line.defines, "defines a macro: NAME or NAME=TOKENS");
  list("-I", line.compile.include_dirs, "a folder to look for included files in");
  list("--arch", line.architectures, "GPU architectures, as 80,90a");
  list("--ptx", line.ptx,
       "adds PTX, which drivers compile for GPUs that no code is for: auto, or from which on: 80");
  command.add_option("--grid", line.compile.grid, "replaces the source's grid: \"M / TM, N / TN\"");
  command.add_option("--variants", line.compile.variants,
                     "restricts or adds axes, for all or for a kernel or GPU: "
                     "\"TM=32,64;TYPE=half;[matmul]TM=16;[sm_90a]TM=128\"");
  command.add_option("--variant-file", line.compile.variant_file,
                     "a JSON list of variants: [{\"TM\": 64, \"TN\": [64, 128]}, ...]");
  list("--where", line.compile.where,
       "only variants for which this holds: \"TM * TN <= 16384 && TYPE != float\"");
  list("--specialize", line.compile.specialize,
       "code besides the general one, for arguments of which this is true: \"lda % 8 && n == 1\"; "
       "\"[matmul]K == 32\" for one kernel, instead of those for all, and \"[matmul]\" for none");
  command.add_option("--kernels", line.compile.kernels, "only these kernels: a,b")
      ->allow_extra_args(false)
      ->delimiter(',');
  command.add_flag("--checks", line.compile.checks,
                   "code for GPUs has `assert` and `print`, too; else only the emulator's has");
}

void add_message_options(CLI::App &command, CommandLine &line) {
  command
      .add_option(
          "-W", line.warnings,
          "warnings: -Wno-NAME drops one, -Werror=NAME fails where it is, -Werror where any "
          "is; -Wbank-conflicts asks for one that is not there by itself")
      ->allow_extra_args(false);
  command.add_flag("-w", line.compile.messages.no_warnings, "no warnings at all");
  command
      .add_option("--max-errors", line.compile.messages.most_errors,
                  "how many errors are said, 20 if it is not given; 0: all")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--diagnostics-format", line.diagnostics_format,
                  "how errors and warnings are said: text, json (one document; a list with places, "
                  "notes and the text) or sarif (2.1.0)")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
  command.add_option("--diagnostics-to", line.diagnostics_file,
                     "writes them to this file, and as text on standard error as well");
}

void add_budget_options(CLI::App &command, CommandLine &line) {
  command
      .add_option("--time-limit", line.budget.seconds,
                  "seconds of processor time that a kernel may take before ptxas has it, 60 if it "
                  "is not given; 0: any")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--memory-limit", line.memory_limit,
                     "memory for each job, as 2G; 4G if it is not given, 0: any");
}

void add_runner_options(CLI::App &command, CommandLine &line) {
  auto list = [&](const char *name, std::vector<std::string> &values, const char *text) {
    return command.add_option(name, values, text)->allow_extra_args(false);
  };
  TuneOptions &tune = line.tune;
  command.add_option("RUNNER", tune.runner, "a program of triton_add_tuner()");
  list("--problems", tune.problems,
       "sizes: \"M,N,K=64..4096; lda=K; ldb,ldc=N; A=M*K; B=K*N; C=M*N\"");
  list("--problem-file", tune.problem_files, "the same as JSON: [{\"M\": [64, 128], ...}, ...]");
  list("--kernels", tune.kernels, "only these kernels: a,b")->delimiter(',');
  list("--types", tune.types, "only kernels with these types: TYPE=half,A=N")->delimiter(',');
  command
      .add_option("--random", tune.draw.count,
                  "so many problems, drawn from ranges and lists, instead of all")
      ->check(CLI::PositiveNumber);
  command.add_option("--seed", tune.draw.seed, "which ones are drawn");
  command
      .add_option("--launcher", tune.launcher,
                  "goes before the runner: \"srun --gpus=1\"; {part} is the number of the part")
      ->allow_extra_args(false)
      ->delimiter(' ');
  command
      .add_option("--parts", tune.parts, "so many runners at once, each with a part of the work")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--quiet", line.is_quiet, "does not say how far it is, only what is wrong");
  list("--from", line.tuning_from, "what was measured before, by tritonc tune or by a runner");
}

void add_measurement_options(CLI::App &command, CommandLine &line) {
  command.add_option("--rounds", line.tune.rounds, "how often each variant takes its turn")
      ->check(CLI::Range(1, 1000));
  command.add_flag("--cold", line.tune.is_cold, "times single launches, with empty caches");
}

void add_tool_options(CLI::App &command, CommandLine &line) {
  command.add_option("--ptxas", line.compile.tools.ptxas, "the ptxas to use");
  command.add_option("--fatbinary", line.compile.tools.fatbinary, "the fatbinary to use");
  command
      .add_option("--ptxas-option", line.compile.tools.ptxas_options,
                  "an option for ptxas, behind ours: --ptxas-option=-O2")
      ->allow_extra_args(false);
  command
      .add_option("--compress", line.compression,
                  "how compiled kernels are packed: none, speed, balance (the default) or size")
      ->check(CLI::IsMember({"none", "speed", "balance", "size"}));
  command.add_option("--min-driver", line.min_driver,
                     "the oldest driver that it shall run with, as the CUDA that it is for: 12.2");
  command.add_option("--timeout", line.timeout_seconds, "seconds that one run of a tool may take")
      ->check(CLI::PositiveNumber);
}

void add_cache_options(CLI::App &command, CommandLine &line) {
  command.add_option("--cache-dir", line.cache_directory,
                     "where compiled code is kept, or off; $TRITONC_CACHE_DIR does the same");
  command.add_option("--cache-limit", line.cache_limit,
                     "how large it may get, as 500M; $TRITONC_CACHE_LIMIT does the same");
}

void add_output_options(CLI::App &command, CommandLine &line) {
  command.add_option("--header", line.header, "writes the C++ header");
  command.add_option("--c-header", line.c_header, "writes a header for C, beside --object");
  command
      .add_option("--tuning", line.compile.tuning,
                  "measurements of tritonc tune, by which launches choose variants")
      ->allow_extra_args(false);
  command.add_option("--registration", line.registration,
                     "writes a source that makes the kernels known to a runner, for tritonc tune");
  command.add_option("--object", line.object, "writes the object with the compiled kernels");
  command
      .add_option("--emulate", line.emulate,
                  "architectures of --arch for which the object also gets code for this CPU")
      ->allow_extra_args(false);
  command.add_option("--host-code", line.host_code, "writes that code, a static library");
  command
      .add_option("--embed", line.embed, "where the compiled kernels go: object, header or bundle")
      ->check(CLI::IsMember({"object", "header", "bundle"}));
  command.add_option("--bundle", line.bundle,
                     "the file that has them with --embed bundle; it is needed when they run");
  command.add_option(
      "--target", line.target,
      "the triple that the object is for, as aarch64-linux-gnu; default: this machine's");
  command.add_option("--name", line.compile.name, "name of the library, a C++ namespace");
  command.add_option("--namespace", line.name_space, "the namespace, if it is not the name");
  command.add_option("--manifest", line.manifest, "writes what was compiled, as JSON");
  command
      .add_option(
          "--require", line.compile.require,
          "fails unless all that is compiled keeps to this: \"spills == 0\", \"regs <= 168\"")
      ->allow_extra_args(false);
  command.add_option(
      "--default-variant", line.compile.default_variant,
      "what a launch prefers: \"TM=128;TN=64\"; else the largest tiles without spills");
  command.add_option("--report", line.report, "writes a table of registers, shared memory, spills");
  command.add_option("--depfile", line.depfile, "writes which files were read, for the build");
  command.add_option("--depfile-target", line.depfile_target,
                     "what the depfile says depends on them, if not the stamp");
  command.add_option("--stamp", line.stamp, "a file that is touched after all others");

  std::vector<std::string> names;
  for (const auto &[name, stage] : stages)
    names.push_back(name);
  command
      .add_option("--emit", line.emit, "shows one stage of one variant: " + llvm::join(names, ", "))
      ->check(CLI::IsMember(names));
  command.add_option("--keep", line.keep, "forms of all kernels to write, besides: ptx,llvm,...")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->check(CLI::IsMember({"tile-ir", "llvm", "ptx", "cubin", "sass-stats"}));
  command.add_option("--keep-in", line.keep_folder, "the folder that they are written to");
  command.add_option("-o", line.output, "where --emit writes; - is standard output");
  command.add_option("--print-after", line.compile.print_after,
                     "prints the tile IR after this pass, or after all");
  command.add_flag("--verify-each", line.compile.verify_each, "checks the tile IR after each pass");
  command.add_flag(
      "--explain", line.compile.explain,
      "Say which structures every variant is compiled in, and what stopped better ones");
  command.add_flag("--line-info", line.compile.line_info,
                   "the code says which lines of the source it comes from, for profilers");
  command.add_option("--shard", line.shard,
                     "compiles one part of the machine code only: 0/4 to 3/4, say");
  command.add_option("--codes-to", line.codes_file, "where --shard writes it");
  command
      .add_option("--codes", line.compile.code_files,
                  "machine code that shards have written, which is not compiled again")
      ->allow_extra_args(false);
  command.add_flag("--time-report", line.time_report,
                   "says where the time went, on standard error");
  command.add_flag("--werror", line.compile.warnings_are_errors,
                   "fails where there are warnings about kernels, as where a limit is exceeded");
  command.add_flag("--quiet", line.is_quiet, "does not say how far it is, only what is wrong");
  command.add_option("--jobs,-j", line.compile.jobs, "how many jobs at once; 0: one per core");
}

ExitCode run(int count, char **arguments) {
  CommandLine line;
  CLI::App app("Compiles Triton-C kernels for NVIDIA GPUs, ahead of time.", "tritonc");
  app.set_version_flag("--version", std::string(tool_name) + " (LLVM " LLVM_VERSION_STRING ")");
  app.require_subcommand(1);

  CLI::App *compile = app.add_subcommand("compile", "compiles kernels into a C++ library");
  add_source_options(*compile, line);
  add_message_options(*compile, line);
  add_budget_options(*compile, line);
  add_output_options(*compile, line);
  add_tool_options(*compile, line);
  add_cache_options(*compile, line);
  CLI::App *plan = app.add_subcommand("plan", "lists the variants that would be compiled");
  add_source_options(*plan, line);
  add_message_options(*plan, line);
  add_budget_options(*plan, line);
  plan->add_flag("--json", line.as_json, "says it as JSON");
  CLI::App *report =
      app.add_subcommand("report", "writes a page about what is compiled, for a browser");
  add_source_options(*report, line);
  add_message_options(*report, line);
  add_budget_options(*report, line);
  add_tool_options(*report, line);
  report->add_option("-o", line.output, "the HTML file; - is standard output")->required();
  report
      ->add_option("--tuning", line.compile.tuning,
                   "measurements of tritonc tune, to be drawn, too")
      ->allow_extra_args(false);
  report->add_option("--jobs,-j", line.compile.jobs, "how many jobs at once; 0: one per core");
  CLI::App *doctor = app.add_subcommand(
      "doctor", "says what is found on this machine, what is missing and what mends it");
  doctor->add_option("--launcher", line.launcher, "TritonC_LAUNCHER of a build, to be tried");
  add_tool_options(*doctor, line);
  add_cache_options(*doctor, line);
  CLI::App *cache = app.add_subcommand("cache", "says what is in the cache, or makes it smaller");
  cache->require_subcommand(1);
  cache->fallthrough();
  add_cache_options(*cache, line);
  cache->add_subcommand("status", "how much there is");
  CLI::App *clear = cache->add_subcommand("clear", "removes everything");
  CLI::App *trim = cache->add_subcommand("trim", "removes what was not used for longest");

  auto add_file_options = [&](CLI::App &command) {
    command
        .add_option("FILES", line.inspected,
                    "objects, programs, headers with code, cubins, fatbinary's images")
        ->required();
  };
  CLI::App *inspect = app.add_subcommand("inspect", "says what is in files that were written");
  add_file_options(*inspect);
  inspect->add_flag("--json", line.as_json, "as JSON");
  CLI::App *verify =
      app.add_subcommand("verify", "checks that code, launches and checksums fit together");
  add_file_options(*verify);
  verify->add_option("--manifest", line.manifest, "which images there should be");

  CLI::App *tune = app.add_subcommand("tune", "measures variants on a GPU, for the next build");
  add_runner_options(*tune, line);
  add_measurement_options(*tune, line);
  tune->add_option("-o", line.output, "the JSON file, which keeps what it has of other problems");
  tune->add_flag("--anew", line.starts_anew, "the JSON file does not keep what it has");
  tune->add_option("--plan-to", line.plan_file,
                   "measures nothing: writes what a runner elsewhere is to read; see --from");
  CLI::App *bench =
      app.add_subcommand("bench", "says how far from the best variant a launch's own choice is");
  add_runner_options(*bench, line);
  add_measurement_options(*bench, line);
  bench->add_flag("--json", line.as_json, "says it as JSON, with the times of all variants");
  CLI::App *check = app.add_subcommand("check", "says whether all variants have the same results");
  add_runner_options(*check, line);

  // What is wrong with the command line itself is already said as it wants it.
  auto set_format = [](const std::string &name, const std::string &file) {
    teller.set_format(name == "json"    ? DiagnosticsFormat::json
                      : name == "sarif" ? DiagnosticsFormat::sarif
                                        : DiagnosticsFormat::text,
                      file);
  };
  constexpr llvm::StringRef option = "--diagnostics-format";
  for (int i = 1; i < count; i++) {
    llvm::StringRef argument = arguments[i];
    if (argument == option && i + 1 < count)
      set_format(arguments[i + 1], "");
    else if (argument.consume_front(option) && argument.consume_front("="))
      set_format(argument.str(), "");
  }
  try {
    app.parse(count, arguments);
  } catch (const CLI::Success &success) { // --help, --version
    app.exit(success);
    return ExitCode::ok;
  } catch (const CLI::ParseError &error) {
    return fail({Message::usage, {std::string(error.what()) + "; see tritonc --help"}});
  }
  // Not over a source or another output, whatever else is wrong.
  set_format(line.diagnostics_format, has_own_file(line) ? line.diagnostics_file : "");
  if (compile->parsed())
    return run_compile(line);
  if (inspect->parsed())
    return run_inspect(line);
  if (verify->parsed())
    return run_verify(line);
  if (report->parsed())
    return run_report(line);
  if (tune->parsed())
    return run_tune(line);
  if (bench->parsed() || check->parsed())
    return run_bench(line, bench->parsed() ? "measure" : "check");
  if (cache->parsed())
    return run_cache(line, clear->parsed()  ? CacheCommand::clear
                           : trim->parsed() ? CacheCommand::trim
                                            : CacheCommand::status);
  return plan->parsed() ? run_plan(line) : run_doctor(line);
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
  handle_interrupts();
  try {
    return int(teller.finish(run(count, arguments)));
  } catch (const std::bad_alloc &) {
    return int(teller.finish(fail({Message::out_of_memory, {}})));
  } catch (const std::exception &exception) {
    return int(
        teller.finish(fail({Message::internal_error, {"the command line", exception.what()}})));
  }
}
