// The generated header for C. See c_header.h.
//
// C has no namespaces, templates or overloads. So a kernel of C++ is a name in front of others,
// "gemm_dot_half_N" of gemm::dot<half, N>: gemm_dot_half_N_args, gemm_dot_half_N_launch, ...

#include "emit/c_header.h"

#include "emit/cpp_text.h"
#include "emit/header_comment.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace tritonc {

namespace {

/// Keywords that C has and C++ has not.
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

/// A name of C: what isn't a letter or digit is an underscore.
std::string joined_name(const std::string &first, const std::string &second) {
  std::string out = first + "_" + second;
  std::replace_if(out.begin(), out.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return out;
}

/// What stands behind the name of a kernel.
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
  /// A name of which nothing else in the header makes the same names.
  std::string unique(std::string name) {
    auto is_taken = [&](const char *suffix) { return names_.count(name + suffix) != 0; };
    while (std::any_of(std::begin(suffixes), std::end(suffixes), is_taken))
      name += '_';
    for (const char *suffix : suffixes)
      names_.insert(name + suffix);
    return name;
  }

  std::string name_of(const KernelInterface &kernel, const Combination &combination) {
    std::string name = joined_name(prefix_, kernel.name);
    for (size_t i = 0; i < kernel.api.size(); i++) {
      const Axis &axis = kernel.entry->axes[kernel.api[i].index];
      name = joined_name(name, axis.values[size_t(combination.api[i])].name);
    }
    return unique(name);
  }

  std::string opening() const {
    std::string name = first_name_;
    const KernelInterface &kernel = interface_.kernels.front();
    std::string out = "// " + interface_.name_space +
                      ": GPU kernels as functions of C. The C++ header says more of them.\n//\n";
    std::vector<std::string> designated;
    for (const Member &member : kernel.combinations.front().members)
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
           comment_text(library_.source_file) + ". Change that, not this.\n\n";
  }

  /// What variants have for a value that isn't a number.
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

  static std::string members(const Combination &combination) {
    if (combination.members.empty())
      return "  char unused;\n"; // C has no empty structs
    std::string out;
    for (size_t i = 0; i < combination.members.size(); i++) {
      const Parameter &parameter = combination.parameters()[i];
      out += "  " + std::string(parameter.is_pointer && parameter.read_only ? "const " : "") +
             c_type(combination.members[i].element) + (parameter.is_pointer ? " *" : " ") +
             c_identifier(combination.members[i].name) + ";\n";
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

  /// A head or a call with its list, broken as clang-format would.
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

  /// `launch` and `prepare`, with the variant named or not.
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

  /// How constant memory is filled.
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

  std::string combination_text(const KernelInterface &kernel, const Combination &combination,
                               const std::string &params) {
    std::string name = name_of(kernel, combination), code = "&" + combination.symbol;
    if (first_name_.empty())
      first_name_ = name;
    bool is_tuned = !kernel.tuned.empty();
    std::string out = "// ---- " + combination.display + " ----\n\n";
    out += "extern const tritonc_kernel " + combination.symbol + ";\n\n";
    out += "typedef struct " + name + "_args {\n" + members(combination) + "} " + name + "_args;\n";
    out += "TRITONC_STATIC_ASSERT(sizeof(" + name +
           "_args) == " + std::to_string(combination.args_size) +
           ",\n                      \"the layout that the kernel was compiled for\");\n\n";
    out += "// A launch made ready: see tritonc/runtime.hpp.\ntypedef struct " + name +
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
    for (const Setter &setter : combination.setters)
      out += setter_function(setter, name, code);
    // The device is a number, or TRITONC_CURRENT_DEVICE.
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
    for (const Combination &combination : kernel.combinations)
      out += combination_text(kernel, combination, params);
    return out;
  }

  const Library &library_;
  const Interface &interface_;
  std::string prefix_; // "my_gemm" of my::gemm
  std::string first_name_;
  std::set<std::string> names_;
};

} // namespace

std::string c_header(const Library &library, const Interface &interface) {
  return Header(library, interface).text();
}

} // namespace tritonc
