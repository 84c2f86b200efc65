// Writes the C++ header. See header.h.
//
// Tested by tests/unit/emit/header_test.cpp.

#include "emit/cpp/header.h"

#include "emit/cpp/header_comment.h"
#include "emit/cpp/header_data.h"
#include "emit/cpp_text.h"
#include "emit/report/report.h"

#include <algorithm>
#include <functional>
#include <set>

namespace tritonc {

namespace {

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

std::string arguments_of(const KernelInterface &kernel, const Instantiation &instantiation) {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < kernel.api.size(); i++)
    arguments.push_back(kernel.api[i].values[size_t(instantiation.api[i])]);
  return arguments.empty() ? "" : "<" + join(arguments, ", ") + ">";
}

/// A comment for a parameter, with facts that hold for all variants.
std::string remark(const KernelInterface &kernel, size_t i) {
  const Parameter &first = kernel.instantiations.front().variants.front()->parameters[i];
  bool nullable = true;
  for (const Variant &variant : kernel.entry->variants) {
    const Parameter &other = variant.parameters[i];
    nullable &= other.nullable;
    if (variant.plan.specialization.empty() && other.multiple_of != first.multiple_of)
      return "";
  }
  if (!first.is_pointer)
    return first.multiple_of > 1 ? "a multiple of " + std::to_string(first.multiple_of) : "";
  if (first.read_only)
    return nullable ? "read; may be null" : "read";
  if (first.write_only)
    return nullable ? "written; may be null" : "written";
  return nullable ? "may be null" : "";
}

std::string member_line(const Parameter &parameter, const std::string &element,
                        const std::string &name, const std::string &remark) {
  std::string type = parameter.is_pointer && parameter.read_only ? "const " + element : element;
  return type + (parameter.is_pointer ? " *" : " ") + name + ";" +
         (remark.empty() ? "" : " // " + remark);
}

/// The type of each member in terms of the template parameters; empty if that is not possible.
std::vector<std::string> generic_elements(const KernelInterface &kernel) {
  const Instantiation &first = kernel.instantiations.front();
  std::vector<std::string> out;
  for (size_t i = 0; i < first.members.size(); i++) {
    auto all = [&](const std::function<bool(const Instantiation &)> &holds) {
      return std::all_of(kernel.instantiations.begin(), kernel.instantiations.end(), holds);
    };
    const Parameter &parameter = first.parameters()[i];
    bool is_similar = all([&](const Instantiation &other) {
      if (other.members.size() != first.members.size())
        return false;
      const Parameter &its = other.parameters()[i];
      return other.members[i].name == first.members[i].name &&
             its.is_pointer == parameter.is_pointer && its.read_only == parameter.read_only;
    });
    if (!is_similar)
      return {};
    std::string element;
    if (all([&](const Instantiation &other) {
          return other.members[i].element == first.members[i].element;
        }))
      element = first.members[i].element;
    for (size_t axis = 0; element.empty() && axis < kernel.api.size(); axis++) {
      const ApiAxis &api = kernel.api[axis];
      if (api.kind == ApiAxis::Kind::type && all([&](const Instantiation &other) {
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
  return std::all_of(kernel.instantiations.begin(), kernel.instantiations.end(),
                     [&](const Instantiation &other) {
                       return other.args_size == kernel.instantiations.front().args_size;
                     });
}

bool args_are_generic(const KernelInterface &kernel) {
  return has_one_size(kernel) &&
         (kernel.instantiations.front().members.empty() || !generic_elements(kernel).empty());
}

/// The values of each variant, in the order of the axes' values. The order of preference may depend
/// on the code, so the header does not use it.
std::set<std::vector<int32_t>> values_of_variants(const KernelInterface &kernel,
                                                  const Instantiation &instantiation) {
  std::set<std::vector<int32_t>> out;
  for (const Variant *variant : instantiation.variants) {
    std::vector<int32_t> values;
    for (const TunedAxis &tuned : kernel.tuned)
      values.push_back(tuned.values[size_t(variant->values[tuned.index])]);
    out.insert(values);
  }
  return out;
}

/// A member with the values of all variants, for the C++ compiler; empty without tuned axes.
std::string list_of_variants(const KernelInterface &kernel, const Instantiation &instantiation) {
  if (kernel.tuned.empty())
    return "";
  std::vector<std::string> rows;
  for (const std::vector<int32_t> &values : values_of_variants(kernel, instantiation)) {
    std::vector<std::string> texts;
    for (int32_t value : values)
      texts.push_back(std::to_string(value));
    rows.push_back("{" + join(texts, ", ") + "}");
  }
  rows.back() += "};";
  return wrapped("  static constexpr std::int32_t variants[][" +
                     std::to_string(kernel.tuned.size()) + "] = {",
                 "      ", rows, ",");
}

/// Declarations before a kernel's struct: the descriptor of each instantiation, and its arguments
/// if one template cannot declare the arguments of all.
std::string details(const KernelInterface &kernel, bool self_contained) {
  std::string head = template_head(kernel);
  std::string out;
  if (!head.empty())
    out += head + "struct " + kernel.name + "_code : tritonc::abi::not_compiled {};\n";
  for (const Instantiation &instantiation : kernel.instantiations) {
    out += (head.empty() ? "" : "template <> ") + std::string("struct ") + kernel.name + "_code" +
           arguments_of(kernel, instantiation) + " : tritonc::abi::compiled {\n" +
           "  static const tritonc::abi::kernel &get() noexcept { return " + instantiation.symbol +
           (self_contained ? "()" : "") + "; }\n" + list_of_variants(kernel, instantiation) +
           "};\n";
  }
  if (args_are_generic(kernel))
    return out;
  out += head + "struct " + kernel.name + "_args {};\n";
  for (const Instantiation &instantiation : kernel.instantiations) {
    out += "template <> struct " + kernel.name + "_args" + arguments_of(kernel, instantiation) +
           " {\n";
    for (size_t i = 0; i < instantiation.members.size(); i++)
      out += "  " +
             member_line(instantiation.parameters()[i], instantiation.members[i].element,
                         instantiation.members[i].name, "") +
             "\n";
    out += "};\n";
  }
  return out;
}

/// A static_assert with a message that lists the valid choices.
std::string listing_assertion(const std::string &indent, const std::string &condition,
                              const std::string &what, std::vector<std::string> there_is,
                              const std::string &remark) {
  constexpr size_t max_count = 64;
  size_t count = there_is.size();
  if (count > max_count) {
    there_is.resize(max_count);
    there_is.push_back("and " + std::to_string(count - max_count) + " more");
  }
  std::string next = "\n" + indent + std::string(14, ' ');
  std::string out = indent + "static_assert(" + condition + "," + next +
                    string_literal(what + " is compiled for");
  for (size_t i = 0; i < there_is.size(); i++)
    out += next + string_literal((i ? ", " : " ") + there_is[i]);
  return out + (remark.empty() ? "" : next + string_literal(remark)) + ");\n";
}

/// "gemm::dot<TYPE, A>"
std::string name_for_people(const Interface &interface, const KernelInterface &kernel) {
  std::vector<std::string> parameters;
  for (const ApiAxis &axis : kernel.api)
    parameters.push_back(kernel.entry->axes[axis.index].name);
  return interface.name_space + "::" + kernel.name +
         (parameters.empty() ? "" : "<" + join(parameters, ", ") + ">");
}

/// Asserts that the instantiation was compiled. It is the last member: after a failed assertion,
/// clang skips the other members and reports each use of them as an error.
std::string compiled_assertion(const Interface &interface, const KernelInterface &kernel) {
  std::vector<std::string> instantiations;
  for (const Instantiation &instantiation : kernel.instantiations)
    instantiations.push_back(arguments_of(kernel, instantiation));
  return listing_assertion("  ", "code::is_compiled", name_for_people(interface, kernel),
                           instantiations, "");
}

/// Asserts that the variant was compiled. All instantiations share one message, because most have
/// the same variants. It is the last member, as compiled_assertion.
std::string variant_assertion(const Interface &interface, const KernelInterface &kernel,
                              const std::vector<std::string> &parameters) {
  std::set<std::vector<int>> all; // indices of values; the message has their names
  bool is_same = true;
  for (const Instantiation &instantiation : kernel.instantiations) {
    is_same &= values_of_variants(kernel, instantiation) ==
               values_of_variants(kernel, kernel.instantiations.front());
    for (const Variant *variant : instantiation.variants) {
      std::vector<int> values;
      for (const TunedAxis &tuned : kernel.tuned)
        values.push_back(variant->values[tuned.index]);
      all.insert(values);
    }
  }
  std::vector<std::string> names, there_is;
  for (const TunedAxis &tuned : kernel.tuned)
    names.push_back(kernel.entry->axes[tuned.index].name);
  for (const std::vector<int> &values : all) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < values.size(); i++)
      texts.push_back(kernel.entry->axes[kernel.tuned[i].index].values[size_t(values[i])].name);
    there_is.push_back("<" + join(texts, ", ") + ">");
  }
  return listing_assertion(
      "    ", "tritonc::abi::has_variant<code>(" + join(parameters, ", ") + ")",
      name_for_people(interface, kernel) + "::variant<" + join(names, ", ") + ">", there_is,
      is_same ? "" : ", not all of them with each of the former: variants() lists those");
}

std::string args_struct(const KernelInterface &kernel) {
  const Instantiation &first = kernel.instantiations.front();
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

/// A function head or a call with its list, wrapped like clang-format.
std::string function(const std::string &begin, std::vector<std::string> list,
                     const std::string &end) {
  list.back() += end;
  return wrapped(begin, std::string(begin.size(), ' '), list, ",");
}

/// A function of the kernel that takes arguments: `launch` or `prepare`.
struct Call {
  std::string name;
  std::string opening; // its comment
  std::string last;    // a parameter after all others
};

const Call calls[] = {
    {"launch",
     "Checks and copies the arguments, and enqueues the kernel. Memory that they point to must "
     "stay\n"
     "valid until the kernel is done. An empty grid is success.",
     ""},
    {"prepare",
     "Does everything except the launch, for the device of the stream. Then each\n"
     "`ready.launch(stream)` costs only the driver call.",
     "prepared &ready"},
};

/// `text`, which is already wrapped, as a comment.
std::string comment(const std::string &indent, const std::string &text) {
  std::string out = indent + "/// ";
  for (char c : text)
    out += c == '\n' ? "\n" + indent + "/// " : std::string(1, c);
  return out + "\n";
}

/// One overload of `call`. `fixed`: a member of `variant`, which determines the variant.
std::string function_with_arguments(const KernelInterface &kernel, const Call &call,
                                    bool names_variant, bool fixed) {
  bool is_another = names_variant && kernel.declares_grid;
  std::string indent = fixed ? "    " : "  ";
  std::string out;
  if (!fixed)
    out = comment(indent, is_another ? "The same for a given variant. Returns no_variant if it is "
                                       "not among variants()."
                                     : call.opening);
  std::vector<std::string> parameters = {"tritonc::stream stream"};
  std::vector<std::string> passed = {"code::get()", "stream",
                                     call.last.empty() ? "&arguments" : "arguments"};
  if (!kernel.declares_grid)
    parameters.push_back("const tritonc::grid &programs");
  parameters.push_back("const args &arguments");
  bool says_all = !call.last.empty();
  if (fixed)
    passed.push_back("chosen()");
  else if (names_variant)
    passed.push_back("reinterpret_cast<const std::int32_t *>(&which)");
  else if (!kernel.declares_grid || says_all)
    passed.push_back("nullptr");
  if (names_variant && !fixed)
    parameters.push_back("const params &which");
  if (!kernel.declares_grid)
    passed.push_back("&programs");
  else if (says_all)
    passed.push_back("nullptr");
  if (says_all) {
    parameters.push_back(call.last);
    passed.push_back("ready");
  }
  return out +
         function(indent + "[[nodiscard]] static tritonc::status " + call.name + "(", parameters,
                  ") noexcept {") +
         function(indent + "  return tritonc::" + (says_all ? "" : "abi::") + call.name + "(",
                  passed, ");") +
         indent + "}\n";
}

/// The template `variant`: each variant as a type.
std::string variant_struct(const Interface &interface, const KernelInterface &kernel) {
  std::vector<std::string> head, parameters;
  for (const TunedAxis &tuned : kernel.tuned) {
    head.push_back(tuned.type + " " + tuned.parameter);
    parameters.push_back(tuned.parameter);
  }
  std::string out =
      "  /// One variant, named at compile time. An unknown variant is a compile error.\n"
      "  template <" +
      join(head, ", ") +
      "> struct variant {\n"
      "    static constexpr params value = {" +
      join(parameters, ", ") + "};\n\n";
  for (const Call &call : calls)
    out += function_with_arguments(kernel, call, true, /*fixed=*/true);
  return out +
         "    [[nodiscard]] static tritonc::status preload() noexcept {\n"
         "      return tritonc::abi::preload(code::get(), chosen());\n    }\n"
         "    [[nodiscard]] static tritonc::status preload_on(int device) noexcept {\n"
         "      return tritonc::abi::preload(code::get(), chosen(), device);\n    }\n"
         "    static tritonc::span<tritonc::image_info> info() noexcept {\n"
         "      return tritonc::abi::info(code::get(), chosen());\n    }\n\n"
         "  private:\n"
         "    static const std::int32_t *chosen() noexcept {\n"
         "      return reinterpret_cast<const std::int32_t *>(&value);\n    }\n\n" +
         variant_assertion(interface, kernel, parameters) + "  };\n";
}

/// The functions that load code early.
std::string preload_functions(bool is_tuned) {
  std::string out = "  /// Loads all variants for the current device, so that no launch loads "
                    "code. Call it before a\n"
                    "  /// graph capture, or if the first launch must be as fast as later ones.\n"
                    "  [[nodiscard]] static tritonc::status preload() noexcept {\n"
                    "    return tritonc::abi::preload(code::get());\n  }\n\n"
                    "  /// The same for the device with this number, in its primary context.\n"
                    "  [[nodiscard]] static tritonc::status preload_on(int device) noexcept {\n"
                    "    return tritonc::abi::preload(code::get(), nullptr, device);\n  }\n\n";
  if (!is_tuned)
    return out;
  const std::string named = "reinterpret_cast<const std::int32_t *>(&which)";
  return out +
         "  /// The same for one variant.\n"
         "  [[nodiscard]] static tritonc::status preload(const params &which) noexcept {\n"
         "    return tritonc::abi::preload(code::get(), " +
         named +
         ");\n  }\n"
         "  [[nodiscard]] static tritonc::status preload_on(int device, const params &which) "
         "noexcept "
         "{\n" +
         function("    return tritonc::abi::preload(", {"code::get()", named, "device"}, ");") +
         "  }\n\n"
         "  /// All variants, in order of preference.\n"
         "  static tritonc::span<params> variants() noexcept {\n"
         "    return tritonc::abi::variants<params>(code::get());\n  }\n\n";
}

/// The function that fills a constant.
std::string setter_function(const Setter &setter) {
  bool is_typed = !setter.element.empty();
  std::string max_count = std::to_string(setter.count) + (is_typed ? " elements" : " bytes");
  std::string out = comment(
      "  ", "Fills the constant memory `" + comment_text(setter.constant) + "`, at most " +
                max_count +
                ", by copies in the stream, for\nall variants on its device. It loads their code "
                "first. Not allowed during a graph capture.");
  return out +
         function("  [[nodiscard]] static tritonc::status " + setter.name + "(",
                  {"tritonc::stream stream",
                   "const " + (is_typed ? setter.element : std::string("void")) + " *values",
                   is_typed ? "std::size_t count" : "std::size_t bytes"},
                  ") noexcept {") +
         function("    return tritonc::abi::set_constant(",
                  {"code::get()", "stream", string_literal(setter.constant), "values",
                   is_typed ? "count" : "bytes",
                   is_typed ? "sizeof(" + setter.element + ")" : std::string("1")},
                  ");") +
         "  }\n\n";
}

std::string functions(const Interface &interface, const KernelInterface &kernel) {
  bool is_tuned = !kernel.tuned.empty();
  std::string out = "  /// The result of `prepare`.\n"
                    "  using prepared = tritonc::prepared<args>;\n\n";
  for (const Call &call : calls) {
    // Without a declared grid, only the caller knows the grid of a variant.
    if (kernel.declares_grid || !is_tuned)
      out += function_with_arguments(kernel, call, false, false) + "\n";
    if (is_tuned)
      out += function_with_arguments(kernel, call, true, false) + "\n";
  }
  for (const Setter &setter : kernel.setters)
    out += setter_function(setter);
  out += preload_functions(is_tuned);
  std::string parameter = is_tuned ? "const params &which" : "";
  std::string passed = is_tuned ? "reinterpret_cast<const std::int32_t *>(&which)" : "nullptr";
  out += "  /// Registers, shared memory, spills: one entry per GPU, and per schedule if a GPU has "
         "several.\n"
         "  static tritonc::span<tritonc::image_info> info(" +
         parameter + ") noexcept {\n    return tritonc::abi::info(code::get(), " + passed +
         ");\n  }\n";
  return is_tuned ? out + "\n" + variant_struct(interface, kernel) : out;
}

std::string kernel_struct(const Interface &interface, const KernelInterface &kernel) {
  std::string out = template_head(kernel) + "struct " + kernel.name + " {\n";
  out += "  using code = detail::" + kernel.name + "_code" + own_arguments(kernel) + ";\n";
  out += "\n" + args_struct(kernel) + "\n";
  if (!kernel.tuned.empty())
    out += params_struct(kernel) + "\n";
  out += functions(interface, kernel);
  if (!kernel.api.empty())
    out += "\n" + compiled_assertion(interface, kernel);
  return out + "};\n";
}

// ---- both modes ----

std::string declarations(const Interface &interface, bool self_contained) {
  std::string out = "namespace detail {\n\n";
  if (self_contained)
    out += "// The code is at the end of this file.\n";
  else
    out +=
        "// The code is in the object file of this header. The names end with a hash of all facts "
        "on which\n"
        "// header and object must agree, so an object of another header does not link.\n"
        "extern \"C\" {\n";
  for (const KernelInterface &kernel : interface.kernels)
    for (const Instantiation &instantiation : kernel.instantiations)
      out += self_contained
                 ? "const tritonc::abi::kernel &" + instantiation.symbol + "() noexcept;\n"
                 : "extern const tritonc::abi::kernel " + instantiation.symbol + ";\n";
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
  std::string out = opening_comment(library, interface) + facts;
  out += "#pragma once\n\n#include <tritonc/runtime.hpp>\n\n#include <cstdint>\n\n";
  out += "namespace " + interface.name_space + " {\n";
  // Two shared libraries may contain a library with the same name. Neither may use the other's.
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
  std::string data = header_data(tables);
  return header(library, interface, short_hash(interface.hash + data), facts, data);
}

} // namespace tritonc
