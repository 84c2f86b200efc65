// Runs the whole front end in one call, from a source to tile IR.

#pragma once

#include "ir/ir.h"
#include "language/front_end.h"

#include <functional>
#include <string>
#include <vector>

namespace tritonc {

struct FrontEndResult {
  /// For GPUs, without `assert` and `print`. Empty if there are errors.
  std::vector<ir::Function> kernels;
  /// The same kernels with `assert` and `print`, for host code and for GPU code with checks.
  std::vector<ir::Function> checked;
  std::vector<std::string> dependencies;  // all opened files
  std::vector<std::string> unused_macros; // `-D` macros that the source does not use
  std::vector<Diagnostic> diagnostics;
  std::string diagnostics_text; // all diagnostics, rendered
  int errors = 0, warnings = 0;
};

/// Checks kernels that have no errors, and may report diagnostics.
using Linter = std::function<void(const FrontEndResult &kernels, DiagnosticEngine &diagnostics)>;

/// Preprocesses, parses, checks and translates every kernel of a source.
FrontEndResult translate_source(const FrontEndInput &input, const Linter &lint = {});

} // namespace tritonc
