// The sum of the results of all GPUs.

#pragma once

#include "driver.h"

#include <tritonc/numbers.hpp>

#include <cstddef>
#include <memory>
#include <vector>

/// Adds arrays that are on several GPUs, like ncclAllReduce.
class Sum {
public:
  virtual ~Sum() = default;

  /// `parts[i]` points to `count` elements on GPU i. Replaces them on each GPU by the sums over all
  /// GPUs. The sum by NCCL runs in the order of the streams. The sum by the host waits for the
  /// streams, and is done at the return.
  virtual void enqueue(const std::vector<tritonc::half *> &parts, std::size_t count) = 0;
};

using Gpus = std::vector<std::unique_ptr<Gpu>>;

std::unique_ptr<Sum> sum_by_host(const Gpus &gpus);
std::unique_ptr<Sum> sum_by_nccl(const Gpus &gpus); // only if the program is built with NCCL
