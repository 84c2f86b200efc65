// Parses and checks limits on compiled kernels: `--require "spills == 0"`. A build that violates a
// limit fails, also on a machine without a GPU.
//
//   requirement := quantity (== | != | < | <= | > | >=) number
//
// A number may end in `k`, which multiplies it by 1024.
#pragma once

#include "emit/library.h"
#include "support/result.h"

#include <string>
#include <vector>

namespace tritonc {

struct Limit {
  std::string text;     // as written
  std::string quantity; // "spills"
  std::string comparison;
  long long number = 0;
};

Result<Limit> parse_limit(const std::string &text);

/// Returns one failure per violated limit and image, with the kernel, the variant, the measured
/// value and a remedy.
std::vector<Error> unmet(const Library &library, const std::vector<Limit> &limits);

} // namespace tritonc
