// Determines the axes of each source and the variants to compile per kernel and GPU. See
// variant_plan.h.
//
// A source has the axes that it declares, restricted by the command line, plus the axes that only
// the command line names. If one source declares an axis and another source does not, the variants
// of the other source do not have this axis.
//
// A rule may be for one kernel or one GPU ("[matmul]TM=64", "[sm_90a]TM=128"). Such a rule replaces
// the global rule for that kernel or GPU. So an axis has the union of the values of all rules, and
// the plan contains each choice that at least one kernel uses for at least one GPU.
// `SourcePlan::wants` says which kernels and GPUs use a choice.
//
// Tested by tests/unit/variants/variants_test.cpp.

#include "variants/variant_plan.h"

#include "support/read_file.h"
#include "support/result.h"
#include "variants/variant_condition.h"
#include "variants/variant_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace tritonc {
namespace {

constexpr size_t max_variants = 4096;
constexpr size_t max_instantiations = 65536; // before conditions and files select variants

// The GPU whose rules apply: rules for a GPU also apply to the PTX for it and later GPUs.
const Gpu *real(const Gpu *gpu) { return gpu && gpu->is_ptx() ? find_gpu(gpu->machine) : gpu; }

// The scope of a rule. An empty kernel means all kernels, and a null GPU means all GPUs.
struct Scope {
  std::string kernel;
  const Gpu *gpu = nullptr;

  bool includes(const std::string &a_kernel, const Gpu *a_gpu) const {
    return (kernel.empty() || kernel == a_kernel) && (!gpu || gpu == real(a_gpu));
  }
  /// The closer rule wins. A rule for a GPU is closer than a rule for a kernel.
  int closeness() const { return (gpu ? 2 : 0) + (kernel.empty() ? 0 : 1); }
};

// NAME=VALUE,VALUE of --variants.
struct AxisRule {
  Scope scope;
  std::string name;
  std::vector<std::string> values;
  bool is_general = false; // a rule without scope that is not from a file entry
};

// An entry of a variant file.
struct FileEntry {
  std::vector<std::string> kernels;
  std::vector<const Gpu *> gpus;
  std::vector<AxisRule> axes;

  bool includes(const std::string &kernel, const Gpu *gpu) const {
    return (kernels.empty() || llvm::is_contained(kernels, kernel)) &&
           (gpus.empty() || llvm::is_contained(gpus, real(gpu)));
  }
  const AxisRule *axis(const std::string &name) const {
    auto found = llvm::find_if(axes, [&](const AxisRule &rule) { return rule.name == name; });
    return found == axes.end() ? nullptr : &*found;
  }
};

// All options that select variants.
struct Selection {
  std::vector<AxisRule> rules;
  std::vector<FileEntry> entries;
  std::vector<Condition> conditions;
  std::vector<std::string> kernels; // empty = all
};

// Parses "sm_90a" or "90a". Fails for an unknown GPU and for a GPU that --arch does not list. An
// empty `gpus` accepts all GPUs.
Result<const Gpu *> gpu_of_rule(llvm::StringRef name, const std::vector<const Gpu *> &gpus) {
  const Gpu *gpu = find_gpu(name);
  if (!gpu)
    return Error{Message::unknown_gpu, {name.str(), llvm::join(gpu_names(), ", ")}};
  if (!gpus.empty() && !llvm::is_contained(gpus, gpu))
    return Error{Message::gpu_not_compiled, {std::string(gpu->name)}};
  return gpu;
}

// Parses the text in brackets: "matmul", "sm_90a" or "matmul,sm_90a".
Result<Scope> parse_scope(llvm::StringRef text, const std::vector<const Gpu *> &gpus) {
  Scope scope;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts) {
    part = part.trim();
    if (part.empty())
      return Error{Message::bad_variants, {"[" + text.str() + "]"}};
    if (!part.starts_with("sm_") && !llvm::isDigit(part[0])) {
      scope.kernel = part.str();
      continue;
    }
    Result<const Gpu *> gpu = gpu_of_rule(part, gpus);
    if (!gpu)
      return gpu.error();
    scope.gpu = *gpu;
  }
  return scope;
}

Result<std::vector<AxisRule>> parse_rules(const std::string &text,
                                          const std::vector<const Gpu *> &gpus) {
  std::vector<AxisRule> rules;
  llvm::SmallVector<llvm::StringRef> clauses, values;
  llvm::StringRef(text).split(clauses, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef clause : clauses) {
    llvm::StringRef rest = clause.trim();
    AxisRule rule;
    if (rest.consume_front("[")) {
      auto [inside, behind] = rest.split(']');
      Result<Scope> scope = parse_scope(inside, gpus);
      if (!scope)
        return scope.error();
      rule.scope = *scope;
      rest = behind;
    }
    auto [name, list] = rest.split('=');
    values.clear();
    list.split(values, ',');
    rule.name = name.trim().str();
    for (llvm::StringRef value : values)
      rule.values.push_back(value.trim().str());
    if (rule.name.empty() || llvm::is_contained(rule.values, ""))
      return Error{Message::bad_variants, {clause.trim().str()}};
    rule.is_general = rule.scope.closeness() == 0;
    rules.push_back(std::move(rule));
  }
  return rules;
}

// Converts a file entry. The entry may name GPUs that this call does not compile for.
Result<FileEntry> file_entry(const VariantFileEntry &written) {
  FileEntry entry;
  entry.kernels = written.kernels;
  for (const std::string &name : written.gpus) {
    Result<const Gpu *> gpu = gpu_of_rule(name, {});
    if (!gpu)
      return gpu.error();
    entry.gpus.push_back(*gpu);
  }
  for (const auto &[axis, values] : written.axes)
    entry.axes.push_back({{}, axis, values});
  return entry;
}

bool is_integer(llvm::StringRef text) {
  long long ignored;
  return !text.getAsInteger(0, ignored);
}

AxisValue plain_value(const std::string &axis, const std::string &value) {
  return {value, {{axis, value}}};
}

// Whether each value of the axis defines only the macro with the name of the axis.
bool is_plain(const Axis &axis) {
  return std::all_of(axis.values.begin(), axis.values.end(), [&](const AxisValue &value) {
    return value.defines.size() == 1 && value.defines[0].name == axis.name;
  });
}

const AxisValue *find_value(const std::vector<AxisValue> &values, const std::string &name) {
  auto found = llvm::find_if(values, [&](const AxisValue &value) { return value.name == name; });
  return found == values.end() ? nullptr : &*found;
}

// The values of a rule for `axis`. Reuses the axis' values where the names match.
Result<std::vector<AxisValue>> values_of(const AxisRule &rule, const Axis &axis) {
  std::vector<AxisValue> values;
  for (const std::string &name : rule.values) {
    const AxisValue *known = find_value(axis.values, name);
    if (!known && !is_plain(axis)) {
      std::vector<std::string> names;
      for (const AxisValue &value : axis.values)
        names.push_back(value.name);
      return Error{Message::unknown_variant, {axis.name, name, llvm::join(names, ", ")}};
    }
    if (find_value(values, name))
      return Error{Message::axis_value_twice, {axis.name, name}};
    values.push_back(known ? *known : plain_value(axis.name, name));
  }
  return values;
}

Axis *find_axis(std::vector<Axis> &axes, const std::string &name) {
  auto found =
      std::find_if(axes.begin(), axes.end(), [&](const Axis &axis) { return axis.name == name; });
  return found == axes.end() ? nullptr : &*found;
}

// --- The axes ------------------------------------------------------------------------------------

// All rules about axes, including the rules in file entries.
std::vector<const AxisRule *> all_rules(const Selection &selection) {
  std::vector<const AxisRule *> rules;
  for (const AxisRule &rule : selection.rules)
    rules.push_back(&rule);
  for (const FileEntry &entry : selection.entries)
    for (const AxisRule &rule : entry.axes)
      rules.push_back(&rule);
  return rules;
}

// The closest --variants rule for this axis, kernel and GPU; null if none.
const AxisRule *closest_rule(const Selection &selection, const std::string &axis,
                             const std::string &kernel, const Gpu *gpu) {
  const AxisRule *closest = nullptr;
  for (const AxisRule &rule : selection.rules)
    if (rule.name == axis && rule.scope.includes(kernel, gpu) &&
        (!closest || rule.scope.closeness() >= closest->scope.closeness()))
      closest = &rule;
  return closest;
}

// Gives a declared axis the values of all rules. A general rule replaces the declared values; other
// rules add values.
std::optional<Error> extend_axis(Axis &axis, const Selection &selection) {
  const Axis declared = axis;
  if (const AxisRule *general = closest_rule(selection, axis.name, "", nullptr)) {
    Result<std::vector<AxisValue>> values = values_of(*general, declared);
    if (!values)
      return values.error();
    axis.values = std::move(*values);
  }
  for (const AxisRule *rule : all_rules(selection)) {
    if (rule->name != axis.name)
      continue;
    Result<std::vector<AxisValue>> values = values_of(*rule, declared);
    if (!values)
      return values.error();
    for (const AxisValue &value : *values)
      if (!rule->is_general && !find_value(axis.values, value.name))
        axis.values.push_back(value);
  }
  return std::nullopt;
}

// An axis that no source declares. It is tuned if all its values are integers, else part of the
// API.
Axis added_axis(const std::string &name, const Selection &selection) {
  Axis axis = {name, true, {}};
  for (const AxisRule *rule : all_rules(selection))
    if (rule->name == name)
      axis.tuned &= llvm::all_of(rule->values, [](const auto &value) { return is_integer(value); });
  return axis;
}

std::optional<Error> complete_axes(std::vector<SourcePlan> &sources, const Selection &selection) {
  std::vector<std::string> added;
  for (const AxisRule *rule : all_rules(selection)) {
    bool declared = llvm::any_of(
        sources, [&](SourcePlan &source) { return find_axis(source.axes, rule->name); });
    if (!declared && !llvm::is_contained(added, rule->name))
      added.push_back(rule->name);
  }
  for (SourcePlan &source : sources) {
    for (const std::string &name : added)
      source.axes.push_back(added_axis(name, selection));
    for (Axis &axis : source.axes)
      if (std::optional<Error> failure = extend_axis(axis, selection))
        return failure;
  }
  return std::nullopt;
}

// Turns macros with the name of an axis into rules for that axis. Returns the other macros.
std::vector<Define> take_axes(const std::vector<Define> &defines, std::vector<SourcePlan> &sources,
                              std::vector<AxisRule> &rules) {
  std::vector<Define> others;
  for (const Define &define : defines) {
    bool is_axis = llvm::any_of(
        sources, [&](SourcePlan &source) { return find_axis(source.axes, define.name); });
    if (is_axis)
      rules.push_back({{}, define.name, {define.value}, /*is_general=*/true});
    else
      others.push_back(define);
  }
  return others;
}

// --- The choices ---------------------------------------------------------------------------------

size_t count_choices(const std::vector<Axis> &axes) {
  size_t count = 1;
  for (const Axis &axis : axes)
    count = std::min(count * axis.values.size(), max_instantiations + 1);
  return count;
}

// The cross product of the axes; the last axis varies fastest.
std::vector<VariantChoice> choices_of(const std::vector<Axis> &axes,
                                      const std::vector<Define> &defines) {
  std::vector<VariantChoice> choices;
  VariantValues values(std::vector<int>(axes.size(), 0));
  for (size_t left = count_choices(axes); left; left--) {
    VariantChoice choice = {values, defines, values.text(axes)};
    for (size_t i = 0; i < axes.size(); i++) {
      const AxisValue &value = choice.values.value(axes, i);
      choice.defines.insert(choice.defines.end(), value.defines.begin(), value.defines.end());
    }
    choices.push_back(std::move(choice));
    for (size_t i = axes.size(); i-- && ++values[i] == int(axes[i].values.size());)
      values[i] = 0;
  }
  return choices;
}

// The axes of a source: `all` has the values of all rules. `declared` has only the axes and values
// that the source declares; it is a prefix of `all` and applies to kernels without a rule.
struct Axes {
  std::vector<Axis> all, declared;
};

// The option that excludes a choice for a kernel and GPU; empty if none does. Sets `failure` if a
// condition cannot be evaluated.
std::string reason_against(const Selection &selection, const Axes &axes,
                           const VariantChoice &choice, const std::string &kernel, const Gpu *gpu,
                           std::optional<Error> &failure) {
  if (!selection.kernels.empty() && !llvm::is_contained(selection.kernels, kernel))
    return "--kernels";
  auto value_of = [&](size_t axis) -> const std::string & {
    return choice.values.value(axes.all, axis).name;
  };
  auto is_allowed = [&](size_t axis, const AxisRule *rule) {
    if (!rule)
      rule = closest_rule(selection, axes.all[axis].name, kernel, gpu);
    if (rule)
      return llvm::is_contained(rule->values, value_of(axis));
    return axis >= axes.declared.size() ||
           find_value(axes.declared[axis].values, value_of(axis)) != nullptr;
  };
  auto all_allowed = [&](const FileEntry *entry) {
    for (size_t axis = 0; axis < axes.all.size(); axis++)
      if (!is_allowed(axis, entry ? entry->axis(axes.all[axis].name) : nullptr))
        return false;
    return true;
  };
  bool in_file = false, is_listed = false;
  for (const FileEntry &entry : selection.entries)
    if (entry.includes(kernel, gpu)) {
      in_file = true;
      is_listed |= all_allowed(&entry);
    }
  if (in_file && !is_listed)
    return "--variant-file";
  if (!in_file && !all_allowed(nullptr))
    return "--variants";

  ConditionSubject subject;
  subject.kernel = kernel;
  subject.arch = gpu ? gpu->sm : 0;
  subject.value_of = [&](const std::string &name) -> std::optional<std::string> {
    for (size_t axis = 0; axis < axes.all.size(); axis++)
      if (axes.all[axis].name == name)
        return value_of(axis);
    return std::nullopt;
  };
  for (const Condition &condition : selection.conditions) {
    if (condition.mentions_missing_axis(axes.all))
      continue; // a condition for another source
    Result<bool> holds = condition.holds(subject);
    if (!holds && !failure)
      failure = holds.error();
    if (!holds || !*holds)
      return condition.text();
  }
  return "";
}

// Kernels that options name but no source has literally. Macros may generate their names.
std::vector<std::string> unseen_kernels(const std::vector<SourcePlan> &sources,
                                        const Selection &selection) {
  std::vector<std::string> names = selection.kernels, unseen;
  for (const AxisRule &rule : selection.rules)
    names.push_back(rule.scope.kernel);
  for (const FileEntry &entry : selection.entries)
    llvm::append_range(names, entry.kernels);
  for (const std::string &name : names) {
    bool is_seen = name.empty() || llvm::is_contained(unseen, name) ||
                   llvm::any_of(sources, [&](const SourcePlan &source) {
                     return llvm::is_contained(source.kernels, name);
                   });
    if (!is_seen)
      unseen.push_back(name);
  }
  return unseen;
}

// Restricts a source's choices to the choices that at least one kernel uses.
std::optional<Error> choose(SourcePlan &source, const std::vector<Define> &defines,
                            const std::vector<std::string> &kernels,
                            const std::shared_ptr<const Selection> &selection,
                            const std::vector<const Gpu *> &gpus, Axes axes) {
  std::vector<const Gpu *> wanted_gpus = gpus;
  if (gpus.empty())
    wanted_gpus = {nullptr};

  std::optional<Error> failure;
  for (VariantChoice &choice : choices_of(source.axes, defines)) {
    std::string reason;
    bool is_wanted = false;
    for (const std::string &kernel : kernels)
      for (const Gpu *gpu : wanted_gpus) {
        std::string against = reason_against(*selection, axes, choice, kernel, gpu, failure);
        is_wanted |= against.empty();
        if (reason.empty())
          reason = against;
      }
    if (failure)
      return failure;
    if (is_wanted)
      source.choices.push_back(std::move(choice));
    else
      source.left_out.push_back({choice.text, reason});
  }
  source.wants = [selection, axes = std::move(axes)](const VariantChoice &choice,
                                                     const std::string &kernel, const Gpu *gpu) {
    std::optional<Error> ignored; // failures are already reported above
    return reason_against(*selection, axes, choice, kernel, gpu, ignored).empty();
  };
  return std::nullopt;
}

// Reads all options except macros that choose from axes.
Result<Selection> read_selection(const VariantRules &options) {
  Selection selection;
  selection.kernels = options.kernels;
  Result<std::vector<AxisRule>> rules = parse_rules(options.variants, options.gpus);
  if (!rules)
    return rules.error();
  selection.rules = std::move(*rules);
  if (!options.variant_file.empty()) {
    Result<std::vector<VariantFileEntry>> entries = read_variant_file(options.variant_file);
    if (!entries)
      return entries.error();
    for (const VariantFileEntry &written : *entries) {
      Result<FileEntry> entry = file_entry(written);
      if (!entry)
        return entry.error();
      selection.entries.push_back(std::move(*entry));
    }
  }
  for (const std::string &text : options.where) {
    Result<Condition> condition = Condition::parse(text);
    if (!condition)
      return condition.error();
    selection.conditions.push_back(std::move(*condition));
  }
  return selection;
}

// Checks the names in all conditions against the axes, values and kernels of all sources.
std::optional<Error> check_conditions(const std::vector<SourcePlan> &sources,
                                      const std::vector<Condition> &conditions) {
  std::vector<Axis> axes;
  std::vector<std::string> kernels;
  for (const SourcePlan &source : sources) {
    llvm::append_range(kernels, source.kernels);
    for (const Axis &axis : source.axes) {
      Axis *known = find_axis(axes, axis.name);
      if (!known) {
        axes.push_back(axis);
        continue;
      }
      for (const AxisValue &value : axis.values)
        if (!find_value(known->values, value.name))
          known->values.push_back(value);
    }
  }
  for (const Condition &condition : conditions)
    if (std::optional<Error> failure = condition.check(axes, kernels))
      return failure;
  return std::nullopt;
}

} // namespace

Plan plan(const VariantRules &options) {
  Plan result;
  auto fail = [&](const Error &failure) {
    result.code = exit_code_of(failure.id);
    result.add(diagnostic(failure));
    return std::move(result);
  };

  for (const std::string &path : options.sources) {
    if (std::optional<Error> error = find_read_error(path, max_source_bytes))
      return fail(*error);
    Watchdog::Task task(options.watchdog, "`" + path + "`");
    Declarations declarations = read_declarations({.path = path,
                                                   .defines = options.defines,
                                                   .include_dirs = options.include_dirs,
                                                   .grid = options.grid,
                                                   .messages = options.messages});
    for (Diagnostic &found : declarations.diagnostics)
      result.add(std::move(found));
    if (declarations.failed)
      result.code = ExitCode::source_error;
    result.sources.push_back(
        {path, std::move(declarations.axes), std::move(declarations.kernels), {}, {}, {}});
  }
  if (result.code != ExitCode::ok)
    return result;

  Result<Selection> selected = read_selection(options);
  if (!selected)
    return fail(selected.error());
  std::vector<Define> defines = take_axes(options.defines, result.sources, selected->rules);
  auto selection = std::make_shared<const Selection>(std::move(*selected));
  std::vector<std::vector<Axis>> declared;
  for (const SourcePlan &source : result.sources)
    declared.push_back(source.axes);
  if (std::optional<Error> failure = complete_axes(result.sources, *selection))
    return fail(*failure);
  if (std::optional<Error> failure = check_conditions(result.sources, selection->conditions))
    return fail(*failure);

  size_t instantiations = 0, count = 0;
  for (const SourcePlan &source : result.sources)
    instantiations += count_choices(source.axes);
  if (instantiations > max_instantiations)
    return fail({Message::too_many_variants,
                 {"more than " + std::to_string(max_instantiations),
                  std::to_string(max_instantiations)}}); // the count saturates
  result.unseen_kernels = unseen_kernels(result.sources, *selection);
  for (size_t i = 0; i < result.sources.size(); i++) {
    SourcePlan &source = result.sources[i];
    std::vector<std::string> kernels = source.kernels;
    llvm::append_range(kernels, result.unseen_kernels);
    if (kernels.empty())
      kernels = {""};
    if (std::optional<Error> failure = choose(source, defines, kernels, selection, options.gpus,
                                              {source.axes, std::move(declared[i])}))
      return fail(*failure);
    count += source.choices.size();
  }
  if (count > max_variants)
    return fail(
        {Message::too_many_variants, {std::to_string(count), std::to_string(max_variants)}});
  if (count == 0)
    return fail({Message::no_variant_left, {std::to_string(instantiations)}});
  if (!options.variant_file.empty())
    result.dependencies.push_back(options.variant_file);
  return result;
}

} // namespace tritonc
