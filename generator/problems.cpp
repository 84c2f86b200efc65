// Problem sizes for tuning. See problems.h.
//
// Tested by tests/compile/problems_test.cpp.

#include "problems.h"

#include "variant_condition.h"
#include "variant_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace tritonc {
namespace {

constexpr size_t most_problems = 100000;

// --- What a kernel takes -------------------------------------------------------------------------

struct RunnerParameter {
  std::string name;
  bool is_pointer = false, is_integer = false, is_optional = false;
};

// "const f16 *A, f32 *bias = null, i32 M", as emit/registration.h writes it.
std::vector<RunnerParameter> parameters_of(const std::string &signature) {
  std::vector<RunnerParameter> parameters;
  llvm::SmallVector<llvm::StringRef> texts;
  llvm::StringRef(signature).split(texts, ", ", -1, /*KeepEmpty=*/false);
  for (llvm::StringRef text : texts) {
    RunnerParameter parameter;
    parameter.is_optional = text.consume_back(" = null");
    auto [type, name] = text.rsplit(' ');
    parameter.is_pointer = name.consume_front("*");
    parameter.is_integer =
        !parameter.is_pointer && (type.starts_with("i") || type.starts_with("u"));
    parameter.name = name.str();
    parameters.push_back(parameter);
  }
  return parameters;
}

// --- What is said of a parameter -----------------------------------------------------------------

// The first number, its doubles up to the last one; or, at random, any multiple of `step`.
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
  if (range.first <= 0 || range.last < range.first || range.step <= 0)
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

// Reproducible on every machine, as the standard's distributions are not.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // From 0 up to 1, without it.
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

// As many small numbers as large ones: between each and its double.
int64_t drawn(const SizeRange &range, Random &random) {
  double low = std::log2(double(range.first)), high = std::log2(double(range.last) + 1);
  auto value = int64_t(std::exp2(low + (high - low) * random.next()));
  value = (value + range.step / 2) / range.step * range.step;
  int64_t least = (range.first + range.step - 1) / range.step * range.step;
  int64_t most = range.last / range.step * range.step;
  return std::clamp(value, least, std::max(least, most));
}

// All that a parameter may be.
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
  KernelProblems(const RunnerKernel &kernel, const ProblemClauses &clauses)
      : kernel_(kernel), parameters_(parameters_of(kernel.signature)) {
    // What is said for a kernel goes before what is said for all.
    for (bool is_scoped : {false, true})
      for (const ProblemClause &clause : clauses)
        if (clause.kernel.empty() ? !is_scoped : is_scoped && clause.kernel == kernel.name)
          for (const std::string &name : clause.names)
            said_[name] = clause.values;
  }

  std::optional<Failure> add(const Draw &draw, Random &random, std::vector<PlannedProblem> &all) {
    if (std::optional<Failure> failure = sort_out())
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
        count = std::min(count * sizes_of(said_[name]).size(), most_problems + 1);
      if (count > most_problems)
        return Failure{Message::too_many_problems,
                       {"more than " + std::to_string(most_problems), kernel_.name,
                        std::to_string(most_problems)}};
      problems.emplace_back();
      for (const std::string &name : given_)
        multiply(problems, name);
    }
    for (const std::map<std::string, int64_t> &problem : problems) {
      PlannedProblem planned = {&kernel_, {}, problem};
      for (const RunnerParameter &parameter : parameters_)
        if (parameter.is_integer && problem.count(parameter.name))
          planned.problem[parameter.name] = problem.at(parameter.name);
      if (std::optional<Failure> failure = compute(planned.arguments))
        return failure;
      all.push_back(std::move(planned));
    }
    return std::nullopt;
  }

private:
  // Which parameters are given, and which computed.
  std::optional<Failure> sort_out() {
    for (const RunnerParameter &parameter : parameters_) {
      auto said = said_.find(parameter.name);
      if (said == said_.end()) {
        if (parameter.is_optional)
          continue;
        return Failure{Message::problem_missing,
                       {parameter.name, kernel_.name, kernel_.signature,
                        parameter.is_pointer ? "; say to how many elements it points, as in " +
                                                   parameter.name + "=M*N"
                                             : ""}};
      }
      if (is_given(said->second)) {
        given_.push_back(parameter.name);
        continue;
      }
      if (said->second.size() != 1)
        return Failure{Message::problem_syntax,
                       {parameter.name + "=" + llvm::join(said->second, ","),
                        "it is neither integers and ranges nor one expression"}};
      Result<Condition> expression = Condition::parse(said->second.front());
      if (!expression)
        return expression.failure();
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

  // Each as soon as what it refers to is known.
  std::optional<Failure> compute(std::map<std::string, int64_t> &arguments) const {
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
        return Failure{Message::problem_cycle, {kernel_.name, left.front()->first}};
      ConditionSubject subject;
      subject.value_of = [&](const std::string &name) -> std::optional<std::string> {
        return std::to_string(arguments.at(name));
      };
      Result<int64_t> value = (*next)->second.value(subject);
      if (!value)
        return value.failure();
      arguments[(*next)->first] = *value;
      left.erase(next);
    }
    return std::nullopt;
  }

  const RunnerKernel &kernel_;
  const std::vector<RunnerParameter> parameters_;
  std::map<std::string, std::vector<std::string>> said_;
  std::vector<std::string> given_;
  std::vector<std::pair<std::string, Condition>> computed_;
};

// Whether clauses are meant for a kernel: an entry of a file may be about another one alone.
bool is_about(const ProblemClauses &clauses, const RunnerKernel &kernel) {
  return llvm::any_of(clauses, [&](const ProblemClause &clause) {
    return clause.kernel.empty() || clause.kernel == kernel.name;
  });
}

std::optional<Failure> check_names(const std::vector<ProblemClauses> &said,
                                   const std::vector<RunnerKernel> &kernels) {
  std::set<std::string> names, kernel_names;
  for (const RunnerKernel &kernel : kernels) {
    kernel_names.insert(kernel.name);
    for (const RunnerParameter &parameter : parameters_of(kernel.signature))
      names.insert(parameter.name);
  }
  for (const ProblemClauses &clauses : said)
    for (const ProblemClause &clause : clauses) {
      if (!clause.kernel.empty() && !kernel_names.count(clause.kernel))
        return Failure{Message::unknown_kernel, {clause.kernel, llvm::join(kernel_names, ", ")}};
      for (const std::string &name : clause.names)
        if (!names.count(name))
          return Failure{Message::problem_name, {name, llvm::join(names, ", ")}};
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
      return Failure{Message::problem_syntax, {whole, "it does not read as NAME,NAME=VALUE,VALUE"}};
    clauses.push_back(std::move(clause));
  }
  return clauses;
}

Result<std::vector<ProblemClauses>> read_problem_file(const std::string &path) {
  Result<std::vector<VariantFileEntry>> entries = read_variant_file(path);
  if (!entries)
    return entries.failure();
  std::vector<ProblemClauses> all;
  for (const VariantFileEntry &entry : *entries) {
    if (!entry.gpus.empty())
      return Failure{Message::problem_syntax, {path, "an entry has `arch`, which they don't"}};
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
                                                  const std::vector<RunnerKernel> &kernels,
                                                  const Draw &draw) {
  if (std::optional<Failure> failure = check_names(said, kernels))
    return *failure;
  std::vector<PlannedProblem> all;
  for (const RunnerKernel &kernel : kernels) {
    Random random(draw.seed); // all types of a kernel have the same problems
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
