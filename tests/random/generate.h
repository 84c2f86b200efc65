// Random kernels: valid ones, of many kinds, the same for a seed on every platform.

#pragma once

#include "random/evaluate.h"

namespace tritonc::random {

struct Generated {
  Kernel kernel;
  Evaluation evaluation; // what it must compute
  std::string policy;    // the name of the policy it was made by
};

/// The kernel of a seed. It is valid: `evaluate` says what it leaves in memory.
Generated generate(uint64_t seed);

} // namespace tritonc::random
