// The result of each mutant, as lines of JSON, so that a later call continues.

#pragma once

#include "mutate/mutant.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tritonc::mutate {

enum class Outcome {
  caught,
  survived,
  invalid,    // does not compile
  equivalent, // compiles to the same object code
};

struct Result {
  std::string name;   // of the mutant
  std::string mutant; // its id_of
  std::string diff;   // its diff_of
  Outcome outcome;
  std::string by; // of a caught mutant: the target of the test, "test_x (time limit)"; else empty
  int seconds;
};

std::string json_of(const Result &result);

/// By the name of the mutant. Ignores lines that are no result: an interrupted call may leave half a line.
std::map<std::string, Result> read_results(const std::string &lines);

/// A survivor for which nobody writes a test, with the reason.
struct Explanation {
  std::string file;
  std::string diff;
  std::string reason;
};

/// Paragraphs: the file, the lines of diff_of, then the reason. `#` begins a comment.
std::vector<Explanation> read_explanations(const std::string &text);

/// The reason for a survivor; "" = unexplained.
std::string reason_for(const Result &result, const std::vector<Explanation> &explanations);

/// How many mutants were caught, by which test, and the survivors without an explanation, in the
/// format of explained.txt.
std::string summary_of(const std::vector<Result> &results,
                       const std::vector<Explanation> &explanations);

} // namespace tritonc::mutate
