// The front end's input, and the axes and kernels that a source declares.
//
// A variant chooses one value from each axis. The compiler compiles a source once per variant. The
// pragmas `#pragma tritonc variant(...)` and `tune(...)` declare axes. Each value of an axis
// defines one or more macros.

#pragma once

#include "diagnostics/diagnostics.h"

#include <string>
#include <vector>

namespace tritonc {

/// A macro of the command line (`-D`). The value may be any tokens.
struct Define {
  std::string name, value;
};

struct FrontEndInput {
  std::string path;
  std::vector<Define> defines;
  std::vector<std::string> include_dirs;
  std::string grid; // replaces the source's grid: "M / TM, N / TN"; empty = the source's
  DiagnosticOptions messages = {};
};

struct AxisValue {
  std::string name;            // "half", or "N"
  std::vector<Define> defines; // {TYPE=half}, or {USE_A=a, ...}
};

struct Axis {
  std::string name;
  bool tuned = false; // tune(...): the library chooses; false = variant(...): part of the API
  std::vector<AxisValue> values;
};

struct Declarations {
  std::vector<Axis> axes;
  std::vector<std::string> kernels;      // names as written in the source
  std::vector<std::string> dependencies; // every opened file
  std::vector<Diagnostic> diagnostics;
  std::string diagnostics_text; // all diagnostics, rendered
  bool failed = false;
};

/// Reads the axes and the kernel names of a source. It reports only errors in the axes and a source
/// file that it cannot read: macros that the variants define are still undefined here.
Declarations read_declarations(const FrontEndInput &input);

} // namespace tritonc
