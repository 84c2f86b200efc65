// Problem sizes for tuning, and what follows from them for all arguments of a kernel.
//
//   "M,N,K=64..4096; lda=K; ldb,ldc=N; A=M*K; B=K*N; C=M*N"
//
// Each clause says what some parameters are: integers, of which all combinations are taken; a
// range, which is its lower end and its doubles, or, drawn at random, any number in it; or an
// expression of other parameters. Of a pointer it says to how many elements. Ranges may have a
// step: "64..4096:32" has multiples of 32 only. "[matmul]M=64" is for one kernel. In a file it is
// JSON:
//
//   [ {"kernel": "matmul", "M": [64, 128], "N": "64..4096", "K": 4096, "lda": "K", ...}, ... ]
//
// The integers that are given so, and not computed, are the problem: what data are known by, and
// what launches are compared with.
#pragma once

#include "backend/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tritonc {

/// A kernel as a runner describes it.
struct RunnerKernel {
  std::string name, types, signature;
  std::vector<std::string> variants;
};

/// What is said of some parameters.
struct ProblemClause {
  std::string kernel; // empty: all
  std::vector<std::string> names, values;
};

/// Clauses that belong together: an option, or an entry of a file.
using ProblemClauses = std::vector<ProblemClause>;

Result<ProblemClauses> parse_problems(const std::string &text);
Result<std::vector<ProblemClauses>> read_problem_file(const std::string &path);

struct Draw {
  int count = 0; // 0: all
  uint64_t seed = 1;
};

/// A problem of a kernel: the line of a plan (runtime/tuner/plan.h) in parts.
struct PlannedProblem {
  const RunnerKernel *kernel;
  std::map<std::string, int64_t> problem, arguments;

  std::string line() const;
};

/// All problems of all kernels: each once, in the order of the kernels.
Result<std::vector<PlannedProblem>> plan_problems(const std::vector<ProblemClauses> &said,
                                                  const std::vector<RunnerKernel> &kernels,
                                                  const Draw &draw);

/// "K=64 M=64".
std::string text_of(const std::map<std::string, int64_t> &values);

} // namespace tritonc
