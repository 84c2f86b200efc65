// Small libraries for the tests of emit/: a matmul kernel with an axis of each kind, and a kernel
// without axes.

#pragma once

#include "emit/library.h"

#include <tritonc/descriptor.hpp>

namespace tritonc {

/// `gemm`: kernels dot<TYPE, A> and scale. Axes of dot: TYPE = half, float; A = N, T; tuned TM =
/// 64, 32.
Library sample_library();

/// sample_library() with host code for scale that calls `entry`. The fake driver runs host code in
/// place of a cubin.
Library emulated_library(decltype(abi::host_code::entry) entry);

/// `schedules`: dot with one variant.
///
///     sm_80   baseline schedule
///     sm_90a  warp_specialized with all launch parameters
///     sm_90a  baseline with a cost
///     sm_90a  baseline
Library schedules_library();

/// dot<half> only. TM = 64 also has the specializations "lda % 16" and "M == 64".
Library specialized_library();

/// sample_library() with measurements of dot<half, N>: two problems on one GPU, one on another.
Library measured_library();

} // namespace tritonc
