// One kernel of one variant for one GPU, in one structure: the pipeline, the lowering and the tools
// make an image of it, or the form that the caller wants to look at.
#pragma once

#include "compile.h"
#include "machine_code.h"
#include "remark.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct KernelJob {
  size_t variant; // index of its TranslatedVariant
  const ir::Function *function;
  const ir::Function *checked; // the same with `assert` and `print`, if that has not
  const Gpu *gpu;
  Structure structure;

  std::string kept_as;         // the key of all structures together, in the cache; empty: not kept
  MachineCode *code = nullptr; // if it was made; its image, only when all jobs are done
  bool is_done = false;        // it was in the cache
  bool is_left_out = false;    // there is a better structure
  std::optional<Remark> failure;
  std::vector<Remark> warnings;
  std::string printed, stage_output;
  std::vector<KeptFile> kept;
  Image image;
  StepTimes times = {};
};

/// Runs the job. What becomes of it is in it; the image's bytes, in `code`, are missing until that
/// is packed. `heading` says in what is printed what it is about: " for sm_90a, TM=64".
void run_kernel_job(Workshop &workshop, const std::string &heading, KernelJob &job);

/// A source's path as outputs have it: where it is does not matter to anyone who reads them, and
/// must not change them.
std::string shown_path(const std::string &path);

} // namespace tritonc
