// The options of all commands, and what they do in a line each. See command_line.h.
//
// Tested by tests/compile/command_line_test.cpp.

#include "command_line.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"

#include <CLI/CLI.hpp>

namespace tritonc {
namespace {

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
  CLI::App *status = cache->add_subcommand("status", "how much there is");
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

  try {
    app.parse(count, arguments);
  } catch (const CLI::Success &success) { // --help, --version
    app.exit(success);
    return std::optional<Command>();
  } catch (const CLI::ParseError &error) {
    return Failure{Message::usage, {std::string(error.what()) + "; see tritonc --help"}};
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
