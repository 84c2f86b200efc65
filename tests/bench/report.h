// The benchmark's results: as a table for people, as JSON for programs, as curves for the plot.
#pragma once

#include "alternate.h"
#include "plot.h"
#include "rows.h"
#include "triton_results.h"

#include <string>
#include <utility>
#include <vector>

namespace bench {

/// What became of a row.
struct Result {
  enum class State {
    measured,     // and the values agree with the peer's
    not_compiled, // there is no kernel of ours for it; the peer may have been measured
    no_peer,      // only ours was measured
    wrong,        // the values differ from the peer's; nothing was timed
    failed,       // `note` says what
  };

  Row row;
  State state = State::failed;
  Comparison times; // first: ours, second: the peer's
  int rounds = 0, launches = 0, late_rounds = 0;
  double difference = 0; // from the peer's values, relative: the root of the mean square
  double largest = 0;    // of one element, relative to the root of the mean square
  std::string note;
  std::vector<std::pair<std::string, double>> tiles; // ms of each variant, if that was asked for

  bool has_ours() const { return state == State::measured || state == State::no_peer; }
  bool has_peer() const;
  double teraflops(double milliseconds) const { return row.operations() / milliseconds * 1e-9; }
};

/// The host's time of a launch, in nanoseconds.
struct LaunchCost {
  bool measured = false;
  // Medians over batches. `bare` is given a CUfunction, which is the context's; `bare_kernel` a
  // CUkernel as ours, which is good in all. `three`: three sets of arguments in turn; `prepared`:
  // made ready before.
  double ours = 0, bare = 0, bare_kernel = 0, three = 0, prepared = 0;
  int launches = 0; // of each
  std::string note; // why it was not measured
};
constexpr double launch_goal = 100; // nanoseconds above the bare launch

struct Machine {
  std::string device, driver, cublas, date;
};

struct Report {
  Machine machine;
  std::vector<Result> results;
  LaunchCost launch;
  TritonResults triton;
  std::string triton_note; // why there are no results of Triton
};

/// Ours / Triton = (ours / cuBLAS) / (Triton / cuBLAS), each factor from one process in which two
/// took turns. Not a number without one of them.
double over_triton(const Result &result, const TritonResults &triton);

constexpr double triton_mean_goal = 1.10, triton_each_goal = 1.00;

std::string table_head();
std::string table_line(const Result &result, const TritonResults &triton);
/// The launch, the mean over Triton, how many goals are met.
std::string summary(const Report &report);

std::string json(const Report &report);

/// TFLOP/s over size of the square products in the plain form: a panel for each type and layout of
/// which there are two sizes at least.
std::vector<Panel> panels(const Report &report);

/// Whether everything ran and computed what it should. Missed goals don't count.
bool is_right(const Report &report);

} // namespace bench
