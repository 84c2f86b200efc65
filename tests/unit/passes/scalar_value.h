// Computes scalars of tile IR, for tests of passes that place blocks and programs.

#pragma once

#include "ir/ir.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>

namespace tritonc::test {

/// Whether a comparison of signed integers is true.
inline bool holds(std::string_view pred, int64_t a, int64_t b) {
  if (pred == "eq" || pred == "ne")
    return (a == b) == (pred == "eq");
  REQUIRE((pred == "lt" || pred == "le" || pred == "gt" || pred == "ge"));
  return pred == "lt" ? a < b : pred == "le" ? a <= b : pred == "gt" ? a > b : a >= b;
}

/// The value of an integer scalar, with 32-bit unsigned divisions, as on a GPU. `given` has the values
/// of block arguments, and of operations that depend on the launch.
inline int64_t scalar_value(const ir::Value *value,
                            const std::function<int64_t(const ir::Value &)> &given) {
  if (!value->op)
    return given(*value);
  const ir::Op &op = *value->op;
  auto operand = [&](size_t i) { return scalar_value(op.operand(i), given); };
  switch (op.code) {
  case ir::Opcode::constant_:
    return op.get(ir::attr::value_);
  case ir::Opcode::host_value_:
  case ir::Opcode::cast_:
    return operand(0);
  case ir::Opcode::add_:
    return operand(0) + operand(1);
  case ir::Opcode::sub_:
    return operand(0) - operand(1);
  case ir::Opcode::mul_:
    return operand(0) * operand(1);
  case ir::Opcode::div_:
    return operand(0) / operand(1);
  case ir::Opcode::rem_:
    return operand(0) % operand(1);
  case ir::Opcode::udiv_:
    return uint32_t(operand(0)) / uint32_t(operand(1));
  case ir::Opcode::urem_:
    return uint32_t(operand(0)) % uint32_t(operand(1));
  case ir::Opcode::min_:
    return std::min(operand(0), operand(1));
  case ir::Opcode::max_:
    return std::max(operand(0), operand(1));
  case ir::Opcode::cmp_:
    return holds(op.get(ir::attr::pred_), operand(0), operand(1));
  case ir::Opcode::and_:
    return operand(0) & operand(1);
  case ir::Opcode::or_:
    return operand(0) | operand(1);
  case ir::Opcode::select_:
    return operand(0) ? operand(1) : operand(2);
  default:
    return given(*value);
  }
}

} // namespace tritonc::test
