// All stages of a compilation, in order.
//
// A source is read once for its axes. From then on every variant is on its own: front end and
// translation once per variant; passes, lowering and the tool-chain once per variant and GPU, from
// a copy of the tile IR. Jobs run side by side, but nothing that comes out depends on their order:
// each has its own place for its result, and results are looked at when all are there.
//
// Tested by tests/compile/compile_test.cpp.

#include "compile.h"

#include "analysis/launch_form.h"
#include "argument_hints.h"
#include "backend/host_object.h"
#include "backend/ptx.h"
#include "backend/sass_stats.h"
#include "details.h"
#include "emit/interface.h"
#include "explain.h"
#include "ir/checks.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "kernel_cache.h"
#include "lower/host_kernel.h"
#include "lower/lower.h"
#include "machine_code.h"
#include "merged_messages.h"
#include "passes/pipeline.h"
#include "requirements.h"
#include "translate/translate.h"
#include "tuning_data.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
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

// One kernel of one variant for one GPU, in one structure.
struct KernelJob {
  size_t variant; // index of its TranslatedVariant
  const ir::Function *function;
  const ir::Function *checked; // the same with `assert` and `print`
  const Gpu *gpu;
  Structure structure;

  std::string kept_as;         // the key of all structures together, in the cache; empty: not kept
  MachineCode *code = nullptr; // if it was made; its image, only when all jobs are done
  bool is_done = false;        // it was in the cache
  bool is_left_out = false;    // there is a better structure
  std::optional<Failure> failure;
  std::vector<Failure> warnings;
  std::string printed, stage_output;
  std::vector<KeptFile> kept;
  Image image;
  StepTimes times = {};
};

// The rule of the tile IR that a pass broke.
struct BrokenRule : std::exception {
  explicit BrokenRule(Failure failure) : failure(std::move(failure)) {}
  Failure failure;
};

// Looks at the function after each pass, for the verifier and for --print-after.
PassObserver observer(const CompileOptions &options, KernelJob &job, const std::string &heading) {
#ifdef NDEBUG
  bool verify = options.verify_each;
#else
  bool verify = true;
#endif
  return [&options, &job, heading, verify](std::string_view pass, ir::Function &function) {
    if (options.print_after == pass || options.print_after == "all")
      job.printed += "// after " + std::string(pass) + heading + "\n" + ir::print(function) + "\n";
    if (!verify)
      return;
    if (std::string problems = ir::verify(function); !problems.empty())
      throw BrokenRule(
          {Message::internal_error, {std::string(pass), problems.substr(0, problems.find('\n'))}});
  };
}

std::string text_of(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

std::optional<Failure> check_shared(const ir::Function &function, int static_bytes,
                                    const Gpu &gpu) {
  int bytes = function.shared_bytes + static_bytes;
  if (bytes <= gpu.max_shared_bytes)
    return std::nullopt;
  return Failure{Message::shared_too_large,
                 {function.name, std::string(gpu.name), std::to_string(bytes),
                  std::to_string(gpu.max_shared_bytes)}};
}

std::vector<Failure> warnings_about(const ir::Function &function, const Resources &resources,
                                    const Gpu &gpu) {
  std::vector<Failure> warnings;
  std::string name(gpu.name);
  if (resources.spill_stores || resources.spill_loads)
    warnings.push_back({Message::spills, {function.name, name}});
  for (const std::string &advice : resources.advice)
    warnings.push_back({Message::slow_code, {function.name, name, advice}});
  return warnings;
}

// The plain form makes no demands, so it is there for when the others don't fit.
LaunchForm form_of(const ir::Function &function, const Structure &structure) {
  LaunchForm form = launch_form(function);
  form.name = structure.name;
  form.cost = structure.cost;
  if (structure.is_first())
    form.share = LaunchForm::Share::first;
  else if (structure.is_second())
    form.share = LaunchForm::Share::rest;
  else if (structure.specialized && !form.cost)
    form.cost = Expr::constant(0);
  return form;
}

Image make_image(const ir::Function &function, const Gpu &gpu, const Structure &structure,
                 const MachineCode &code) {
  const Resources &resources = code.resources;
  return {.gpu = std::string(gpu.name),
          .sm = gpu.sm,
          .suffix = gpu.suffix,
          .threads = function.threads(),
          .shared_bytes = function.shared_bytes,
          .static_shared = resources.static_shared,
          .registers = resources.registers,
          .spill_stores = resources.spill_stores,
          .spill_loads = resources.spill_loads,
          .stack_bytes = resources.stack_bytes,
          .form = form_of(function, structure)};
}

// Where the source is does not matter to anyone who reads the output, and must not change it.
std::string shown_path(const std::string &path) {
  std::filesystem::path shown(path);
  bool is_elsewhere = shown.is_absolute() || *shown.begin() == "..";
  return (is_elsewhere ? shown.filename() : shown).generic_string();
}

// The LLVM IR of a function that went through the pipeline.
Result<std::unique_ptr<llvm::Module>> optimized_module(const ir::Function &function, const Gpu &gpu,
                                                       llvm::LLVMContext &context,
                                                       StepTimes &times) {
  std::unique_ptr<llvm::Module> module =
      times.measure(Step::lower, [&] { return lower(function, gpu, context); });
  auto optimized = times.measure(Step::optimize, [&] { return optimize(*module, gpu); });
  if (!optimized)
    return optimized.failure();
  return module;
}

// --- Host code -----------------------------------------------------------------------------------

// Whether a kernel with `assert` and `print` can be in the structure too: what says something about
// a factor uses it.
bool has_structure(const ir::Function &checked, const Gpu &gpu, const Structure &structure) {
  std::vector<Structure> structures = structures_for(checked, gpu);
  return std::any_of(structures.begin(), structures.end(),
                     [&](const Structure &other) { return other.name == structure.name; });
}

// The function that host code is made of: with `assert` and `print`, which code for GPUs has not.
// `function` is the one without, after the pipeline. Nothing if there is no host code in this
// structure; there always is in the plain one.
std::optional<ir::Function> checked_function(const KernelJob &job, const ir::Function &function) {
  if (!ir::has_checks(*job.checked))
    return ir::clone(function);
  if (!has_structure(*job.checked, *job.gpu, job.structure))
    return std::nullopt;
  ir::Function checked = ir::clone(*job.checked);
  checked.file = function.file;
  run_pipeline(checked, *job.gpu, {}, job.structure);
  return checked;
}

// Puts the host code of `function` into the image. The symbol is the code's, so that two libraries
// that are called the same can be linked into one program.
std::optional<Failure> add_host_code(const ir::Function &function, const std::string &heading,
                                     const CompileOptions &options, KernelJob &job) {
  llvm::LLVMContext context;
  std::optional<ir::Function> found = checked_function(job, function);
  if (!found)
    return std::nullopt;
  ir::Function &checked = *found;
  auto module = optimized_module(checked, *job.gpu, context, job.times);
  if (!module)
    return module.failure();
  std::string identity = options.name + "\n" + function.name + heading + "\n" + text_of(**module);
  job.image.host_symbol = "tritonc_host_" + short_hash(identity);
  Result<std::string> object = job.times.measure(Step::host_code, [&] {
    return host_object(**module, describe(checked, *job.gpu), job.image.host_symbol);
  });
  if (!object)
    return object.failure();
  job.image.host_object = std::move(*object);
  return std::nullopt;
}

std::optional<Failure> build_host_text(const ir::Function &function, KernelJob &job) {
  llvm::LLVMContext context;
  std::optional<ir::Function> found = checked_function(job, function);
  if (!found) { // then the emulator takes the plain structure
    job.structure = {};
    found = checked_function(job, function);
  }
  ir::Function &checked = *found;
  auto module = optimized_module(checked, *job.gpu, context, job.times);
  if (!module)
    return module.failure();
  Result<std::string> text = host_text(**module, describe(checked, *job.gpu), function.name);
  if (!text)
    return text.failure();
  job.stage_output = *text;
  return std::nullopt;
}

// --- One kernel ----------------------------------------------------------------------------------

// The stages from tile IR to LLVM IR or PTX, as first tried.
std::optional<Failure> build_text(const CompileOptions &options, const ir::Function &function,
                                  KernelJob &job) {
  llvm::LLVMContext context;
  auto module = optimized_module(function, *job.gpu, context, job.times);
  if (!module)
    return module.failure();
  if (options.stage == Stage::llvm) {
    job.stage_output = text_of(**module);
    return std::nullopt;
  }
  Result<std::string> ptx = generate_ptx(**module, *job.gpu, options.line_info);
  if (!ptx)
    return ptx.failure();
  job.stage_output = *ptx;
  return std::nullopt;
}

// The forms of a kernel that shall be kept, under a name that is the same in every build.
std::optional<Failure> keep_forms(const CompileOptions &options, const ir::Function &function,
                                  const std::string &heading, const std::string &tile_ir,
                                  const MachineCode &code, KernelJob &job) {
  std::string stem = function.name + "-" + short_hash(function.name + heading);
  for (Stage stage : options.keep) {
    if (stage == Stage::tile_ir)
      job.kept.push_back({stem + ".tile-ir", tile_ir});
    if (stage == Stage::ptx)
      job.kept.push_back({stem + ".ptx", code.ptx});
    if (stage == Stage::cubin)
      job.kept.push_back({stem + ".cubin", code.cubin});
    if (stage == Stage::sass_stats)
      job.kept.push_back({stem + ".sass-stats",
                          sass_stats({code.cubin, code.resources}, function.name, *job.gpu)});
    if (stage != Stage::llvm)
      continue;
    llvm::LLVMContext context;
    auto module = optimized_module(function, *job.gpu, context, job.times);
    if (!module)
      return module.failure();
    job.kept.push_back({stem + ".ll", text_of(**module)});
  }
  return std::nullopt;
}

// The stages from tile IR to an image, or to the stage that was asked for.
std::optional<Failure> build_kernel(Workshop &workshop, const std::string &heading,
                                    KernelJob &job) {
  const CompileOptions &options = workshop.options;
  const Gpu &gpu = *job.gpu;
  ir::Function function = ir::clone(*job.function);
  function.file = shown_path(function.file);
  job.times.measure(Step::passes, [&] {
    run_pipeline(function, gpu, observer(options, job, heading), job.structure);
  });
  std::optional<Failure> too_large = check_shared(function, 0, gpu);
  if (too_large && !job.structure.name.empty()) { // what its ring leaves is too little for the rest
    if (options.stage == Stage::library) {
      job.is_left_out = true;
      return std::nullopt;
    }
    job.structure = {};
    return build_kernel(workshop, heading, job);
  }
  if (too_large)
    return too_large;
  if (options.stage == Stage::llvm || options.stage == Stage::ptx)
    return build_text(options, function, job);
  if (options.stage == Stage::host_llvm)
    return build_host_text(function, job);

  std::string tile_ir;
  if (llvm::is_contained(options.keep, Stage::tile_ir))
    tile_ir = ir::print(function);
  Result<MachineCode> *made = machine_code(function, gpu, workshop, job.times);
  if (!made) {
    job.is_left_out = true;
    return std::nullopt;
  }
  Result<MachineCode> &code = *made;
  if (!code)
    return code.failure();
  job.code = &*code;
  if (options.shards) { // what else there is to say, the call that makes the library says
    job.is_left_out = true;
    return std::nullopt;
  }
  if (std::optional<Failure> failure = check_shared(function, code->resources.static_shared, gpu))
    return failure;
  // ptxas only informs that it waits after every wgmma, at half the speed: as bad as no wgmma.
  if (!job.structure.name.empty() && !code->resources.advice.empty()) {
    job.warnings = {
        {Message::structure_left_out, {function.name, std::string(gpu.name), job.structure.name}}};
    job.is_left_out = true;
  } else if (!job.structure.name.empty() && code->resources.spill_stores) {
    job.is_left_out = true; // its tile is too large after all
  } else {
    job.warnings = warnings_about(function, code->resources, gpu);
  }
  if (options.stage == Stage::cubin)
    job.stage_output = code->cubin;
  if (options.stage == Stage::sass_stats)
    job.stage_output = sass_stats({code->cubin, code->resources}, function.name, gpu);
  if (options.stage != Stage::library || job.is_left_out)
    return std::nullopt;

  job.image = make_image(function, gpu, job.structure, *code);
  if (!options.keep.empty())
    if (std::optional<Failure> failure =
            keep_forms(options, function, heading, tile_ir, *code, job))
      return failure;
  if (options.details)
    job.image.details = details_of(function, gpu, code->cubin, code->resources.registers,
                                   code->resources.static_shared);
  if (llvm::is_contained(options.emulate, &gpu))
    return add_host_code(function, heading, options, job);
  return std::nullopt;
}

void run_kernel_job(Workshop &workshop, const std::string &heading, KernelJob &job) {
  try {
    job.failure = build_kernel(workshop, heading, job);
  } catch (const BrokenRule &rule) {
    job.failure = rule.failure;
  } catch (const std::bad_alloc &) {
    job.failure = Failure{Message::out_of_memory, {}};
  } catch (const std::exception &exception) {
    job.failure = Failure{Message::internal_error, {"the back end", exception.what()}};
  }
}

// --- The library ---------------------------------------------------------------------------------

std::vector<Parameter> parameters_of(const ir::Function &function) {
  std::vector<Parameter> parameters;
  for (const ir::Parameter &parameter : function.parameters) {
    const ir::Type &type = parameter.value->type;
    parameters.push_back({.name = parameter.name,
                          .element = ir::name_of(type.elem),
                          .is_pointer = type.is_pointer(),
                          .is_signed = parameter.is_signed,
                          .read_only = parameter.read_only,
                          .write_only = parameter.write_only,
                          .multiple_of = parameter.multiple_of,
                          .aligned_bytes = parameter.aligned_bytes});
  }
  return parameters;
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
                                 .parameters = parameters_of(function)});
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
    result.diagnostics += text(failure) + "\n";
    result.code = exit_code_of(failure.id);
  }
}

std::vector<TranslatedVariant> translate_variants(const CompileOptions &options, const Plan &plan) {
  std::vector<TranslatedVariant> variants;
  for (const SourcePlan &source : plan.sources)
    for (const VariantChoice &choice : source.choices)
      variants.push_back({&source, &choice, {}});
  run_jobs(variants.size(), options.jobs, [&](size_t i) {
    TranslatedVariant &variant = variants[i];
    variant.front_end = variant.times.measure(Step::front_end, [&] {
      return translate_source({.path = variant.source->path,
                               .defines = variant.choice->defines,
                               .include_dirs = options.include_dirs,
                               .grid = options.grid});
    });
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
                                  std::vector<TranslatedVariant> &variants,
                                  std::string &diagnostics) {
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
      diagnostics += text({Message::hint_idle, {(*all)[i].text()}}) + "\n";
  }
  return std::nullopt;
}

// A library has every kernel in all structures; to look at, there is the best one.
std::vector<Structure> structures_wanted(const ir::Function &function, const Gpu *gpu,
                                         Stage stage) {
  if (!gpu)
    return {{}};
  std::vector<Structure> structures = structures_for(function, *gpu);
  if (stage != Stage::library)
    structures.resize(1);
  return structures;
}

// What the jobs of a kernel of a variant for a GPU are kept as in the cache.
std::string key_of(const KernelCache &cache, const CompileOptions &options,
                   const TranslatedVariant &variant, size_t kernel, const Gpu &gpu) {
  const ir::Function &function = variant.front_end.kernels[kernel];
  bool has_host_code = llvm::is_contained(options.emulate, &gpu);
  std::string places = options.line_info ? "in the code too\n" : "";
  if (has_host_code || options.line_info)
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
                                      const std::optional<Toolchain> &tools,
                                      std::string &diagnostics) {
  if (options.cache.directory.empty() || options.stage != Stage::library ||
      !options.print_after.empty() || options.verify_each || !options.keep.empty() ||
      options.shards || !options.code_files.empty() || options.details)
    return std::nullopt;
  Result<Cache> cache = Cache::open(options.cache);
  if (cache)
    return KernelCache::open(std::move(*cache), *tools);
  if (options.cache.is_asked_for)
    diagnostics += text({Message::cache_left_out, cache.failure().args}) + "\n";
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
  result.diagnostics += text(failure) + "\n";
  return result;
}

// What the front end has to say about all variants.
void report_front_end(const std::vector<TranslatedVariant> &variants, ExitCode &code,
                      std::string &diagnostics) {
  MergedMessages messages(variants.size());
  for (size_t i = 0; i < variants.size(); i++) {
    messages.add_all(variants[i].front_end.diagnostics, i, variants[i].choice->text);
    if (variants[i].front_end.errors)
      code = ExitCode::source_error;
  }
  diagnostics += messages.text();
}

// What the jobs have to say, in their order, and the code of the first that failed.
void report_jobs(const std::vector<KernelJob> &jobs, const std::vector<TranslatedVariant> &variants,
                 CompileResult &result) {
  MergedMessages messages(variants.size());
  for (const KernelJob &job : jobs) {
    std::string variant_text = name_of(variants[job.variant], *job.function);
    for (const Failure &warning : job.warnings)
      messages.add(text(warning) + "\n", job.variant, variant_text);
    result.warnings += int(job.warnings.size());
    if (!job.failure)
      continue;
    ExitCode code = exit_code_of(job.failure->id);
    if (code == ExitCode::environment) { // then it was the last, and says nothing about a variant
      result = failed(std::move(result), *job.failure);
      return;
    }
    messages.add(text(*job.failure) + "\n", job.variant, variant_text);
    if (result.code == ExitCode::ok)
      result.code = code;
  }
  result.diagnostics += messages.text();
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
  result.diagnostics = plan.diagnostics;
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
  report_front_end(variants, result.code, result.diagnostics);
  if (result.code != ExitCode::ok)
    return result;
  for (const TranslatedVariant &variant : variants)
    result.warnings += variant.front_end.warnings;
  if (std::optional<Failure> failure = check_kernels(options, plan, variants))
    return failed(std::move(result), *failure);
  if (std::optional<Failure> failure = find_kernel_twice(variants, options.gpus))
    return failed(std::move(result), *failure);
  std::string idle;
  if (std::optional<Failure> failure = specialize(options, variants, idle))
    return failed(std::move(result), *failure);
  result.diagnostics += idle;
  result.warnings += !idle.empty();

  if (options.warnings_are_errors && result.warnings)
    return failed(std::move(result), {Message::warned, {std::to_string(result.warnings)}});

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
  std::optional<KernelCache> cache = open_cache(options, tools, result.diagnostics);
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
    run_kernel_job(workshop, heading, jobs[i]);
    if (progress->job_done(i) && options.stage == Stage::library)
      pack_kernel(workshop, jobs, i);
    if (jobs[i].failure && exit_code_of(jobs[i].failure->id) == ExitCode::environment)
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
  report_jobs(jobs, variants, result);
  if (result.code != ExitCode::ok)
    return result;
  if (options.warnings_are_errors && result.warnings)
    return failed(std::move(result), {Message::warned, {std::to_string(result.warnings)}});

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
    result.diagnostics += text(warning) + "\n";
  check_limits(options, result);
  return result;
}

PlannedKernels plan_kernels(const CompileOptions &options) {
  PlannedKernels result;
  auto fail = [&](const Failure &failure) {
    result.code = exit_code_of(failure.id);
    result.diagnostics += text(failure) + "\n";
    return std::move(result);
  };
  Plan plan = tritonc::plan(options);
  result.code = plan.code;
  result.diagnostics = plan.diagnostics;
  if (result.code != ExitCode::ok)
    return result;
  std::vector<TranslatedVariant> variants = translate_variants(options, plan);
  report_front_end(variants, result.code, result.diagnostics);
  if (result.code != ExitCode::ok)
    return result;
  if (std::optional<Failure> failure = check_kernels(options, plan, variants))
    return fail(*failure);
  if (std::optional<Failure> failure = find_kernel_twice(variants, options.gpus))
    return fail(*failure);
  if (std::optional<Failure> failure = specialize(options, variants, result.diagnostics))
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
