// From a source to tile IR: the whole front end in one call.

#pragma once

#include "ir/ir.h"
#include "language/front_end.h"

#include <functional>
#include <string>
#include <vector>

namespace tritonc {

struct FrontEndResult {
  /// For GPUs: `assert` and `print` are left out, as if they had not been written. None if there
  /// are errors.
  std::vector<ir::Function> kernels;
  /// The same kernels with `assert` and `print`, for code that runs on a host, or shall have them.
  std::vector<ir::Function> checked;
  std::vector<std::string> dependencies;  // every file opened
  std::vector<std::string> unused_macros; // of the host's, those that nothing looked at
  std::vector<Finding> findings;          // what there is to say
  std::string diagnostics;                // the same for people
  int errors = 0, warnings = 0;
};

/// Looks at kernels without an error, and may say something about them.
using Adviser = std::function<void(const FrontEndResult &kernels, Diagnostics &diagnostics)>;

/// Preprocesses, parses, checks and translates every kernel of a source.
FrontEndResult translate_source(const FrontEndInput &input, const Adviser &advise = {});

} // namespace tritonc
