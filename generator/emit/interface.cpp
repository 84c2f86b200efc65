// Builds the C++ interface of a library. See interface.h.
//
// Tested by tests/unit/emit/interface_test.cpp.

#include "emit/interface.h"

#include "emit/cpp_text.h"

#include <tritonc/descriptor.hpp>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace tritonc {

namespace {

struct ElementRow {
  std::string_view element;
  ElementType if_signed, if_unsigned;
};

constexpr ElementRow element_rows[] = {
    {"i1", {"bool", 1}, {"bool", 1}},
    {"i8", {"std::int8_t", 1}, {"std::uint8_t", 1}},
    {"i16", {"std::int16_t", 2}, {"std::uint16_t", 2}},
    {"i32", {"std::int32_t", 4}, {"std::uint32_t", 4}},
    {"i64", {"std::int64_t", 8}, {"std::uint64_t", 8}},
    {"f16", {"tritonc::half", 2}, {"tritonc::half", 2}},
    {"bf16", {"tritonc::bfloat16", 2}, {"tritonc::bfloat16", 2}},
    {"f32", {"float", 4}, {"float", 4}},
    {"f64", {"double", 8}, {"double", 8}},
    {"e4m3", {"tritonc::float8_e4m3", 1}, {"tritonc::float8_e4m3", 1}},
    {"e5m2", {"tritonc::float8_e5m2", 1}, {"tritonc::float8_e5m2", 1}},
};

struct TypeWord {
  std::string_view word; // in Triton-C
  std::string_view name; // in C++
};

constexpr TypeWord type_words[] = {
    {"half", "tritonc::half"},
    {"bfloat16", "tritonc::bfloat16"},
    {"float", "float"},
    {"double", "double"},
    {"bool", "bool"},
    {"char", "std::int8_t"},
    {"short", "std::int16_t"},
    {"int", "std::int32_t"},
    {"long", "std::int64_t"},
    {"unsigned", "std::uint32_t"},
    {"int8", "std::int8_t"},
    {"uint8", "std::uint8_t"},
    {"int16", "std::int16_t"},
    {"uint16", "std::uint16_t"},
    {"int32", "std::int32_t"},
    {"uint32", "std::uint32_t"},
    {"int64", "std::int64_t"},
    {"uint64", "std::uint64_t"},
    {"int8_t", "std::int8_t"},
    {"uint8_t", "std::uint8_t"},
    {"int16_t", "std::int16_t"},
    {"uint16_t", "std::uint16_t"},
    {"int32_t", "std::int32_t"},
    {"uint32_t", "std::uint32_t"},
    {"int64_t", "std::int64_t"},
    {"uint64_t", "std::uint64_t"},
    {"e4m3", "tritonc::float8_e4m3"},
    {"e5m2", "tritonc::float8_e5m2"},
};

std::string_view type_named(const std::string &word) {
  for (const TypeWord &row : type_words)
    if (row.word == word)
      return row.name;
  return {};
}

std::optional<int32_t> integer_named(const std::string &text) {
  int32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

template <typename Predicate> bool all_values(const Axis &axis, Predicate predicate) {
  return std::all_of(axis.values.begin(), axis.values.end(),
                     [&](const AxisValue &value) { return predicate(value.name); });
}

bool is_integer_axis(const Axis &axis) {
  return all_values(axis, [](const std::string &name) { return integer_named(name).has_value(); });
}

bool is_type_axis(const Axis &axis) {
  std::set<std::string_view> types; // two words for one type would be the same C++ type
  return all_values(axis, [&](const std::string &name) {
    return !type_named(name).empty() && types.insert(type_named(name)).second;
  });
}

/// The names that one scope already has.
class Scope {
public:
  /// Adds `name` as a C++ identifier, with `_` after it until it is unique.
  std::string add(std::string_view name, std::string_view taken = "") {
    std::string out = cpp_identifier(name, taken);
    while (!names_.insert(out).second)
      out += '_';
    return out;
  }
  bool contains(const std::string &name) const { return names_.count(name) != 0; }

private:
  std::set<std::string> names_;
};

constexpr std::string_view names_in_namespace =
    "args params launch prepared prepare preload preload_on variants variant info detail code";

/// The members of a kernel's struct.
constexpr std::string_view names_in_struct[] = {"args",    "params",  "launch",     "prepared",
                                                "prepare", "preload", "preload_on", "variants",
                                                "variant", "info",    "code"};

// The name without control characters, which would disturb a terminal.
std::string shown(std::string name) {
  for (char &c : name)
    if (static_cast<unsigned char>(c) < ' ' || c == 127)
      c = '?';
  return name;
}

std::optional<Error> check_namespace(const std::string &name) {
  for (size_t begin = 0; begin <= name.size();) {
    size_t end = std::min(name.find("::", begin), name.size());
    std::string part = name.substr(begin, end - begin);
    if (!is_identifier(part) || cpp_identifier(part) != part)
      return Error{Message::bad_name, {shown(name)}};
    begin = end + 2;
  }
  return std::nullopt;
}

bool same_for_callers(const std::vector<Parameter> &a, const std::vector<Parameter> &b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const Parameter &x, const Parameter &y) {
        return x.name == y.name && x.element == y.element && x.is_pointer == y.is_pointer &&
               x.is_signed == y.is_signed && x.read_only == y.read_only;
      });
}

/// Builds the interface, kernel by kernel.
class Builder {
public:
  explicit Builder(const Library &library) : library_(library) {}

  Result<Interface> build() {
    interface_.name_space = library_.name;
    if (std::optional<Error> failure = check_namespace(library_.name))
      return *failure;
    if (library_.kernels.empty())
      return Error{Message::no_kernels_to_emit, {library_.name}};
    for (const KernelEntry &entry : library_.kernels)
      if (std::optional<Error> failure = add_kernel(entry))
        return *failure;
    if (std::optional<Error> failure = check_names())
      return *failure;
    add_hashes();
    return std::move(interface_);
  }

private:
  std::optional<Error> add_kernel(const KernelEntry &entry) {
    KernelInterface kernel;
    kernel.entry = &entry;
    kernel.name = cpp_identifier(entry.name, names_in_namespace);
    if (entry.variants.empty())
      return Error{Message::no_kernels_to_emit, {library_.name}};
    kernel.declares_grid = !entry.variants.front().plan.grid.empty();
    Scope inside = names_inside(kernel);
    add_axes(kernel, inside);
    collect_instantiations(kernel);
    for (Instantiation &instantiation : kernel.instantiations)
      if (std::optional<Error> failure = lay_out(kernel, instantiation))
        return failure;
    interface_.kernels.push_back(std::move(kernel));
    return std::nullopt;
  }

  /// Names that a template parameter must not have: it would hide a member, or a member would hide
  /// it.
  static Scope names_inside(const KernelInterface &kernel) {
    Scope scope;
    scope.add(kernel.name);
    for (std::string_view word : names_in_struct)
      scope.add(word);
    for (const Variant &variant : kernel.entry->variants)
      for (const Parameter &parameter : variant.parameters)
        if (!scope.contains(parameter.name))
          scope.add(parameter.name);
    for (const Variant &variant : kernel.entry->variants)
      for (const Constant &constant : variant.constants)
        if (!scope.contains("set_" + constant.name))
          scope.add("set_" + constant.name);
    for (const Axis &axis : kernel.entry->axes)
      if (axis.tuned && !scope.contains(axis.name))
        scope.add(axis.name);
    return scope;
  }

  void add_axes(KernelInterface &kernel, Scope &inside) {
    Scope members;
    for (size_t i = 0; i < kernel.entry->axes.size(); i++) {
      const Axis &axis = kernel.entry->axes[i];
      if (axis.tuned)
        kernel.tuned.push_back(tuned_axis(axis, i, members));
      else
        kernel.api.push_back(api_axis(axis, i, inside));
    }
    name_parameters_of_variant(kernel);
  }

  /// The parameters of `variant` must not hide parameters or members of the enclosing template.
  static void name_parameters_of_variant(KernelInterface &kernel) {
    Scope scope;
    scope.add(kernel.name);
    for (std::string_view word : names_in_struct)
      scope.add(word);
    for (std::string_view word : {"value", "tritonc", "std"})
      scope.add(word);
    for (const ApiAxis &api : kernel.api)
      scope.add(api.parameter);
    for (TunedAxis &tuned : kernel.tuned)
      tuned.parameter = scope.add(kernel.entry->axes[tuned.index].name);
  }

  TunedAxis tuned_axis(const Axis &axis, size_t index, Scope &members) {
    TunedAxis tuned{index, "std::int32_t", members.add(axis.name, "params"), "", {}};
    if (is_integer_axis(axis)) {
      for (const AxisValue &value : axis.values)
        tuned.values.push_back(*integer_named(value.name));
      return tuned;
    }
    Enumeration &enumeration = enumeration_of(axis);
    // Qualified, because the member may have the name of the enumeration.
    tuned.type = "::" + library_.name + "::" + enumeration.name;
    for (const AxisValue &value : axis.values)
      tuned.values.push_back(int32_t(enumerator_of(enumeration, value)));
    return tuned;
  }

  ApiAxis api_axis(const Axis &axis, size_t index, Scope &inside) {
    ApiAxis api;
    api.index = index;
    if (is_type_axis(axis)) {
      api.kind = ApiAxis::Kind::type;
      api.type = "typename";
      for (const AxisValue &value : axis.values)
        api.values.emplace_back(type_named(value.name));
    } else if (is_integer_axis(axis)) {
      api.kind = ApiAxis::Kind::integer;
      api.type = "std::int32_t";
      for (const AxisValue &value : axis.values)
        api.values.push_back(std::to_string(*integer_named(value.name)));
    } else {
      Enumeration &enumeration = enumeration_of(axis);
      api.type = enumeration.name;
      if (!inside.contains(enumeration.name))
        inside.add(enumeration.name);
      for (const AxisValue &value : axis.values)
        api.values.push_back(enumeration.name +
                             "::" + enumeration.enumerators[enumerator_of(enumeration, value)]);
    }
    api.parameter = inside.add(axis.name);
    return api;
  }

  Enumeration &enumeration_of(const Axis &axis) {
    std::string name = cpp_identifier(axis.name, names_in_namespace);
    for (Enumeration &enumeration : interface_.enumerations)
      if (enumeration.name == name)
        return enumeration;
    return interface_.enumerations.emplace_back(Enumeration{name, {}});
  }

  /// The index of the enumerator for `value`; adds it if it is new. Values with equal names share
  /// an enumerator in all kernels.
  size_t enumerator_of(Enumeration &enumeration, const AxisValue &value) {
    std::string name = cpp_identifier(value.name);
    auto [original, is_new] = value_behind_.try_emplace(enumeration.name + "::" + name, value.name);
    if (!is_new && original->second != value.name && !clash_)
      clash_ = Error{Message::same_host_name,
                     {"the values `" + comment_text(original->second) + "`",
                      "`" + comment_text(value.name) + "`", original->first}};
    std::vector<std::string> &all = enumeration.enumerators;
    auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end())
      found = all.insert(all.end(), name);
    return size_t(found - all.begin());
  }

  static void collect_instantiations(KernelInterface &kernel) {
    std::map<std::vector<int>, size_t> index_of;
    for (const Variant &variant : kernel.entry->variants) {
      std::vector<int> api;
      for (const ApiAxis &axis : kernel.api)
        api.push_back(variant.values[axis.index]);
      auto [place, is_new] = index_of.try_emplace(api, kernel.instantiations.size());
      if (is_new)
        kernel.instantiations.emplace_back().api = api;
      if (variant.plan.specialization.empty())
        kernel.instantiations[place->second].variants.push_back(&variant);
    }
    for (Instantiation &instantiation : kernel.instantiations)
      std::stable_sort(
          instantiation.variants.begin(), instantiation.variants.end(),
          [](const Variant *a, const Variant *b) { return a->preference < b->preference; });
    add_specialized(kernel);
    add_setters(kernel);
  }

  static void add_specialized(KernelInterface &kernel) {
    std::map<VariantValues, std::vector<const Variant *>> specialized;
    for (const Variant &variant : kernel.entry->variants)
      if (!variant.plan.specialization.empty())
        specialized[variant.values].push_back(&variant);
    for (Instantiation &instantiation : kernel.instantiations)
      for (const Variant *general : instantiation.variants)
        instantiation.specialized.push_back(specialized[general->values]);
  }

  std::optional<Error> lay_out(const KernelInterface &kernel, Instantiation &instantiation) {
    const std::vector<Parameter> &parameters = instantiation.parameters();
    for (const Variant *variant : instantiation.variants)
      if (!same_for_callers(parameters, variant->parameters))
        return Error{Message::parameters_vary, {kernel.entry->name}};
    if (parameters.size() > size_t(abi::max_parameters))
      return Error{Message::too_many_parameters,
                   {kernel.entry->name, std::to_string(parameters.size()),
                    std::to_string(abi::max_parameters)}};
    Scope names;
    int offset = 0, alignment = 1;
    for (const Parameter &parameter : parameters) {
      ElementType type = element_type(parameter);
      int bytes = parameter.is_pointer ? 8 : type.bytes;
      offset = (offset + bytes - 1) / bytes * bytes;
      instantiation.members.push_back(
          {names.add(parameter.name, "args"), std::string(type.name), offset});
      offset += bytes;
      alignment = std::max(alignment, bytes);
    }
    instantiation.args_size = std::max(1, (offset + alignment - 1) / alignment * alignment);
    instantiation.display = display_name(kernel, instantiation);
    return std::nullopt;
  }

  /// The setters for all constants of these variants. A constant of `char`, or with different types
  /// in different variants, takes bytes.
  static std::vector<Setter> setters_of(const std::vector<const Variant *> &variants) {
    std::map<std::string, std::vector<const Constant *>> constants;
    std::vector<std::string> names; // in the order of their declarations
    for (const Variant *variant : variants)
      for (const Constant &constant : variant->constants) {
        std::vector<const Constant *> &known = constants[constant.name];
        if (known.empty())
          names.push_back(constant.name);
        known.push_back(&constant);
      }
    std::vector<Setter> setters;
    Scope scope;
    for (const std::string &name : names) {
      const std::vector<const Constant *> &same = constants[name];
      Setter setter = {.name = scope.add("set_" + name),
                       .constant = name,
                       .element = std::string(element_of(*same.front()))};
      bool is_bytes = same.front()->element == "i8" && same.front()->is_signed;
      for (const Constant *constant : same)
        is_bytes |= element_of(*constant) != setter.element;
      if (is_bytes)
        setter.element.clear();
      for (const Constant *constant : same)
        setter.count = std::max(setter.count, is_bytes ? constant->bytes : constant->count);
      setters.push_back(std::move(setter));
    }
    return setters;
  }

  static std::string_view element_of(const Constant &constant) {
    return element_type({.element = constant.element, .is_signed = constant.is_signed}).name;
  }

  /// If a constant has one type in each instantiation, and a template parameter is that type, the
  /// setter takes the template parameter as its type.
  static void add_setters(KernelInterface &kernel) {
    std::vector<const Variant *> all;
    for (Instantiation &instantiation : kernel.instantiations) {
      std::vector<const Variant *> own = instantiation.variants;
      for (const std::vector<const Variant *> &specialized : instantiation.specialized)
        own.insert(own.end(), specialized.begin(), specialized.end());
      instantiation.setters = setters_of(own);
      all.insert(all.end(), own.begin(), own.end());
    }
    kernel.setters = setters_of(all);
    for (Setter &setter : kernel.setters)
      for (const ApiAxis &axis : kernel.api)
        if (setter.element.empty() && axis.kind == ApiAxis::Kind::type &&
            is_of_type(setter, axis, kernel))
          set_element(setter, axis, kernel);
  }

  static const Setter *setter_named(const Instantiation &instantiation,
                                    const std::string &constant) {
    for (const Setter &setter : instantiation.setters)
      if (setter.constant == constant)
        return &setter;
    return nullptr;
  }

  static bool is_of_type(const Setter &setter, const ApiAxis &axis, const KernelInterface &kernel) {
    return std::all_of(
        kernel.instantiations.begin(), kernel.instantiations.end(), [&](const Instantiation &one) {
          const Setter *own = setter_named(one, setter.constant);
          return !own ||
                 own->element == axis.values[size_t(one.api[size_t(&axis - kernel.api.data())])];
        });
  }

  static void set_element(Setter &setter, const ApiAxis &axis, const KernelInterface &kernel) {
    setter.element = axis.parameter;
    setter.count = 0;
    for (const Instantiation &instantiation : kernel.instantiations)
      if (const Setter *own = setter_named(instantiation, setter.constant))
        setter.count = std::max(setter.count, own->count);
  }

  std::string display_name(const KernelInterface &kernel,
                           const Instantiation &instantiation) const {
    std::string out = library_.name + "::" + kernel.name;
    for (size_t i = 0; i < kernel.api.size(); i++) {
      const Axis &axis = kernel.entry->axes[kernel.api[i].index];
      out += (i ? ", " : "<") + comment_text(axis.values[size_t(instantiation.api[i])].name);
    }
    return kernel.api.empty() ? out : out + ">";
  }

  std::optional<Error> check_names() {
    if (clash_)
      return clash_;
    std::map<std::string, std::string> owners;
    auto claim = [&](const std::string &name, const std::string &owner) -> std::optional<Error> {
      auto [place, is_new] = owners.try_emplace(name, owner);
      if (is_new)
        return std::nullopt;
      return Error{Message::same_host_name, {place->second, owner, library_.name + "::" + name}};
    };
    for (const KernelInterface &kernel : interface_.kernels)
      if (auto failure = claim(kernel.name, "kernel `" + kernel.entry->name + "`"))
        return failure;
    // The header has helpers with these names. They would hide an enumeration.
    for (const KernelInterface &kernel : interface_.kernels)
      for (const char *helper : {"_code", "_args"})
        owners.try_emplace(kernel.name + helper, "a helper of kernel `" + kernel.entry->name + "`");
    for (const Enumeration &enumeration : interface_.enumerations)
      if (auto failure = claim(enumeration.name, "axis `" + enumeration.name + "`"))
        return failure;
    return std::nullopt;
  }

  void add_hashes() {
    std::string shared = "abi " + std::to_string(abi::abi_version) + "\n";
    for (const Enumeration &enumeration : interface_.enumerations) {
      shared += "enum " + enumeration.name;
      for (const std::string &enumerator : enumeration.enumerators)
        shared += " " + enumerator;
      shared += "\n";
    }
    std::string prefix = "tritonc_";
    for (char c : library_.name)
      prefix += c == ':' ? '_' : c;
    std::string all = shared;
    for (KernelInterface &kernel : interface_.kernels) {
      for (Instantiation &instantiation : kernel.instantiations) {
        std::string agreed = agreement(kernel, instantiation);
        instantiation.symbol = prefix + "_" + kernel.name + "_" + short_hash(shared + agreed);
        all += agreed;
      }
    }
    interface_.hash = short_hash(all);
  }

  /// All facts on which a caller of one instantiation relies, as text for the hash.
  static std::string agreement(const KernelInterface &kernel, const Instantiation &instantiation) {
    std::string out = instantiation.display + (kernel.declares_grid ? " with its grid\n" : "\n");
    for (size_t i = 0; i < instantiation.members.size(); i++) {
      const Member &member = instantiation.members[i];
      const Parameter &parameter = instantiation.parameters()[i];
      out += "  " + member.element + (parameter.is_pointer ? " *" : " ") +
             (parameter.read_only ? "const " : "") + member.name + " at " +
             std::to_string(member.offset) + "\n";
    }
    for (const Setter &setter : instantiation.setters)
      out += "  constant " + setter.constant + ": " + setter.element + "\n";
    for (const TunedAxis &axis : kernel.tuned) {
      out += "  " + axis.type + " " + axis.member + ":";
      for (int32_t value : axis.values)
        out += " " + std::to_string(value);
      out += "\n";
    }
    return out;
  }

  const Library &library_;
  Interface interface_;
  std::map<std::string, std::string> value_behind_; // enumerator -> value in the source
  std::optional<Error> clash_;
};

} // namespace

Result<Interface> make_interface(const Library &library) { return Builder(library).build(); }

ElementType element_type(const Parameter &parameter) {
  for (const ElementRow &row : element_rows)
    if (row.element == parameter.element)
      return parameter.is_signed ? row.if_signed : row.if_unsigned;
  return {"void", 8}; // only pointers to types without a C++ name
}

std::string short_hash(std::string_view text) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 12);
}

} // namespace tritonc
