// Compiles random kernels into a file, to run them on a GPU of another machine.

#pragma once

#include "random_kernels/batch_file.h"

#include <functional>

namespace tritonc::random {

struct Batch {
  uint64_t from = 0, kernels = 100; // seeds
  std::string gpu = "90a";
  std::string path; // output file
  int jobs = 1;
  std::function<void(const std::string &line)> progress; // null = none
};

struct BatchResult {
  uint64_t written = 0;
  uint64_t left_out = 0;             // kernels with inexact results or too much shared memory
  std::vector<std::string> failures; // kernels that failed to compile
};

/// Writes the kernels with exact results, each assembled with and without optimization.
BatchResult write_batch(const Batch &batch);

} // namespace tritonc::random
