// `tritonc doctor`: what is found on this machine, what is missing, and what mends it.
#pragma once

#include "compile.h"

#include <string>

namespace tritonc {

struct DoctorOptions {
  ToolchainOptions tools;
  std::string cache_directory, cache_limit; // as given
  std::string launcher;                     // of TritonC_LAUNCHER; empty: none
};

struct Diagnosis {
  ExitCode code = ExitCode::ok; // environment: nothing can be compiled here
  std::string text;
};

/// Tries what a build needs rather than believing that it is there: a kernel is compiled for every
/// GPU, and an entry is put into the cache.
Diagnosis examine_machine(const DoctorOptions &options);

} // namespace tritonc
