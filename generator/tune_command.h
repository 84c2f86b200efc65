// `tritonc tune`, `tritonc bench` and `tritonc check`: measurements by a runner, which is a program
// of triton_add_tuner().
//
// What is to be measured is settled here, and what comes out is read here, so that the runner needs
// no more than a GPU and its driver. It may run elsewhere: behind a launcher, which is a command
// such as `srun --gpus=1`, also in several parts at once; or by hand, with a plan that is carried
// there and what it says that is carried back.
#pragma once

#include "problems.h"
#include "progress.h"
#include "tuning_data.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct TuneOptions {
  std::string runner;
  std::vector<std::string> problems;      // as parse_problems reads them
  std::vector<std::string> problem_files; // JSON
  std::vector<std::string> kernels;       // only these; empty: all
  std::vector<std::string> types;         // only kernels that have these: "TYPE=half"
  Draw draw;
  int rounds = 0; // 0: as the runner likes
  bool is_cold = false;
  std::vector<std::string> launcher; // words; {part} is the number of the part
  int parts = 1;
  Progress *progress = nullptr;
};

/// What a runner said of a problem.
struct RunnerReport {
  TuningEntry entry;
  std::string choice; // the variant that a launch takes by itself; empty: none
  struct Difference {
    std::string variant, factor;
  };
  std::vector<Difference> differences;
};

Result<std::vector<RunnerKernel>> describe_runner(const TuneOptions &options);

/// The lines of the plan, each a problem.
Result<std::vector<std::string>> plan_tuning(const TuneOptions &options);

struct RunnerReports {
  std::vector<RunnerReport> reports; // of the problems that were done
  std::optional<Failure> failure;    // why others may not be
};

/// What the runner says of all problems; `what` is measure or check.
RunnerReports run_runner(const TuneOptions &options, const std::string &what,
                         const std::vector<std::string> &plan);

/// The same of text that a runner wrote.
Result<std::vector<RunnerReport>> read_reports(const std::string &from, const std::string &text);

/// Whether all variants agree: a failure for each that does not.
std::vector<Failure> differences_of(const std::vector<RunnerReport> &reports);

/// For people: of each problem what the launch's choice costs beside the best variant.
std::string bench_table(const std::vector<RunnerReport> &reports);

/// The same for programs, with all times. Each problem is as tuning data have it (tuning_data.h),
/// and has besides: `choice` and `best`, the variant that a launch takes and the fastest; `slower`,
/// how much longer the former takes, 1 where they are the same; `differ`, whose results are others.
std::string bench_json(const std::vector<RunnerReport> &reports);

} // namespace tritonc
