// Compiles random kernels for a GPU that is somewhere else.

#pragma once

#include "random/batch_file.h"

#include <functional>

namespace tritonc::random {

struct Batch {
  uint64_t from = 0, kernels = 100; // seeds
  std::string gpu = "90a";
  std::string path; // of the file
  int jobs = 1;
  std::function<void(const std::string &line)> progress; // may be null
};

struct BatchResult {
  uint64_t written = 0;
  uint64_t left_out = 0;             // not exact, or too much shared memory
  std::vector<std::string> failures; // kernels that did not compile
};

/// Writes those of the kernels whose results are exact, each assembled with and without
/// optimization.
BatchResult write_batch(const Batch &batch);

} // namespace tritonc::random
