// The expressions of a launch plan: as words for the runtime, and as text for people.

#pragma once

#include "emit/library.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// The postfix form that the runtime evaluates, with its end; none if it needs a deeper stack than
/// the runtime has.
std::optional<std::vector<int64_t>> postfix(const Expr &expression);

/// What a launch knows, as far as it is known here.
struct LaunchFacts {
  std::map<int, int64_t> arguments; // by parameter
  std::array<std::optional<int64_t>, 3> programs;
  int64_t multiprocessors = 0;
};

/// What the runtime will find; nothing if it can't be told from this, or is no number of 64 bits.
std::optional<int64_t> value_of(const Expr &expression, const LaunchFacts &facts);

/// As a person would write it: "(M + 31) / 32", "cdiv(M, 32)".
std::string text_of(const Expr &expression, const std::vector<Parameter> &parameters);

} // namespace tritonc
