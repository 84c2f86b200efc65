// A small library as the tests of emit/ take it: a matrix product with an axis of each kind, and a
// kernel without axes.

#pragma once

#include "emit/library.h"

#include <tritonc/descriptor.hpp>

namespace tritonc {

/// `gemm`: dot<TYPE, A> with TYPE = half, float; A = N, T; TM = 64, 32 tuned, and scale.
Library sample_library();

/// The same, with host code for scale that calls `entry`: the fake driver takes it in place of
/// a cubin, on the machine that the test runs on.
Library emulated_library(decltype(abi::host_code::entry) entry);

/// `schedules`: dot, whose one variant is compiled for sm_80 in the plain schedule and for sm_90a
/// in three: one that has everything that a schedule can have, one whose cost alone is its own, and
/// the plain one.
Library schedules_library();

/// dot of half alone; its tile of 64 also under the specializations "lda % 16" and "M == 64".
Library specialized_library();

/// The sample with measurements of dot<half, N>: two problems on one GPU, one on another.
Library measured_library();

} // namespace tritonc
