// Compiles sources into a library: all stages, in memory. What the command line, tests and other
// tools call. The files are written by the caller, once everything has succeeded.
#pragma once

#include "backend/toolchain.h"
#include "cache.h"
#include "code_file.h"
#include "emit/library.h"
#include "language/front_end.h"
#include "progress.h"
#include "source/exit_code.h"
#include "target/gpu.h"
#include "time_report.h"
#include "watchdog.h"

#include <functional>
#include <string>
#include <vector>

namespace tritonc {

extern const char *const tool_name; // "tritonc 0.1.0"

/// A form that a kernel passes through and that can be looked at.
enum class Stage { tile_ir, llvm, ptx, host_llvm, cubin, sass_stats, library };

struct CompileOptions {
  std::vector<std::string> sources;
  std::vector<Define> defines; // one that names an axis restricts it to that value
  std::vector<std::string> include_dirs;
  std::string grid; // replaces the source's: "M / TM, N / TN"
  /// Restricts or adds axes, for all or for one kernel or GPU: "TM=32,64;[matmul]TYPE=half".
  std::string variants;
  std::string variant_file;         // JSON: the variants there shall be (variant_file.h)
  std::vector<std::string> where;   // all must hold (variant_condition.h): "TM * TN <= 16384"
  std::vector<std::string> kernels; // only these; empty: all
  /// Hints about arguments (argument_hints.h), "lda % 8 && ldb % 8": for each there is code
  /// besides, which is tried in this order. To look at a stage, there is only the code under the
  /// first.
  std::vector<std::string> specialize;
  /// What a launch prefers, "TM=128;TN=64": axes and their values. Empty: see `preferences`.
  std::string default_variant;
  std::vector<Stage> keep;          // of a library: forms of every kernel that are wanted besides
  std::vector<std::string> require; // what all images must keep to (requirements.h): "spills == 0"
  std::vector<std::string> tuning;  // JSON of measurements (tuning_data.h); later ones count
  std::vector<const Gpu *> gpus;
  std::vector<const Gpu *> emulate; // of these: for which there shall be host code too
  ToolchainOptions tools;
  CacheOptions cache;           // of libraries; other stages are compiled each time
  std::string name;             // of the library: a C++ namespace; empty: as the first source
  Stage stage = Stage::library; // anything else: that form of the one kernel there must be
  std::string print_after;      // a pass, or "all"
  bool explain = false;         // which structures there are, and why, into `printed`
  bool details = false;         // of each image, for tritonc report
  bool line_info = false;       // the code says which lines it comes from, for profilers
  bool checks = false;          // code for GPUs has `assert` and `print`, too
  DiagnosticOptions messages;   // which there are
  Watchdog *watchdog = nullptr; // what limits time and memory; null: nothing
  bool warnings_are_errors = false;
  bool verify_each = false; // the IR after each pass; always done in debug builds
  int jobs = 0;             // 0: one per core
  /// Of a library, only machine code, and of that one part of `shards`; none: all of it.
  int shard = 0, shards = 0;
  std::vector<std::string> code_files; // of shards: what is in them is not compiled again
  Progress *progress = nullptr;        // of libraries; nobody waits: null
};

/// A form of one kernel, of those that were to be kept.
struct KeptFile {
  std::string name, content; // "scale-0123456789ab.ptx"
};

/// What is said is merged over variants.
struct CompileResult : Findings {
  ExitCode code = ExitCode::ok;
  int warnings = 0;                      // about kernels
  int fatal_warnings = 0;                // of these, that there shall be none of
  std::string printed;                   // what --print-after asked for
  Library library;                       // complete where the stage is library and the code is ok
  std::string stage_output;              // of another stage
  std::vector<StoredCode> codes;         // of a shard
  std::vector<KeptFile> kept;            // and an index of them, "index.json"
  std::vector<std::string> dependencies; // every file that the result depends on
  StepTimes times;                       // of all variants and GPUs
};

CompileResult compile(const CompileOptions &options);

/// One choice of a value from each axis of a source.
struct VariantChoice {
  std::vector<int> values;     // one per axis: an index into its values
  std::vector<Define> defines; // the options' and the values'
  std::string text;            // "TYPE=half TM=64"; empty where there are no axes
};

/// A choice that no kernel has, and what excludes it: a condition or an option.
struct LeftOut {
  std::string text, because;
};

/// A source and what of it is to be compiled.
struct SourcePlan {
  std::string path;
  std::vector<Axis> axes;
  std::vector<std::string> kernels; // as the source spells them
  std::vector<VariantChoice> choices;
  std::vector<LeftOut> left_out;
  /// Whether the kernel has the variant for the GPU; null stands for any GPU.
  std::function<bool(const VariantChoice &, const std::string &kernel, const Gpu *)> wants;
};

struct Plan : Findings {
  ExitCode code = ExitCode::ok;
  std::vector<SourcePlan> sources;
  std::vector<std::string> unseen_kernels; // options name them; no source has them as they are
  std::vector<std::string> dependencies;   // besides the sources
};

/// The variants that `compile` would compile.
Plan plan(const CompileOptions &options);

/// A kernel of a variant that would be compiled for a GPU.
struct PlannedKernel {
  std::string source, variant, kernel, gpu;
  std::string hints;                   // that it is compiled under
  std::vector<std::string> structures; // how often it is compiled; "" is the plain one
};

struct PlannedKernels : Findings {
  ExitCode code = ExitCode::ok;
  std::vector<PlannedKernel> kernels;
};

/// What there is to compile, up to where compiling becomes expensive.
PlannedKernels plan_kernels(const CompileOptions &options);

/// The order in which the runtime tries variants of a kernel, as numbers: lower is tried first.
/// Those that have the values of `defaults` come before all others, if the kernel has one of these
/// axes. Those without spills come before those with; then those with larger tiles (the product of
/// the tuned integers), since every element that is loaded is then used more often; then in the
/// order of the source. What is compiled under hints goes with the general code of its values. The
/// runtime goes on to smaller tiles by itself where the grid would be too small.
std::vector<int> preferences(const std::vector<Axis> &axes, const std::vector<Variant> &variants,
                             const std::vector<Define> &defaults = {});

/// The axes and values of a default variant; nothing for an empty text. Fails if no variant of the
/// library has them.
Result<std::vector<Define>> default_values(const std::string &text, const Library &library);

/// Which exit code the failure means.
ExitCode exit_code_of(Message id);

} // namespace tritonc
