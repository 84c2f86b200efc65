// The sum of what all GPUs hold.

#pragma once

#include "driver.h"

#include <tritonc/numbers.hpp>

#include <cstddef>
#include <memory>
#include <vector>

/// One per set of GPUs.
class Sum {
public:
  virtual ~Sum() = default;

  /// Replaces the `count` numbers at `parts[i]`, which are on the i-th GPU, by the sums of all
  /// GPUs' numbers: in the order of their streams, or now.
  virtual void enqueue(const std::vector<tritonc::half *> &parts, std::size_t count) = 0;
};

using Gpus = std::vector<std::unique_ptr<Gpu>>;

std::unique_ptr<Sum> sum_by_host(const Gpus &gpus);
std::unique_ptr<Sum> sum_by_nccl(const Gpus &gpus); // if the program was built with it
