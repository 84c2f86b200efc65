// Writes the C header. See c_header.h.
//
// C has no namespaces, templates or overloads. So the C++ kernel gemm::dot<half, N> becomes the
// prefix "gemm_dot_half_N" of several names: gemm_dot_half_N_args, gemm_dot_half_N_launch, ...
//
// Tested by tests/unit/emit/c_header_test.cpp.

#include "emit/cpp/c_header.h"

#include "emit/cpp/header_comment.h"
#include "emit/cpp_text.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace tritonc {

namespace {

/// Keywords of C that are not keywords of C++.
constexpr std::string_view only_in_c = "restrict _Alignas _Alignof _Atomic _Bool _Complex _Generic "
                                       "_Imaginary _Noreturn _Static_assert _Thread_local";

std::string c_identifier(std::string_view name) { return cpp_identifier(name, only_in_c); }

/// "std::int32_t" is int32_t, "tritonc::half" is tritonc_half.
std::string c_type(std::string_view type) {
  if (type.substr(0, 5) == "std::")
    return std::string(type.substr(5));
  std::string out(type);
  if (size_t colons = out.find("::"); colons != out.npos)
    out.replace(colons, 2, "_");
  return out;
}

/// `first`_`second` as a C name: all other characters become underscores.
std::string joined_name(const std::string &first, const std::string &second) {
  std::string out = first + "_" + second;
  std::replace_if(out.begin(), out.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return out;
}

/// The suffixes of a kernel's names.
constexpr const char *suffixes[] = {"_args",
                                    "_prepared",
                                    "_launch",
                                    "_launch_variant",
                                    "_prepare",
                                    "_prepare_variant",
                                    "_launch_prepared",
                                    "_preload",
                                    "_preload_variant",
                                    "_variants",
                                    "_info"};

class Header {
public:
  Header(const Library &library, const Interface &interface)
      : library_(library), interface_(interface) {
    for (char c : interface.name_space)
      if (c != ':' || (!prefix_.empty() && prefix_.back() != '_'))
        prefix_ += c == ':' ? '_' : c;
  }

  std::string text() {
    std::string kernels;
    for (const KernelInterface &kernel : interface_.kernels)
      kernels += kernel_text(kernel);
    return opening() + "#pragma once\n\n#include <tritonc/runtime.h>\n\n" +
           "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + enumerations() + kernels +
           "#ifdef __cplusplus\n}\n#endif\n";
  }

private:
  /// Appends `_` until no name with one of the suffixes exists in the header.
  std::string unique(std::string name) {
    auto is_taken = [&](const char *suffix) { return names_.count(name + suffix) != 0; };
    while (std::any_of(std::begin(suffixes), std::end(suffixes), is_taken))
      name += '_';
    for (const char *suffix : suffixes)
      names_.insert(name + suffix);
    return name;
  }

  std::string name_of(const KernelInterface &kernel, const Instantiation &instantiation) {
    std::string name = joined_name(prefix_, kernel.name);
    for (size_t i = 0; i < kernel.api.size(); i++) {
      const Axis &axis = kernel.entry->axes[kernel.api[i].index];
      name = joined_name(name, axis.values[size_t(instantiation.api[i])].name);
    }
    return unique(name);
  }

  std::string opening() const {
    std::string name = first_name_;
    const KernelInterface &kernel = interface_.kernels.front();
    std::string out = "// " + interface_.name_space +
                      ": GPU kernels as C functions. tritonc/runtime.h describes launches.\n//\n";
    std::vector<std::string> designated;
    for (const Member &member : kernel.instantiations.front().members)
      designated.push_back("." + c_identifier(member.name) + " = ...");
    std::string begin = "//   " + name + "_args args = {";
    if (!designated.empty())
      designated.back() += "};";
    out += designated.empty()
               ? begin + "0};\n"
               : wrapped(begin, "//" + std::string(begin.size() - 2, ' '), designated, ",");
    bool has_default = kernel.declares_grid || kernel.tuned.empty();
    out += "//   tritonc_status status = " + name +
           (has_default ? "_launch(" : "_launch_variant(") + "stream, " +
           (kernel.declares_grid ? "" : "&grid, ") + "&args" + (has_default ? "" : ", &variant") +
           ");\n"
           "//   if (status.code != TRITONC_OK) {\n"
           "//     char text[512];\n"
           "//     tritonc_status_message(status, text, sizeof text);\n"
           "//     fprintf(stderr, \"%s\\n\", text);\n"
           "//   }\n";
    return out + "//\n// Generated" +
           (library_.tool.empty() ? "" : " by " + comment_text(library_.tool)) + " from " +
           comment_text(library_.source_file) + ". Do not edit.\n\n";
  }

  /// The enumerations of tuned axes, whose values are not integers.
  std::string enumerations() {
    std::set<std::string> wanted;
    for (const KernelInterface &kernel : interface_.kernels)
      for (const TunedAxis &tuned : kernel.tuned)
        wanted.insert(tuned.type);
    std::string out;
    for (const Enumeration &enumeration : interface_.enumerations) {
      if (!wanted.count("::" + library_.name + "::" + enumeration.name))
        continue;
      std::string name = joined_name(prefix_, enumeration.name);
      std::vector<std::string> values;
      for (const std::string &value : enumeration.enumerators)
        values.push_back(joined_name(name, value));
      out += "enum { " + join(values, ", ") + " };\n";
    }
    return out.empty() ? out : out + "\n";
  }

  static std::string members(const Instantiation &instantiation) {
    if (instantiation.members.empty())
      return "  char unused;\n"; // C has no empty structs
    std::string out;
    for (size_t i = 0; i < instantiation.members.size(); i++) {
      const Parameter &parameter = instantiation.parameters()[i];
      out += "  " + std::string(parameter.is_pointer && parameter.read_only ? "const " : "") +
             c_type(instantiation.members[i].element) + (parameter.is_pointer ? " *" : " ") +
             c_identifier(instantiation.members[i].name) + ";\n";
    }
    return out;
  }

  static std::string params_struct(const KernelInterface &kernel, const std::string &name) {
    std::string out = "// Names a variant of " + kernel.name + ".\ntypedef struct " + name + " {\n";
    for (const TunedAxis &tuned : kernel.tuned) {
      std::vector<std::string> values;
      for (const AxisValue &value : kernel.entry->axes[tuned.index].values)
        values.push_back(comment_text(value.name));
      out += "  int32_t " + c_identifier(tuned.member) + "; // " + join(values, ", ") + "\n";
    }
    return out + "} " + name + ";\n\n";
  }

  /// A function head or a call with its list, wrapped like clang-format.
  static std::string function(const std::string &begin, std::vector<std::string> list,
                              const std::string &end) {
    list.back() += end;
    return wrapped(begin, std::string(begin.size(), ' '), list, ",");
  }

  static std::string inline_function(const std::string &type, const std::string &name,
                                     const std::vector<std::string> &parameters,
                                     const std::string &called,
                                     const std::vector<std::string> &passed) {
    bool is_status = type == "tritonc_status";
    return std::string(is_status ? "TRITONC_NODISCARD " : "") + "static inline " + type + "\n" +
           function(name + "(", parameters, ") {") +
           function("  return " + called + "(", passed, ");") + "}\n";
  }

  /// `launch` and `prepare`, with or without a named variant.
  static std::string functions_with_arguments(const KernelInterface &kernel,
                                              const std::string &name, const std::string &code,
                                              const std::string &params, bool names_variant) {
    std::vector<std::string> parameters = {"tritonc_stream stream"};
    if (!kernel.declares_grid)
      parameters.push_back("const tritonc_grid *programs");
    parameters.push_back("const " + name + "_args *arguments");
    if (names_variant)
      parameters.push_back("const " + params + " *which");
    std::vector<std::string> passed = {code, "stream", "arguments",
                                       names_variant ? "(const int32_t *)which" : "NULL",
                                       kernel.declares_grid ? "NULL" : "programs"};
    std::string suffix = names_variant ? "_variant" : "";
    std::string out = inline_function("tritonc_status", name + "_launch" + suffix, parameters,
                                      "tritonc_launch", passed);
    parameters.push_back(name + "_prepared *ready");
    passed[2] = "&ready->arguments";
    passed.push_back("&ready->launch");
    std::string prepare = inline_function("tritonc_status", name + "_prepare" + suffix, parameters,
                                          "tritonc_prepare", passed);
    size_t body = prepare.find("{\n") + 2;
    return out + prepare.insert(body, "  ready->arguments = *arguments;\n");
  }

  /// The function that fills a constant.
  std::string setter_function(const Setter &setter, const std::string &kernel,
                              const std::string &code) {
    bool is_typed = !setter.element.empty();
    std::string element = is_typed ? c_type(setter.element) : "void";
    std::string name = joined_name(kernel, setter.name);
    while (!names_.insert(name).second)
      name += '_';
    return inline_function("tritonc_status", name,
                           {"tritonc_stream stream", "const " + element + " *values",
                            is_typed ? "size_t count" : "size_t bytes"},
                           "tritonc_set_constant",
                           {code, "stream", string_literal(setter.constant), "values",
                            is_typed ? "count" : "bytes",
                            is_typed ? "sizeof(" + element + ")" : std::string("1")});
  }

  std::string instantiation_text(const KernelInterface &kernel, const Instantiation &instantiation,
                                 const std::string &params) {
    std::string name = name_of(kernel, instantiation), code = "&" + instantiation.symbol;
    if (first_name_.empty())
      first_name_ = name;
    bool is_tuned = !kernel.tuned.empty();
    std::string out = "// ---- " + instantiation.display + " ----\n\n";
    out += "extern const tritonc_kernel " + instantiation.symbol + ";\n\n";
    out +=
        "typedef struct " + name + "_args {\n" + members(instantiation) + "} " + name + "_args;\n";
    out += "TRITONC_STATIC_ASSERT(sizeof(" + name +
           "_args) == " + std::to_string(instantiation.args_size) +
           ",\n                      \"the layout that the kernel was compiled for\");\n\n";
    out += "// A prepared launch: see tritonc_prepared_launch.\ntypedef struct " + name +
           "_prepared {\n  " + name + "_args arguments;\n  tritonc_prepared_launch launch;\n} " +
           name + "_prepared;\n\n";
    if (kernel.declares_grid || !is_tuned)
      out += functions_with_arguments(kernel, name, code, params, false);
    if (is_tuned)
      out += functions_with_arguments(kernel, name, code, params, true);
    out += inline_function("tritonc_status", name + "_launch_prepared",
                           {"const " + name + "_prepared *ready", "tritonc_stream stream"},
                           "tritonc_launch_prepared",
                           {"&ready->launch", "stream", "&ready->arguments"});
    for (const Setter &setter : instantiation.setters)
      out += setter_function(setter, name, code);
    // The device is an index, or TRITONC_CURRENT_DEVICE.
    out += inline_function("tritonc_status", name + "_preload", {"int device"}, "tritonc_preload",
                           {code, "NULL", "device"});
    if (!is_tuned)
      return out +
             inline_function("const tritonc_image_info *", name + "_info", {"size_t *count"},
                             "tritonc_info", {code, "NULL", "count"}) +
             "\n";
    std::string which = "const " + params + " *which";
    return out +
           inline_function("tritonc_status", name + "_preload_variant", {which, "int device"},
                           "tritonc_preload", {code, "(const int32_t *)which", "device"}) +
           inline_function("const " + params + " *", name + "_variants", {"size_t *count"},
                           "(const " + params + " *)tritonc_variants", {code, "count"}) +
           inline_function("const tritonc_image_info *", name + "_info", {which, "size_t *count"},
                           "tritonc_info", {code, "(const int32_t *)which", "count"}) +
           "\n";
  }

  std::string kernel_text(const KernelInterface &kernel) {
    std::string params, out;
    if (!kernel.tuned.empty()) {
      params = joined_name(prefix_, kernel.name) + "_params";
      while (!names_.insert(params).second)
        params += '_';
      out += params_struct(kernel, params);
    }
    for (const Instantiation &instantiation : kernel.instantiations)
      out += instantiation_text(kernel, instantiation, params);
    return out;
  }

  const Library &library_;
  const Interface &interface_;
  std::string prefix_; // "my_gemm" for my::gemm
  std::string first_name_;
  std::set<std::string> names_;
};

} // namespace

std::string c_header(const Library &library, const Interface &interface) {
  return Header(library, interface).text();
}

} // namespace tritonc
