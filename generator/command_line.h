// The command line of the tool: what can be given, and what it means.
//
// Reading it (command_options.cpp) and making sense of it (command_line.cpp) are two steps: the
// first takes texts as they are, the second knows GPUs, sizes and which options go together.
#pragma once

#include "compile.h"
#include "tune_command.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tritonc {

enum class Command {
  compile,
  plan,
  report,
  doctor,
  cache_status,
  cache_clear,
  cache_trim,
  inspect,
  verify,
  tune,
  bench,
  check,
};

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

/// Stages of a compilation by the names that --emit and --keep have for them.
extern const std::vector<std::pair<std::string, Stage>> stages;

/// The format of messages that is asked for, as far as that can be said of arguments that may be
/// wrong: the last one. Empty: none.
std::string diagnostics_format_in(int count, char **arguments);

/// What is asked for, with all that was given in `line`; nothing if help was, which is then
/// printed.
Result<std::optional<Command>> read_command_line(int count, char **arguments, CommandLine &line);

std::optional<Failure> usage(const std::string &text);

/// What the texts of the command line mean.
std::optional<Failure> complete(CommandLine &line);

/// Whether the options make sense together.
std::optional<Failure> check_combination(const CommandLine &line);

/// Whether all outputs can be written, and none of them twice or over an input.
std::optional<Failure> check_outputs(const CommandLine &line);

/// Whether --diagnostics-to names a file that is nothing else.
bool has_own_file(const CommandLine &line);

} // namespace tritonc
