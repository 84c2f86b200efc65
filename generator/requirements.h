// Limits that a caller sets on what is compiled, as `--require "spills == 0"`; a build in which one
// is exceeded fails, on a machine without a GPU too.
//
//   requirement := quantity (== | != | < | <= | > | >=) number
//
// A number may end in `k`, for 1024.
#pragma once

#include "backend/result.h"
#include "emit/library.h"

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

/// What of the library does not keep to the limits: one failure for each limit and image, with the
/// kernel, the variant, what was measured and what helps.
std::vector<Failure> unmet(const Library &library, const std::vector<Limit> &limits);

} // namespace tritonc
