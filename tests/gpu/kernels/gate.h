// The activations of gated linear units (kernels/glu_functions.tch).

#pragma once

#include <cmath>

namespace device_tests {

/// f(x) / x. `Function`: the axis FUNCTION of a kernel.
template <typename Function> double gate_of(Function function, double x) {
  double inner = std::sqrt(8 / M_PI) * (x + 0.044715 * x * x * x);
  return function == Function::gelu ? 0.5 * std::erfc(-x / std::sqrt(2))
                                    : 1 / (1 + std::exp(function == Function::silu ? -x : -inner));
}

/// The derivative of f.
template <typename Function> double slope_of(Function function, double x) {
  double g = gate_of(function, x);
  double inner_slope = std::sqrt(8 / M_PI) * (1 + 3 * 0.044715 * x * x);
  return g + x * (function == Function::gelu   ? std::exp(-x * x / 2) / std::sqrt(2 * M_PI)
                  : function == Function::silu ? g * (1 - g)
                                               : g * (1 - g) * inner_slope);
}

} // namespace device_tests
