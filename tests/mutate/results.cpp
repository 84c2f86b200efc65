// The results of mutants as text. See results.h.
//
// Tested by tests/mutate/results_test.cpp.

#include "mutate/results.h"

#include "llvm/Support/JSON.h"

#include <algorithm>
#include <sstream>

namespace tritonc::mutate {
namespace {

const char *const outcome_names[] = {"caught", "survived", "invalid", "equivalent"};

std::optional<Outcome> outcome_named(llvm::StringRef name) {
  for (size_t i = 0; i < std::size(outcome_names); i++)
    if (name == outcome_names[i])
      return Outcome(i);
  return std::nullopt;
}

std::optional<Result> result_of(const std::string &line) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return std::nullopt;
  std::optional<llvm::StringRef> name = object->getString("name");
  std::optional<Outcome> outcome = outcome_named(object->getString("outcome").value_or(""));
  if (!name || !outcome)
    return std::nullopt;
  return Result{name->str(),
                object->getString("mutant").value_or("").str(),
                object->getString("diff").value_or("").str(),
                *outcome,
                object->getString("by").value_or("").str(),
                int(object->getInteger("seconds").value_or(0))};
}

std::string file_of(const Result &result) {
  return result.mutant.substr(0, result.mutant.find(':'));
}

std::string percent(size_t part, size_t whole) {
  return whole == 0 ? "0 %" : std::to_string(100 * part / whole) + " %";
}

} // namespace

std::string json_of(const Result &result) {
  llvm::json::Object object{
      {"name", result.name}, {"mutant", result.mutant},
      {"diff", result.diff}, {"outcome", outcome_names[size_t(result.outcome)]},
      {"by", result.by},     {"seconds", result.seconds}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

std::map<std::string, Result> read_results(const std::string &lines) {
  std::map<std::string, Result> results;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);)
    if (std::optional<Result> result = result_of(line))
      results.insert_or_assign(result->name, *result);
  return results;
}

std::vector<Explanation> read_explanations(const std::string &text) {
  std::vector<Explanation> explanations;
  std::istringstream lines(text);
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] == '#')
      continue;
    if (line.empty()) {
      is_inside = false;
    } else if (!is_inside) {
      explanations.push_back({line, "", ""});
      is_inside = true;
    } else if (line.rfind("- ", 0) == 0 || line.rfind("+ ", 0) == 0) {
      explanations.back().diff += line + "\n";
    } else {
      std::string &reason = explanations.back().reason;
      reason += (reason.empty() ? "" : " ") + line;
    }
  }
  return explanations;
}

std::string reason_for(const Result &result, const std::vector<Explanation> &explanations) {
  for (const Explanation &explanation : explanations)
    if (explanation.file == file_of(result) && explanation.diff == result.diff)
      return explanation.reason;
  return "";
}

std::string summary_of(const std::vector<Result> &results,
                       const std::vector<Explanation> &explanations) {
  size_t counts[std::size(outcome_names)] = {}, explained = 0;
  std::map<std::string, size_t> caught_by;
  std::map<std::string, std::pair<size_t, size_t>> folders; // caught or explained, of all
  std::string survivors;
  for (const Result &result : results) {
    counts[size_t(result.outcome)]++;
    if (result.outcome == Outcome::caught)
      caught_by[result.by]++;
    if (result.outcome != Outcome::caught && result.outcome != Outcome::survived)
      continue;
    std::string file = file_of(result);
    auto &[good, all] = folders[file.substr(0, file.rfind('/'))];
    bool is_survivor = result.outcome == Outcome::survived;
    bool is_explained = is_survivor && !reason_for(result, explanations).empty();
    all++;
    good += !is_survivor;
    explained += is_explained;
    if (is_survivor && !is_explained)
      survivors += "\n# " + result.mutant.substr(0, result.mutant.find(": `")) + "\n" + file +
                   "\n" + result.diff;
  }
  size_t caught = counts[size_t(Outcome::caught)], survived = counts[size_t(Outcome::survived)];
  size_t planted = caught + survived;
  std::ostringstream out;
  out << planted << " mutants planted: " << caught << " caught (" << percent(caught, planted)
      << "), " << survived << " survived, of which " << explained << " are explained\n"
      << "not planted: " << counts[size_t(Outcome::invalid)] << " do not compile, "
      << counts[size_t(Outcome::equivalent)] << " compile to the same code\n";
  for (const auto &[test, count] : caught_by)
    out << "  caught by " << test << ": " << count << "\n";
  for (const auto &[folder, share] : folders)
    out << "  " << folder << ": " << share.first << " of " << share.second << " caught\n";
  out << survivors;
  return out.str();
}

} // namespace tritonc::mutate
