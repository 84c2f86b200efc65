// `tritonc doctor`: reports what this machine has for builds, what is missing, and how to fix it.
#pragma once

#include "compile.h"

#include <string>

namespace tritonc {

struct CommandLine;

struct DoctorOptions {
  ToolchainOptions tools;
  std::string cache_directory, cache_limit; // as written
  std::string launcher;                     // value of TritonC_LAUNCHER; empty = none
};

struct Diagnosis {
  ExitCode code = ExitCode::ok; // environment = cannot compile here
  std::string text;
};

/// Tests what a build needs: compiles a kernel for every GPU and stores an entry in the cache.
Diagnosis examine_machine(const DoctorOptions &options);

ExitCode run_doctor(CommandLine &line);

} // namespace tritonc
