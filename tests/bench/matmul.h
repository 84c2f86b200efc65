// Selects our kernel for a row of the table.
#pragma once

#include "alternate.h"
#include "rows.h"

#include <tritonc/runtime.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Operands {
  const void *a, *b;
  void *c;
};

struct Product {
  Launch launch;                                     // the variant that the runtime chooses
  std::vector<std::pair<std::string, Launch>> tiles; // each variant: "128x128x64 multistage"
};

/// nullopt if no kernel is compiled for the row. A launch throws std::runtime_error if it fails.
std::optional<Product> matmul_of(const Row &row, const Operands &operands);

/// M, N and K of the smallest matmul.
constexpr int smallest_size = 64;

} // namespace bench
