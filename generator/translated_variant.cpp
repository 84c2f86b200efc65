// See translated_variant.h.
//
// Tested by tests/compile/compile_test.cpp, variants_test.cpp and argument_hints_test.cpp.

#include "translated_variant.h"

#include "advice.h"
#include "argument_hints.h"
#include "kernel_job.h"
#include "side_by_side.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

namespace tritonc {
namespace {

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

} // namespace

std::vector<TranslatedVariant> translate_variants(const CompileOptions &options, const Plan &plan) {
  std::vector<TranslatedVariant> variants;
  for (const SourcePlan &source : plan.sources)
    for (const VariantChoice &choice : source.choices)
      variants.push_back({&source, &choice, {}});
  run_side_by_side(variants.size(), options.jobs, [&](size_t i) {
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
  std::string name = variant.choice->text;
  if (!function.plan.hints.empty())
    name += (name.empty() ? "under " : ", under ") + function.plan.hints;
  return name;
}

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
  return find_kernel_twice(variants, options.gpus);
}

void find_unused_axes(const std::vector<TranslatedVariant> &variants, Findings &findings) {
  std::vector<std::pair<std::string, bool>> is_used; // of each axis, in their order
  for (const TranslatedVariant &variant : variants)
    for (size_t i = 0; i < variant.source->axes.size(); i++) {
      const Axis &axis = variant.source->axes[i];
      auto has_name = [&](const auto &one) { return one.first == axis.name; };
      auto entry = llvm::find_if(is_used, has_name);
      if (entry == is_used.end())
        entry = is_used.insert(entry, {axis.name, false});
      for (const Define &define : axis.values[size_t(variant.choice->values[i])].defines)
        entry->second |= !llvm::is_contained(variant.front_end.unused_macros, define.name);
    }
  for (const auto &[name, used] : is_used)
    if (!used)
      findings.add(finding(Message::unused_axis, {name}));
}

std::optional<Failure> add_kernels_under_hints(const CompileOptions &options,
                                               std::vector<TranslatedVariant> &variants,
                                               Findings &findings) {
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

} // namespace tritonc
