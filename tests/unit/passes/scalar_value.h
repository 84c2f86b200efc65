// Computes scalars of tile IR, for tests of passes that place blocks and programs.

#pragma once

#include "ir/ir.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>

namespace tritonc::test {

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
    REQUIRE(op.get(ir::attr::pred_) == "lt");
    return operand(0) < operand(1);
  case ir::Opcode::select_:
    return operand(0) ? operand(1) : operand(2);
  default:
    return given(*value);
  }
}

} // namespace tritonc::test
