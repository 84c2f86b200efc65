// Writes the results of the benchmark as a table, as JSON and as curves.
#pragma once

#include "alternate.h"
#include "plot.h"
#include "rows.h"
#include "triton_results.h"

#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The result of a row.
struct Result {
  enum class State {
    measured,     // and the values match those of the peer
    not_compiled, // we have no kernel for the row; the peer may be measured
    no_peer,      // only ours was measured
    wrong,        // the values differ from those of the peer; not timed
    failed,       // `note` has the error
  };

  Row row;
  State state = State::failed;
  Comparison times; // first: ours, second: peer
  int rounds = 0, launches = 0, late_rounds = 0;
  double difference = 0; // root mean square of the error / root mean square of the peer's values
  double largest = 0;    // largest error of an element, relative to the same
  std::string note;
  std::vector<std::pair<std::string, double>> tiles; // ms of each variant, with --tiles

  bool has_ours() const { return state == State::measured || state == State::no_peer; }
  bool has_peer() const;
  double teraflops(double milliseconds) const { return row.operations() / milliseconds * 1e-9; }
};

/// Host time of a launch in nanoseconds.
struct LaunchCost {
  bool measured = false;
  // Medians over batches.
  //
  //     bare         cuLaunchKernelEx with a CUfunction, which belongs to one context
  //     bare_kernel  cuLaunchKernelEx with a CUkernel, like ours, valid in all contexts
  //     three        our launch, three sets of arguments in turn
  //     prepared     a launch made ready by `prepare`
  double ours = 0, bare = 0, bare_kernel = 0, three = 0, prepared = 0;
  int launches = 0; // launches of each kind
  std::string note; // why the cost was not measured
};
constexpr double launch_goal = 100; // max nanoseconds above the bare launch

struct Machine {
  std::string device, driver, cublas, date;
};

struct Report {
  Machine machine;
  std::vector<Result> results;
  LaunchCost launch;
  TritonResults triton;
  std::string triton_note; // why Triton has no results
};

/// ours / Triton = (ours / cuBLAS) / (Triton / cuBLAS). Each ratio is from one process with
/// alternating launches. NaN if a ratio is missing.
double over_triton(const Result &result, const TritonResults &triton);

constexpr double triton_mean_goal = 1.10, triton_each_goal = 1.00;

std::string table_head();
std::string table_line(const Result &result, const TritonResults &triton);
/// Launch cost, geometric mean of ours / Triton, and number of reached goals.
std::string summary(const Report &report);

std::string json(const Report &report);

/// TFLOP/s of square matmuls with the baseline kernel, by size. One panel for each type and layout
/// with at least two sizes.
std::vector<Panel> panels(const Report &report);

/// Whether no row is wrong or failed. Ignores missed goals.
bool is_right(const Report &report);

} // namespace bench
