// All stages of a compilation, in order.
//
// A source is read once for its axes. From then on every variant is on its own: front end and
// translation once per variant; passes, lowering and the tool-chain once per variant and GPU, from
// a copy of the tile IR. Jobs run side by side, but nothing that comes out depends on their order:
// each has its own place for its result, and results are looked at when all are there.
//
// Tested by tests/compile/compile_test.cpp.

#include "compile.h"

#include "advice.h"
#include "analysis/null_pointers.h"
#include "argument_hints.h"
#include "emit/interface.h"
#include "explain.h"
#include "ir/checks.h"
#include "ir/printer.h"
#include "kernel_cache.h"
#include "kernel_job.h"
#include "machine_code.h"
#include "merged_messages.h"
#include "passes/pipeline.h"
#include "requirements.h"
#include "translate/translate.h"
#include "tuning_data.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

namespace tritonc {
namespace {

// --- Jobs ----------------------------------------------------------------------------------------

// Calls job(0) to job(count - 1), several at a time, in no order.
template <typename Job> void run_jobs(size_t count, int threads, const Job &job) {
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < count;)
      job(i);
  };
  size_t cores = threads > 0 ? size_t(threads) : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min(cores, count); i++)
    others.emplace_back(work);
  work();
  for (std::thread &thread : others)
    thread.join();
}

// A variant after the front end.
struct TranslatedVariant {
  const SourcePlan *source;
  const VariantChoice *choice;
  FrontEndResult front_end;
  StepTimes times = {};
};

// Whether the kernel shall be compiled in this variant: for one of the GPUs, if there are any.
bool is_wanted(const TranslatedVariant &variant, const ir::Function &function,
               const std::vector<const Gpu *> &gpus) {
  auto wants = [&](const Gpu *gpu) {
    return variant.source->wants(*variant.choice, function.name, gpu);
  };
  return gpus.empty() ? wants(nullptr) : std::any_of(gpus.begin(), gpus.end(), wants);
}

// "TM=64, TN=64, under lda % 8": of a variant, and of what is compiled under hints.
std::string name_of(const TranslatedVariant &variant, const ir::Function &function) {
  std::string name = variant.choice->text;
  if (!function.plan.hints.empty())
    name += (name.empty() ? "under " : ", under ") + function.plan.hints;
  return name;
}

// --- The library ---------------------------------------------------------------------------------

std::vector<Parameter> parameters_of(const ir::Function &function) {
  std::vector<Parameter> parameters;
  const std::vector<bool> nullable = may_be_null(function);
  for (const ir::Parameter &parameter : function.parameters) {
    const ir::Type &type = parameter.value->type;
    parameters.push_back({.name = parameter.name,
                          .element = ir::name_of(type.elem),
                          .is_pointer = type.is_pointer(),
                          .is_signed = parameter.is_signed,
                          .read_only = parameter.read_only,
                          .write_only = parameter.write_only,
                          .nullable = nullable[parameters.size()],
                          .multiple_of = parameter.multiple_of,
                          .aligned_bytes = parameter.aligned_bytes});
  }
  return parameters;
}

std::vector<Constant> constants_of(const ir::Function &function) {
  std::vector<Constant> constants;
  for (const ir::ConstantMemory &part : function.constant_memory)
    constants.push_back({.name = part.name,
                         .element = ir::name_of(part.elem),
                         .is_signed = part.is_signed,
                         .count = part.count,
                         .offset = part.offset,
                         .bytes = part.bytes()});
  return constants;
}

KernelEntry &kernel_named(Library &library, const std::string &name,
                          const std::vector<Axis> &axes) {
  for (KernelEntry &kernel : library.kernels)
    if (kernel.name == name)
      return kernel;
  library.kernels.push_back({name, axes, {}});
  return library.kernels.back();
}

// All that is known before the back end runs: everything but images and preferences.
Library describe_library(const CompileOptions &options,
                         const std::vector<TranslatedVariant> &variants) {
  Library library = {.name = options.name, .tool = tool_name};
  if (library.name.empty())
    library.name = std::filesystem::path(options.sources[0]).stem().string();
  std::vector<std::string> paths;
  for (const std::string &source : options.sources)
    paths.push_back(shown_path(source));
  library.source_file = llvm::join(paths, ", ");
  for (const TranslatedVariant &variant : variants)
    for (const ir::Function &function : variant.front_end.kernels)
      if (is_wanted(variant, function, options.gpus))
        kernel_named(library, function.name, variant.source->axes)
            .variants.push_back({.values = variant.choice->values,
                                 .entry = function.name,
                                 .defines = variant.choice->defines,
                                 .plan = function.plan,
                                 .parameters = parameters_of(function),
                                 .constants = constants_of(function)});
  return library;
}

// Takes the values away that none of a kernel's variants has: they are other kernels'.
void prune_axes(Library &library) {
  for (KernelEntry &kernel : library.kernels)
    for (size_t a = 0; a < kernel.axes.size(); a++) {
      Axis &axis = kernel.axes[a];
      std::vector<AxisValue> used;
      std::vector<int> place(axis.values.size(), -1);
      for (size_t value = 0; value < axis.values.size(); value++) {
        bool is_used =
            std::any_of(kernel.variants.begin(), kernel.variants.end(),
                        [&](const Variant &variant) { return variant.values[a] == int(value); });
        if (!is_used)
          continue;
        place[value] = int(used.size());
        used.push_back(axis.values[value]);
      }
      axis.values = std::move(used);
      for (Variant &variant : kernel.variants)
        variant.values[a] = place[size_t(variant.values[a])];
    }
}

// Whether two launches that share the work are both there: neither is of use alone.
bool is_complete(const std::vector<KernelJob> &jobs, size_t i) {
  const Structure &structure = jobs[i].structure;
  return !jobs[i].is_left_out && (!structure.is_first() || !jobs[i + 1].is_left_out) &&
         (!structure.is_second() || !jobs[i - 1].is_left_out);
}

// Jobs run through variants and their kernels in the order of describe_library.
void add_images(std::vector<KernelJob> &jobs, const std::vector<TranslatedVariant> &variants,
                const std::vector<Define> &defaults, Library &library) {
  for (size_t i = 0; i < jobs.size(); i++) {
    if (!is_complete(jobs, i))
      continue;
    KernelJob &job = jobs[i];
    const TranslatedVariant &variant = variants[job.variant];
    for (Variant &entry : kernel_named(library, job.function->name, variant.source->axes).variants)
      if (entry.values == variant.choice->values && entry.plan.hints == job.function->plan.hints)
        entry.images.push_back(std::move(job.image));
  }
  for (KernelEntry &kernel : library.kernels) {
    std::vector<int> order = preferences(kernel.axes, kernel.variants, defaults);
    for (size_t i = 0; i < order.size(); i++)
      kernel.variants[i].preference = order[i];
  }
}

// Two files of one library must not have a kernel of one name.
std::optional<Failure> find_kernel_twice(const std::vector<TranslatedVariant> &variants,
                                         const std::vector<const Gpu *> &gpus) {
  std::map<std::string, const SourcePlan *> owners;
  for (const TranslatedVariant &variant : variants)
    for (const ir::Function &kernel : variant.front_end.kernels) {
      if (!is_wanted(variant, kernel, gpus))
        continue;
      const SourcePlan *owner = owners.try_emplace(kernel.name, variant.source).first->second;
      if (owner != variant.source)
        return Failure{Message::kernel_twice,
                       {kernel.name, shown_path(owner->path), shown_path(variant.source->path)}};
    }
  return std::nullopt;
}

// Every kernel that options name must be there, and one that is there must have a variant.
std::optional<Failure> check_kernels(const CompileOptions &options, const Plan &plan,
                                     const std::vector<TranslatedVariant> &variants) {
  std::map<std::string, bool> has_variant;
  for (const TranslatedVariant &variant : variants)
    for (const ir::Function &kernel : variant.front_end.kernels)
      has_variant[kernel.name] |= is_wanted(variant, kernel, options.gpus);
  std::vector<std::string> names;
  for (const auto &[name, has] : has_variant)
    names.push_back(name);
  for (const std::string &name : plan.unseen_kernels)
    if (!has_variant.count(name))
      return Failure{Message::unknown_kernel, {name, llvm::join(names, ", ")}};
  for (const auto &[name, has] : has_variant)
    if (!has && (options.kernels.empty() || llvm::is_contained(options.kernels, name)))
      return Failure{Message::kernel_left_out, {name}};
  return std::nullopt;
}

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

// --- The stages ----------------------------------------------------------------------------------

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

FrontEndInput front_end_input(const CompileOptions &options, const TranslatedVariant &variant) {
  return {.path = variant.source->path,
          .defines = variant.choice->defines,
          .include_dirs = options.include_dirs,
          .grid = options.grid,
          .messages = options.messages};
}

std::vector<TranslatedVariant> translate_variants(const CompileOptions &options, const Plan &plan) {
  std::vector<TranslatedVariant> variants;
  for (const SourcePlan &source : plan.sources)
    for (const VariantChoice &choice : source.choices)
      variants.push_back({&source, &choice, {}});
  run_jobs(variants.size(), options.jobs, [&](size_t i) {
    TranslatedVariant &variant = variants[i];
    Watchdog::Task task(options.watchdog, "`" + variant.source->path + "`");
    variant.front_end = variant.times.measure(Step::front_end, [&] {
      return translate_source(front_end_input(options, variant),
                              [](const FrontEndResult &result, Diagnostics &diagnostics) {
                                for (const ir::Function &kernel : result.kernels)
                                  advise(kernel, diagnostics);
                              });
    });
    FrontEndResult &front_end = variant.front_end;
    if (options.checks)
      for (size_t i = 0; i < front_end.kernels.size(); i++)
        front_end.kernels[i] = ir::clone(front_end.checked[i]);
  });
  return variants;
}

// The kernels of one variant with those under hints, in front of each general one; with
// `only_hinted` the first in its place. `is_used` says of each of the hints whether anything was
// compiled under it, `is_known` whether there was a kernel for it.
std::optional<Failure> add_hinted(std::vector<ir::Function> &functions,
                                  const std::vector<ArgumentHints> &all, bool only_hinted,
                                  const std::function<bool(const ir::Function &)> &is_wanted,
                                  std::vector<bool> &is_known, std::vector<bool> &is_used) {
  std::vector<ir::Function> result;
  for (ir::Function &general : functions) {
    bool has_hinted = false;
    for (size_t i = 0; i < all.size() && is_wanted(general); i++) {
      if (!all[i].is_about(general))
        continue;
      is_known[i] = true;
      if (all[i].text().empty() || has_others(general, all[i], all)) { // as the caller wants it
        is_used[i] = true;
        continue;
      }
      if (std::optional<Failure> failure = all[i].problem_with(general))
        return failure;
      std::optional<ir::Function> hinted = all[i].apply_to(general);
      if (!hinted)
        continue;
      has_hinted = is_used[i] = true;
      result.push_back(std::move(*hinted));
      if (only_hinted)
        break;
    }
    if (!only_hinted || !has_hinted)
      result.push_back(std::move(general));
  }
  functions = std::move(result);
  return std::nullopt;
}

// Adds what is to be compiled under hints to the kernels of all variants.
std::optional<Failure> specialize(const CompileOptions &options,
                                  std::vector<TranslatedVariant> &variants, Findings &findings) {
  if (options.specialize.empty())
    return std::nullopt;
  Result<std::vector<ArgumentHints>> all = parse_hints(options.specialize);
  if (!all)
    return all.failure();
  std::vector<bool> is_known(all->size()), is_used(all->size());
  for (TranslatedVariant &variant : variants)
    for (std::vector<ir::Function> *functions :
         {&variant.front_end.kernels, &variant.front_end.checked})
      if (std::optional<Failure> failure = add_hinted(
              *functions, *all, options.stage != Stage::library,
              [&](const ir::Function &kernel) { return is_wanted(variant, kernel, options.gpus); },
              is_known, is_used))
        return failure;
  std::vector<const ir::Function *> kernels;
  for (const TranslatedVariant &variant : variants)
    for (const ir::Function &kernel : variant.front_end.kernels)
      if (is_wanted(variant, kernel, options.gpus))
        kernels.push_back(&kernel);
  for (size_t i = 0; i < all->size(); i++) {
    if (!is_known[i])
      return (*all)[i].unknown_to(kernels);
    if (!is_used[i])
      findings.add(finding(Message::hint_idle, {(*all)[i].text()}));
  }
  return std::nullopt;
}

// A library has every kernel in all structures; to look at, there is the best one.
std::vector<Structure> structures_wanted(const ir::Function &function, const Gpu *gpu,
                                         Stage stage) {
  if (!gpu)
    return {{}};
  std::vector<Structure> structures = structures_for_code(function, *gpu);
  if (stage != Stage::library)
    structures.resize(1);
  return structures;
}

// What the jobs of a kernel of a variant for a GPU are kept as in the cache.
std::string key_of(const KernelCache &cache, const CompileOptions &options,
                   const TranslatedVariant &variant, size_t kernel, const Gpu &gpu) {
  const ir::Function &function = variant.front_end.kernels[kernel];
  bool has_host_code = llvm::is_contained(options.emulate, &gpu);
  // What an assertion says has the line where it stands.
  bool has_places = options.line_info || ir::has_checks(function);
  std::string places = has_places ? "in the code too\n" : "";
  if (has_host_code || has_places)
    places +=
        KernelCache::places(has_host_code ? options.name + "\n" + name_of(variant, function) : "",
                            shown_path(function.file), variant.front_end.checked[kernel]);
  return cache.key_of(function, gpu, places);
}

// The job that a form in the cache came from.
KernelJob done_job(CompiledForm form, const KernelJob &like) {
  KernelJob job = like;
  job.structure = {.share = form.share, .name = std::move(form.structure)};
  job.is_done = true;
  job.is_left_out = form.is_left_out;
  job.warnings = std::move(form.warnings);
  job.image = std::move(form.image);
  return job;
}

// Those of a kernel of a variant for a GPU, or for none.
std::vector<KernelJob> jobs_of_kernel(const Workshop &workshop, TranslatedVariant &variant,
                                      size_t index, size_t kernel, const Gpu *gpu) {
  KernelJob job = {.variant = index,
                   .function = &variant.front_end.kernels[kernel],
                   .checked = &variant.front_end.checked[kernel],
                   .gpu = gpu};
  std::vector<KernelJob> jobs;
  if (workshop.cache) {
    auto forms = variant.times.measure(Step::cache, [&] {
      job.kept_as = key_of(*workshop.cache, workshop.options, variant, kernel, *gpu);
      return workshop.cache->find(job.kept_as);
    });
    for (CompiledForm &form : forms.value_or(std::vector<CompiledForm>()))
      jobs.push_back(done_job(std::move(form), job));
    if (forms)
      return jobs;
  }
  std::vector<Structure> structures = variant.times.measure(Step::structures, [&] {
    return structures_wanted(*job.function, gpu, workshop.options.stage);
  });
  for (Structure &structure : structures) {
    jobs.push_back(job);
    jobs.back().structure = std::move(structure);
  }
  return jobs;
}

std::vector<KernelJob> make_jobs(const Workshop &workshop, std::vector<TranslatedVariant> &variants,
                                 const std::vector<const Gpu *> &gpus) {
  std::vector<std::vector<KernelJob>> of_variants(variants.size());
  run_jobs(variants.size(), workshop.options.jobs, [&](size_t i) {
    for (size_t k = 0; k < variants[i].front_end.kernels.size(); k++)
      for (const Gpu *gpu : gpus)
        if (variants[i].source->wants(*variants[i].choice, variants[i].front_end.kernels[k].name,
                                      gpu))
          for (KernelJob &job : jobs_of_kernel(workshop, variants[i], i, k, gpu))
            of_variants[i].push_back(std::move(job));
  });
  std::vector<KernelJob> jobs;
  for (std::vector<KernelJob> &found : of_variants)
    std::move(found.begin(), found.end(), std::back_inserter(jobs));
  return jobs;
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

// The end of the jobs, from `begin` on, of the same kernel of a variant for the same GPU: they
// differ in their structures.
size_t end_of_structures(const std::vector<KernelJob> &jobs, size_t begin) {
  size_t end = begin;
  while (end < jobs.size() && jobs[end].variant == jobs[begin].variant &&
         jobs[end].function == jobs[begin].function && jobs[end].gpu == jobs[begin].gpu)
    end++;
  return end;
}

// Tells who waits how far the jobs are.
class JobProgress {
public:
  JobProgress(Progress *progress, const std::vector<KernelJob> &jobs)
      : progress_(progress), kernel_of_(jobs.size()) {
    size_t done = 0, left = 0;
    for (size_t begin = 0, end; begin < jobs.size(); begin = end) {
      end = end_of_structures(jobs, begin);
      for (size_t i = begin; i < end; i++)
        kernel_of_[i] = left_of_.size();
      left_of_.emplace_back(end - begin);
      if (jobs[begin].is_done)
        done++;
      else
        left += end - begin;
    }
    if (progress_)
      progress_->start(left_of_.size(), done, left);
  }
  JobProgress(const JobProgress &) = delete;
  ~JobProgress() {
    if (progress_)
      progress_->finish();
  }

  /// Whether it was the last of its kernel.
  bool job_done(size_t job) {
    bool is_last = --left_of_[kernel_of_[job]] == 0;
    if (progress_)
      progress_->job_done(is_last);
    return is_last;
  }

private:
  Progress *progress_;
  std::vector<size_t> kernel_of_;           // of each job
  std::deque<std::atomic<size_t>> left_of_; // jobs of each kernel
};

// Packs the code of a kernel for a GPU, of all its structures in one go. `any` is one of its jobs,
// which are all done.
void pack_kernel(Workshop &workshop, std::vector<KernelJob> &jobs, size_t any) {
  size_t begin = any;
  while (begin > 0 && end_of_structures(jobs, begin - 1) > any)
    begin--;
  std::vector<MachineCode *> codes;
  for (size_t i = begin; i < end_of_structures(jobs, begin); i++)
    if (jobs[i].code)
      codes.push_back(jobs[i].code);
  KernelJob &job = jobs[any];
  if (std::optional<Failure> failure = pack(codes, *job.gpu, workshop, job.times))
    job.failure = failure;
}

// Keeps what has been compiled now: each kernel for each GPU that is complete.
void keep_in_cache(const KernelCache &cache, const std::vector<KernelJob> &jobs) {
  bool is_changed = false;
  for (size_t begin = 0, end; begin < jobs.size(); begin = end) {
    end = end_of_structures(jobs, begin);
    std::vector<CompiledForm> forms;
    bool is_new = !jobs[begin].is_done, has_failed = false;
    for (size_t i = begin; i < end; i++) {
      const KernelJob &job = jobs[i];
      has_failed |= job.failure.has_value();
      forms.push_back({.structure = job.structure.name,
                       .share = job.structure.share,
                       .is_left_out = job.is_left_out,
                       .warnings = job.warnings,
                       .image = job.image,
                       .code = job.code ? job.code->key : ""});
    }
    is_changed |= is_new;
    if (is_new && !has_failed)
      cache.keep(jobs[begin].kept_as, std::move(forms));
  }
  if (is_changed)
    cache.trim();
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
  if (std::optional<Failure> failure = find_kernel_twice(variants, options.gpus))
    return failed(std::move(result), *failure);
  Findings idle;
  if (std::optional<Failure> failure = specialize(options, variants, idle))
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

  if (options.explain) {
    std::set<std::string> said; // kernels are jobs once for each structure
    for (const KernelJob &job : jobs) {
      std::string variant = name_of(variants[job.variant], *job.function);
      std::string heading =
          " for " + std::string(job.gpu->name) + (variant.empty() ? "" : ", " + variant) + ":";
      if (said.insert(job.function->name + heading).second)
        result.printed += explain(*job.function, *job.gpu, heading);
    }
  }

  std::atomic<bool> is_hopeless = false; // what the machine lacks, every job lacks
  std::optional<JobProgress> progress;
  progress.emplace(options.stage == Stage::library ? options.progress : nullptr, jobs);
  run_jobs(jobs.size(), options.jobs, [&](size_t i) {
    if (is_hopeless || jobs[i].is_done)
      return;
    std::string variant = name_of(variants[jobs[i].variant], *jobs[i].function);
    std::string heading = " for " + std::string(jobs[i].gpu->name);
    if (!variant.empty())
      heading += ", " + variant;
    if (!jobs[i].structure.name.empty())
      heading += ", " + jobs[i].structure.name;
    Watchdog::Task task(options.watchdog, "`" + jobs[i].function->name + "`" + heading);
    run_kernel_job(workshop, heading, jobs[i]);
    if (progress->job_done(i) && options.stage == Stage::library)
      pack_kernel(workshop, jobs, i);
    if (jobs[i].failure && exit_code_of(jobs[i].failure->failure.id) == ExitCode::environment)
      is_hopeless = true;
  });
  progress.reset();
  for (KernelJob &job : jobs)
    if (job.code) {
      job.image.bytes = job.code->image;
      job.image.cubin_bytes = job.code->cubin_bytes;
    }
  if (cache && !is_hopeless)
    result.times.measure(Step::cache, [&] { keep_in_cache(*cache, jobs); });
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
  if (std::optional<Failure> failure = find_kernel_twice(variants, options.gpus))
    return fail(*failure);
  if (std::optional<Failure> failure = specialize(options, variants, result))
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
