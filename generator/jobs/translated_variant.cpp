// Runs the front end for all variants, checks the kernels and adds specialized kernels. See
// translated_variant.h.
//
// Tested by tests/end_to_end/compile/compile_test.cpp, tests/unit/variants/variants_test.cpp and
// specialization_test.cpp.

#include "jobs/translated_variant.h"

#include "diagnose/lint.h"
#include "jobs/kernel_job.h"
#include "support/parallel_for.h"
#include "variants/specialization.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

namespace tritonc {
namespace {

// Returns an error if two files of one library define kernels with the same name.
std::optional<Error> find_kernel_twice(const std::vector<TranslatedVariant> &variants,
                                       const std::vector<const Gpu *> &gpus) {
  std::map<std::string, const SourcePlan *> owners;
  for (const TranslatedVariant &variant : variants)
    for (const ir::Function &kernel : variant.front_end.kernels) {
      if (!is_wanted(variant, kernel, gpus))
        continue;
      const SourcePlan *owner = owners.try_emplace(kernel.name, variant.source).first->second;
      if (owner != variant.source)
        return Error{Message::kernel_twice,
                     {kernel.name, shown_path(owner->path), shown_path(variant.source->path)}};
    }
  return std::nullopt;
}

// Inserts the specialized kernels of one variant before each general kernel. With
// `only_specialized`, the first specialized kernel replaces the general kernel. Per specialization,
// sets `is_known` if it applies to a kernel, and `is_used` if it changes a kernel.
std::optional<Error> add_specialized(std::vector<ir::Function> &functions,
                                     const std::vector<Specialization> &all, bool only_specialized,
                                     const std::function<bool(const ir::Function &)> &is_wanted,
                                     std::vector<bool> &is_known, std::vector<bool> &is_used) {
  std::vector<ir::Function> result;
  for (ir::Function &general : functions) {
    bool has_specialized = false;
    for (size_t i = 0; i < all.size() && is_wanted(general); i++) {
      if (!all[i].is_about(general))
        continue;
      is_known[i] = true;
      if (all[i].text().empty() || has_others(general, all[i], all)) { // the user disabled it
        is_used[i] = true;
        continue;
      }
      if (std::optional<Error> failure = all[i].problem_with(general))
        return failure;
      std::optional<ir::Function> specialized = all[i].apply_to(general);
      if (!specialized)
        continue;
      has_specialized = is_used[i] = true;
      result.push_back(std::move(*specialized));
      if (only_specialized)
        break;
    }
    if (!only_specialized || !has_specialized)
      result.push_back(std::move(general));
  }
  functions = std::move(result);
  return std::nullopt;
}

} // namespace

std::vector<TranslatedVariant> translate_variants(const CompileOptions &options, const Plan &plan) {
  std::vector<TranslatedVariant> variants;
  for (const SourcePlan &source : plan.sources)
    for (const VariantChoice &choice : source.choices)
      variants.push_back({&source, &choice, {}});
  parallel_for(variants.size(), options.jobs, [&](size_t i) {
    TranslatedVariant &variant = variants[i];
    Watchdog::Task task(options.watchdog, "`" + variant.source->path + "`");
    variant.front_end = variant.times.measure(Step::front_end, [&] {
      return translate_source(front_end_input(options, variant),
                              [](const FrontEndResult &result, DiagnosticEngine &diagnostics) {
                                for (const ir::Function &kernel : result.kernels)
                                  lint(kernel, diagnostics);
                              });
    });
    FrontEndResult &front_end = variant.front_end;
    if (options.checks)
      for (size_t i = 0; i < front_end.kernels.size(); i++)
        front_end.kernels[i] = ir::clone(front_end.checked[i]);
  });
  return variants;
}

FrontEndInput front_end_input(const CompileOptions &options, const TranslatedVariant &variant) {
  return {.path = variant.source->path,
          .defines = variant.choice->defines,
          .include_dirs = options.include_dirs,
          .grid = options.grid,
          .messages = options.messages};
}

bool is_wanted(const TranslatedVariant &variant, const ir::Function &function,
               const std::vector<const Gpu *> &gpus) {
  auto wants = [&](const Gpu *gpu) {
    return variant.source->wants(*variant.choice, function.name, gpu);
  };
  return gpus.empty() ? wants(nullptr) : std::any_of(gpus.begin(), gpus.end(), wants);
}

std::string name_of(const TranslatedVariant &variant, const ir::Function &function) {
  return variant_name(variant.choice->text, function.plan.specialization);
}

std::optional<Error> check_kernels(const CompileOptions &options, const Plan &plan,
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
      return Error{Message::unknown_kernel, {name, llvm::join(names, ", ")}};
  for (const auto &[name, has] : has_variant)
    if (!has && (options.kernels.empty() || llvm::is_contained(options.kernels, name)))
      return Error{Message::kernel_left_out, {name}};
  return find_kernel_twice(variants, options.gpus);
}

void find_unused_axes(const std::vector<TranslatedVariant> &variants, DiagnosticList &diagnostics) {
  std::vector<std::pair<std::string, bool>> is_used; // per axis, in the order of the axes
  for (const TranslatedVariant &variant : variants)
    for (size_t i = 0; i < variant.source->axes.size(); i++) {
      const Axis &axis = variant.source->axes[i];
      auto has_name = [&](const auto &one) { return one.first == axis.name; };
      auto entry = llvm::find_if(is_used, has_name);
      if (entry == is_used.end())
        entry = is_used.insert(entry, {axis.name, false});
      for (const Define &define : variant.choice->values.value(variant.source->axes, i).defines)
        entry->second |= !llvm::is_contained(variant.front_end.unused_macros, define.name);
    }
  for (const auto &[name, used] : is_used)
    if (!used)
      diagnostics.add(diagnostic(Message::unused_axis, {name}));
}

std::optional<Error> add_specialized_kernels(const CompileOptions &options,
                                             std::vector<TranslatedVariant> &variants,
                                             DiagnosticList &diagnostics) {
  if (options.specialize.empty())
    return std::nullopt;
  Result<std::vector<Specialization>> all = parse_specializations(options.specialize);
  if (!all)
    return all.error();
  std::vector<bool> is_known(all->size()), is_used(all->size());
  for (TranslatedVariant &variant : variants)
    for (std::vector<ir::Function> *functions :
         {&variant.front_end.kernels, &variant.front_end.checked})
      if (std::optional<Error> failure = add_specialized(
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
      diagnostics.add(diagnostic(Message::specialization_without_effect, {(*all)[i].text()}));
  }
  return std::nullopt;
}

} // namespace tritonc
