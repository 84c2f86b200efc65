// The generated header. See header.h.

#include "emit/header.h"

#include "emit/cpp_text.h"
#include "emit/expression.h"
#include "emit/report.h"

#include <algorithm>
#include <functional>
#include <set>

namespace tritonc {

namespace {

constexpr size_t columns = 100;

std::string join(const std::vector<std::string> &parts, std::string_view separator) {
  std::string out;
  for (const std::string &part : parts)
    out += (out.empty() ? "" : std::string(separator)) + part;
  return out;
}

/// `parts` behind `first`, broken between parts where the line is full; later lines start with
/// `next`.
std::string wrapped(std::string first, const std::string &next,
                    const std::vector<std::string> &parts, std::string_view separator) {
  std::string out, line = std::move(first);
  bool is_fresh = true;
  for (size_t i = 0; i < parts.size(); i++) {
    std::string part = parts[i] + std::string(i + 1 < parts.size() ? separator : "");
    if (!is_fresh && line.size() + 1 + part.size() > columns) {
      out += line + "\n";
      line = next;
      is_fresh = true;
    }
    line += (is_fresh ? "" : " ") + part;
    is_fresh = false;
  }
  return out + line + "\n";
}

// ---- the opening comment ----

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
           comment_text(library_.source_file) + ". Change that, not this.\n";
    for (const KernelInterface &kernel : interface_.kernels)
      out += "//\n" + facts(kernel);
    return out + selection_rule() + renamed();
  }

private:
  static std::string usage(const KernelInterface &kernel, const std::string &type,
                           const std::string &name) {
    const Combination &combination = kernel.combinations.front();
    std::vector<std::string> designated;
    for (const Member &member : combination.members)
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
    return out;
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
                          axis.values[size_t(kernel.combinations.front().api[i])]);
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
    const Variant &least = least_demanding(kernel);
    row("arguments      ", pointer_rules(least), ";");
    std::vector<std::string> grid, requirements;
    for (const Expr &axis : least.plan.grid)
      grid.push_back(comment_text(text_of(axis, least.parameters)));
    for (const Parameter &parameter : least.parameters)
      if (!parameter.is_pointer && parameter.multiple_of > 1)
        requirements.push_back(comment_text(parameter.name) + " % " +
                               std::to_string(parameter.multiple_of) + " == 0");
    for (const Requirement &requirement : least.plan.requirements)
      requirements.push_back(comment_text(requirement.text));
    row("requires       ", requirements, ",");
    row("grid           ", grid, ",");
    if (!tuned.empty() && (!grid.empty() || !requirements.empty()))
      row("               ", {"(these with " + join(values_of(kernel, least), ", ") + ")"}, "");
    if (kernel.entry->variants.front().plan.grid.empty())
      row("grid           ", {"said by the caller"}, "");
    return out;
  }

  /// The plan differs from variant to variant. The one with the smallest values asks for least; the
  /// order of preference won't do, since it may depend on the code.
  static const Variant &least_demanding(const KernelInterface &kernel) {
    auto size = [&](const Variant *variant) {
      int64_t product = 1;
      for (const TunedAxis &tuned : kernel.tuned)
        product *= tuned.values[size_t(variant->values[tuned.index])];
      return product;
    };
    const std::vector<const Variant *> &variants = kernel.combinations.front().variants;
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
                    comment_text(axis.values[size_t(variant.values[tuned.index])].name));
    }
    return out;
  }

  /// "A, B 16-byte aligned": the pointers of each rule together.
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
           "// Which variant runs, unless the call names one: in their order of preference, those "
           "whose\n"
           "// requirements the arguments meet and that have code for the device; of these the "
           "first "
           "whose\n"
           "// grid has at least as many programs as the device has multiprocessors, else the one "
           "with "
           "the\n"
           "// most programs. variants() lists them in that order.\n";
  }

  /// Names that C++ could not take.
  std::string renamed() const {
    std::set<std::string> lines;
    for (const KernelInterface &kernel : interface_.kernels) {
      if (kernel.name != kernel.entry->name)
        lines.insert("kernel " + comment_text(kernel.entry->name) + " is " + kernel.name);
      for (const Combination &combination : kernel.combinations)
        for (size_t i = 0; i < combination.members.size(); i++)
          if (combination.members[i].name != combination.parameters()[i].name)
            lines.insert("parameter " + comment_text(combination.parameters()[i].name) + " is " +
                         combination.members[i].name);
    }
    std::string out;
    for (const std::string &line : lines)
      out += (out.empty() ? "//\n// Renamed for C++: " : "//   ") + line + "\n";
    return out;
  }

  const Library &library_;
  const Interface &interface_;
};

// ---- the kernels ----

std::string template_head(const KernelInterface &kernel) {
  std::vector<std::string> parameters;
  for (const ApiAxis &axis : kernel.api)
    parameters.push_back(axis.type + " " + axis.parameter);
  return parameters.empty() ? "" : "template <" + join(parameters, ", ") + "> ";
}

std::string own_arguments(const KernelInterface &kernel) {
  std::vector<std::string> parameters;
  for (const ApiAxis &axis : kernel.api)
    parameters.push_back(axis.parameter);
  return parameters.empty() ? "" : "<" + join(parameters, ", ") + ">";
}

std::string arguments_of(const KernelInterface &kernel, const Combination &combination) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < kernel.api.size(); i++)
    arguments.push_back(kernel.api[i].values[size_t(combination.api[i])]);
  return arguments.empty() ? "" : "<" + join(arguments, ", ") + ">";
}

/// Says of a parameter what holds for all variants.
std::string remark(const KernelInterface &kernel, size_t i) {
  const Parameter &first = kernel.entry->variants.front().parameters[i];
  for (const Variant &variant : kernel.entry->variants) {
    const Parameter &other = variant.parameters[i];
    if (other.multiple_of != first.multiple_of || other.nullable != first.nullable)
      return "";
  }
  if (!first.is_pointer)
    return first.multiple_of > 1 ? "a multiple of " + std::to_string(first.multiple_of) : "";
  if (first.read_only)
    return first.nullable ? "read; may be null" : "read";
  if (first.write_only)
    return first.nullable ? "written; may be null" : "written";
  return first.nullable ? "may be null" : "";
}

std::string member_line(const Parameter &parameter, const std::string &element,
                        const std::string &name, const std::string &remark) {
  std::string type = parameter.is_pointer && parameter.read_only ? "const " + element : element;
  return type + (parameter.is_pointer ? " *" : " ") + name + ";" +
         (remark.empty() ? "" : " // " + remark);
}

/// How each member's type is written in terms of the template's parameters; empty if it cannot be.
std::vector<std::string> generic_elements(const KernelInterface &kernel) {
  const Combination &first = kernel.combinations.front();
  std::vector<std::string> out;
  for (size_t i = 0; i < first.members.size(); i++) {
    auto all = [&](const std::function<bool(const Combination &)> &holds) {
      return std::all_of(kernel.combinations.begin(), kernel.combinations.end(), holds);
    };
    const Parameter &parameter = first.parameters()[i];
    bool is_similar = all([&](const Combination &other) {
      if (other.members.size() != first.members.size())
        return false;
      const Parameter &its = other.parameters()[i];
      return other.members[i].name == first.members[i].name &&
             its.is_pointer == parameter.is_pointer && its.read_only == parameter.read_only;
    });
    if (!is_similar)
      return {};
    std::string element;
    if (all([&](const Combination &other) {
          return other.members[i].element == first.members[i].element;
        }))
      element = first.members[i].element;
    for (size_t axis = 0; element.empty() && axis < kernel.api.size(); axis++) {
      const ApiAxis &api = kernel.api[axis];
      if (api.kind == ApiAxis::Kind::type && all([&](const Combination &other) {
            return other.members[i].element == api.values[size_t(other.api[axis])];
          }))
        element = api.parameter;
    }
    if (element.empty())
      return {};
    out.push_back(element);
  }
  return out;
}

bool has_one_size(const KernelInterface &kernel) {
  return std::all_of(kernel.combinations.begin(), kernel.combinations.end(),
                     [&](const Combination &other) {
                       return other.args_size == kernel.combinations.front().args_size;
                     });
}

bool args_are_generic(const KernelInterface &kernel) {
  return has_one_size(kernel) &&
         (kernel.combinations.front().members.empty() || !generic_elements(kernel).empty());
}

/// Declarations ahead of a kernel's struct: where each combination's descriptor is, and its
/// arguments where one template cannot say them all.
std::string details(const KernelInterface &kernel, bool self_contained) {
  std::string head = template_head(kernel);
  std::string out;
  if (!head.empty())
    out += head + "struct " + kernel.name + "_code : tritonc::abi::not_compiled {};\n";
  for (const Combination &combination : kernel.combinations) {
    out += (head.empty() ? "" : "template <> ") + std::string("struct ") + kernel.name + "_code" +
           arguments_of(kernel, combination) + " : tritonc::abi::compiled {\n" +
           "  static const tritonc::abi::kernel &get() noexcept { return " + combination.symbol +
           (self_contained ? "()" : "") + "; }\n};\n";
  }
  if (args_are_generic(kernel))
    return out;
  out += head + "struct " + kernel.name + "_args {};\n";
  for (const Combination &combination : kernel.combinations) {
    out +=
        "template <> struct " + kernel.name + "_args" + arguments_of(kernel, combination) + " {\n";
    for (size_t i = 0; i < combination.members.size(); i++)
      out += "  " +
             member_line(combination.parameters()[i], combination.members[i].element,
                         combination.members[i].name, "") +
             "\n";
    out += "};\n";
  }
  return out;
}

/// The static_assert that a combination was compiled; its text lists those that were.
std::string compiled_assertion(const Interface &interface, const KernelInterface &kernel) {
  constexpr size_t most = 64;
  std::vector<std::string> parameters, combinations;
  for (const ApiAxis &axis : kernel.api)
    parameters.push_back(kernel.entry->axes[axis.index].name);
  for (const Combination &combination : kernel.combinations) {
    if (combinations.size() == most) {
      combinations.push_back("and " + std::to_string(kernel.combinations.size() - most) + " more");
      break;
    }
    combinations.push_back(arguments_of(kernel, combination));
  }
  std::string out = "  static_assert(code::is_compiled,\n                " +
                    string_literal(interface.name_space + "::" + kernel.name + "<" +
                                   join(parameters, ", ") + "> is compiled for");
  for (size_t i = 0; i < combinations.size(); i++)
    out += "\n                " + string_literal((i ? ", " : " ") + combinations[i]);
  return out + ");\n";
}

std::string args_struct(const KernelInterface &kernel) {
  const Combination &first = kernel.combinations.front();
  if (!args_are_generic(kernel))
    return "  using args = detail::" + kernel.name + "_args" + own_arguments(kernel) + ";\n";
  std::vector<std::string> elements = generic_elements(kernel);
  std::string out = "  struct args {\n";
  for (size_t i = 0; i < first.members.size(); i++)
    out +=
        "    " +
        member_line(first.parameters()[i], elements[i], first.members[i].name, remark(kernel, i)) +
        "\n";
  out += "  };\n";
  return out + "  static_assert(!code::is_compiled || sizeof(args) == " +
         std::to_string(first.args_size) +
         ",\n                \"the layout that the kernel was "
         "compiled for\");\n";
}

std::string params_struct(const KernelInterface &kernel) {
  std::string out = "  /// Names a variant.\n  struct params {\n";
  for (const TunedAxis &tuned : kernel.tuned) {
    std::vector<std::string> values;
    for (const AxisValue &value : kernel.entry->axes[tuned.index].values)
      values.push_back(comment_text(value.name));
    out += "    " + tuned.type + " " + tuned.member + "; // " + join(values, ", ") + "\n";
  }
  return out + "  };\n";
}

/// A head or a call with its list, broken as clang-format would.
std::string function(const std::string &begin, std::vector<std::string> list,
                     const std::string &end) {
  list.back() += end;
  return wrapped(begin, std::string(begin.size(), ' '), list, ",");
}

/// One overload of `launch`.
std::string launch_function(const KernelInterface &kernel, bool names_variant) {
  std::string out =
      names_variant && kernel.declares_grid
          ? "  /// The same with the variant named: no_variant if it isn't among "
            "variants().\n"
          : "  /// Checks the arguments and enqueues the kernel. They are copied before "
            "this returns; what\n"
            "  /// they point to must stay alive until the kernel is done. An empty grid "
            "is success.\n";
  std::vector<std::string> parameters = {"tritonc::stream stream"};
  std::vector<std::string> passed = {"code::get()", "stream", "&arguments"};
  if (!kernel.declares_grid)
    parameters.push_back("const tritonc::grid &programs");
  parameters.push_back("const args &arguments");
  if (names_variant) {
    parameters.push_back("const params &variant");
    passed.push_back("reinterpret_cast<const std::int32_t *>(&variant)");
  } else if (!kernel.declares_grid) {
    passed.push_back("nullptr");
  }
  if (!kernel.declares_grid)
    passed.push_back("&programs");
  return out +
         function("  [[nodiscard]] static tritonc::status launch(", parameters, ") noexcept {") +
         function("    return tritonc::abi::launch(", passed, ");") + "  }\n";
}

std::string functions(const KernelInterface &kernel) {
  bool is_tuned = !kernel.tuned.empty();
  std::string out;
  // Without a declared grid only the caller knows which grid goes with which variant.
  if (kernel.declares_grid || !is_tuned)
    out += launch_function(kernel, false) + "\n";
  if (is_tuned)
    out += launch_function(kernel, true) + "\n";
  out += "  /// Loads all variants for the current device, so that no launch has to: before a "
         "graph is\n"
         "  /// captured, or where the first launch must be as fast as the others.\n"
         "  [[nodiscard]] static tritonc::status preload() noexcept {\n"
         "    return tritonc::abi::preload(code::get());\n  }\n\n";
  if (is_tuned)
    out += "  /// All variants, in order of preference.\n"
           "  static tritonc::span<params> variants() noexcept {\n"
           "    return tritonc::abi::variants<params>(code::get());\n  }\n\n";
  std::string parameter = is_tuned ? "const params &variant" : "";
  std::string passed = is_tuned ? "reinterpret_cast<const std::int32_t *>(&variant)" : "nullptr";
  return out +
         "  /// Registers, shared memory, spills: one entry per GPU that was compiled for.\n"
         "  static tritonc::span<tritonc::image_info> info(" +
         parameter + ") noexcept {\n    return tritonc::abi::info(code::get(), " + passed +
         ");\n  }\n";
}

std::string kernel_struct(const Interface &interface, const KernelInterface &kernel) {
  std::string out = template_head(kernel) + "struct " + kernel.name + " {\n";
  out += "  using code = detail::" + kernel.name + "_code" + own_arguments(kernel) + ";\n";
  if (!kernel.api.empty())
    out += compiled_assertion(interface, kernel);
  out += "\n" + args_struct(kernel) + "\n";
  if (!kernel.tuned.empty())
    out += params_struct(kernel) + "\n";
  return out + functions(kernel) + "};\n";
}

// ---- the data of a self-contained header ----

std::string optional_name(bool is_there, const std::string &name) {
  return is_there ? name : "nullptr";
}

/// The tables as initialisers, in the order in which they refer to each other.
class DataSection {
public:
  explicit DataSection(const Tables &tables) : tables_(tables) {}

  std::string text() {
    out_ = "namespace detail {\nnamespace data {\n\n";
    expressions();
    parameters();
    requirements();
    line("inline tritonc::abi::image_state states[" + std::to_string(tables_.state_count) + "];\n");
    images();
    for (size_t i = 0; i < tables_.kernels.size(); i++)
      kernel(i);
    out_ += "\n} // namespace data\n\n";
    for (size_t i = 0; i < tables_.kernels.size(); i++)
      line("inline const tritonc::abi::kernel &" + tables_.kernels[i].combination->symbol +
           "() noexcept { return data::kernel_" + std::to_string(i) + "; }");
    return out_ + "\n} // namespace detail\n";
  }

private:
  void line(const std::string &text) { out_ += text + "\n"; }

  static std::string numbered(const char *name, size_t i) { return name + std::to_string(i); }

  void expressions() {
    for (size_t i = 0; i < tables_.code.size(); i++) {
      std::vector<std::string> words;
      for (int64_t word : tables_.code[i])
        words.push_back(word == INT64_MIN ? "INT64_MIN" : std::to_string(word));
      line("inline constexpr std::int64_t " + numbered("code_", i) + "[] = {" + join(words, ", ") +
           "};");
    }
  }

  void parameters() {
    for (size_t i = 0; i < tables_.parameters.size(); i++) {
      if (tables_.parameters[i].empty())
        continue;
      line("inline constexpr tritonc::abi::parameter " + numbered("parameters_", i) + "[] = {");
      for (const ParameterRow &row : tables_.parameters[i])
        line("    {" + string_literal(row.name) + ", " + std::to_string(row.offset) + ", " +
             std::to_string(row.aligned) + ", tritonc::abi::parameter_kind(" +
             std::to_string(int(row.kind)) + "), " + (row.nullable ? "true" : "false") + ", {}},");
      line("};");
    }
  }

  void requirements() {
    for (size_t i = 0; i < tables_.requirements.size(); i++) {
      if (tables_.requirements[i].empty())
        continue;
      line("inline constexpr tritonc::abi::requirement " + numbered("requirements_", i) + "[] = {");
      for (const RequirementRow &row : tables_.requirements[i])
        line("    {" + numbered("code_", row.code) + ", " + string_literal(row.text) + "},");
      line("};");
    }
  }

  void images() {
    for (size_t i = 0; i < tables_.images.size(); i++)
      line("alignas(64) inline constexpr char " + numbered("image_", i) + "[] =\n    " +
           string_literal(tables_.images[i], "    ") + ";");
  }

  std::string image_initialiser(const ImageRow &row) const {
    const Image &image = *row.image;
    return "{" + numbered("image_", row.bytes) + ", " +
           std::to_string(tables_.images[row.bytes].size()) + ", &states[" +
           std::to_string(row.state) + "], " + std::to_string(image.sm) + ", " +
           (image.suffix ? std::string("'") + image.suffix + "'" : "0") + "}";
  }

  static std::string info_initialiser(const Image &image) {
    std::string out = "{" + string_literal(image.gpu);
    for (int number : {image.threads, image.registers, image.shared_bytes, image.static_shared,
                       image.spill_stores, image.spill_loads, image.stack_bytes, image.cubin_bytes})
      out += ", " + std::to_string(number);
    return out + "}";
  }

  void kernel(size_t k) {
    const KernelTable &table = tables_.kernels[k];
    std::string variants;
    for (size_t v = 0; v < table.variants.size(); v++) {
      const VariantRow &row = table.variants[v];
      std::string name = std::to_string(k) + "_" + std::to_string(v);
      if (!row.images.empty())
        variant_images(name, row);
      variants += "    " + variant_initialiser(name, row) + ",\n";
    }
    std::string id = std::to_string(k);
    line("inline constexpr tritonc::abi::variant variants_" + id + "[] = {\n" + variants + "};");
    std::vector<std::string> choices;
    for (int32_t choice : table.choices)
      choices.push_back(std::to_string(choice));
    if (!choices.empty())
      line("inline constexpr std::int32_t choices_" + id + "[] = {" + join(choices, ", ") + "};");
    line("inline constexpr tritonc::abi::kernel kernel_" + id + " = {\n    " +
         std::to_string(abi::abi_version) + ", " +
         std::to_string(table.combination->members.size()) + ", " +
         string_literal(table.combination->display) + ", " + string_literal(table.gpus) +
         ",\n    variants_" + id + ", " + optional_name(!choices.empty(), "choices_" + id) + ", " +
         std::to_string(table.variants.size()) + ", " + std::to_string(table.axis_count) + "};");
  }

  void variant_images(const std::string &name, const VariantRow &row) {
    std::vector<std::string> images, infos;
    for (const ImageRow &image : row.images) {
      images.push_back("\n    " + image_initialiser(image));
      infos.push_back("\n    " + info_initialiser(*image.image));
    }
    line("inline constexpr tritonc::abi::image images_" + name + "[] = {" + join(images, ",") +
         "};");
    line("inline constexpr tritonc::image_info infos_" + name + "[] = {" + join(infos, ",") + "};");
  }

  std::string variant_initialiser(const std::string &name, const VariantRow &row) const {
    std::vector<std::string> grid;
    for (size_t axis = 0; axis < 3; axis++)
      grid.push_back(axis < row.grid.size() ? numbered("code_", row.grid[axis]) : "nullptr");
    bool has_images = !row.images.empty();
    size_t requirement_count = tables_.requirements[row.requirements].size();
    return "{" + string_literal(row.variant->entry) + ", {" + join(grid, ", ") + "}, " +
           optional_name(requirement_count != 0, numbered("requirements_", row.requirements)) +
           ", " +
           optional_name(!tables_.parameters[row.parameters].empty(),
                         numbered("parameters_", row.parameters)) +
           ", " + optional_name(has_images, "images_" + name) + ", " +
           optional_name(has_images, "infos_" + name) + ", " + std::to_string(requirement_count) +
           ", " + std::to_string(row.images.size()) + "}";
  }

  const Tables &tables_;
  std::string out_;
};

// ---- both modes ----

std::string declarations(const Interface &interface, bool self_contained) {
  std::string out = "namespace detail {\n\n";
  if (self_contained)
    out += "// The code follows at the end of this file.\n";
  else
    out +=
        "// The code is in the object that was generated with this header. The names end in a hash "
        "of all that\n"
        "// the two must agree on: an object that does not belong to this header does not link.\n"
        "extern \"C\" {\n";
  for (const KernelInterface &kernel : interface.kernels)
    for (const Combination &combination : kernel.combinations)
      out += self_contained ? "const tritonc::abi::kernel &" + combination.symbol + "() noexcept;\n"
                            : "extern const tritonc::abi::kernel " + combination.symbol + ";\n";
  out += self_contained ? "\n" : "}\n\n";
  for (const KernelInterface &kernel : interface.kernels)
    out += details(kernel, self_contained) + "\n";
  return out + "} // namespace detail\n\n";
}

std::string enumerations(const Interface &interface) {
  std::string out;
  for (const Enumeration &enumeration : interface.enumerations)
    out += "enum class " + enumeration.name + " : std::int32_t { " +
           join(enumeration.enumerators, ", ") + " };\n";
  return out.empty() ? out : out + "\n";
}

std::string header(const Library &library, const Interface &interface, const std::string &hash,
                   const std::string &facts, const std::string &data) {
  bool self_contained = !data.empty();
  std::string out = Opening(library, interface).text() + facts;
  out += "#pragma once\n\n#include <tritonc/runtime.hpp>\n\n#include <cstdint>\n\n";
  out += "namespace " + interface.name_space + " {\n";
  // Two shared libraries may have a library of one name: neither may see the other's.
  out += "inline namespace [[gnu::visibility(\"hidden\")]] abi_" + hash + " {\n\n";
  out += enumerations(interface) + declarations(interface, self_contained);
  for (const KernelInterface &kernel : interface.kernels)
    out += kernel_struct(interface, kernel) + "\n";
  out += data;
  return out + (self_contained ? "\n" : "") + "} // namespace abi_" + hash + "\n} // namespace " +
         interface.name_space + "\n";
}

} // namespace

std::string object_mode_header(const Library &library, const Interface &interface) {
  return header(library, interface, interface.hash, "", "");
}

std::string self_contained_header(const Library &library, const Interface &interface,
                                  const Tables &tables) {
  std::string facts = "//\n";
  std::string table = report(library);
  for (size_t begin = 0; begin < table.size();) {
    size_t end = table.find('\n', begin);
    facts += "//   " + comment_text(table.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  std::string data = DataSection(tables).text();
  return header(library, interface, short_hash(interface.hash + data), facts, data);
}

} // namespace tritonc
