// Compiles sources into a library in memory, through all stages. The command line, tests and other
// tools call compile(); the caller writes the files after everything has succeeded.
#pragma once

#include "emit/library.h"
#include "jobs/compile_options.h"
#include "jobs/kernel_job.h"
#include "jobs/shard_file.h"
#include "support/time_report.h"

#include <string>
#include <vector>

namespace tritonc {

/// The result of a compilation. Its messages are merged over all variants.
struct CompileResult : DiagnosticList {
  ExitCode code = ExitCode::ok;
  int warnings = 0;                      // number of warnings about kernels
  int promoted_warnings = 0;             // number of these warnings under -Werror=NAME
  std::string printed;                   // output of --print-after and --explain
  Library library;                       // complete if the stage is library and `code` is ok
  std::string stage_output;              // output of any other stage
  std::vector<StoredCode> codes;         // machine code of a shard
  std::vector<KeptFile> kept;            // files of --keep, with their index "index.json"
  std::vector<std::string> dependencies; // every file that the result depends on
  StepTimes times;                       // sum over all variants and GPUs
};

CompileResult compile(const CompileOptions &options);

/// The error that `count` warnings count as errors. Names the option that makes them errors.
Error warnings_as_errors(int count, const CompileOptions &options);

/// A kernel of a variant that would be compiled for a GPU.
struct PlannedKernel {
  std::string source, variant, kernel, gpu;
  std::string specialization;         // empty = the general code
  std::vector<std::string> schedules; // formatted by text_of
};

struct PlannedKernels : DiagnosticList {
  ExitCode code = ExitCode::ok;
  std::vector<PlannedKernel> kernels;
  std::vector<std::string> dependencies; // every file that the result depends on
};

/// Lists the kernels to compile. Runs only the cheap stages, up to the choice of schedules.
PlannedKernels plan_kernels(const CompileOptions &options);

} // namespace tritonc
