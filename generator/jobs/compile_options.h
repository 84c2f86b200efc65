// CompileOptions: all options of one compilation.
#pragma once

#include "backend/toolchain.h"
#include "jobs/cache.h"
#include "support/progress.h"
#include "variants/variant_plan.h"

#include <string>
#include <vector>

namespace tritonc {

/// The output of a compilation: the library, or one intermediate stage of one kernel.
enum class Stage { tile_ir, llvm, ptx, host_llvm, cubin, sass_stats, library };

struct CompileOptions {
  std::vector<std::string> sources;
  std::vector<Define> defines; // a macro with the name of an axis fixes the value of that axis
  std::vector<std::string> include_dirs;
  std::string grid; // replaces the source's grid: "M / TM, N / TN"
  /// Restricts or adds axes, globally or for one kernel or GPU: "TM=32,64;[matmul]TYPE=half".
  std::string variants;
  std::string variant_file;         // path of a JSON list of variants (variant_file.h)
  std::vector<std::string> where;   // all must hold (variant_condition.h): "TM * TN <= 16384"
  std::vector<std::string> kernels; // compile only these; empty = all
  /// Assumptions about arguments (specialization.h), such as "lda % 8 && ldb % 8". Each adds
  /// specialized code to a library; a launch tries the code in this order. For another stage, the
  /// compiler generates only the code of the first matching specialization.
  std::vector<std::string> specialize;
  /// The axis values that a launch prefers: "TM=128;TN=64". Empty = see preferences.h.
  std::string default_variant;
  std::vector<Stage> keep;          // stages to write for every kernel of a library
  std::vector<std::string> require; // limits for all images (limits.h): "spills == 0"
  std::vector<std::string> tuning;  // JSON files (tuning_data.h); later measurements win
  std::vector<const Gpu *> gpus;
  std::vector<const Gpu *> emulate; // subset of `gpus` that also gets host code
  ToolchainOptions tools;
  CacheOptions cache;           // only for libraries; other stages do not use the cache
  std::string name;             // library name, a C++ namespace; empty = from the first source
  Stage stage = Stage::library; // any other stage requires exactly one kernel job
  std::string print_after;      // a pass, or "all"
  bool explain = false;         // adds the explanation of the schedules to `printed`
  bool details = false;         // collects ImageDetails for tritonc report
  bool line_info = false;       // emits source lines for profilers
  bool checks = false;          // GPU code contains `assert` and `print`
  DiagnosticOptions messages;   // the wanted messages
  Watchdog *watchdog = nullptr; // limits time and memory; null = no limits
  bool warnings_are_errors = false;
  bool verify_each = false; // verifies the IR after each pass; always on in debug builds
  int jobs = 0;             // parallel jobs; 0 = one per core
  /// With shards > 0, generates only machine code, and only part `shard` of `shards`.
  int shard = 0, shards = 0;
  std::vector<std::string> code_files; // shard files; their code is not compiled again
  Progress *progress = nullptr;        // only for libraries; null = no progress

  /// The part that decides which variants there are.
  VariantRules rules() const {
    return {.sources = sources,
            .defines = defines,
            .include_dirs = include_dirs,
            .grid = grid,
            .variants = variants,
            .variant_file = variant_file,
            .where = where,
            .kernels = kernels,
            .gpus = gpus,
            .messages = messages,
            .watchdog = watchdog};
  }
};

} // namespace tritonc
