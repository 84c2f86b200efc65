// Measures kernels with a tuner, a program that triton_add_tuner() builds.
//
// The tool makes the plan and reads the results, so the tuner needs only a GPU and its driver. The
// tuner may run on another machine:
//   - through a launcher, a command such as `srun --gpus=1`, also in several parallel parts;
//   - manually: copy the plan to that machine, and copy the tuner's output back.
#pragma once

#include "support/progress.h"
#include "tune/problem_sizes.h"
#include "tune/tuning_data.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct TuneOptions {
  std::string tuner;
  std::vector<std::string> problems;      // input of parse_problems
  std::vector<std::string> problem_files; // paths of JSON files
  std::vector<std::string> kernels;       // measure only these; empty = all
  std::vector<std::string> types;         // only kernels with these types: "TYPE=half"
  Draw draw;
  int rounds = 0; // 0 = the tuner's default
  bool is_cold = false;
  std::vector<std::string> launcher; // words of the command; {part} becomes the part number
  int parts = 1;
  Progress *progress = nullptr;
};

/// The tuner's results for one problem.
struct TunerReport {
  TuningEntry entry;
  std::string choice; // the variant that a launch chooses by default; empty = none
  struct Difference {
    std::string variant, factor;
  };
  std::vector<Difference> differences;
  bool is_accepted = false;         // some variant accepts the problem
  std::vector<std::string> reasons; // why variants refuse the problem, each once
};

Result<std::vector<TunerKernel>> describe_tuner(const TuneOptions &options);

/// The lines of the plan, one problem per line.
Result<std::vector<std::string>> plan_tuning(const TuneOptions &options);

struct TunerReports {
  std::vector<TunerReport> reports; // results of the finished problems
  std::optional<Error> failure;     // why problems may be missing
};

/// Runs the tuner on all problems; `what` is "measure" or "check".
TunerReports run_tuner(const TuneOptions &options, const std::string &what,
                       const std::vector<std::string> &plan);

/// Parses the output text of a tuner.
Result<std::vector<TunerReport>> read_reports(const std::string &from, const std::string &text);

/// Removes the problems that no variant accepts. Returns a warning for each of them.
std::vector<Error> take_refused(std::vector<TunerReport> &reports);

/// Returns one failure per variant whose results differ.
std::vector<Error> differences_of(const std::vector<TunerReport> &reports);

/// A table: per problem, how much slower the launch's choice is than the best variant.
std::string bench_table(const std::vector<TunerReport> &reports);

/// The same as JSON, with all times. Each problem has the members of tuning data (tuning_data.h)
/// and:
///   - `choice` and `best`: the variant that a launch chooses, and the fastest variant;
///   - `slower`: the time of `choice` divided by the time of `best`;
///   - `differ`: the variants whose results differ.
std::string bench_json(const std::vector<TunerReport> &reports);

} // namespace tritonc
