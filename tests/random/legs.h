// The ways in which a case is executed, all of which must agree: its tree (evaluate.h), the tile
// interpreter on what the front end makes of it, the interpreter again after every pass for several
// GPUs in every schedule, and the emulator on the final LLVM IR under several interleavings.

#pragma once

#include "random/case.h"

namespace tritonc::random {

struct Failure {
  enum class Kind {
    refused,     // a message instead of code
    broken_rule, // tile IR that is not valid
    report,      // the interpreter or the emulator objects
    difference,  // another result
    crash,       // an assertion or a signal
    timeout,
  };
  Kind kind = Kind::difference;
  std::string stage; // "after `split_dots_along_k` for sm_80"
  std::string text;
};
const char *name_of(Failure::Kind kind);
std::string text_of(const Failure &failure);

/// Whether two failures are likely to have one cause.
bool is_alike(const Failure &a, const Failure &b);

/// Which legs there are to be.
struct Legs {
  std::vector<std::string> gpus = {"75", "80", "90a"};
  bool interpret = true; // after each pass; as translated it is always done
  bool emulate = true;
  bool all_interleavings = true; // of the emulator; else only the first
};

/// How much was done.
struct Effort {
  int interpreted = 0, emulated = 0, too_large = 0;
  int specialized = 0; // went through the passes so, with tensor maps that fit
  int split_k = 0;     // of those: split-K in a cluster
  int in_parts = 0;    // two launches divide it

  void add(const Effort &other);
};

/// Runs the legs in order up to the first failure.
std::optional<Failure> run_legs(const Case &tried, const Legs &legs, Effort &effort);

/// The case with what the interpreter, as translated, leaves in memory as what it must leave: for
/// cases written by hand. A message and nothing else where that fails.
std::optional<Case> recorded(Case tried, std::string &problem);

/// The legs that a failure needs to be seen again.
Legs legs_for(const Failure &failure, const Legs &legs);

} // namespace tritonc::random
