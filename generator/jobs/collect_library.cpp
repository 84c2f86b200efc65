// Collects variants, parameters and images into a Library. See collect_library.h.
//
// Tested by tests/end_to_end/compile/compile_test.cpp.

#include "jobs/collect_library.h"
#include "jobs/preferences.h"
#include "support/version.h"

#include "analysis/null_pointers.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <filesystem>

namespace tritonc {
namespace {

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

// Whether the job has an image. If a schedule consists of two launches, both must have an image.
bool is_complete(const std::vector<KernelJob> &jobs, size_t i) {
  const Schedule &schedule = jobs[i].candidate.schedule;
  return !jobs[i].is_skipped() && (!schedule.is_first() || !jobs[i + 1].is_skipped()) &&
         (!schedule.is_second() || !jobs[i - 1].is_skipped());
}

} // namespace

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

void add_images(std::vector<KernelJob> &jobs, const std::vector<TranslatedVariant> &variants,
                const std::vector<Define> &defaults, Library &library) {
  for (size_t i = 0; i < jobs.size(); i++) {
    if (!is_complete(jobs, i))
      continue;
    KernelJob &job = jobs[i];
    const TranslatedVariant &variant = variants[job.variant];
    for (Variant &entry : kernel_named(library, job.function->name, variant.source->axes).variants)
      if (entry.values == variant.choice->values &&
          entry.plan.specialization == job.function->plan.specialization)
        entry.images.push_back(std::move(job.image));
  }
  for (KernelEntry &kernel : library.kernels) {
    std::vector<int> order = preferences(kernel.axes, kernel.variants, defaults);
    for (size_t i = 0; i < order.size(); i++)
      kernel.variants[i].preference = order[i];
  }
}

} // namespace tritonc
