// The legs of a case, which must all agree: the tree (evaluate.h), the tile interpreter on the
// front end's tile IR, the interpreter after every pass for several GPUs and every schedule, and
// the emulator on the final LLVM IR with several interleavings.

#pragma once

#include "random_kernels/case.h"

namespace tritonc::random {

struct Failure {
  enum class Kind {
    refused,     // the compiler reports an error
    broken_rule, // invalid tile IR
    report,      // the interpreter or the emulator makes a report
    difference,  // a wrong result
    crash,       // an assertion or a signal
    timeout,
  };
  Kind kind = Kind::difference;
  std::string stage; // "after `split_dots_along_k` for sm_80"
  std::string text;
};
const char *name_of(Failure::Kind kind);
std::string text_of(const Failure &failure);

/// Whether two failures probably have the same cause.
bool is_alike(const Failure &a, const Failure &b);

/// The legs to run.
struct Legs {
  std::vector<std::string> gpus = {"75", "80", "90a"};
  bool interpret = true; // after each pass; the translated tile IR is always interpreted
  bool emulate = true;
  bool all_interleavings = true; // of the emulator; false = only the first
};

/// Statistics of the work done.
struct Effort {
  int interpreted = 0, emulated = 0, too_large = 0;
  int specialized = 0; // with a warp-specialized schedule, and with tensor maps that fit
  int split_k = 0;     // of these: split-K in a cluster
  int in_parts = 0;    // split-K or a split loop, over two launches
  int batched = 0;     // with a schedule of several programs per block

  void add(const Effort &other);
};

/// Runs the legs in order until the first failure.
std::optional<Failure> run_legs(const Case &tried, const Legs &legs, Effort &effort);

/// For hand-written cases: sets the expected outputs to the interpreter's results for the
/// translated tile IR. Returns nullopt and sets `problem` on failure.
std::optional<Case> recorded(Case tried, std::string &problem);

/// The legs needed to reproduce a failure.
Legs legs_for(const Failure &failure, const Legs &legs);

} // namespace tritonc::random
