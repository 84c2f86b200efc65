// Decides which variants to compile: the axes of the sources, restricted and extended by rules,
// files and conditions.
#pragma once

#include "diagnostics/diagnostics.h"
#include "diagnostics/exit_code.h"
#include "language/front_end.h"
#include "language/variant_values.h"
#include "support/watchdog.h"
#include "target/gpu.h"

#include <functional>
#include <string>
#include <vector>

namespace tritonc {

/// The sources, and the options that select their variants.
struct VariantRules {
  std::vector<std::string> sources;
  std::vector<Define> defines; // a macro with the name of an axis fixes the value of that axis
  std::vector<std::string> include_dirs;
  std::string grid; // replaces the source's grid: "M / TM, N / TN"
  /// Restricts or adds axes, globally or for one kernel or GPU: "TM=32,64;[matmul]TYPE=half".
  std::string variants;
  std::string variant_file;         // path of a JSON list of variants (variant_file.h)
  std::vector<std::string> where;   // all must hold (variant_condition.h): "TM * TN <= 16384"
  std::vector<std::string> kernels; // compile only these; empty = all
  std::vector<const Gpu *> gpus;
  DiagnosticOptions messages;   // which messages to report
  Watchdog *watchdog = nullptr; // limits time and memory; null = no limit
};

/// One choice of a value from each axis of a source.
struct VariantChoice {
  VariantValues values;        // one per axis
  std::vector<Define> defines; // macros of the options and of the values
  std::string text;            // "TYPE=half TM=64"; empty if the source has no axes
};

/// A choice that no kernel uses, and the condition or option that excludes it.
struct LeftOut {
  std::string text, because;
};

/// A source, and which of its kernels and variants to compile.
struct SourcePlan {
  std::string path;
  std::vector<Axis> axes;
  std::vector<std::string> kernels; // names as written in the source
  std::vector<VariantChoice> choices;
  std::vector<LeftOut> left_out;
  /// Whether to compile this variant of the kernel for the GPU; null = any GPU.
  std::function<bool(const VariantChoice &, const std::string &kernel, const Gpu *)> wants;
};

struct Plan : DiagnosticList {
  ExitCode code = ExitCode::ok;
  std::vector<SourcePlan> sources;
  std::vector<std::string> unseen_kernels; // named by options but not found literally in a source
  std::vector<std::string> dependencies;   // in addition to the sources
};

/// Determines the variants that `compile` compiles.
Plan plan(const VariantRules &rules);

} // namespace tritonc
