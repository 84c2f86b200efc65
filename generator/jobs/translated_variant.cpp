// Runs the front end for all variants, checks the kernels and adds specialized kernels. See
// translated_variant.h.
//
// Tested by tests/end_to_end/compile/compile_test.cpp, tests/unit/variants/variants_test.cpp and
// specialization_test.cpp.

#include "jobs/translated_variant.h"

#include "analysis/narrow_accesses.h"
#include "diagnose/lint.h"
#include "jobs/kernel_job.h"
#include "passes/pipeline.h"
#include "support/parallel_for.h"
#include "variants/specialization.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

namespace tritonc {
namespace {

// Whether the options select the kernel in this variant for at least one of the GPUs.
bool is_selected(const TranslatedVariant &variant, const ir::Function &function,
                 const std::vector<const Gpu *> &gpus) {
  auto wants = [&](const Gpu *gpu) {
    return variant.source->wants(*variant.choice, function.name, gpu);
  };
  return gpus.empty() ? wants(nullptr) : llvm::any_of(gpus, wants);
}

// Whether a requirement is false for all arguments: it compares values of axes only.
bool is_never_launched(const ir::Function &function) {
  return llvm::any_of(function.plan.requirements, [](const Requirement &requirement) {
    return requirement.condition == Expr::constant(0);
  });
}

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

// What became of the specializations of the user.
struct UserSpecializations {
  std::vector<Specialization> all;
  std::vector<bool> is_known; // it applies to a kernel
  std::vector<bool> is_used;  // it changes a kernel
};

// The specialized kernels of `general`, in the order of the user's specializations. `is_chosen` is
// set if the user chose the specializations of this kernel, or that it has none.
Result<std::vector<ir::Function>> specialized_by_user(const ir::Function &general,
                                                      UserSpecializations &user, bool &is_chosen) {
  std::vector<ir::Function> result;
  is_chosen = false;
  for (size_t i = 0; i < user.all.size(); i++) {
    const Specialization &one = user.all[i];
    if (!one.is_about(general))
      continue;
    is_chosen = user.is_known[i] = true;
    if (one.text().empty() || has_others(general, one, user.all)) { // the user disabled it
      user.is_used[i] = true;
      continue;
    }
    if (std::optional<Error> failure = one.problem_with(general))
      return *failure;
    if (std::optional<ir::Function> specialized = one.apply_to(general)) {
      user.is_used[i] = true;
      result.push_back(std::move(*specialized));
    }
  }
  return result;
}

// The assumptions under which the accesses of `kernel` are wide; nullopt if they are wide anyway.
std::optional<Specialization> wide_accesses(const ir::Function &kernel) {
  ir::Function canonical = canonical_form(kernel);
  std::vector<std::string> assumptions;
  for (const Divisor &divisor : widening_divisors(canonical))
    assumptions.push_back(divisor.parameter + " % " + std::to_string(divisor.number));
  if (assumptions.empty())
    return std::nullopt;
  Result<Specialization> wide = Specialization::parse(llvm::join(assumptions, " && "));
  return wide && !wide->problem_with(kernel) ? std::optional(*wide) : std::nullopt;
}

// Inserts the specialized kernels before each general kernel. `wide` has the compiler's own
// specialization per kernel, if any. Only a library has several codes of a kernel: for another stage, the
// user's first specialization replaces the general kernel.
std::optional<Error> add_specialized(std::vector<ir::Function> &functions, bool is_library,
                                     const std::function<bool(const ir::Function &)> &is_wanted,
                                     const std::vector<std::optional<Specialization>> &wide,
                                     UserSpecializations &user) {
  std::vector<ir::Function> result;
  for (size_t i = 0; i < functions.size(); i++) {
    ir::Function &general = functions[i];
    std::vector<ir::Function> specialized;
    if (is_wanted(general)) {
      bool is_chosen = false;
      Result<std::vector<ir::Function>> by_user = specialized_by_user(general, user, is_chosen);
      if (!by_user)
        return by_user.error();
      specialized = std::move(*by_user);
      if (!is_chosen && wide[i])
        if (std::optional<ir::Function> own = wide[i]->apply_to(general))
          specialized.push_back(std::move(*own));
    }
    if (!is_library && !specialized.empty()) {
      result.push_back(std::move(specialized.front()));
      continue;
    }
    std::move(specialized.begin(), specialized.end(), std::back_inserter(result));
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
  return is_selected(variant, function, gpus) && !is_never_launched(function);
}

std::string name_of(const TranslatedVariant &variant, const ir::Function &function) {
  return variant_name(variant.choice->text, function.plan.specialization);
}

std::optional<Error> check_kernels(const CompileOptions &options, const Plan &plan,
                                   const std::vector<TranslatedVariant> &variants) {
  std::map<std::string, bool> has_variant, has_selected;
  for (const TranslatedVariant &variant : variants)
    for (const ir::Function &kernel : variant.front_end.kernels) {
      has_variant[kernel.name] |= is_wanted(variant, kernel, options.gpus);
      has_selected[kernel.name] |= is_selected(variant, kernel, options.gpus);
    }
  std::vector<std::string> names;
  for (const auto &[name, has] : has_variant)
    names.push_back(name);
  for (const std::string &name : plan.unseen_kernels)
    if (!has_variant.count(name))
      return Error{Message::unknown_kernel, {name, llvm::join(names, ", ")}};
  for (const auto &[name, has] : has_variant)
    if (!has && (options.kernels.empty() || llvm::is_contained(options.kernels, name)))
      return Error{has_selected[name] ? Message::kernel_never_launched : Message::kernel_left_out,
                   {name}};
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
  Result<std::vector<Specialization>> all = parse_specializations(options.specialize);
  if (!all)
    return all.error();
  const bool is_library = options.stage == Stage::library;
  UserSpecializations user = {*all, std::vector<bool>(all->size()), std::vector<bool>(all->size())};
  for (TranslatedVariant &variant : variants) {
    FrontEndResult &front_end = variant.front_end;
    auto wants = [&](const ir::Function &kernel) {
      return is_wanted(variant, kernel, options.gpus);
    };
    std::vector<std::optional<Specialization>> wide;
    for (const ir::Function &kernel : front_end.kernels)
      wide.push_back(is_library && wants(kernel) ? wide_accesses(kernel) : std::nullopt);
    for (std::vector<ir::Function> *functions : {&front_end.kernels, &front_end.checked})
      if (std::optional<Error> failure = add_specialized(*functions, is_library, wants, wide, user))
        return failure;
  }
  std::vector<const ir::Function *> kernels;
  for (const TranslatedVariant &variant : variants)
    for (const ir::Function &kernel : variant.front_end.kernels)
      if (is_wanted(variant, kernel, options.gpus))
        kernels.push_back(&kernel);
  for (size_t i = 0; i < user.all.size(); i++) {
    if (!user.is_known[i])
      return user.all[i].unknown_to(kernels);
    if (!user.is_used[i])
      diagnostics.add(diagnostic(Message::specialization_without_effect, {user.all[i].text()}));
  }
  return std::nullopt;
}

} // namespace tritonc
