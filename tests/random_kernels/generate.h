// Generates valid random kernels of many kinds, reproducible from a seed on every platform.

#pragma once

#include "random_kernels/evaluate.h"

namespace tritonc::random {

struct Generated {
  Kernel kernel;
  Evaluation evaluation; // expected results
  std::string policy;    // name of its policy
};

/// The valid kernel of a seed, with its results from `evaluate`.
Generated generate(uint64_t seed);

} // namespace tritonc::random
