// Writes the first comment of a generated header. See header_comment.h.
//
// Tested by tests/unit/emit/header_test.cpp.

#include "emit/cpp/header_comment.h"

#include "emit/cpp_text.h"
#include "emit/expression.h"

#include <algorithm>
#include <set>

namespace tritonc {

namespace {

class Opening {
public:
  Opening(const Library &library, const Interface &interface)
      : library_(library), interface_(interface) {}

  std::string text() const {
    std::string out =
        "// " + interface_.name_space + ": GPU kernels with typed launch functions.\n//\n";
    out += usage(interface_.kernels.front());
    out += "//\n// Generated" +
           (library_.tool.empty() ? "" : " by " + comment_text(library_.tool)) + " from " +
           comment_text(library_.source_file) + ". Do not edit.\n";
    for (const KernelInterface &kernel : interface_.kernels)
      out += "//\n" + facts(kernel);
    return out + selection_rule() + renamed();
  }

private:
  static std::string usage(const KernelInterface &kernel, const std::string &type,
                           const std::string &name) {
    const Instantiation &instantiation = kernel.instantiations.front();
    std::vector<std::string> designated;
    for (const Member &member : instantiation.members)
      designated.push_back("." + member.name + " = ...");
    std::string out;
    if (type != name)
      out += "//   using " + name + " = " + type + ";\n";
    std::string begin = "//   " + name + "::args args{";
    std::string indent = "//" + std::string(begin.size() - 2, ' ');
    if (!designated.empty())
      designated.back() += "};";
    out += designated.empty() ? begin + "};\n" : wrapped(begin, indent, designated, ",");
    out += "//   tritonc::status status = " + name + "::launch(stream, " +
           (kernel.declares_grid ? "" : "{x, y, z}, ") + "args" +
           (!kernel.declares_grid && !kernel.tuned.empty() ? ", variant" : "") + ");\n";
    out += "//   if (!status.ok())\n"
           "//     std::fprintf(stderr, \"%s\\n\", status.message().c_str());\n";
    out += "//\n"
           "// prepare does everything except the launch, once for repeated launches. preload "
           "loads the code\n"
           "// before the first launch.";
    return out + (kernel.tuned.empty() ? "\n"
                                       : " variant<...> has the same functions for one variant.\n");
  }

  std::string usage(const KernelInterface &kernel) const {
    std::string type = interface_.name_space + "::" + kernel.name;
    if (kernel.api.empty())
      return usage(kernel, type, type);
    std::vector<std::string> arguments;
    for (size_t i = 0; i < kernel.api.size(); i++) {
      const ApiAxis &axis = kernel.api[i];
      bool is_enumeration = axis.kind == ApiAxis::Kind::enumeration;
      arguments.push_back((is_enumeration ? interface_.name_space + "::" : "") +
                          axis.values[size_t(kernel.instantiations.front().api[i])]);
    }
    return usage(kernel, type + "<" + join(arguments, ", ") + ">", kernel.name);
  }

  static std::string axis_text(const Axis &axis) {
    std::vector<std::string> values;
    for (const AxisValue &value : axis.values)
      values.push_back(comment_text(value.name));
    return comment_text(axis.name) + " = " + join(values, ", ");
  }

  static std::string facts(const KernelInterface &kernel) {
    std::string label = "//   " + kernel.name + "  ";
    std::string blank = "//" + std::string(label.size() - 2, ' ');
    std::string out;
    auto row = [&](const std::string &title, const std::vector<std::string> &parts,
                   std::string_view separator) {
      if (parts.empty())
        return;
      std::string head = (out.empty() ? label : blank) + title;
      std::string next = blank + std::string(title.size(), ' ');
      out += wrapped(head, next, parts, separator);
    };
    std::vector<std::string> api, tuned;
    for (const Axis &axis : kernel.entry->axes)
      (axis.tuned ? tuned : api).push_back(axis_text(axis));
    row("compiled for   ", api, ";");
    row("variants       ", tuned, ";");
    row("also for       ", specialization_of(kernel), ";");
    const Variant &simplest = min_demanding(kernel);
    row("arguments      ", pointer_rules(simplest), ";");
    std::vector<std::string> constants;
    for (const Setter &setter : kernel.setters)
      constants.push_back(comment_text(setter.constant) + ", filled by " + setter.name);
    row("constants      ", constants, ";");
    std::vector<std::string> grid, requirements;
    for (const Expr &axis : simplest.plan.grid)
      grid.push_back(comment_text(text_of(axis, simplest.parameters)));
    for (const Parameter &parameter : simplest.parameters)
      if (!parameter.is_pointer && parameter.multiple_of > 1)
        requirements.push_back(comment_text(parameter.name) + " % " +
                               std::to_string(parameter.multiple_of) + " == 0");
    for (const Requirement &requirement : simplest.plan.requirements)
      requirements.push_back(comment_text(requirement.text));
    row("requires       ", requirements, ",");
    row("grid           ", grid, ",");
    if (!tuned.empty() && (!grid.empty() || !requirements.empty()))
      row("               ", {"(with " + join(values_of(kernel, simplest), ", ") + ")"}, "");
    if (kernel.entry->variants.front().plan.grid.empty())
      row("grid           ", {"given by the caller"}, "");
    return out;
  }

  /// The specializations of all variants.
  static std::vector<std::string> specialization_of(const KernelInterface &kernel) {
    std::vector<std::string> out;
    for (const Variant &variant : kernel.entry->variants) {
      std::string specialization = comment_text(variant.plan.specialization);
      if (!specialization.empty() && std::find(out.begin(), out.end(), specialization) == out.end())
        out.push_back(specialization);
    }
    return out;
  }

  /// The variant with the smallest tuned values, which has the weakest requirements. The launch
  /// plan differs between variants. The order of preference cannot decide, because it may depend on
  /// the code.
  static const Variant &min_demanding(const KernelInterface &kernel) {
    auto size = [&](const Variant *variant) {
      int64_t product = 1;
      for (const TunedAxis &tuned : kernel.tuned)
        product *= tuned.values[size_t(variant->values[tuned.index])];
      return product;
    };
    const std::vector<const Variant *> &variants = kernel.instantiations.front().variants;
    return **std::min_element(
        variants.begin(), variants.end(), [&](const Variant *a, const Variant *b) {
          return size(a) != size(b) ? size(a) < size(b) : a->values < b->values;
        });
  }

  static std::vector<std::string> values_of(const KernelInterface &kernel, const Variant &variant) {
    std::vector<std::string> out;
    for (const TunedAxis &tuned : kernel.tuned) {
      const Axis &axis = kernel.entry->axes[tuned.index];
      out.push_back(comment_text(axis.name) + " = " +
                    comment_text(variant.values.value(kernel.entry->axes, tuned.index).name));
    }
    return out;
  }

  /// "A, B 16-byte aligned": groups the pointers with the same rule.
  static std::vector<std::string> pointer_rules(const Variant &variant) {
    std::vector<std::pair<std::string, std::vector<std::string>>> names_of;
    for (const Parameter &parameter : variant.parameters) {
      if (!parameter.is_pointer)
        continue;
      std::string rule = std::to_string(parameter.aligned_bytes) + "-byte aligned" +
                         (parameter.nullable ? " or null" : "");
      auto known = std::find_if(names_of.begin(), names_of.end(),
                                [&](const auto &entry) { return entry.first == rule; });
      if (known == names_of.end())
        known = names_of.insert(known, {rule, {}});
      known->second.push_back(comment_text(parameter.name));
    }
    std::vector<std::string> out;
    for (const auto &[rule, names] : names_of)
      out.push_back(join(names, ", ") + " " + rule);
    return out;
  }

  std::string selection_rule() const {
    bool any_choice = std::any_of(interface_.kernels.begin(), interface_.kernels.end(),
                                  [](const KernelInterface &kernel) {
                                    return kernel.declares_grid && !kernel.tuned.empty();
                                  });
    if (!any_choice)
      return "";
    return "//\n"
           "// Which variant a launch uses, unless the call names one:\n"
           "//   1. The candidates are the variants with code for the device whose requirements "
           "the arguments\n"
           "//      meet. If some have code for exactly this GPU, only those.\n"
           "//   2. The fastest candidate, if tuning data or schedule costs are known.\n"
           "//   3. Else the first candidate, in order of preference, with at least one program "
           "per SM.\n"
           "//   4. Else the candidate with the most programs.\n"
           "// variants() lists the variants in order of preference.\n";
  }

  /// Lists the names that are not valid C++ names.
  std::string renamed() const {
    std::set<std::string> lines;
    for (const KernelInterface &kernel : interface_.kernels) {
      if (kernel.name != kernel.entry->name)
        lines.insert("kernel " + comment_text(kernel.entry->name) + " is " + kernel.name);
      for (const Instantiation &instantiation : kernel.instantiations)
        for (size_t i = 0; i < instantiation.members.size(); i++)
          if (instantiation.members[i].name != instantiation.parameters()[i].name)
            lines.insert("parameter " + comment_text(instantiation.parameters()[i].name) + " is " +
                         instantiation.members[i].name);
    }
    std::string out;
    for (const std::string &line : lines)
      out += (out.empty() ? "//\n// Renamed for C++: " : "//   ") + line + "\n";
    return out;
  }

  const Library &library_;
  const Interface &interface_;
};

} // namespace

std::string opening_comment(const Library &library, const Interface &interface) {
  return Opening(library, interface).text();
}

} // namespace tritonc
