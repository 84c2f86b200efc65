// A kernel job compiles one kernel of one variant for one GPU with one schedule: passes, lowering
// and tools produce an image or the requested stage.
#pragma once

#include "diagnose/remark.h"
#include "jobs/compile_options.h"
#include "jobs/kernel_cache.h"
#include "jobs/shared_code.h"
#include "schedule/candidate.h"
#include "support/time_report.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// A stage of one kernel that --keep writes to a file.
struct KeptFile {
  std::string name, content; // "scale-0123456789ab.ptx"
};

struct KernelJob {
  size_t variant; // index of its TranslatedVariant
  const ir::Function *function;
  const ir::Function *checked; // the same function, always with `assert` and `print`
  const Gpu *gpu;
  Candidate candidate; // the schedule and its launch cost

  std::string kept_as;         // cache key of all schedules of the kernel; empty = no cache
  MachineCode *code = nullptr; // has its image only after all jobs are done; null = none
  bool is_done = false;        // the result comes from the cache
  SkipReason skip_reason = SkipReason::none;
  int64_t skip_bytes = 0; // the shared memory that it needs, or the bytes that a thread spills
  std::optional<Remark> failure;
  std::vector<Remark> warnings;
  std::string printed, stage_output;
  std::vector<KeptFile> kept;
  Image image;
  StepTimes times = {};

  bool is_too_large() const { return failure && failure->failure.id == Message::shared_too_large; }
  bool is_skipped() const { return skip_reason != SkipReason::none; }
};

/// Runs the job and stores the result in it. The image's bytes are missing until pack() runs for
/// `code`. `heading` describes the job in printed text: " for sm_90a, TM=64".
void run_kernel_job(CompileSession &session, const std::string &heading, KernelJob &job);

/// A source's path for outputs: drops absolute and `..` directories, so that the location of the
/// source does not change the outputs.
std::string shown_path(const std::string &path);

} // namespace tritonc
