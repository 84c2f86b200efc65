// Tuning data: measured times of kernel variants per problem and GPU, stored as JSON next to the
// sources.
//
//   {"schema": 2, "measurements": [
//   {"cache":"warm",
//    "gpu":{"arch":90,"sms":132,"name":"NVIDIA H200"},
//    "kernel":"matmul",
//    "parameters":"const f16 *A, const f16 *B, f16 *C, i32 M, ...",
//    "problem":{"K":64,"M":64,"N":64},
//    "times":{"TK=32 TM=64 TN=64":{"cost":1738,"schedule":"128x256x64 warp-specialized","ns":5120}, ...},
//    "types":"A=N B=N TYPE=half"},
//   ...]}
//
// Each measurement is one line, and the lines are sorted, so a new measurement gives a small diff.
//
//   - `types`: values of the axes that callers choose, sorted by axis name.
//   - `times`: one entry per choice of the tuned axes, sorted by axis name.
//   - `ns`: median time of one launch in nanoseconds, with warm or cold caches (see `cache`).
//   - `schedule`: the schedule of the launch; missing = baseline.
//   - `cost`: the compiler's cost estimate in its own unit; may be missing.
//   - `problem`: the given arguments, without the computed arguments.
//   - `parameters`: the kernel's signature at the time of the measurement.
//
// The data has one measurement per kernel, types, GPU and problem; a later measurement replaces an
// earlier one.
#pragma once

#include "emit/library.h"
#include "support/result.h"

#include "llvm/Support/JSON.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tritonc {

struct TuningTime {
  int64_t nanoseconds = 0;
  std::optional<int64_t> cost;
  std::string schedule = "baseline";
};

struct TuningEntry {
  std::string kernel, types;
  std::string gpu;
  int arch = 0, num_sms = 0;
  std::map<std::string, int64_t> problem;
  std::string parameters;
  bool is_cold = false;
  std::map<std::string, TuningTime> times; // by variant
  std::string file;                        // name of the JSON file without directories
};

/// The JSON object of one measurement.
llvm::json::Object json_of(const TuningEntry &entry);

/// Measurements with unique kernel, types, GPU and problem.
class TuningData {
public:
  /// Adds a measurement and replaces an existing measurement with the same key.
  void add(TuningEntry entry);
  void add(const TuningData &other);
  const std::map<std::string, TuningEntry> &entries() const { return entries_; }
  std::string json() const;

private:
  std::map<std::string, TuningEntry> entries_; // by key, in the order of the file
};

/// Sorts the words of "TYPE=half A=N".
std::string sorted_words(const std::string &text);

Result<TuningData> read_tuning_data(const std::string &path);
/// The same from the file's text; messages name `path`.
Result<TuningData> parse_tuning_data(const std::string &path, const std::string &text);

/// Returns a warning for each kernel that the data names and that is not in `kernels`.
std::vector<Error> find_unknown_kernels(const TuningData &data,
                                        const std::set<std::string> &kernels);

/// Attaches measurements to the library's kernels. Skips measurements that no longer fit, and
/// returns a warning for these.
std::vector<Error> attach(const TuningData &data, Library &library);

} // namespace tritonc
