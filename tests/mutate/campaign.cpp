// Chooses and judges mutants. See campaign.h.
//
// Tested by tests/mutate/campaign_test.cpp.

#include "mutate/campaign.h"

#include "support/sample.h"

#include <utility>

namespace tritonc::mutate {

std::vector<Mutant> shuffled(std::vector<Mutant> mutants, uint64_t seed) {
  std::vector<std::string> names;
  for (const Mutant &mutant : mutants)
    names.push_back(mutant.name);
  std::vector<Mutant> ordered;
  for (size_t i : test::Sample("mutants", 100, std::to_string(seed)).order(names))
    ordered.push_back(std::move(mutants[i]));
  return ordered;
}

Verdict judge(const std::string &object, const std::vector<QuickTest> &tests, const Trial &trial) {
  if (!trial.build(object))
    return {Outcome::invalid, ""};
  if (!trial.changes_code())
    return {Outcome::equivalent, ""};
  for (const QuickTest &test : tests) {
    if (!trial.build(test.target)) // an error while linking
      return {Outcome::invalid, ""};
    switch (trial.run(test)) {
    case End::passed:
      break;
    case End::failed:
      return {Outcome::caught, test.target};
    case End::timed_out:
      return {Outcome::caught, test.target + " (time limit)"};
    }
  }
  return {Outcome::survived, ""};
}

std::vector<Result> run_mutants(const std::vector<Mutant> &order, size_t count,
                                const Journal &journal,
                                const std::function<Result(const Mutant &)> &try_mutant) {
  std::vector<Result> results;
  size_t planted = 0;
  for (const Mutant &mutant : order) {
    if (planted == count)
      break;
    auto known = journal.known.find(mutant.name);
    if (known != journal.known.end()) {
      results.push_back(known->second);
    } else {
      results.push_back(try_mutant(mutant));
      journal.append(results.back());
    }
    Outcome outcome = results.back().outcome;
    planted += outcome == Outcome::caught || outcome == Outcome::survived;
  }
  return results;
}

} // namespace tritonc::mutate
