// The front end's plain data: what it is given, and the variants that a source declares.
//
// A source is compiled once per variant: once per choice of a value from each axis. An axis comes
// from `#pragma tritonc variant(...)` or `tune(...)`; each of its values stands for some macros.

#pragma once

#include "source/diagnostics.h"

#include <string>
#include <vector>

namespace tritonc {

/// A macro as the host defines it; the value may be any tokens.
struct Define {
  std::string name, value;
};

struct FrontEndInput {
  std::string path;
  std::vector<Define> defines;
  std::vector<std::string> include_dirs;
  std::string grid; // if not empty, replaces the source's: "M / TM, N / TN"
  DiagnosticOptions messages = {};
};

struct AxisValue {
  std::string name;            // "half", or "N"
  std::vector<Define> defines; // {TYPE=half}, or {USE_A=a, ...}
};

struct Axis {
  std::string name;
  bool tuned = false; // tune(...): the library chooses; else variant(...): part of the API
  std::vector<AxisValue> values;
};

struct Declarations {
  std::vector<Axis> axes;
  std::vector<std::string> kernels;      // their names as the source has them
  std::vector<std::string> dependencies; // every file opened
  std::vector<Finding> findings;
  std::string diagnostics; // the same for people
  bool failed = false;
};

/// Reads the axes that a source declares, and which kernels there are. Macros that variants will
/// define may be missing, so all other mistakes in the source stay unreported here.
Declarations read_declarations(const FrontEndInput &input);

} // namespace tritonc
