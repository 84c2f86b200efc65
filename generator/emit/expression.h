// Converts the expressions of a launch plan to postfix code for the runtime and to readable text,
// and evaluates them.

#pragma once

#include "emit/library.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// The postfix code that the runtime evaluates, with its end mark; none if it needs a deeper stack
/// than the runtime has.
std::optional<std::vector<int64_t>> postfix(const Expr &expression);

/// The known values of a launch.
struct LaunchFacts {
  std::map<int, int64_t> arguments; // by parameter
  std::array<std::optional<int64_t>, 3> programs;
  int64_t num_sms = 0;
};

/// The value that the runtime will compute; none if `facts` do not determine it or it overflows 64
/// bits.
std::optional<int64_t> value_of(const Expr &expression, const LaunchFacts &facts);

/// The expression as readable text: "(M + 31) / 32", "cdiv(M, 32)".
std::string text_of(const Expr &expression, const std::vector<Parameter> &parameters);

} // namespace tritonc
