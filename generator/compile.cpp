// All stages of a compilation, in order.
//
// A source is read once for its axes. From then on every variant is on its own: front end and
// translation once per variant; passes, lowering and the tool-chain once per variant and GPU, from
// a copy of the tile IR. Jobs run side by side, but nothing that comes out depends on their order:
// each has its own place for its result, and results are looked at when all are there.
//
// Tested by tests/compile/compile_test.cpp.

#include "compile.h"

#include "argument_hints.h"
#include "describe_library.h"
#include "emit/interface.h"
#include "explain.h"
#include "ir/printer.h"
#include "job_list.h"
#include "merged_messages.h"
#include "passes/pipeline.h"
#include "requirements.h"
#include "translated_variant.h"
#include "tuning_data.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tritonc {
namespace {

// All files that were kept, behind a list that says what they are.
void collect_kept(std::vector<KernelJob> &jobs, const std::vector<TranslatedVariant> &variants,
                  CompileResult &result) {
  llvm::json::Array index;
  for (KernelJob &job : jobs) {
    if (job.is_left_out)
      continue;
    for (KeptFile &file : job.kept) {
      index.push_back(llvm::json::Object{
          {"file", file.name},
          {"kernel", llvm::json::fixUTF8(job.function->name)},
          {"variant", llvm::json::fixUTF8(variants[job.variant].choice->text)},
          {"gpu", std::string(job.gpu->name)},
          {"hints", job.function->plan.hints},
          {"structure", job.structure.name.empty() ? "plain" : job.structure.name}});
      result.kept.push_back(std::move(file));
    }
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", llvm::json::Value(std::move(index)))
                                 << "\n";
  result.kept.push_back({"index.json", std::move(text)});
}

std::optional<Failure> check_options(const CompileOptions &options) {
  std::vector<std::string_view> passes = pass_names();
  if (!options.print_after.empty() && options.print_after != "all" &&
      !llvm::is_contained(passes, options.print_after))
    return Failure{Message::unknown_pass, {options.print_after, llvm::join(passes, ", ")}};
  for (const std::string &text : options.require)
    if (Result<Limit> limit = parse_limit(text); !limit)
      return limit.failure();
  if (Result<std::vector<ArgumentHints>> hints = parse_hints(options.specialize); !hints)
    return hints.failure();
  return std::nullopt;
}

// Whether the images keep to the caller's limits.
void check_limits(const CompileOptions &options, CompileResult &result) {
  std::vector<Limit> limits;
  for (const std::string &text : options.require)
    limits.push_back(*parse_limit(text)); // checked by check_options
  for (const Failure &failure : unmet(result.library, limits)) {
    result.add(finding(failure));
    result.code = exit_code_of(failure.id);
  }
}

// The cache, where the whole result comes from it or none: who looks at passes wants them to run,
// and the forms that are kept are none of its entries. Its keys don't have lines of the source.
// What shards read and write is said in their calls.
std::optional<KernelCache> open_cache(const CompileOptions &options,
                                      const std::optional<Toolchain> &tools, Findings &findings) {
  if (options.cache.directory.empty() || options.stage != Stage::library ||
      !options.print_after.empty() || options.verify_each || !options.keep.empty() ||
      options.shards || !options.code_files.empty() || options.details)
    return std::nullopt;
  Result<Cache> cache = Cache::open(options.cache);
  if (cache)
    return KernelCache::open(std::move(*cache), *tools);
  if (options.cache.is_asked_for)
    if (Finding found = finding(Message::cache_left_out, cache.failure().args);
        options.messages.wants(found))
      findings.add(std::move(found));
  return std::nullopt;
}

// Which structures there are, and why.
std::string explain_jobs(const std::vector<KernelJob> &jobs,
                         const std::vector<TranslatedVariant> &variants) {
  std::string text;
  std::set<std::string> said; // kernels are jobs once for each structure
  for (const KernelJob &job : jobs) {
    std::string variant = name_of(variants[job.variant], *job.function);
    std::string heading =
        " for " + std::string(job.gpu->name) + (variant.empty() ? "" : ", " + variant) + ":";
    if (said.insert(job.function->name + heading).second)
      text += explain(*job.function, *job.gpu, heading);
  }
  return text;
}

bool needs_tools(Stage stage) {
  return stage == Stage::cubin || stage == Stage::sass_stats || stage == Stage::library;
}

CompileResult failed(CompileResult result, const Failure &failure) {
  result.code = exit_code_of(failure.id);
  result.add(finding(failure));
  return result;
}

// The variants, for messages that several of them have.
std::vector<MergedMessages::Variant> names_of(const std::vector<TranslatedVariant> &variants) {
  std::vector<MergedMessages::Variant> names;
  for (const TranslatedVariant &variant : variants) {
    names.push_back({variant.choice->text, {}});
    for (size_t a = 0; a < variant.source->axes.size(); a++) {
      const Axis &axis = variant.source->axes[a];
      names.back().values.push_back(
          {axis.name, axis.values[size_t(variant.choice->values[a])].name});
    }
  }
  return names;
}

// Tells what variants have to say, and counts the warnings among it.
void tell(const MergedMessages &messages, const CompileOptions &options, CompileResult &result) {
  size_t before = result.findings.size();
  messages.tell(result);
  for (size_t i = before; i < result.findings.size(); i++) {
    result.warnings += result.findings[i].severity == Severity::warning;
    result.fatal_warnings += options.messages.is_error(result.findings[i]);
  }
}

// What the front end has to say about all variants.
MergedMessages front_end_messages(const CompileOptions &options,
                                  const std::vector<TranslatedVariant> &variants, ExitCode &code) {
  MergedMessages messages(names_of(variants), options.messages);
  for (size_t i = 0; i < variants.size(); i++) {
    const std::string &source = variants[i].source->path;
    messages.add_variant(source, i);
    for (const Finding &found : variants[i].front_end.findings)
      messages.add(found, source, i);
    if (variants[i].front_end.errors)
      code = ExitCode::source_error;
  }
  return messages;
}

// What the jobs have to say, in their order, and the code of the first that failed.
void report_jobs(const CompileOptions &options, const std::vector<KernelJob> &jobs,
                 const std::vector<TranslatedVariant> &variants, CompileResult &result) {
  auto draw_one = [&](const Remark &remark, const std::string &name, size_t variant) {
    const std::vector<ir::Function> &kernels = variants[variant].front_end.kernels;
    auto kernel = std::find_if(kernels.begin(), kernels.end(),
                               [&](const ir::Function &one) { return one.name == name; });
    return draw(remark, *kernel, front_end_input(options, variants[variant]));
  };
  MergedMessages messages(names_of(variants), options.messages, draw_one);
  for (const KernelJob &job : jobs) {
    const std::string &kernel = job.function->name;
    std::string gpu(job.gpu->name), name = name_of(variants[job.variant], *job.function);
    messages.add_variant(kernel, job.variant);
    for (const Remark &warning : job.warnings) {
      if (options.messages.wants(finding(warning.failure)))
        messages.add(warning, kernel, job.variant, gpu, name);
    }
    if (!job.failure)
      continue;
    ExitCode code = exit_code_of(job.failure->failure.id);
    if (code == ExitCode::environment) { // then it was the last, and says nothing about a variant
      result = failed(std::move(result), job.failure->failure);
      return;
    }
    messages.add(*job.failure, kernel, job.variant, gpu, name);
    if (result.code == ExitCode::ok)
      result.code = code;
  }
  tell(messages, options, result);
}

// Fails if there are warnings of which there shall be none.
bool stop_at_warnings(const CompileOptions &options, CompileResult &result) {
  int count = options.warnings_are_errors ? result.warnings : result.fatal_warnings;
  if (count == 0)
    return false;
  std::string because = "--werror";
  if (!options.warnings_are_errors)
    because = "-Werror=" + llvm::join(options.messages.errors, " -Werror=");
  result = failed(std::move(result), {Message::warned, {std::to_string(count), because}});
  return true;
}

void collect_dependencies(const Plan &plan, const std::vector<TranslatedVariant> &variants,
                          const std::optional<Toolchain> &tools, CompileResult &result) {
  if (tools)
    result.dependencies = {tools->ptxas, tools->fatbinary};
  result.dependencies.insert(result.dependencies.end(), plan.dependencies.begin(),
                             plan.dependencies.end());

  std::set<std::string> seen;
  for (const TranslatedVariant &variant : variants)
    for (const std::string &file : variant.front_end.dependencies)
      if (seen.insert(file).second)
        result.dependencies.push_back(file);
}

} // namespace

const char *const tool_name = "tritonc " TRITONC_VERSION;

CompileResult compile(const CompileOptions &options) {
  CompileResult result;
  if (std::optional<Failure> failure = check_options(options))
    return failed(std::move(result), *failure);

  // Without its tools a compilation cannot succeed, so their absence is said at once.
  std::optional<Toolchain> tools;
  if (needs_tools(options.stage)) {
    Result<Toolchain> found = find_toolchain(options.tools);
    if (!found)
      return failed(std::move(result), found.failure());
    tools = *found;
  }

  Plan plan = tritonc::plan(options);
  static_cast<Findings &>(result) = plan;
  result.code = plan.code;
  if (result.code != ExitCode::ok)
    return result;
  TuningData tuning;
  for (const std::string &path : options.tuning) {
    Result<TuningData> data = read_tuning_data(path);
    if (!data)
      return failed(std::move(result), data.failure());
    tuning.add(*data);
    plan.dependencies.push_back(path);
  }

  // From here on: every variant is known.

  std::vector<TranslatedVariant> variants = translate_variants(options, plan);
  collect_dependencies(plan, variants, tools, result);
  tell(front_end_messages(options, variants, result.code), options, result);
  if (result.code != ExitCode::ok)
    return result;
  if (std::optional<Failure> failure = check_kernels(options, plan, variants))
    return failed(std::move(result), *failure);
  Findings idle;
  find_unused_axes(variants, idle);
  if (std::optional<Failure> failure = add_kernels_under_hints(options, variants, idle))
    return failed(std::move(result), *failure);
  for (Finding &found : idle.findings)
    if (options.messages.wants(found)) {
      result.warnings++;
      result.fatal_warnings += options.messages.is_error(found);
      result.add(std::move(found));
    }
  if (stop_at_warnings(options, result))
    return result;

  // What C++ cannot express is said now, not after minutes of code generation.
  std::vector<Define> defaults;
  if (options.stage == Stage::library) {
    result.library = describe_library(options, variants);
    Library library = result.library;
    prune_axes(library);
    if (Result<Interface> interface = make_interface(library); !interface)
      return failed(std::move(result), interface.failure());
    Result<std::vector<Define>> values = default_values(options.default_variant, library);
    if (!values)
      return failed(std::move(result), values.failure());
    defaults = std::move(*values);
  }

  // From here on: every variant is valid tile IR. What goes wrong now is the GPU's limits, the
  // machine, or us.

  bool for_any_gpu = options.stage == Stage::tile_ir;
  std::optional<KernelCache> cache = open_cache(options, tools, result);
  Workshop workshop = {options, tools ? &*tools : nullptr, cache ? &*cache : nullptr};
  for (const std::string &path : options.code_files) {
    Result<std::vector<StoredCode>> codes = read_code_file(path);
    if (!codes)
      return failed(std::move(result), codes.failure());
    for (StoredCode &code : *codes)
      workshop.shared.add(std::move(code));
  }
  std::vector<KernelJob> jobs =
      make_jobs(workshop, variants, for_any_gpu ? std::vector<const Gpu *>{nullptr} : options.gpus);
  if (options.stage != Stage::library && jobs.size() != 1)
    return failed(std::move(result), {Message::one_variant_wanted, {std::to_string(jobs.size())}});
  if (for_any_gpu) {
    result.stage_output = ir::print(*jobs[0].function);
    return result;
  }

  if (options.explain)
    result.printed += explain_jobs(jobs, variants);
  run_jobs(workshop, variants, jobs, result.times);
  for (const TranslatedVariant &variant : variants)
    result.times.add(variant.times);
  for (const KernelJob &job : jobs) {
    result.times.add(job.times);
    result.printed += job.printed;
  }
  report_jobs(options, jobs, variants, result);
  if (result.code != ExitCode::ok || stop_at_warnings(options, result))
    return result;

  // From here on: everything has succeeded.

  if (options.shards) {
    result.codes = workshop.shared.codes();
    return result;
  }
  if (options.stage != Stage::library) {
    result.stage_output = std::move(jobs[0].stage_output);
    return result;
  }
  if (!options.keep.empty())
    collect_kept(jobs, variants, result);
  add_images(jobs, variants, defaults, result.library);
  prune_axes(result.library);
  for (const Failure &warning : attach(tuning, result.library))
    if (Finding found = finding(warning); options.messages.wants(found))
      result.add(std::move(found));
  check_limits(options, result);
  return result;
}

PlannedKernels plan_kernels(const CompileOptions &options) {
  PlannedKernels result;
  auto fail = [&](const Failure &failure) {
    result.code = exit_code_of(failure.id);
    result.add(finding(failure));
    return std::move(result);
  };
  Plan plan = tritonc::plan(options);
  result.code = plan.code;
  static_cast<Findings &>(result) = plan;
  if (result.code != ExitCode::ok)
    return result;
  std::vector<TranslatedVariant> variants = translate_variants(options, plan);
  front_end_messages(options, variants, result.code).tell(result);
  if (result.code != ExitCode::ok)
    return result;
  if (std::optional<Failure> failure = check_kernels(options, plan, variants))
    return fail(*failure);
  if (std::optional<Failure> failure = add_kernels_under_hints(options, variants, result))
    return fail(*failure);

  const Workshop workshop = {options, nullptr, nullptr};
  for (const KernelJob &job : make_jobs(workshop, variants, options.gpus)) {
    const TranslatedVariant &variant = variants[job.variant];
    PlannedKernel kernel = {.source = variant.source->path,
                            .variant = variant.choice->text,
                            .kernel = job.function->name,
                            .gpu = std::string(job.gpu->name),
                            .hints = job.function->plan.hints,
                            .structures = {}};
    bool is_same = !result.kernels.empty() && result.kernels.back().source == kernel.source &&
                   result.kernels.back().variant == kernel.variant &&
                   result.kernels.back().kernel == kernel.kernel &&
                   result.kernels.back().gpu == kernel.gpu &&
                   result.kernels.back().hints == kernel.hints;
    if (!is_same)
      result.kernels.push_back(std::move(kernel));
    result.kernels.back().structures.push_back(job.structure.name);
  }
  return result;
}

} // namespace tritonc
