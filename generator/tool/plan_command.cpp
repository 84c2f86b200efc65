// Runs `tritonc plan` and formats its output. See plan_command.h.
//
// The cost of a compilation is the number of code generations: one per variant, kernel, GPU and
// schedule. The compiler generates equal code only once, but finds equal code only after lowering.
// So the number is an upper bound.
//
// Tested by tests/unit/tool/command_line_test.cpp.

#include "tool/plan_command.h"

#include "tool/command_line.h"
#include "tool/diagnostic_printer.h"
#include "tool/output_files.h"
#include "tool/signals.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>
#include <utility>

namespace tritonc {
namespace {

using llvm::json::Array;
using llvm::json::Object;

std::string json_text(const std::string &any) { return llvm::json::fixUTF8(any); }

std::string counted(size_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

size_t code_count(const PlannedKernels &planned) {
  size_t count = 0;
  for (const PlannedKernel &kernel : planned.kernels)
    count += kernel.schedules.size();
  return count;
}

// Iterates over the kernels of each variant; requires calls in the order of the variants.
class Kernels {
public:
  explicit Kernels(const PlannedKernels &planned) : planned_(planned) {}

  template <typename Use>
  void of(const SourcePlan &source, const VariantChoice &choice, const Use &use) {
    for (; next_ < planned_.kernels.size(); next_++) {
      const PlannedKernel &kernel = planned_.kernels[next_];
      if (kernel.source != source.path || kernel.variant != choice.text)
        return;
      use(kernel);
    }
  }

private:
  const PlannedKernels &planned_;
  size_t next_ = 0;
};

// Excludes the variants whose requirements no arguments meet: `planned` lacks them. Without GPUs it
// lacks all variants.
void leave_out_never_launched(const CompileOptions &options, const PlannedKernels &planned,
                              Plan &plan) {
  if (options.gpus.empty())
    return;
  std::set<std::pair<std::string, std::string>> variants; // with their sources
  for (const PlannedKernel &kernel : planned.kernels)
    variants.emplace(kernel.source, kernel.variant);
  for (SourcePlan &source : plan.sources)
    llvm::erase_if(source.choices, [&](const VariantChoice &choice) {
      const bool is_planned = variants.contains({source.path, choice.text});
      if (!is_planned)
        source.left_out.push_back({choice.text, "require"});
      return !is_planned;
    });
}

// The number of excluded variants per reason.
std::map<std::string, size_t> reasons(const Plan &plan) {
  std::map<std::string, size_t> counts;
  for (const SourcePlan &source : plan.sources)
    for (const LeftOut &one : source.left_out)
      counts[one.because]++;
  return counts;
}

} // namespace

std::string plan_text(const CompileOptions &options, const Plan &plan,
                      const PlannedKernels &planned) {
  std::string out;
  size_t count = 0;
  Kernels kernels(planned);
  for (const SourcePlan &source : plan.sources) {
    for (const VariantChoice &choice : source.choices) {
      out += source.path + (choice.text.empty() ? "" : " ") + choice.text + "\n";
      kernels.of(source, choice, [&](const PlannedKernel &kernel) {
        std::string specialization =
            kernel.specialization.empty() ? "" : " under " + kernel.specialization;
        out += "  " + kernel.kernel + " for " + kernel.gpu + specialization + ": " +
               counted(kernel.schedules.size(), "schedule") + "\n";
      });
    }
    count += source.choices.size();
  }
  out += counted(count, "variant");
  if (!options.gpus.empty())
    out += " for " + counted(options.gpus.size(), "architecture") + ", with code generated " +
           "at most " + counted(code_count(planned), "time");
  out += "\n";
  for (const auto &[because, left_out] : reasons(plan))
    out += counted(left_out, "variant") + " excluded by " + because + "\n";
  return out;
}

std::string plan_json(const CompileOptions &options, const Plan &plan,
                      const PlannedKernels &planned) {
  Array gpus, sources;
  Kernels in_order(planned);
  for (const Gpu *gpu : options.gpus)
    gpus.push_back(std::string(gpu->name));
  for (const SourcePlan &source : plan.sources) {
    Array variants, left_out;
    for (const VariantChoice &choice : source.choices) {
      Object values;
      for (size_t i = 0; i < source.axes.size(); i++)
        values[json_text(source.axes[i].name)] =
            json_text(choice.values.value(source.axes, i).name);
      Array kernels;
      in_order.of(source, choice, [&](const PlannedKernel &kernel) {
        Array schedules;
        for (const std::string &schedule : kernel.schedules)
          schedules.push_back(schedule);
        Object object{{"kernel", json_text(kernel.kernel)},
                      {"gpu", kernel.gpu},
                      {"schedules", std::move(schedules)}};
        if (!kernel.specialization.empty())
          object["specialization"] = kernel.specialization;
        kernels.push_back(std::move(object));
      });
      variants.push_back(Object{{"values", std::move(values)}, {"kernels", std::move(kernels)}});
    }
    for (const LeftOut &one : source.left_out)
      left_out.push_back(
          Object{{"variant", json_text(one.text)}, {"because", json_text(one.because)}});
    sources.push_back(Object{{"source", json_text(source.path)},
                             {"variants", std::move(variants)},
                             {"left_out", std::move(left_out)}});
  }
  llvm::json::Value value = Object{{"schema", 2},
                                   {"gpus", std::move(gpus)},
                                   {"sources", std::move(sources)},
                                   {"codes_at_most", int64_t(code_count(planned))}};
  std::string out;
  llvm::raw_string_ostream(out) << llvm::formatv("{0:2}", value) << "\n";
  return out;
}

ExitCode run_plan(CommandLine &line) {
  if (std::optional<Error> failure = complete(line))
    return fail(*failure);
  if (std::optional<Error> failure = check_outputs(line))
    return fail(*failure);
  Watchdog watchdog(line.budget, end_with);
  line.compile.watchdog = &watchdog;
  Plan plan = tritonc::plan(line.compile.rules());
  if (plan.code != ExitCode::ok)
    return print_all(plan, plan.code);
  PlannedKernels planned = plan_kernels(line.compile);
  if (std::optional<Error> failure = check_inputs_survive(line, planned.dependencies))
    return fail(*failure);
  if (print_all(planned, planned.code) != ExitCode::ok)
    return planned.code;
  leave_out_never_launched(line.compile, planned, plan);
  return print(line.as_json ? plan_json(line.compile, plan, planned)
                            : plan_text(line.compile, plan, planned));
}

} // namespace tritonc
