// Constant expressions: their value, with C's arithmetic in the expression's own type.

#pragma once

#include "language/ast.h"

#include <optional>

namespace tritonc::ast {

/// The value of a checked scalar integer expression, if the compiler can know it.
std::optional<int64_t> constant_integer(const Expr &expr);

/// The value of a literal number, looking through signs and conversions between floats.
std::optional<double> constant_real(const Expr &expr);

} // namespace tritonc::ast
