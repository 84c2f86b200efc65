// The tuner's commands: describe the kernels, compare their variants, measure them.
//
// The output is lines with fields separated by tabs, for `tritonc tune` and for people:
//
//     kernel   matmul  TYPE=half A=N B=N  const f16 *A, ...
//     variant  TM=64 TN=64
//
//     gpu      NVIDIA H200  90  132
//     problem  matmul  TYPE=half A=N B=N  const f16 *A, ...  K=64 M=64 N=64  warm
//     time     TM=64 TN=64  5120  4800  128x256x64 warp-specialized
//     agrees   TM=64 TN=64
//     differs  TM=32 TN=64  31.5
//     refused  TM=128 TN=64  <why>
//     choice   TM=64 TN=64
//     end
//
// describe writes `kernel` for each kernel and `variant` for each of its variants. check and
// measure write one `gpu`, and then for each problem:
//
// - `problem`: kernel, types, signature, problem, warm or cold caches;
// - `time`: variant, nanoseconds, the schedule's cost (- if unknown), the schedule of the launch;
// - `agrees`, only by check: a variant with the results of most variants;
// - `differs`: variant, and the distance of its results from the results of most variants, as a
//   multiple of the error bound, for the element with the largest multiple (differences.h);
// - `refused`: variant, and the reason;
// - `choice`: the variant of a launch that names none;
// - `end`: the problem is complete.
#pragma once

#include "measure.h"
#include "plan.h"

#include <iosfwd>
#include <vector>

namespace tritonc::v1::tuner {

struct Settings {
  Effort effort;
  bool is_timed = true;   // measure the variants
  bool is_checked = true; // compare the variants' results before the measurement
};

/// Writes all kernels and variants. Needs no driver.
void describe(std::ostream &out);

/// Compares and measures the variants for each problem. Returns whether all variants had the same
/// results. Throws std::runtime_error on errors.
bool run(const std::vector<Problem> &problems, const Settings &settings, std::ostream &out);

} // namespace tritonc::v1::tuner
