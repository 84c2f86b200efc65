// Defines the options of all commands with their help texts, and parses them. See command_line.h.
//
// Tested by tests/unit/tool/command_line_test.cpp.

#include "support/version.h"
#include "support/write_files.h"
#include "tool/command_line.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"

#include <CLI/CLI.hpp>

#include <sstream>

namespace tritonc {
namespace {

// The types that --help shows for files. tests/unit/tool/bad_files_test.cpp gives every option of
// these types all kinds of bad files.
constexpr const char *input = "INPUT", *output = "OUTPUT";

void add_source_options(CLI::App &command, CommandLine &line) {
  auto list = [&](const char *name, std::vector<std::string> &values, const char *text) {
    command.add_option(name, values, text)->allow_extra_args(false);
  };
  command.add_option("SOURCES", line.compile.sources, "Triton-C files")
      ->required()
      ->type_name(input);
  list("-D", line.defines, "define a macro: NAME or NAME=TOKENS");
  list("-I", line.compile.include_dirs, "directory to search for included files");
  list("--arch", line.architectures, "GPU architectures, such as 80,90a");
  list("--ptx", line.ptx,
       "add PTX, which the driver compiles for GPUs without code: auto, or the oldest GPU: 80");
  command.add_option("--grid", line.compile.grid, "replace the source's grid: \"M / TM, N / TN\"");
  command.add_option("--variants", line.compile.variants,
                     "restrict or add axes, for all kernels and GPUs or for one: "
                     "\"TM=32,64;TYPE=half;[matmul]TM=16;[sm_90a]TM=128\"");
  command
      .add_option("--variant-file", line.compile.variant_file,
                  "JSON list of variants: [{\"TM\": 64, \"TN\": [64, 128]}, ...]")
      ->type_name(input);
  list("--where", line.compile.where,
       "compile only variants that meet this condition: \"TM * TN <= 16384 && TYPE != float\"");
  list("--specialize", line.compile.specialize,
       "add code for arguments that meet this condition: \"lda % 8 && n == 1\"; "
       "\"[matmul]K == 32\" replaces the conditions of one kernel, \"[matmul]\" removes them");
  command.add_option("--kernels", line.compile.kernels, "select kernels: a,b")
      ->allow_extra_args(false)
      ->delimiter(',');
  command.add_flag("--checks", line.compile.checks,
                   "keep `assert` and `print` in code for GPUs; default: only for the emulator");
}

void add_warning_options(CLI::App &command, CommandLine &line) {
  command
      .add_option("-W", line.warnings,
                  "warnings: -Wno-NAME disables one, -WNAME enables one that is off by default "
                  "(bank-conflicts), -Werror=NAME makes one an error, -Werror makes all errors")
      ->allow_extra_args(false);
  command.add_flag("-w", line.compile.messages.no_warnings, "disable all warnings");
}

void add_message_options(CLI::App &command, CommandLine &line) {
  add_warning_options(command, line);
  command
      .add_option("--max-errors", line.compile.messages.max_errors,
                  "max number of errors to print; default 20, 0 = all")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--diagnostics-format", line.diagnostics_format,
                  "format of errors and warnings: text, json (one document with a list of "
                  "locations, notes and texts) or sarif (2.1.0)")
      ->check(CLI::IsMember({"text", "json", "sarif"}));
  command
      .add_option("--diagnostics-to", line.diagnostics_file,
                  "write errors and warnings to this file, and as text to standard error")
      ->type_name(output);
}

void add_budget_options(CLI::App &command, CommandLine &line) {
  command
      .add_option("--time-limit", line.budget.seconds,
                  "max CPU time per kernel before ptxas runs, in seconds; default 60, "
                  "0 = no limit")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--memory-limit", line.memory_limit,
                     "max memory per job, such as 2G; default 4G, 0 = no limit");
}

void add_tuner_options(CLI::App &command, CommandLine &line) {
  auto list = [&](const char *name, std::vector<std::string> &values, const char *text) {
    return command.add_option(name, values, text)->allow_extra_args(false);
  };
  TuneOptions &tune = line.tune;
  command.add_option("TUNER", tune.tuner, "tuner program that triton_add_tuner() builds")
      ->type_name(input);
  list("--problems", tune.problems,
       "problem sizes: \"M,N,K=64..4096; lda=K; ldb,ldc=N; A=M*K; B=K*N; C=M*N\"");
  list("--problem-file", tune.problem_files, "the same as JSON: [{\"M\": [64, 128], ...}, ...]")
      ->type_name(input);
  list("--kernels", tune.kernels, "select kernels: a,b")->delimiter(',');
  list("--types", tune.types, "select kernels with these types: TYPE=half,A=N")->delimiter(',');
  command
      .add_option("--random", tune.draw.count,
                  "number of problems to draw from ranges and lists, instead of all")
      ->check(CLI::PositiveNumber);
  command.add_option("--seed", tune.draw.seed, "seed of the draw");
  command
      .add_option("--launcher", tune.launcher,
                  "command before the tuner: \"srun --gpus=1\"; {part} is the number of the part")
      ->allow_extra_args(false)
      ->delimiter(' ');
  command.add_option("--parts", tune.parts, "number of concurrent tuners, which share the work")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--quiet", line.is_quiet, "print no progress, only errors and warnings");
  list("--from", line.tuning_from, "earlier measurements, from tritonc tune or a tuner")
      ->type_name(input);
  add_warning_options(command, line);
}

void add_measurement_options(CLI::App &command, CommandLine &line) {
  command.add_option("--rounds", line.tune.rounds, "number of measurement rounds per variant")
      ->check(CLI::Range(1, 1000));
  command.add_flag("--cold", line.tune.is_cold, "time single launches, with cold caches");
}

void add_tool_options(CLI::App &command, CommandLine &line) {
  command.add_option("--ptxas", line.compile.tools.ptxas, "path of ptxas");
  command.add_option("--fatbinary", line.compile.tools.fatbinary, "path of fatbinary");
  command
      .add_option("--ptxas-option", line.compile.tools.ptxas_options,
                  "extra option for ptxas: --ptxas-option=-O2")
      ->allow_extra_args(false);
  command
      .add_option("--compress", line.compression,
                  "compression of compiled kernels: none, speed, balance (default) or size")
      ->check(CLI::IsMember({"none", "speed", "balance", "size"}));
  command.add_option("--min-driver", line.min_driver,
                     "oldest driver to support, as its CUDA version: 12.2");
  command.add_option("--timeout", line.timeout_seconds, "max time per run of a tool, in seconds")
      ->check(CLI::PositiveNumber);
}

void add_cache_options(CLI::App &command, CommandLine &line) {
  command.add_option("--cache-dir", line.cache_directory,
                     "directory of the cache for compiled code, or off; also $TRITONC_CACHE_DIR");
  command.add_option("--cache-limit", line.cache_limit,
                     "max size of the cache, such as 500M; also $TRITONC_CACHE_LIMIT");
}

void add_jobs_option(CLI::App &command, CommandLine &line) {
  command.add_option("--jobs,-j", line.compile.jobs, "number of concurrent jobs; 0 = one per core")
      ->check(CLI::Range(0, 4096));
}

void add_output_options(CLI::App &command, CommandLine &line) {
  command.add_option("--header", line.header, "write the C++ header")->type_name(output);
  command.add_option("--c-header", line.c_header, "write a header for C; requires --object")
      ->type_name(output);
  command
      .add_option("--tuning", line.compile.tuning,
                  "measurements of tritonc tune; launches choose variants by them")
      ->allow_extra_args(false)
      ->type_name(input);
  command
      .add_option("--registration", line.registration,
                  "write a source that registers the kernels with a tuner")
      ->type_name(output);
  command.add_option("--object", line.object, "write the object with the compiled kernels")
      ->type_name(output);
  command
      .add_option("--emulate", line.emulate,
                  "architectures of --arch for which the object also gets code for the emulator")
      ->allow_extra_args(false);
  command.add_option("--host-code", line.host_code, "write the --emulate code, a static library")
      ->type_name(output);
  command
      .add_option("--embed", line.embed, "where to put compiled kernels: object, header or bundle")
      ->check(CLI::IsMember({"object", "header", "bundle"}));
  command
      .add_option("--bundle", line.bundle,
                  "write the bundle of --embed bundle; programs load it at run time")
      ->type_name(output);
  command.add_option(
      "--target", line.target,
      "target triple of the object, such as aarch64-linux-gnu; default: this machine");
  command.add_option("--name", line.compile.name, "name of the library and its C++ namespace");
  command.add_option("--namespace", line.name_space, "C++ namespace; default: --name");
  command.add_option("--manifest", line.manifest, "write a JSON list of the compiled code")
      ->type_name(output);
  command
      .add_option("--require", line.compile.require,
                  "fail if any compiled code violates this: \"spills == 0\", \"regs <= 168\"")
      ->allow_extra_args(false);
  command.add_option(
      "--default-variant", line.compile.default_variant,
      "variant that a launch prefers: \"TM=128;TN=64\"; default: largest tiles without spills");
  command.add_option("--report", line.report, "write a table of registers, shared memory, spills")
      ->type_name(output);
  command.add_option("--depfile", line.depfile, "write the dependencies for the build system")
      ->type_name(output);
  command.add_option("--depfile-target", line.depfile_target,
                     "target of the depfile; default: the stamp");
  command.add_option("--stamp", line.stamp, "file to touch after all outputs are written")
      ->type_name(output);

  std::vector<std::string> names;
  for (const auto &[name, stage] : stages)
    names.push_back(name);
  command
      .add_option("--emit", line.emit, "print one stage of one variant: " + llvm::join(names, ", "))
      ->check(CLI::IsMember(names));
  command.add_option("--keep", line.keep, "also write these stages of all kernels: ptx,llvm,...")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->check(CLI::IsMember({"tile-ir", "llvm", "ptx", "cubin", "sass-stats"}));
  command.add_option("--keep-in", line.keep_folder, "directory for the files of --keep");
  command.add_option("-o", line.output, "output of --emit; - = standard output")->type_name(output);
  command.add_option("--print-after", line.compile.print_after,
                     "print the tile IR after this pass, or after all");
  command.add_flag("--verify-each", line.compile.verify_each, "verify the tile IR after each pass");
  command.add_flag("--explain", line.compile.explain,
                   "print the schedules of each variant, and why better schedules are missing");
  command.add_flag("--line-info", line.compile.line_info,
                   "add source lines to the code, for profilers");
  command.add_option("--shard", line.shard,
                     "compile only one part of the machine code: I/N, such as 0/4 to 3/4");
  command.add_option("--codes-to", line.codes_file, "output of --shard")->type_name(output);
  command
      .add_option("--codes", line.compile.code_files,
                  "machine code from --shard; do not compile it again")
      ->allow_extra_args(false)
      ->type_name(input);
  command.add_flag("--time-report", line.time_report, "print the time per step to standard error");
  command.add_flag("--werror", line.compile.warnings_are_errors,
                   "treat warnings about kernels as errors, with the exit code of --require");
  command.add_flag("--quiet", line.is_quiet, "print no progress, only errors and warnings");
  add_jobs_option(command, line);
}

} // namespace

std::string diagnostics_format_in(int count, char **arguments) {
  constexpr llvm::StringRef option = "--diagnostics-format";
  std::string format;
  for (int i = 1; i < count; i++) {
    llvm::StringRef argument = arguments[i];
    if (argument == option && i + 1 < count)
      format = arguments[i + 1];
    else if (argument.consume_front(option) && argument.consume_front("="))
      format = argument.str();
  }
  return format;
}

Result<std::optional<Command>> read_command_line(int count, char **arguments, CommandLine &line) {
  CLI::App app("Compiles Triton-C kernels for NVIDIA GPUs, ahead of time.", "tritonc");
  app.set_version_flag("--version", std::string(tool_name) + " (LLVM " LLVM_VERSION_STRING ")");
  app.require_subcommand(1);

  CLI::App *compile = app.add_subcommand("compile", "compile kernels into a C++ library");
  add_source_options(*compile, line);
  add_message_options(*compile, line);
  add_budget_options(*compile, line);
  add_output_options(*compile, line);
  add_tool_options(*compile, line);
  add_cache_options(*compile, line);
  CLI::App *plan = app.add_subcommand("plan", "list the variants to compile");
  add_source_options(*plan, line);
  add_message_options(*plan, line);
  add_budget_options(*plan, line);
  plan->add_flag("--json", line.as_json, "print JSON");
  CLI::App *report = app.add_subcommand("report", "write an HTML page about the compiled code");
  add_source_options(*report, line);
  add_message_options(*report, line);
  add_budget_options(*report, line);
  add_tool_options(*report, line);
  report->add_option("-o", line.output, "the HTML file; - = standard output")
      ->required()
      ->type_name(output);
  report->add_option("--tuning", line.compile.tuning, "measurements of tritonc tune, to plot")
      ->allow_extra_args(false)
      ->type_name(input);
  add_jobs_option(*report, line);
  CLI::App *doctor =
      app.add_subcommand("doctor", "check this machine, and print a fix for each problem");
  doctor->add_option("--launcher", line.launcher, "launcher to test, as in TritonC_LAUNCHER");
  add_tool_options(*doctor, line);
  add_cache_options(*doctor, line);
  CLI::App *cache = app.add_subcommand("cache", "show or shrink the cache");
  cache->require_subcommand(1);
  cache->fallthrough();
  add_cache_options(*cache, line);
  CLI::App *status = cache->add_subcommand("status", "print the size of the cache");
  CLI::App *clear = cache->add_subcommand("clear", "remove all entries");
  CLI::App *trim = cache->add_subcommand("trim", "remove the least recently used entries");

  auto add_file_options = [&](CLI::App &command) {
    command
        .add_option("FILES", line.inspected,
                    "objects, programs, headers with code, cubins, fatbinary images")
        ->required()
        ->type_name(input);
  };
  CLI::App *inspect = app.add_subcommand("inspect", "print the contents of written files");
  add_file_options(*inspect);
  inspect->add_flag("--json", line.as_json, "print JSON");
  CLI::App *verify = app.add_subcommand("verify", "check that code, launches and checksums match");
  add_file_options(*verify);
  verify->add_option("--manifest", line.expected_manifest, "manifest with the expected images")
      ->type_name(input);

  CLI::App *tune = app.add_subcommand("tune", "measure variants on a GPU, for the next build");
  add_tuner_options(*tune, line);
  add_measurement_options(*tune, line);
  tune->add_option("-o", line.output, "JSON file to update; entries of other problems stay")
      ->type_name(output);
  tune->add_flag("--anew", line.starts_anew, "overwrite the JSON file");
  tune->add_option("--plan-to", line.plan_file,
                   "measure nothing; write the plan for a tuner on another machine; see --from")
      ->type_name(output);
  CLI::App *bench =
      app.add_subcommand("bench", "compare the variant of a launch with the fastest variant");
  add_tuner_options(*bench, line);
  add_measurement_options(*bench, line);
  bench->add_flag("--json", line.as_json, "print JSON, with the times of all variants");
  CLI::App *check = app.add_subcommand("check", "check that all variants have the same results");
  add_tuner_options(*check, line);

  try {
    app.parse(count, arguments);
  } catch (const CLI::Success &success) { // --help, --version
    std::ostringstream text;
    app.exit(success, text, text);
    if (std::optional<Error> failure = write_files({{"-", text.str()}}))
      return *failure;
    return std::optional<Command>();
  } catch (const CLI::ParseError &error) {
    return Error{Message::usage, {std::string(error.what()) + "; see tritonc --help"}};
  }
  const std::pair<CLI::App *, Command> commands[] = {
      {compile, Command::compile},     {plan, Command::plan},         {report, Command::report},
      {doctor, Command::doctor},       {clear, Command::cache_clear}, {trim, Command::cache_trim},
      {status, Command::cache_status}, {inspect, Command::inspect},   {verify, Command::verify},
      {tune, Command::tune},           {bench, Command::bench},       {check, Command::check},
  };
  auto found = llvm::find_if(commands, [](const auto &entry) { return entry.first->parsed(); });
  return std::optional(found->second);
}

} // namespace tritonc
