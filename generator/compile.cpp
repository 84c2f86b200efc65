// Runs all stages of a compilation in order. See compile.h.
//
// The compiler reads each source once for its axes. The front end runs once per variant. Passes,
// lowering and toolchain run once per variant, GPU and schedule, on a copy of the tile IR. Jobs run
// in parallel, but the result does not depend on their order: each job has its own result object,
// and the compiler reads the results after all jobs.
//
// Tested by tests/end_to_end/compile/compile_test.cpp.

#include "compile.h"
#include "jobs/preferences.h"

#include "diagnose/deduplicate_diagnostics.h"
#include "diagnose/explain.h"
#include "emit/interface.h"
#include "ir/printer.h"
#include "jobs/collect_library.h"
#include "jobs/job_list.h"
#include "jobs/left_out.h"
#include "jobs/limits.h"
#include "jobs/translated_variant.h"
#include "passes/pipeline.h"
#include "tune/tuning_data.h"
#include "variants/specialization.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

namespace tritonc {
namespace {

// Collects the files of --keep and adds an index of these files.
void collect_kept(std::vector<KernelJob> &jobs, const std::vector<TranslatedVariant> &variants,
                  CompileResult &result) {
  llvm::json::Array index;
  for (KernelJob &job : jobs) {
    if (job.is_skipped())
      continue;
    for (KeptFile &file : job.kept) {
      index.push_back(
          llvm::json::Object{{"file", file.name},
                             {"kernel", llvm::json::fixUTF8(job.function->name)},
                             {"variant", llvm::json::fixUTF8(variants[job.variant].choice->text)},
                             {"gpu", std::string(job.gpu->name)},
                             {"specialization", job.function->plan.specialization},
                             {"schedule", text_of(job.candidate.schedule)}});
      result.kept.push_back(std::move(file));
    }
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", llvm::json::Value(std::move(index)))
                                 << "\n";
  result.kept.push_back({"index.json", std::move(text)});
}

std::optional<Error> check_options(const CompileOptions &options) {
  std::vector<std::string_view> passes = pass_names();
  if (!options.print_after.empty() && options.print_after != "all" &&
      !llvm::is_contained(passes, options.print_after))
    return Error{Message::unknown_pass, {options.print_after, llvm::join(passes, ", ")}};
  for (const std::string &text : options.require)
    if (Result<Limit> limit = parse_limit(text); !limit)
      return limit.error();
  if (Result<std::vector<Specialization>> specialization =
          parse_specializations(options.specialize);
      !specialization)
    return specialization.error();
  return std::nullopt;
}

// Checks the images against the limits of --require.
void check_limits(const CompileOptions &options, CompileResult &result) {
  std::vector<Limit> limits;
  for (const std::string &text : options.require)
    limits.push_back(*parse_limit(text)); // checked by check_options
  for (const Error &failure : unmet(result.library, limits)) {
    result.add(diagnostic(failure));
    result.code = exit_code_of(failure.id);
  }
}

// Opens the cache; returns nullopt if this compilation must not use it. Options that show or verify
// passes need the passes to run. The cache has no entries for kept stages and details. Shards
// exchange code through files.
std::optional<KernelCache> open_cache(const CompileOptions &options,
                                      const std::optional<Toolchain> &tools,
                                      DiagnosticList &diagnostics) {
  if (options.cache.directory.empty() || options.stage != Stage::library ||
      !options.print_after.empty() || options.verify_each || !options.keep.empty() ||
      options.shards || !options.code_files.empty() || options.details)
    return std::nullopt;
  Result<Cache> cache = Cache::open(options.cache);
  if (cache)
    return KernelCache::open(std::move(*cache), *tools);
  if (options.cache.is_asked_for)
    if (Diagnostic found = diagnostic(Message::cache_left_out, cache.error().args);
        options.messages.wants(found))
      diagnostics.add(std::move(found));
  return std::nullopt;
}

// Explains the schedules of all kernels.
std::string explain_jobs(const std::vector<KernelJob> &jobs,
                         const std::vector<TranslatedVariant> &variants) {
  std::string text;
  std::set<std::string> said; // a kernel has one job per schedule
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

CompileResult failed(CompileResult result, const Error &failure) {
  result.code = exit_code_of(failure.id);
  result.add(diagnostic(failure));
  return result;
}

// The names and axis values of the variants, for merged messages.
std::vector<MergedMessages::Variant> names_of(const std::vector<TranslatedVariant> &variants) {
  std::vector<MergedMessages::Variant> names;
  for (const TranslatedVariant &variant : variants) {
    names.push_back({variant.choice->text, {}});
    for (size_t a = 0; a < variant.source->axes.size(); a++) {
      const std::vector<Axis> &axes = variant.source->axes;
      names.back().values.push_back({axes[a].name, variant.choice->values.value(axes, a).name});
    }
  }
  return names;
}

// Adds the merged messages to the result and counts the warnings.
void add_merged(const MergedMessages &messages, const CompileOptions &options,
                CompileResult &result) {
  size_t before = result.diagnostics.size();
  messages.append_to(result);
  for (size_t i = before; i < result.diagnostics.size(); i++) {
    result.warnings += result.diagnostics[i].severity == Severity::warning;
    result.promoted_warnings += options.messages.is_error(result.diagnostics[i]);
  }
}

// Merges the front end's messages about all variants.
MergedMessages front_end_messages(const CompileOptions &options,
                                  const std::vector<TranslatedVariant> &variants, ExitCode &code) {
  MergedMessages messages(names_of(variants), options.messages);
  for (size_t i = 0; i < variants.size(); i++) {
    const std::string &source = variants[i].source->path;
    messages.add_variant(source, i);
    for (const Diagnostic &found : variants[i].front_end.diagnostics)
      messages.add(found, source, i);
    if (variants[i].front_end.errors)
      code = ExitCode::source_error;
  }
  return messages;
}

// Reports the messages of all jobs in order, and sets the exit code of the first failed job.
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
      if (options.messages.wants(diagnostic(warning.failure)))
        messages.add(warning, kernel, job.variant, gpu, name);
    }
    if (!job.failure)
      continue;
    ExitCode code = exit_code_of(job.failure->failure.id);
    if (code == ExitCode::environment) { // concerns no variant; later jobs did not run
      result = failed(std::move(result), job.failure->failure);
      return;
    }
    messages.add(*job.failure, kernel, job.variant, gpu, name);
    if (result.code == ExitCode::ok)
      result.code = code;
  }
  add_merged(messages, options, result);
}

// Fails if the compilation has warnings that count as errors. Returns whether it failed.
bool stop_at_warnings(const CompileOptions &options, CompileResult &result) {
  int count = options.warnings_are_errors ? result.warnings : result.promoted_warnings;
  if (count == 0)
    return false;
  result = failed(std::move(result), warnings_as_errors(count, options));
  return true;
}

std::vector<std::string> dependencies_of(const Plan &plan,
                                         const std::vector<TranslatedVariant> &variants,
                                         const std::optional<Toolchain> &tools) {
  std::vector<std::string> dependencies;
  if (tools)
    dependencies = {tools->ptxas, tools->fatbinary};
  llvm::append_range(dependencies, plan.dependencies);
  std::set<std::string> seen;
  for (const TranslatedVariant &variant : variants)
    for (const std::string &file : variant.front_end.dependencies)
      if (seen.insert(file).second)
        dependencies.push_back(file);
  return dependencies;
}

// One compilation: what one stage leaves for the next. A stage returns whether there is more to do;
// else `result` is complete.
struct Compilation {
  const CompileOptions &options;
  CompileResult result = {};

  std::optional<Toolchain> tools = {};
  Plan plan = {};
  TuningData tuning = {};
  std::vector<TranslatedVariant> variants = {};
  std::vector<Define> defaults = {}; // the values that a launch prefers
  std::optional<KernelCache> cache = {};
  std::unique_ptr<CompileSession> session = {};
  std::vector<KernelJob> jobs = {};

  bool stop_with(const Error &error) {
    result = failed(std::move(result), error);
    return false;
  }

  // The options make sense, and the tools and files that they need are there.
  bool prepare() {
    if (std::optional<Error> error = check_options(options))
      return stop_with(*error);
    if (needs_tools(options.stage)) {
      Result<Toolchain> found = find_toolchain(options.tools);
      if (!found)
        return stop_with(found.error());
      tools = *found;
    }
    for (const std::string &path : options.tuning) {
      Result<TuningData> data = read_tuning_data(path);
      if (!data)
        return stop_with(data.error());
      tuning.add(*data);
    }
    return true;
  }

  // Which variants there are. From here on: every variant is known.
  bool plan_variants() {
    plan = tritonc::plan(options.rules());
    for (Diagnostic &found : plan.diagnostics)
      result.add(std::move(found));
    result.code = plan.code;
    plan.dependencies.insert(plan.dependencies.end(), options.tuning.begin(), options.tuning.end());
    return result.code == ExitCode::ok;
  }

  // Source text to tile IR.
  bool run_front_end() {
    variants = translate_variants(options, plan);
    result.dependencies = dependencies_of(plan, variants, tools);
    add_merged(front_end_messages(options, variants, result.code), options, result);
    if (result.code != ExitCode::ok)
      return false;
    if (std::optional<Error> error = check_kernels(options, plan, variants))
      return stop_with(*error);
    return true;
  }

  // Adds the kernels of --specialize. From here on: every variant is valid tile IR. Remaining
  // errors are GPU limits, machine problems and internal errors.
  bool specialize() {
    DiagnosticList warnings;
    find_unused_axes(variants, warnings);
    if (std::optional<Error> error = add_specialized_kernels(options, variants, warnings))
      return stop_with(*error);
    for (Diagnostic &found : warnings.diagnostics)
      if (options.messages.wants(found)) {
        result.warnings++;
        result.promoted_warnings += options.messages.is_error(found);
        result.add(std::move(found));
      }
    return !stop_at_warnings(options, result);
  }

  // The C++ interface. It reports names that C++ cannot express before the expensive stages.
  bool plan_interface() {
    if (options.stage != Stage::library)
      return true;
    result.library = describe_library(options, variants);
    Library library = result.library;
    prune_axes(library);
    if (Result<Interface> interface = make_interface(library); !interface)
      return stop_with(interface.error());
    Result<std::vector<Define>> values = default_values(options.default_variant, library);
    if (!values)
      return stop_with(values.error());
    defaults = std::move(*values);
    return true;
  }

  // A job for each kernel of each variant for each GPU in each schedule. What the cache and the
  // shards have is done already.
  bool choose_schedules() {
    cache = open_cache(options, tools, result);
    session.reset(
        new CompileSession{options, tools ? &*tools : nullptr, cache ? &*cache : nullptr});
    for (const std::string &path : options.code_files) {
      Result<std::vector<StoredCode>> codes = read_shard_file(path);
      if (!codes)
        return stop_with(codes.error());
      for (StoredCode &code : *codes)
        session->shared.add(std::move(code));
    }
    bool for_any_gpu = options.stage == Stage::tile_ir;
    jobs = make_jobs(*session, variants,
                     for_any_gpu ? std::vector<const Gpu *>{nullptr} : options.gpus);
    for (const TranslatedVariant &variant : variants)
      result.times.add(variant.times);
    if (options.stage != Stage::library && jobs.size() != 1)
      return stop_with({Message::one_variant_wanted, {std::to_string(jobs.size())}});
    if (for_any_gpu) {
      result.stage_output = ir::print(*jobs[0].function);
      return false;
    }
    if (options.explain)
      result.printed += explain_jobs(jobs, variants);
    return true;
  }

  // Each job in parallel: passes, lowering, LLVM, ptxas (jobs/kernel_job.cpp).
  bool generate_code() {
    run_jobs(*session, variants, jobs, result.times);
    for (const KernelJob &job : jobs) {
      result.times.add(job.times);
      result.printed += job.printed;
    }
    leave_out_variants(jobs, variants);
    if (options.explain)
      result.printed += explain_left_out(jobs, variants);
    if (options.messages.wants(diagnostic(Message::fallback_schedule)))
      add_fallback_warnings(jobs);
    report_jobs(options, jobs, variants, result);
    warn_of_full_cache();
    return result.code == ExitCode::ok && !stop_at_warnings(options, result);
  }

  void warn_of_full_cache() {
    std::optional<std::string> reason = cache ? cache->cache().put_failure() : std::nullopt;
    if (!reason)
      return;
    Diagnostic found =
        diagnostic(Message::cache_not_written, {cache->cache().options().directory, *reason});
    if (options.messages.wants(found))
      result.add(std::move(found));
  }

  // What the caller asked for: a stage, a shard, or the library, of which `emit/` writes files.
  bool collect() {
    if (options.shards) {
      result.codes = session->shared.codes();
      return true;
    }
    if (options.stage != Stage::library) {
      result.stage_output = std::move(jobs[0].stage_output);
      return true;
    }
    if (!options.keep.empty())
      collect_kept(jobs, variants, result);
    add_images(jobs, variants, defaults, result.library);
    prune_axes(result.library);
    std::set<std::string> kernels;
    for (const TranslatedVariant &variant : variants)
      for (const ir::Function &kernel : variant.front_end.kernels)
        kernels.insert(kernel.name);
    std::vector<Error> warnings = find_unknown_kernels(tuning, kernels);
    llvm::append_range(warnings, attach(tuning, result.library));
    for (const Error &warning : warnings)
      if (Diagnostic found = diagnostic(warning); options.messages.wants(found))
        result.add(std::move(found));
    check_limits(options, result);
    return true;
  }
};

} // namespace

CompileResult compile(const CompileOptions &options) {
  Compilation c = {options};
  c.prepare()               // options, ptxas and fatbinary
      && c.plan_variants()  // which variants of which kernels
      && c.run_front_end()  // source text to tile IR
      && c.specialize()     // more kernels, under assumptions about arguments
      && c.plan_interface() // the C++ that a program will see
      && c.choose_schedules() &&
      c.generate_code() // passes, lower, back end: see jobs/kernel_job.cpp
      && c.collect();
  return std::move(c.result);
}

PlannedKernels plan_kernels(const CompileOptions &options) {
  PlannedKernels result;
  auto fail = [&](const Error &failure) {
    result.code = exit_code_of(failure.id);
    result.add(diagnostic(failure));
    return std::move(result);
  };
  Plan plan = tritonc::plan(options.rules());
  result.code = plan.code;
  static_cast<DiagnosticList &>(result) = plan;
  if (result.code != ExitCode::ok)
    return result;
  std::vector<TranslatedVariant> variants = translate_variants(options, plan);
  result.dependencies = dependencies_of(plan, variants, std::nullopt);
  front_end_messages(options, variants, result.code).append_to(result);
  if (result.code != ExitCode::ok)
    return result;
  if (std::optional<Error> failure = check_kernels(options, plan, variants))
    return fail(*failure);
  if (std::optional<Error> failure = add_specialized_kernels(options, variants, result))
    return fail(*failure);

  const CompileSession session = {options, nullptr, nullptr};
  for (const KernelJob &job : make_jobs(session, variants, options.gpus)) {
    const TranslatedVariant &variant = variants[job.variant];
    PlannedKernel kernel = {.source = variant.source->path,
                            .variant = variant.choice->text,
                            .kernel = job.function->name,
                            .gpu = std::string(job.gpu->name),
                            .specialization = job.function->plan.specialization,
                            .schedules = {}};
    bool is_same = !result.kernels.empty() && result.kernels.back().source == kernel.source &&
                   result.kernels.back().variant == kernel.variant &&
                   result.kernels.back().kernel == kernel.kernel &&
                   result.kernels.back().gpu == kernel.gpu &&
                   result.kernels.back().specialization == kernel.specialization;
    if (!is_same)
      result.kernels.push_back(std::move(kernel));
    result.kernels.back().schedules.push_back(text_of(job.candidate.schedule));
  }
  return result;
}

Error warnings_as_errors(int count, const CompileOptions &options) {
  std::string option = options.warnings_are_errors
                           ? "-Werror"
                           : "-Werror=" + llvm::join(options.messages.errors, " -Werror=");
  return {Message::warned, {std::to_string(count), option}};
}

} // namespace tritonc
