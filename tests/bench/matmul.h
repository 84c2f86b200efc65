// Our kernels, by the rows of the table.
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
  Launch launch;                                     // the variant that the library chooses
  std::vector<std::pair<std::string, Launch>> tiles; // each variant: "128x128x64 multistage"
};

/// Nothing if no kernel is compiled for it. The launches throw std::runtime_error if the library
/// refuses.
std::optional<Product> matmul_of(const Row &row, const Operands &operands);

/// Of the smallest product there is, along each axis.
constexpr int smallest_size = 64;

} // namespace bench
