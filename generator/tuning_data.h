// Tuning data: how long the variants of kernels took, for some problems on some GPUs, as JSON to
// keep with the sources.
//
//   {"schema": 1, "measurements": [
//   {"cache":"warm",
//    "gpu":{"arch":90,"multiprocessors":132,"name":"NVIDIA H200"},
//    "kernel":"matmul",
//    "parameters":"const f16 *A, const f16 *B, f16 *C, i32 M, ...",
//    "problem":{"K":64,"M":64,"N":64},
//    "times":{"TK=32 TM=64 TN=64":{"cost":1738,"form":"128x256x64 wgmma","ns":5120}, ...},
//    "types":"A=N B=N TYPE=half"},
//   ...]}
//
// Each measurement is one line, and the lines are sorted: what is measured again is a small change.
// `types` are the values of the axes that callers choose, `times` has a variant by those that the
// library chooses; both in the order of the axes' names. `ns` is the median of one launch in
// nanoseconds, with what it needs in the caches (warm) or not (cold); `form` is the form that the
// launch took, and `cost` what the compiler reckoned of it, in its own unit: either may be missing.
// `problem` are the arguments that were asked for by themselves, `parameters` those that the kernel
// had.
//
// There is one measurement of a kernel, types, GPU and problem: of several the last one counts.
#pragma once

#include "backend/result.h"
#include "emit/library.h"

#include "llvm/Support/JSON.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct TuningTime {
  int64_t nanoseconds = 0;
  std::optional<int64_t> cost;
  std::string form; // empty: the plain one
};

struct TuningEntry {
  std::string kernel, types;
  std::string gpu;
  int arch = 0, multiprocessors = 0;
  std::map<std::string, int64_t> problem;
  std::string parameters;
  bool is_cold = false;
  std::map<std::string, TuningTime> times; // by variant
  std::string file; // that it was read from, without folders; it is not part of what is written
};

/// As it is in a file.
llvm::json::Object json_of(const TuningEntry &entry);

/// Of each kernel, types, GPU and problem one.
class TuningData {
public:
  /// In place of what there was of it.
  void add(TuningEntry entry);
  void add(const TuningData &other);
  const std::map<std::string, TuningEntry> &entries() const { return entries_; }
  std::string json() const;

private:
  std::map<std::string, TuningEntry> entries_; // in the order of the file
};

/// The words of "TYPE=half A=N" in order.
std::string sorted_words(const std::string &text);

Result<TuningData> read_tuning_data(const std::string &path);

/// Gives the library's kernels what was measured of them. What does not fit any more is left out,
/// and said.
std::vector<Failure> attach(const TuningData &data, Library &library);

} // namespace tritonc
