// What a runner does: says which kernels it has, compares their variants, measures them.
//
// It answers in lines whose fields are separated by tabs, for `tritonc tune` and for people:
//
//     kernel   matmul  TYPE=half A=N B=N  const f16 *A, ...        describe: of each kernel,
//     variant  TM=64 TN=64                                         and of each variant of it
//
//     gpu      NVIDIA H200  90  132                                check and measure
//     problem  matmul  TYPE=half A=N B=N  const f16 *A, ...  K=64 M=64 N=64  warm
//     time     TM=64 TN=64  5120  4800  128x256x64 wgmma           nanoseconds; the form that the
//                                                                  launch takes, and its cost or -
//     differs  TM=32 TN=64  31.5                                   from the results of most others,
//                                                                  as a multiple of what is
//                                                                  tolerated
//     refused  TM=128 TN=64  <why>
//     choice   TM=64 TN=64                                         of a launch that names none
//     end                                                          all is said of the problem
#pragma once

#include "measure.h"
#include "plan.h"

#include <iosfwd>
#include <vector>

namespace tritonc::v1::tuner {

struct Settings {
  Effort effort;
  bool is_timed = true;   // else only compared
  bool is_checked = true; // compared before they are timed
};

void describe(std::ostream &out);

/// Whether all variants had the same results. Throws std::runtime_error if something failed.
bool run(const std::vector<Problem> &problems, const Settings &settings, std::ostream &out);

} // namespace tritonc::v1::tuner
