// The expressions of a launch plan: as words for the runtime, and as text for people.

#pragma once

#include "emit/library.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc {

/// The postfix form that the runtime evaluates, with its end; none if it needs a deeper stack than
/// the runtime has.
std::optional<std::vector<int64_t>> postfix(const Expr &expression);

/// As a person would write it: "(M + 31) / 32", "cdiv(M, 32)".
std::string text_of(const Expr &expression, const std::vector<Parameter> &parameters);

} // namespace tritonc
