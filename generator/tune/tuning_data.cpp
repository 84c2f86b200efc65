// Reads and writes tuning data, and attaches it to a library. See tuning_data.h.
//
// Tested by tests/unit/tune/tuning_data_test.cpp.

#include "tune/tuning_data.h"

#include "emit/cpp/registration.h"
#include "support/read_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace tritonc {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

constexpr int schema = 2;

std::string number(int64_t value) { return std::to_string(value); }

// The sort key of an entry; pads numbers so that they sort by value.
std::string key_of(const TuningEntry &entry) {
  std::string key;
  for (const std::string &text :
       {entry.kernel, entry.types, entry.gpu, number(entry.arch), number(entry.num_sms)})
    key += text + '\0';
  for (const auto &[name, value] : entry.problem)
    key += name + '=' + llvm::formatv("{0,20}", value).str() + ' ';
  return key;
}

// Reads the members of a JSON object and remembers the name of the first missing member.
class Reader {
public:
  Reader(const Object &object) : object_(object) {}

  std::string text(const char *name) { return found(name, object_.getString(name)).str(); }
  int64_t integer(const char *name) { return found(name, object_.getInteger(name)); }
  const Object &object(const char *name) {
    static const Object nothing;
    const Object *inner = object_.getObject(name);
    if (!inner && missing.empty())
      missing = name;
    return inner ? *inner : nothing;
  }

  std::string missing; // name of the first missing member; empty = none

private:
  template <typename T> T found(const char *name, std::optional<T> value) {
    if (!value && missing.empty())
      missing = name;
    return value.value_or(T());
  }

  const Object &object_;
};

// Returns the name of a missing or invalid member; empty if the entry is valid.
std::string read_entry(const Object &object, TuningEntry &entry) {
  Reader reader(object), gpu(reader.object("gpu"));
  entry.kernel = reader.text("kernel");
  entry.types = sorted_words(reader.text("types"));
  entry.gpu = gpu.text("name");
  entry.arch = int(gpu.integer("arch"));
  entry.num_sms = int(gpu.integer("sms"));
  entry.parameters = reader.text("parameters");
  entry.is_cold = reader.text("cache") == "cold";
  for (const auto &[name, value] : reader.object("problem")) {
    if (!value.getAsInteger())
      return "problem";
    entry.problem[name.str()] = *value.getAsInteger();
  }
  for (const auto &[variant, value] : reader.object("times")) {
    const Object *values = value.getAsObject();
    std::optional<int64_t> nanoseconds = values ? values->getInteger("ns") : std::nullopt;
    if (!nanoseconds || *nanoseconds <= 0)
      return "ns";
    entry.times[sorted_words(variant.str())] = {
        *nanoseconds, values->getInteger("cost"),
        values->getString("schedule").value_or("baseline").str()};
  }
  return reader.missing.empty() ? gpu.missing : reader.missing;
}

} // namespace

llvm::json::Object json_of(const TuningEntry &entry) {
  Object problem, times;
  for (const auto &[name, value] : entry.problem)
    problem[name] = value;
  for (const auto &[variant, time] : entry.times) {
    Object values{{"ns", time.nanoseconds}};
    if (time.cost)
      values["cost"] = *time.cost;
    if (time.schedule != "baseline")
      values["schedule"] = time.schedule;
    times[variant] = std::move(values);
  }
  return Object{
      {"kernel", entry.kernel},
      {"types", entry.types},
      {"gpu", Object{{"name", entry.gpu}, {"arch", entry.arch}, {"sms", entry.num_sms}}},
      {"problem", std::move(problem)},
      {"parameters", entry.parameters},
      {"cache", entry.is_cold ? "cold" : "warm"},
      {"times", std::move(times)},
  };
}

void TuningData::add(TuningEntry entry) {
  std::string key = key_of(entry);
  entries_[key] = std::move(entry);
}

void TuningData::add(const TuningData &other) {
  for (const auto &[key, entry] : other.entries_)
    entries_[key] = entry;
}

std::string TuningData::json() const {
  std::string out = "{\"schema\": " + number(schema) + ", \"measurements\": [";
  const char *between = "\n";
  for (const auto &[key, entry] : entries_) {
    out += between + llvm::formatv("{0}", Value(json_of(entry))).str();
    between = ",\n";
  }
  return out + "\n]}\n";
}

std::string sorted_words(const std::string &text) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(text).split(words, ' ', -1, /*KeepEmpty=*/false);
  llvm::sort(words);
  return llvm::join(words, " ");
}

Result<TuningData> read_tuning_data(const std::string &path) {
  Result<std::string> text = read_file(path, max_data_bytes);
  return text ? parse_tuning_data(path, *text) : text.error();
}

Result<TuningData> parse_tuning_data(const std::string &path, const std::string &text) {
  llvm::Expected<Value> root = llvm::json::parse(text);
  if (!root)
    return Error{Message::tuning_syntax, {path, llvm::toString(root.takeError())}};
  const Object *object = root->getAsObject();
  const Array *list = object ? object->getArray("measurements") : nullptr;
  if (!list)
    return Error{Message::tuning_syntax, {path, "it has no measurements"}};
  if (object->getInteger("schema") != schema)
    return Error{Message::tuning_syntax,
                 {path, "expected schema " + number(schema) + "; measure again with this tritonc"}};
  TuningData data;
  for (size_t i = 0; i < list->size(); i++) {
    const Object *item = (*list)[i].getAsObject();
    TuningEntry entry;
    entry.file = std::filesystem::path(path).filename().string();
    std::string missing = item ? read_entry(*item, entry) : "an object";
    if (!missing.empty())
      return Error{Message::tuning_syntax,
                   {path, "measurement " + number(int64_t(i) + 1) + " lacks " + missing}};
    data.add(std::move(entry));
  }
  return data;
}

// --- Attaching data to a library -----------------------------------------------------------------

namespace {

// Removes " = null": nullability of a pointer does not affect times.
std::string signature_without_null(std::string signature) {
  const std::string null = " = null";
  for (size_t at; (at = signature.find(null)) != std::string::npos;)
    signature.erase(at, null.size());
  return signature;
}

// Measurements of a kernel that no longer fit, each once, for warnings.
struct Leftovers {
  std::set<std::string> parameters, names, variants, unmeasured;
};

std::optional<int> parameter_named(const std::vector<Parameter> &parameters,
                                   const std::string &name) {
  for (size_t i = 0; i < parameters.size(); i++)
    if (parameters[i].name == name && !parameters[i].is_pointer)
      return int(i);
  return std::nullopt;
}

std::string types_of(const KernelEntry &kernel, const Variant &variant) {
  return sorted_words(variant.values.type_text(kernel.axes));
}

std::string tuned_values_of(const KernelEntry &kernel, const Variant &variant) {
  return sorted_words(variant.values.tuned_text(kernel.axes));
}

void attach(const TuningEntry &entry, KernelEntry &kernel, Leftovers &leftovers) {
  Measurement measurement = {.gpu = entry.gpu,
                             .arch = entry.arch,
                             .num_sms = entry.num_sms,
                             .problem = {},
                             .times = {},
                             .file = entry.file};
  const Variant *one = nullptr; // a variant with the entry's types
  std::set<std::string> left;
  for (const auto &[name, time] : entry.times)
    left.insert(name);
  for (size_t i = 0; i < kernel.variants.size(); i++) {
    const Variant &variant = kernel.variants[i];
    if (!variant.plan.specialization.empty() || types_of(kernel, variant) != entry.types)
      continue; // the general code represents a variant
    one = &variant;
    std::string name = tuned_values_of(kernel, variant);
    auto found = entry.times.find(name);
    if (found == entry.times.end())
      continue;
    left.erase(name);
    const TuningTime &time = found->second;
    measurement.times.push_back({i, time.nanoseconds, time.cost, time.schedule});
  }
  if (!one)
    return; // the types belong to another library
  if (signature_without_null(signature_of(one->parameters)) !=
      signature_without_null(entry.parameters)) {
    leftovers.parameters.insert(entry.parameters);
    return;
  }
  leftovers.variants.insert(left.begin(), left.end());
  for (const auto &[name, value] : entry.problem) {
    std::optional<int> parameter = parameter_named(one->parameters, name);
    if (!parameter) {
      leftovers.names.insert(name);
      return;
    }
    measurement.problem.emplace_back(*parameter, value);
  }
  llvm::sort(measurement.problem);
  if (!measurement.times.empty())
    kernel.measurements.push_back(std::move(measurement));
}

// Finds variants without a measurement whose types have measurements: variants added later.
void find_unmeasured(const KernelEntry &kernel, Leftovers &leftovers) {
  std::set<size_t> measured;
  std::set<std::string> types;
  for (const Measurement &measurement : kernel.measurements)
    for (const Measurement::Time &time : measurement.times) {
      measured.insert(time.variant);
      types.insert(types_of(kernel, kernel.variants[time.variant]));
    }
  for (size_t i = 0; i < kernel.variants.size(); i++)
    if (kernel.variants[i].plan.specialization.empty() && !measured.count(i) &&
        types.count(types_of(kernel, kernel.variants[i])))
      leftovers.unmeasured.insert(tuned_values_of(kernel, kernel.variants[i]));
}

// Whether two problems name the same parameters; all measurements of a kernel must agree in this.
bool same_arguments(const Measurement &a, const Measurement &b) {
  return llvm::equal(a.problem, b.problem,
                     [](const auto &x, const auto &y) { return x.first == y.first; });
}

std::string some_of(const std::set<std::string> &names) {
  constexpr size_t max_value = 3;
  std::vector<std::string> few;
  for (const std::string &name : names)
    if (few.size() < max_value)
      few.push_back(name);
  std::string text = llvm::join(few, ", ");
  return names.size() > max_value
             ? text + " and " + number(int64_t(names.size() - max_value)) + " more"
             : text;
}

} // namespace

std::vector<Error> find_unknown_kernels(const TuningData &data,
                                        const std::set<std::string> &kernels) {
  std::set<std::string> unknown;
  for (const auto &[key, entry] : data.entries())
    if (!kernels.count(entry.kernel))
      unknown.insert(entry.kernel);
  std::vector<Error> said;
  for (const std::string &name : unknown)
    said.push_back({Message::tuning_unknown_kernel, {name, llvm::join(kernels, ", ")}});
  return said;
}

std::vector<Error> attach(const TuningData &data, Library &library) {
  std::vector<Error> said;
  for (KernelEntry &kernel : library.kernels) {
    Leftovers leftovers;
    for (const auto &[key, entry] : data.entries())
      if (entry.kernel == kernel.name)
        attach(entry, kernel, leftovers);
    find_unmeasured(kernel, leftovers);
    if (!leftovers.parameters.empty())
      said.push_back({Message::tuning_other_parameters,
                      {kernel.name, *leftovers.parameters.begin(),
                       signature_of(kernel.variants.front().parameters)}});
    if (!leftovers.names.empty())
      said.push_back({Message::tuning_unknown_parameter,
                      {kernel.name, *leftovers.names.begin(),
                       signature_of(kernel.variants.front().parameters)}});
    if (!leftovers.variants.empty())
      said.push_back({Message::tuning_gone, {kernel.name, some_of(leftovers.variants)}});
    if (!leftovers.unmeasured.empty())
      said.push_back({Message::tuning_unmeasured, {kernel.name, some_of(leftovers.unmeasured)}});
    for (const Measurement &one : kernel.measurements)
      if (!same_arguments(one, kernel.measurements.front())) {
        said.push_back({Message::tuning_mixed, {kernel.name}});
        kernel.measurements.clear();
        break;
      }
  }
  return said;
}

} // namespace tritonc
