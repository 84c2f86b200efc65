// The variants of a call: which axes its sources have, and which choices of a value from each are
// compiled, of which kernels and for which GPUs.
//
// The axes are those that a source declares, restricted to what the command line asks for, and
// those that only the command line names. A source that does not declare an axis which another one
// does is left alone: its variants do not differ in it.
//
// A rule may be meant for one kernel or one GPU ("[matmul]TM=64", "[sm_90a]TM=128"), and then takes
// the place of what is said for all. So an axis has all values that anybody wants, and of all
// choices those are taken that some kernel has for some GPU; `SourcePlan::wants` says which have
// it.
//
// Tested by tests/compile/variants_test.cpp.

#include "compile.h"

#include "backend/result.h"
#include "source/source_file.h"
#include "variant_condition.h"
#include "variant_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace tritonc {
namespace {

constexpr size_t most_variants = 4096;
constexpr size_t most_combinations = 65536; // before conditions and files take their choice

// What is said for a GPU holds for the PTX for it and later ones, too.
const Gpu *real(const Gpu *gpu) { return gpu && gpu->is_ptx() ? find_gpu(gpu->machine) : gpu; }

// For whom a rule is meant; an empty kernel and a null GPU are all of them.
struct Scope {
  std::string kernel;
  const Gpu *gpu = nullptr;

  bool includes(const std::string &a_kernel, const Gpu *a_gpu) const {
    return (kernel.empty() || kernel == a_kernel) && (!gpu || gpu == real(a_gpu));
  }
  /// Of two rules the closer one holds; one for a GPU is closer than one for a kernel.
  int closeness() const { return (gpu ? 2 : 0) + (kernel.empty() ? 0 : 1); }
};

// NAME=VALUE,VALUE as --variants has it.
struct AxisRule {
  Scope scope;
  std::string name;
  std::vector<std::string> values;
  bool is_general = false; // meant for all, and not an entry's of a file
};

// What an entry of a variant file allows.
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

// Everything that the command line says about which variants there shall be.
struct Selection {
  std::vector<AxisRule> rules;
  std::vector<FileEntry> entries;
  std::vector<Condition> conditions;
  std::vector<std::string> kernels; // empty: all
};

// "sm_90a" or "90a"; none if it is no GPU that the call compiles for. Without --arch, all will do.
Result<const Gpu *> gpu_of_rule(llvm::StringRef name, const std::vector<const Gpu *> &gpus) {
  const Gpu *gpu = find_gpu(name);
  if (!gpu)
    return Failure{Message::unknown_gpu, {name.str(), llvm::join(gpu_names(), ", ")}};
  if (!gpus.empty() && !llvm::is_contained(gpus, gpu))
    return Failure{Message::gpu_not_compiled, {std::string(gpu->name)}};
  return gpu;
}

// "matmul", "sm_90a" or "matmul,sm_90a", which stood in brackets.
Result<Scope> parse_scope(llvm::StringRef text, const std::vector<const Gpu *> &gpus) {
  Scope scope;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts) {
    part = part.trim();
    if (part.empty())
      return Failure{Message::bad_variants, {"[" + text.str() + "]"}};
    if (!part.starts_with("sm_") && !llvm::isDigit(part[0])) {
      scope.kernel = part.str();
      continue;
    }
    Result<const Gpu *> gpu = gpu_of_rule(part, gpus);
    if (!gpu)
      return gpu.failure();
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
        return scope.failure();
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
      return Failure{Message::bad_variants, {clause.trim().str()}};
    rule.is_general = rule.scope.closeness() == 0;
    rules.push_back(std::move(rule));
  }
  return rules;
}

// A file may serve calls for other GPUs too.
Result<FileEntry> file_entry(const VariantFileEntry &written) {
  FileEntry entry;
  entry.kernels = written.kernels;
  for (const std::string &name : written.gpus) {
    Result<const Gpu *> gpu = gpu_of_rule(name, {});
    if (!gpu)
      return gpu.failure();
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

// Whether a value of this axis is nothing but a value of the macro of its name.
bool is_plain(const Axis &axis) {
  return std::all_of(axis.values.begin(), axis.values.end(), [&](const AxisValue &value) {
    return value.defines.size() == 1 && value.defines[0].name == axis.name;
  });
}

const AxisValue *find_value(const std::vector<AxisValue> &values, const std::string &name) {
  auto found = llvm::find_if(values, [&](const AxisValue &value) { return value.name == name; });
  return found == values.end() ? nullptr : &*found;
}

// The rule's values of an axis that has those of `axis`.
Result<std::vector<AxisValue>> values_of(const AxisRule &rule, const Axis &axis) {
  std::vector<AxisValue> values;
  for (const std::string &name : rule.values) {
    const AxisValue *known = find_value(axis.values, name);
    if (!known && !is_plain(axis)) {
      std::vector<std::string> names;
      for (const AxisValue &value : axis.values)
        names.push_back(value.name);
      return Failure{Message::unknown_variant, {axis.name, name, llvm::join(names, ", ")}};
    }
    if (find_value(values, name))
      return Failure{Message::axis_value_twice, {axis.name, name}};
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

// All rules about axes, those of the file's entries too.
std::vector<const AxisRule *> all_rules(const Selection &selection) {
  std::vector<const AxisRule *> rules;
  for (const AxisRule &rule : selection.rules)
    rules.push_back(&rule);
  for (const FileEntry &entry : selection.entries)
    for (const AxisRule &rule : entry.axes)
      rules.push_back(&rule);
  return rules;
}

// The rule that says what values the axis has for this kernel and GPU; null where none does.
const AxisRule *closest_rule(const Selection &selection, const std::string &axis,
                             const std::string &kernel, const Gpu *gpu) {
  const AxisRule *closest = nullptr;
  for (const AxisRule &rule : selection.rules)
    if (rule.name == axis && rule.scope.includes(kernel, gpu) &&
        (!closest || rule.scope.closeness() >= closest->scope.closeness()))
      closest = &rule;
  return closest;
}

// Gives an axis that a source declares all values that anybody wants. What is said for all takes
// the place of the declared ones, and what is said for some is added.
std::optional<Failure> extend_axis(Axis &axis, const Selection &selection) {
  const Axis declared = axis;
  if (const AxisRule *general = closest_rule(selection, axis.name, "", nullptr)) {
    Result<std::vector<AxisValue>> values = values_of(*general, declared);
    if (!values)
      return values.failure();
    axis.values = std::move(*values);
  }
  for (const AxisRule *rule : all_rules(selection)) {
    if (rule->name != axis.name)
      continue;
    Result<std::vector<AxisValue>> values = values_of(*rule, declared);
    if (!values)
      return values.failure();
    for (const AxisValue &value : *values)
      if (!rule->is_general && !find_value(axis.values, value.name))
        axis.values.push_back(value);
  }
  return std::nullopt;
}

// What no source declares is tuned if it counts something, else part of the API.
Axis added_axis(const std::string &name, const Selection &selection) {
  Axis axis = {name, true, {}};
  for (const AxisRule *rule : all_rules(selection))
    if (rule->name == name)
      axis.tuned &= llvm::all_of(rule->values, [](const auto &value) { return is_integer(value); });
  return axis;
}

std::optional<Failure> complete_axes(std::vector<SourcePlan> &sources, const Selection &selection) {
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
      if (std::optional<Failure> failure = extend_axis(axis, selection))
        return failure;
  }
  return std::nullopt;
}

// A macro of the command line that has the name of an axis chooses from that axis.
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
    count = std::min(count * axis.values.size(), most_combinations + 1);
  return count;
}

// The cross product; the last axis runs fastest.
std::vector<VariantChoice> choices_of(const std::vector<Axis> &axes,
                                      const std::vector<Define> &defines) {
  std::vector<VariantChoice> choices;
  std::vector<int> values(axes.size(), 0);
  for (size_t left = count_choices(axes); left; left--) {
    VariantChoice choice = {values, defines, ""};
    for (size_t i = 0; i < axes.size(); i++) {
      const AxisValue &value = axes[i].values[values[i]];
      choice.defines.insert(choice.defines.end(), value.defines.begin(), value.defines.end());
      choice.text += (i ? " " : "") + axes[i].name + "=" + value.name;
    }
    choices.push_back(std::move(choice));
    for (size_t i = axes.size(); i-- && ++values[i] == int(axes[i].values.size());)
      values[i] = 0;
  }
  return choices;
}

// A source's axes with all values that somebody wants, and, of the first of them, those that it
// declares: what a kernel has about which nothing is said.
struct Axes {
  std::vector<Axis> all, declared;
};

// Why a kernel does not have a choice for a GPU; empty if it has. A condition that cannot be
// answered is set in `failure`.
std::string reason_against(const Selection &selection, const Axes &axes,
                           const VariantChoice &choice, const std::string &kernel, const Gpu *gpu,
                           std::optional<Failure> &failure) {
  if (!selection.kernels.empty() && !llvm::is_contained(selection.kernels, kernel))
    return "--kernels";
  auto value_of = [&](size_t axis) -> const std::string & {
    return axes.all[axis].values[size_t(choice.values[axis])].name;
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
      continue; // another source's
    Result<bool> holds = condition.holds(subject);
    if (!holds && !failure)
      failure = holds.failure();
    if (!holds || !*holds)
      return condition.text();
  }
  return "";
}

// Kernels that options name and no source seems to have: their names may be made by macros.
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

// Restricts a source's choices to those that one of the kernels has.
std::optional<Failure> choose(SourcePlan &source, const std::vector<Define> &defines,
                              const std::vector<std::string> &kernels,
                              const std::shared_ptr<const Selection> &selection,
                              const std::vector<const Gpu *> &gpus, Axes axes) {
  std::vector<const Gpu *> wanted_gpus = gpus;
  if (gpus.empty())
    wanted_gpus = {nullptr};

  std::optional<Failure> failure;
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
    std::optional<Failure> ignored; // what can fail has failed above
    return reason_against(*selection, axes, choice, kernel, gpu, ignored).empty();
  };
  return std::nullopt;
}

// All that the options say, but for macros that choose from axes.
Result<Selection> read_selection(const CompileOptions &options) {
  Selection selection;
  selection.kernels = options.kernels;
  Result<std::vector<AxisRule>> rules = parse_rules(options.variants, options.gpus);
  if (!rules)
    return rules.failure();
  selection.rules = std::move(*rules);
  if (!options.variant_file.empty()) {
    Result<std::vector<VariantFileEntry>> entries = read_variant_file(options.variant_file);
    if (!entries)
      return entries.failure();
    for (const VariantFileEntry &written : *entries) {
      Result<FileEntry> entry = file_entry(written);
      if (!entry)
        return entry.failure();
      selection.entries.push_back(std::move(*entry));
    }
  }
  for (const std::string &text : options.where) {
    Result<Condition> condition = Condition::parse(text);
    if (!condition)
      return condition.failure();
    selection.conditions.push_back(std::move(*condition));
  }
  return selection;
}

// The axes and kernels of all sources, for conditions: each axis with all its values.
std::optional<Failure> check_conditions(const std::vector<SourcePlan> &sources,
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
    if (std::optional<Failure> failure = condition.check(axes, kernels))
      return failure;
  return std::nullopt;
}

} // namespace

Plan plan(const CompileOptions &options) {
  Plan result;
  auto fail = [&](const Failure &failure) {
    result.code = exit_code_of(failure.id);
    result.add(finding(failure));
    return std::move(result);
  };

  for (const std::string &path : options.sources) {
    FileProblem problem = problem_with(path);
    if (!problem.error.empty())
      return fail({Message::cannot_read, {path, problem.error}});
    if (!problem.kind.empty())
      return fail({Message::not_a_regular_file, {path, problem.kind}});
    if (problem.is_too_large)
      return fail({Message::source_too_large, {path, std::to_string(most_source_bytes >> 20)}});
    Watchdog::Task task(options.watchdog, "`" + path + "`");
    Declarations declarations = read_declarations({.path = path,
                                                   .defines = options.defines,
                                                   .include_dirs = options.include_dirs,
                                                   .grid = options.grid,
                                                   .messages = options.messages});
    for (Finding &found : declarations.findings)
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
    return fail(selected.failure());
  std::vector<Define> defines = take_axes(options.defines, result.sources, selected->rules);
  auto selection = std::make_shared<const Selection>(std::move(*selected));
  std::vector<std::vector<Axis>> declared;
  for (const SourcePlan &source : result.sources)
    declared.push_back(source.axes);
  if (std::optional<Failure> failure = complete_axes(result.sources, *selection))
    return fail(*failure);
  if (std::optional<Failure> failure = check_conditions(result.sources, selection->conditions))
    return fail(*failure);

  size_t combinations = 0, count = 0;
  for (const SourcePlan &source : result.sources)
    combinations += count_choices(source.axes);
  if (combinations > most_combinations)
    return fail({Message::too_many_variants,
                 {"more than " + std::to_string(most_combinations),
                  std::to_string(most_combinations)}}); // nobody counted them all
  result.unseen_kernels = unseen_kernels(result.sources, *selection);
  for (size_t i = 0; i < result.sources.size(); i++) {
    SourcePlan &source = result.sources[i];
    std::vector<std::string> kernels = source.kernels;
    llvm::append_range(kernels, result.unseen_kernels);
    if (kernels.empty())
      kernels = {""};
    if (std::optional<Failure> failure = choose(source, defines, kernels, selection, options.gpus,
                                                {source.axes, std::move(declared[i])}))
      return fail(*failure);
    count += source.choices.size();
  }
  if (count > most_variants)
    return fail(
        {Message::too_many_variants, {std::to_string(count), std::to_string(most_variants)}});
  if (count == 0)
    return fail({Message::no_variant_left, {std::to_string(combinations)}});
  if (!options.variant_file.empty())
    result.dependencies.push_back(options.variant_file);
  return result;
}

namespace {

// Whether a variant has all those of the values whose axes the kernel has, and that is any.
bool has_values(const std::vector<Axis> &axes, const Variant &variant,
                const std::vector<Define> &wanted) {
  bool has_any = false;
  for (const Define &one : wanted)
    for (size_t axis = 0; axis < axes.size(); axis++) {
      if (axes[axis].name != one.name)
        continue;
      if (axes[axis].values[size_t(variant.values[axis])].name != one.value)
        return false;
      has_any = true;
    }
  return has_any;
}

} // namespace

Result<std::vector<Define>> default_values(const std::string &text, const Library &library) {
  std::vector<Define> values;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    auto [name, value] = part.split('=');
    values.push_back({name.trim().str(), value.trim().str()});
    if (values.back().name.empty() || values.back().value.empty() || value.contains(','))
      return Failure{Message::default_syntax, {text, part.trim().str()}};
  }
  for (const Define &one : values) {
    std::vector<std::string> axes, there;
    for (const KernelEntry &kernel : library.kernels)
      for (const Axis &axis : kernel.axes) {
        if (!llvm::is_contained(axes, axis.name))
          axes.push_back(axis.name);
        for (const AxisValue &value : axis.values)
          if (axis.name == one.name && !llvm::is_contained(there, value.name))
            there.push_back(value.name);
      }
    if (there.empty())
      return Failure{Message::default_axis, {text, one.name, llvm::join(axes, ", ")}};
    if (!llvm::is_contained(there, one.value))
      return Failure{Message::unknown_variant, {one.name, one.value, llvm::join(there, ", ")}};
  }
  bool is_there = llvm::any_of(library.kernels, [&](const KernelEntry &kernel) {
    return llvm::any_of(kernel.variants, [&](const Variant &variant) {
      return has_values(kernel.axes, variant, values);
    });
  });
  if (!values.empty() && !is_there)
    return Failure{Message::default_left_out, {text}};
  return values;
}

std::vector<int> preferences(const std::vector<Axis> &axes, const std::vector<Variant> &variants,
                             const std::vector<Define> &defaults) {
  auto is_default = [&](int i) { return has_values(axes, variants[size_t(i)], defaults); };
  auto spills = [&](int i) {
    return llvm::any_of(variants[i].images, [](const Image &image) {
      return image.spill_stores != 0 || image.spill_loads != 0;
    });
  };
  auto tile = [&](int i) {
    double product = 1;
    for (size_t axis = 0; axis < axes.size(); axis++) {
      long long extent;
      llvm::StringRef value = axes[axis].values[variants[i].values[axis]].name;
      if (axes[axis].tuned && !value.getAsInteger(0, extent))
        product *= double(extent);
    }
    return product;
  };

  auto is_general = [&](int i) { return variants[size_t(i)].plan.hints.empty(); };
  std::vector<int> order;
  for (int i = 0; i < int(variants.size()); i++)
    if (is_general(i))
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (is_default(a) != is_default(b))
      return is_default(a);
    return spills(a) != spills(b) ? spills(b) : tile(a) > tile(b);
  });
  std::vector<int> preferences(variants.size());
  std::map<std::vector<int>, int> of_values;
  for (size_t i = 0; i < order.size(); i++)
    of_values[variants[size_t(order[i])].values] = preferences[order[i]] = int(i);
  for (int i = 0; i < int(variants.size()); i++)
    if (!is_general(i))
      preferences[i] = of_values[variants[size_t(i)].values];
  return preferences;
}

} // namespace tritonc
