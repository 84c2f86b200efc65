// Implements problem sizes for tuning. See problem_sizes.h.
//
// Tested by tests/unit/tune/problem_sizes_test.cpp.

#include "tune/problem_sizes.h"

#include "variants/variant_condition.h"
#include "variants/variant_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace tritonc {
namespace {

constexpr size_t max_problems = 100000;

// The runner has the same limit (runtime/tuner/tuned_kernel.cpp).
constexpr int64_t max_elements = int64_t(1) << 40;

// Limits ends and steps of ranges, so that no sum of two sizes overflows.
constexpr int64_t max_size = int64_t(1) << 60;

// --- Parameters of a kernel ----------------------------------------------------------------------

struct TunerParameter {
  std::string name, type;
  bool is_pointer = false, is_integer = false, is_optional = false;
};

// Parses "const f16 *A, f32 *bias = null, i32 M", the format of emit/cpp/registration.h.
std::vector<TunerParameter> parameters_of(const std::string &signature) {
  std::vector<TunerParameter> parameters;
  llvm::SmallVector<llvm::StringRef> texts;
  llvm::StringRef(signature).split(texts, ", ", -1, /*KeepEmpty=*/false);
  for (llvm::StringRef text : texts) {
    TunerParameter parameter;
    parameter.is_optional = text.consume_back(" = null");
    auto [type, name] = text.rsplit(' ');
    parameter.is_pointer = name.consume_front("*");
    parameter.is_integer =
        !parameter.is_pointer && (type.starts_with("i") || type.starts_with("u"));
    parameter.name = name.str();
    parameter.type = type.str();
    parameters.push_back(parameter);
  }
  return parameters;
}

// Whether an integer type such as i32 or u8 has the value.
bool holds(const std::string &type, int64_t value) {
  unsigned bits = 64;
  llvm::StringRef(type).drop_front().getAsInteger(10, bits);
  return type.front() == 'u' ? value >= 0 && (bits >= 64 || llvm::isUIntN(bits, uint64_t(value)))
                             : llvm::isIntN(bits, value);
}

// --- Values of a parameter -----------------------------------------------------------------------

// `first` and its doubles up to `last`; for random problems, any multiple of `step` in the range.
struct SizeRange {
  int64_t first = 0, last = 0, step = 1;
};

std::optional<SizeRange> range_of(llvm::StringRef text) {
  SizeRange range;
  auto [ends, step] = text.split(':');
  auto [first, last] = ends.split("..");
  if (!ends.contains("..") || first.trim().getAsInteger(10, range.first) ||
      last.trim().getAsInteger(10, range.last))
    return std::nullopt;
  if (text.contains(':') && step.trim().getAsInteger(10, range.step))
    return std::nullopt;
  if (range.first <= 0 || range.last < range.first || range.last > max_size || range.step <= 0 ||
      range.step > max_size)
    return std::nullopt;
  return range;
}

std::optional<int64_t> integer_of(llvm::StringRef text) {
  int64_t value = 0;
  return text.getAsInteger(0, value) ? std::nullopt : std::optional(value);
}

bool is_given(const std::vector<std::string> &values) {
  return llvm::all_of(values,
                      [](const std::string &text) { return integer_of(text) || range_of(text); });
}

// A random generator with the same results on every machine; the standard distributions differ
// between implementations.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // A uniform value in [0, 1).
  double next() {
    state_ += 0x9e3779b97f4a7c15u; // splitmix64
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

private:
  uint64_t state_;
};

// A random size, uniform in the logarithm: [n, 2n) is equally likely for each n.
int64_t drawn(const SizeRange &range, Random &random) {
  double low = std::log2(double(range.first)), high = std::log2(double(range.last) + 1);
  auto value = int64_t(std::exp2(low + (high - low) * random.next()));
  value = (value + range.step / 2) / range.step * range.step;
  int64_t min_value = (range.first + range.step - 1) / range.step * range.step;
  int64_t max_value = range.last / range.step * range.step;
  return std::clamp(value, min_value, std::max(min_value, max_value));
}

// All values of a parameter.
std::vector<int64_t> sizes_of(const std::vector<std::string> &values) {
  std::vector<int64_t> sizes;
  for (const std::string &text : values) {
    if (std::optional<int64_t> value = integer_of(text)) {
      sizes.push_back(*value);
      continue;
    }
    SizeRange range = *range_of(text);
    for (int64_t size = range.first; size <= range.last; size *= 2)
      sizes.push_back((size + range.step - 1) / range.step * range.step);
  }
  return sizes;
}

int64_t drawn(const std::vector<std::string> &values, Random &random) {
  const std::string &text = values[size_t(random.next() * double(values.size()))];
  std::optional<int64_t> value = integer_of(text);
  return value ? *value : drawn(*range_of(text), random);
}

// --- The problems of a kernel --------------------------------------------------------------------

class KernelProblems {
public:
  KernelProblems(const TunerKernel &kernel, const ProblemClauses &clauses)
      : kernel_(kernel), parameters_(parameters_of(kernel.signature)) {
    // Clauses for one kernel override clauses for all kernels.
    for (bool is_scoped : {false, true})
      for (const ProblemClause &clause : clauses)
        if (clause.kernel.empty() ? !is_scoped : is_scoped && clause.kernel == kernel.name)
          for (const std::string &name : clause.names)
            said_[name] = clause.values;
  }

  std::optional<Error> add(const Draw &draw, Random &random, std::vector<PlannedProblem> &all) {
    if (std::optional<Error> failure = sort_out())
      return failure;
    std::vector<std::map<std::string, int64_t>> problems;
    for (int i = 0; i < draw.count; i++) {
      std::map<std::string, int64_t> &problem = problems.emplace_back();
      for (const std::string &name : given_)
        problem[name] = drawn(said_[name], random);
    }
    if (draw.count == 0) {
      size_t count = 1;
      for (const std::string &name : given_)
        count = std::min(count * sizes_of(said_[name]).size(), max_problems + 1);
      if (count > max_problems)
        return Error{Message::too_many_problems,
                     {"more than " + std::to_string(max_problems), kernel_.name,
                      std::to_string(max_problems)}};
      problems.emplace_back();
      for (const std::string &name : given_)
        multiply(problems, name);
    }
    for (const std::map<std::string, int64_t> &problem : problems) {
      PlannedProblem planned = {&kernel_, {}, problem};
      for (const TunerParameter &parameter : parameters_)
        if (parameter.is_integer && problem.count(parameter.name))
          planned.problem[parameter.name] = problem.at(parameter.name);
      if (std::optional<Error> failure = compute(planned.arguments))
        return failure;
      if (std::optional<Error> failure = check_types(planned.arguments))
        return failure;
      all.push_back(std::move(planned));
    }
    return std::nullopt;
  }

private:
  // Separates given parameters from computed parameters.
  std::optional<Error> sort_out() {
    for (const TunerParameter &parameter : parameters_) {
      auto said = said_.find(parameter.name);
      if (said == said_.end()) {
        if (parameter.is_optional)
          continue;
        return Error{Message::problem_missing,
                     {parameter.name, kernel_.name, kernel_.signature,
                      parameter.is_pointer
                          ? "; give its number of elements, as in " + parameter.name + "=M*N"
                          : ""}};
      }
      if (is_given(said->second)) {
        given_.push_back(parameter.name);
        continue;
      }
      for (const std::string &text : said->second)
        if (llvm::StringRef(text).contains("..") && !range_of(text))
          return Error{
              Message::problem_syntax,
              {parameter.name + "=" + text,
               "expected a range FIRST..LAST or FIRST..LAST:STEP of positive integers up to " +
                   std::to_string(max_size) + ", with FIRST at most LAST"}};
      if (said->second.size() != 1)
        return Error{Message::problem_syntax,
                     {parameter.name + "=" + llvm::join(said->second, ","),
                      "expected integers and ranges, or one expression"}};
      Result<Condition> expression = Condition::parse(said->second.front());
      if (!expression)
        return expression.error();
      computed_.emplace_back(parameter.name, *expression);
    }
    return std::nullopt;
  }

  void multiply(std::vector<std::map<std::string, int64_t>> &problems, const std::string &name) {
    std::vector<std::map<std::string, int64_t>> product;
    for (const std::map<std::string, int64_t> &problem : problems)
      for (int64_t size : sizes_of(said_[name])) {
        product.push_back(problem);
        product.back()[name] = size;
      }
    problems = std::move(product);
  }

  // Computes each argument as soon as all names in its expression are known.
  std::optional<Error> compute(std::map<std::string, int64_t> &arguments) const {
    std::vector<const std::pair<std::string, Condition> *> left;
    for (const auto &one : computed_)
      left.push_back(&one);
    while (!left.empty()) {
      auto is_known = [&](const auto *one) {
        return llvm::all_of(one->second.names(),
                            [&](const std::string &name) { return arguments.count(name) != 0; });
      };
      auto next = llvm::find_if(left, is_known);
      if (next == left.end())
        return Error{Message::problem_cycle, {kernel_.name, left.front()->first}};
      ConditionSubject subject;
      subject.value_of = [&](const std::string &name) -> std::optional<std::string> {
        return std::to_string(arguments.at(name));
      };
      Result<int64_t> value = (*next)->second.value(subject);
      if (!value)
        return value.error();
      arguments[(*next)->first] = *value;
      left.erase(next);
    }
    return std::nullopt;
  }

  std::optional<Error> check_types(const std::map<std::string, int64_t> &arguments) const {
    for (const TunerParameter &parameter : parameters_) {
      auto value = arguments.find(parameter.name);
      if (parameter.is_pointer && value != arguments.end() &&
          (value->second < 0 || value->second > max_elements))
        return Error{Message::problem_elements,
                     {kernel_.name, parameter.name, std::to_string(value->second),
                      std::to_string(max_elements)}};
      if (parameter.is_integer && value != arguments.end() && !holds(parameter.type, value->second))
        return Error{Message::problem_too_large,
                     {kernel_.name, parameter.name, std::to_string(value->second), parameter.type}};
    }
    return std::nullopt;
  }

  const TunerKernel &kernel_;
  const std::vector<TunerParameter> parameters_;
  std::map<std::string, std::vector<std::string>> said_;
  std::vector<std::string> given_;
  std::vector<std::pair<std::string, Condition>> computed_;
};

// Whether any clause applies to the kernel; a file entry may be only for another kernel.
bool is_about(const ProblemClauses &clauses, const TunerKernel &kernel) {
  return llvm::any_of(clauses, [&](const ProblemClause &clause) {
    return clause.kernel.empty() || clause.kernel == kernel.name;
  });
}

std::optional<Error> check_names(const std::vector<ProblemClauses> &said,
                                 const std::vector<TunerKernel> &kernels) {
  std::set<std::string> names, kernel_names;
  for (const TunerKernel &kernel : kernels) {
    kernel_names.insert(kernel.name);
    for (const TunerParameter &parameter : parameters_of(kernel.signature))
      names.insert(parameter.name);
  }
  for (const ProblemClauses &clauses : said)
    for (const ProblemClause &clause : clauses) {
      if (!clause.kernel.empty() && !kernel_names.count(clause.kernel))
        return Error{Message::unknown_kernel, {clause.kernel, llvm::join(kernel_names, ", ")}};
      for (const std::string &name : clause.names)
        if (!names.count(name))
          return Error{Message::problem_name, {name, llvm::join(names, ", ")}};
    }
  return std::nullopt;
}

std::vector<std::string> parts_of(llvm::StringRef text) {
  std::vector<std::string> parts;
  llvm::SmallVector<llvm::StringRef> split;
  text.split(split, ',');
  for (llvm::StringRef part : split)
    parts.push_back(part.trim().str());
  return parts;
}

} // namespace

Result<ProblemClauses> parse_problems(const std::string &text) {
  ProblemClauses clauses;
  llvm::SmallVector<llvm::StringRef> split;
  llvm::StringRef(text).split(split, ';');
  for (llvm::StringRef rest : split) {
    rest = rest.trim();
    if (rest.empty())
      continue;
    ProblemClause clause;
    std::string whole = rest.str();
    if (rest.consume_front("[")) {
      auto [kernel, behind] = rest.split(']');
      clause.kernel = kernel.trim().str();
      rest = behind;
    }
    auto [names, values] = rest.split('=');
    clause.names = parts_of(names);
    clause.values = parts_of(values);
    if (llvm::is_contained(clause.names, "") || llvm::is_contained(clause.values, ""))
      return Error{Message::problem_syntax, {whole, "expected NAME,NAME=VALUE,VALUE"}};
    clauses.push_back(std::move(clause));
  }
  return clauses;
}

Result<std::vector<ProblemClauses>> read_problem_file(const std::string &path) {
  Result<std::vector<VariantFileEntry>> entries = read_variant_file(path);
  if (!entries)
    return entries.error();
  std::vector<ProblemClauses> all;
  for (const VariantFileEntry &entry : *entries) {
    if (!entry.gpus.empty())
      return Error{Message::problem_syntax, {path, "`arch` is not allowed in an entry"}};
    std::vector<std::string> kernels = entry.kernels;
    if (kernels.empty())
      kernels = {""};
    ProblemClauses &clauses = all.emplace_back();
    for (const std::string &kernel : kernels)
      for (const auto &[names, values] : entry.axes)
        clauses.push_back({kernel, parts_of(names), values});
  }
  return all;
}

std::string text_of(const std::map<std::string, int64_t> &values) {
  std::vector<std::string> words;
  for (const auto &[name, value] : values)
    words.push_back(name + "=" + std::to_string(value));
  return llvm::join(words, " ");
}

std::string PlannedProblem::line() const {
  return "problem\t" + kernel->name + "\t" + kernel->types + "\t" + text_of(problem) + "\t" +
         text_of(arguments) + "\n";
}

Result<std::vector<PlannedProblem>> plan_problems(const std::vector<ProblemClauses> &said,
                                                  const std::vector<TunerKernel> &kernels,
                                                  const Draw &draw) {
  if (std::optional<Error> failure = check_names(said, kernels))
    return *failure;
  std::vector<PlannedProblem> all;
  for (const TunerKernel &kernel : kernels) {
    Random random(draw.seed); // so that all types of a kernel get the same problems
    for (const ProblemClauses &clauses : said)
      if (is_about(clauses, kernel))
        if (auto failure = KernelProblems(kernel, clauses).add(draw, random, all))
          return *failure;
  }
  std::set<std::string> lines;
  llvm::erase_if(all, [&](const PlannedProblem &one) { return !lines.insert(one.line()).second; });
  return all;
}

} // namespace tritonc
