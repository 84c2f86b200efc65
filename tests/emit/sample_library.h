// A small library as the tests of emit/ take it: a matrix product with an axis of each kind, and a
// kernel without axes.

#pragma once

#include "emit/library.h"

namespace tritonc {

/// `gemm`: dot<TYPE, A> with TYPE = half, float; A = N, T; TM = 64, 32 tuned, and scale.
Library sample_library();

} // namespace tritonc
