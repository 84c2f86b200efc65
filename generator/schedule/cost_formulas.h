// Shorthand for the formulas of costs.

#pragma once

#include "ir/launch_plan.h"

#include <utility>

namespace tritonc {

inline Expr number(int64_t value) { return Expr::constant(value); }
inline Expr operator+(Expr a, Expr b) {
  return Expr::binary(Expr::Kind::add, std::move(a), std::move(b));
}
inline Expr operator*(Expr a, Expr b) {
  return Expr::binary(Expr::Kind::mul, std::move(a), std::move(b));
}
inline Expr div_up(Expr a, Expr b) {
  return Expr::binary(Expr::Kind::ceil_div, std::move(a), std::move(b));
}

/// The programs of the grid: along an axis, and in all.
inline Expr programs(size_t axis) { return {Expr::Kind::programs, int64_t(axis), {}}; }
inline Expr all_programs() { return programs(0) * programs(1) * programs(2); }

inline Expr num_sms() { return {Expr::Kind::num_sms, 0, {}}; }

} // namespace tritonc
