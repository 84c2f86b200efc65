// Evaluates constant expressions with C's arithmetic, in the type of each expression.

#pragma once

#include "language/ast.h"

#include <optional>

namespace tritonc::ast {

/// The value of a checked scalar integer expression; nullopt if it is not constant.
std::optional<int64_t> constant_integer(const Expr &expr);

/// The value of a literal number, also under signs and under conversions to float or double.
std::optional<double> constant_real(const Expr &expr);

} // namespace tritonc::ast
