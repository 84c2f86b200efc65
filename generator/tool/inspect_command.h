// `tritonc inspect` shows the contents of output files; `tritonc verify` checks their consistency.
#pragma once

#include "diagnostics/exit_code.h"
#include "support/result.h"

#include <string>
#include <vector>

namespace tritonc {

struct CommandLine;

/// The contents of the files as tables or as JSON. Accepts objects, static libraries, programs,
/// self-contained headers, bundles, cubins and fatbinary images.
Result<std::string> inspect(const std::vector<std::string> &paths, bool as_json);

struct Verification {
  std::vector<Error> problems;
  size_t images = 0; // number of checked images
};

/// Checks for every image:
///   - the image is undamaged;
///   - GPU and kernel match the descriptor;
///   - the kernel's parameters match the arguments of a launch.
/// Checks that all data that a launch reads is undamaged; in an object, also what a linker reads.
/// With a manifest, files and manifest must have the same images.
Verification verify(const std::vector<std::string> &paths, const std::string &manifest);

ExitCode run_inspect(const CommandLine &line);
ExitCode run_verify(const CommandLine &line);

} // namespace tritonc
