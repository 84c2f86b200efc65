// The variants of a call: which axes its sources have, and every choice of a value from each.
//
// The axes are those that a source declares, restricted to what the command line asks for, and
// those that only the command line names. A source that does not declare an axis which another one
// does is left alone: its variants do not differ in it.
//
// Tested by tests/compile/compile_test.cpp.

#include "compile.h"

#include "backend/result.h"
#include "source/source_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <optional>

namespace tritonc {
namespace {

constexpr size_t most_variants = 4096;

// NAME=VALUE,VALUE as --variants has it.
struct AxisOverride {
  std::string name;
  std::vector<std::string> values;
};

Result<std::vector<AxisOverride>> parse_overrides(const std::string &text) {
  std::vector<AxisOverride> overrides;
  llvm::SmallVector<llvm::StringRef> clauses, values;
  llvm::StringRef(text).split(clauses, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef clause : clauses) {
    auto [name, list] = clause.trim().split('=');
    values.clear();
    list.split(values, ',');
    AxisOverride axis = {name.trim().str(), {}};
    for (llvm::StringRef value : values)
      axis.values.push_back(value.trim().str());
    if (axis.name.empty() || llvm::is_contained(axis.values, ""))
      return Failure{Message::bad_variants, {clause.trim().str()}};
    overrides.push_back(std::move(axis));
  }
  return overrides;
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

std::optional<Failure> restrict_axis(Axis &axis, const AxisOverride &chosen) {
  std::vector<AxisValue> values;
  for (const std::string &name : chosen.values) {
    auto known = std::find_if(axis.values.begin(), axis.values.end(),
                              [&](const AxisValue &value) { return value.name == name; });
    if (known == axis.values.end() && !is_plain(axis)) {
      std::vector<std::string> names;
      for (const AxisValue &value : axis.values)
        names.push_back(value.name);
      return Failure{Message::unknown_variant, {axis.name, name, llvm::join(names, ", ")}};
    }
    if (llvm::any_of(values, [&](const AxisValue &value) { return value.name == name; }))
      return Failure{Message::axis_value_twice, {axis.name, name}};
    values.push_back(known != axis.values.end() ? *known : plain_value(axis.name, name));
  }
  axis.values = std::move(values);
  return std::nullopt;
}

Axis *find_axis(std::vector<Axis> &axes, const std::string &name) {
  auto found =
      std::find_if(axes.begin(), axes.end(), [&](const Axis &axis) { return axis.name == name; });
  return found == axes.end() ? nullptr : &*found;
}

std::optional<Failure> apply_overrides(std::vector<SourcePlan> &sources,
                                       const std::vector<AxisOverride> &overrides) {
  for (const AxisOverride &chosen : overrides) {
    bool declared = false;
    for (SourcePlan &source : sources)
      if (Axis *axis = find_axis(source.axes, chosen.name)) {
        declared = true;
        if (std::optional<Failure> failure = restrict_axis(*axis, chosen))
          return failure;
      }
    // What no source declares is tuned if it counts something, else part of the API.
    bool counts = std::all_of(chosen.values.begin(), chosen.values.end(), is_integer);
    for (SourcePlan &source : sources) {
      if (declared)
        continue;
      source.axes.push_back({chosen.name, counts, {}});
      if (std::optional<Failure> failure = restrict_axis(source.axes.back(), chosen))
        return failure;
    }
  }
  return std::nullopt;
}

// A macro of the command line that has the name of an axis chooses from that axis.
std::vector<Define> take_axes(const std::vector<Define> &defines, std::vector<SourcePlan> &sources,
                              std::vector<AxisOverride> &overrides) {
  std::vector<Define> others;
  for (const Define &define : defines) {
    bool is_axis = llvm::any_of(
        sources, [&](SourcePlan &source) { return find_axis(source.axes, define.name); });
    if (is_axis)
      overrides.push_back({define.name, {define.value}});
    else
      others.push_back(define);
  }
  return others;
}

size_t count_choices(const std::vector<Axis> &axes) {
  size_t count = 1;
  for (const Axis &axis : axes)
    count = std::min(count * axis.values.size(), most_variants + 1);
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

} // namespace

Plan plan(const CompileOptions &options) {
  Plan result;
  auto fail = [&](const Failure &failure) {
    result.code = exit_code_of(failure.id);
    result.diagnostics += text(failure) + "\n";
    return std::move(result);
  };

  for (const std::string &path : options.sources) {
    FileProblem problem = problem_with(path);
    if (!problem.error.empty())
      return fail({Message::cannot_read, {path, problem.error}});
    if (!problem.kind.empty())
      return fail({Message::not_a_regular_file, {path, problem.kind}});
    Declarations declarations = read_declarations({.path = path,
                                                   .defines = options.defines,
                                                   .include_dirs = options.include_dirs,
                                                   .grid = options.grid});
    result.diagnostics += declarations.diagnostics;
    if (declarations.failed)
      result.code = ExitCode::source_error;
    result.sources.push_back({path, std::move(declarations.axes), {}});
  }
  if (result.code != ExitCode::ok)
    return result;

  Result<std::vector<AxisOverride>> overrides = parse_overrides(options.variants);
  if (!overrides)
    return fail(overrides.failure());
  std::vector<Define> defines = take_axes(options.defines, result.sources, *overrides);
  if (std::optional<Failure> failure = apply_overrides(result.sources, *overrides))
    return fail(*failure);

  size_t count = 0;
  for (const SourcePlan &source : result.sources)
    count += count_choices(source.axes);
  if (count > most_variants)
    return fail(
        {Message::too_many_variants, {std::to_string(count), std::to_string(most_variants)}});
  for (SourcePlan &source : result.sources)
    source.choices = choices_of(source.axes, defines);
  return result;
}

} // namespace tritonc
