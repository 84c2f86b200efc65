// Parses the problem sizes for tuning and computes all arguments of a kernel from them.
//
//   "M,N,K=64..4096; lda=K; ldb,ldc=N; A=M*K; B=K*N; C=M*N"
//
// Each clause gives the values of some parameters:
//   - integers: the plan has all instantiations;
//   - a range: its lower end and the doubles of that, or, with --random, any value in the range;
//   - an expression of other parameters.
// For a pointer, the value is the number of elements. A range may have a step: "64..4096:32" has
// only multiples of 32. "[matmul]M=64" is only for kernel matmul. The same as a JSON file:
//
//   [ {"kernel": "matmul", "M": [64, 128], "N": "64..4096", "K": 4096, "lda": "K", ...}, ... ]
//
// The problem consists of the given integers, without the computed arguments. It is the key of the
// tuning data, and the runtime compares launches with it.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tritonc {

/// A kernel as the tuner describes it.
struct TunerKernel {
  std::string name, types, signature;
  std::vector<std::string> variants;
};

/// The values of some parameters.
struct ProblemClause {
  std::string kernel; // empty = all
  std::vector<std::string> names, values;
};

/// The clauses of one option or of one file entry.
using ProblemClauses = std::vector<ProblemClause>;

Result<ProblemClauses> parse_problems(const std::string &text);
Result<std::vector<ProblemClauses>> read_problem_file(const std::string &path);

struct Draw {
  int count = 0; // number of random problems; 0 = all problems
  uint64_t seed = 1;
};

/// A problem of a kernel: the fields of one line of a plan (runtime/tuner/plan.h).
struct PlannedProblem {
  const TunerKernel *kernel;
  std::map<std::string, int64_t> problem, arguments;

  std::string line() const;
};

/// All problems of all kernels without duplicates, in the order of the kernels.
Result<std::vector<PlannedProblem>> plan_problems(const std::vector<ProblemClauses> &said,
                                                  const std::vector<TunerKernel> &kernels,
                                                  const Draw &draw);

/// "K=64 M=64".
std::string text_of(const std::map<std::string, int64_t> &values);

} // namespace tritonc
