// The command line of the tool: its options and their meaning.
//
// command_options.cpp parses the options as texts. command_line.cpp then converts the texts to GPUs
// and sizes, and checks which options go together.
#pragma once

#include "compile.h"
#include "tune/run_tuner.h"

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
  std::vector<std::string> defines; // as written: NAME or NAME=VALUE
  std::vector<std::string> architectures;
  std::vector<std::string> ptx;     // architectures, or auto
  std::vector<std::string> emulate; // subset of `architectures`
  std::string name_space;
  std::string embed;
  std::string header, c_header, registration, object, bundle, host_code, manifest, report, depfile,
      stamp;
  std::string target;         // triple of the object
  std::string depfile_target; // target name in the depfile; empty = the main output
  std::string keep_folder;
  std::string shard;             // "0/4"
  std::string codes_file;        // output file of the shard
  std::vector<std::string> keep; // names of stages
  bool time_report = false, is_quiet = false;
  std::vector<std::string> warnings; // as written: NAME, no-NAME, error, error=NAME
  std::string diagnostics_format, diagnostics_file;
  std::string cache_directory, cache_limit; // as written
  TuneOptions tune;
  std::vector<std::string> tuning_from; // earlier measurements: JSON or tuner output
  std::string plan_file;
  bool starts_anew = false;
  std::string launcher;
  std::vector<std::string> inspected;
  std::string expected_manifest; // input of `tritonc verify`
  bool as_json = false;
  std::string emit, output;
  std::string min_driver, compression; // as written
  int timeout_seconds = 120;
  Budget budget;
  std::string memory_limit; // as written
};

/// The stages and their names in --emit and --keep.
extern const std::vector<std::pair<std::string, Stage>> stages;

/// The last --diagnostics-format in the arguments, before they are parsed; empty = none. The tool
/// needs it to report parse errors in the right format.
std::string diagnostics_format_in(int count, char **arguments);

/// Parses the arguments into `line` and returns the command. For --help and --version, prints the
/// text and returns nullopt.
Result<std::optional<Command>> read_command_line(int count, char **arguments, CommandLine &line);

std::optional<Error> usage(const std::string &text);

/// Handles -W like C compilers; the last option for a name wins.
std::optional<Error> choose_warnings(CommandLine &line);

/// Converts the texts in `line` to options.
std::optional<Error> complete(CommandLine &line);

/// Returns an error if the options do not go together.
std::optional<Error> check_instantiation(const CommandLine &line);

/// Returns an error if an output is not writable, or if two outputs or an output and an input are
/// the same file.
std::optional<Error> check_outputs(const CommandLine &line);

/// Returns an error if an output is one of the files that the command has read. For included files,
/// which check_outputs cannot know. Also protects them from the file of --diagnostics-to.
std::optional<Error> check_inputs_survive(const CommandLine &line,
                                          const std::vector<std::string> &inputs);

/// Whether the file of --diagnostics-to is neither an input nor another output.
bool has_own_file(const CommandLine &line);

} // namespace tritonc
