// Chooses mutants, judges each by the quick tests, and collects the results.

#pragma once

#include "mutate/mutant.h"
#include "mutate/quick_tests.h"
#include "mutate/results.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tritonc::mutate {

/// The mutants in a random order. The first n are a uniform sample. The order of two mutants depends
/// only on the seed and their names, so a change of the sources changes little of the sample.
std::vector<Mutant> shuffled(std::vector<Mutant> mutants, uint64_t seed);

enum class End { passed, failed, timed_out };

/// What judge() does with the tree that contains the mutant.
struct Trial {
  std::function<bool(const std::string &target)> build; // false: does not compile
  std::function<bool()> changes_code;                   // compares the new object with the old one
  std::function<End(const QuickTest &test)> run;
};

struct Verdict {
  Outcome outcome;
  std::string by; // as in Result
};

/// Builds `object`, the mutant's own object file, then builds and runs one test after the other, up
/// to the first that fails.
Verdict judge(const std::string &object, const std::vector<QuickTest> &tests, const Trial &trial);

struct Journal {
  std::map<std::string, Result> known;        // of an earlier call, by name
  std::function<void(const Result &)> append; // gets each new result
};

/// Tries mutants in their order until `count` are caught or survive. Takes known results as they are.
/// Returns the results of all tried mutants.
std::vector<Result> run_mutants(const std::vector<Mutant> &order, size_t count,
                                const Journal &journal,
                                const std::function<Result(const Mutant &)> &try_mutant);

} // namespace tritonc::mutate
