// Shorthand for the formulas of costs.

#pragma once

#include "ir/launch_plan.h"
#include "passes/loop_partials.h"

#include <utility>

namespace tritonc {

inline Expr number(int64_t value) { return Expr::constant(value); }
inline Expr operator+(Expr a, Expr b) {
  return Expr::binary(Expr::Kind::add, std::move(a), std::move(b));
}
inline Expr operator-(Expr a, Expr b) {
  return Expr::binary(Expr::Kind::sub, std::move(a), std::move(b));
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

/// The number of parts of a loop, as emit_loop_partials computes it. `at_once`: blocks.
inline Expr parts_of_loop(const Expr &iterations, Expr at_once, Expr blocks) {
  auto max = [](Expr a, int64_t b) {
    return Expr::binary(Expr::Kind::max, std::move(a), number(b));
  };
  Expr wanted = Expr::binary(Expr::Kind::div, std::move(at_once), max(std::move(blocks), 1));
  Expr most = Expr::binary(Expr::Kind::div, iterations, number(LoopPartials::min_iterations));
  wanted = Expr::binary(Expr::Kind::min, std::move(wanted), std::move(most));
  Expr steps = max(div_up(iterations, max(std::move(wanted), 1)), 1);
  return max(div_up(iterations, std::move(steps)), 1);
}

} // namespace tritonc
