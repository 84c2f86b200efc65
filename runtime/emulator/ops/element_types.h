// Element types as template arguments of operations: mma<16, 8, 16, f16>, wgmma<e4m3, e5m2>.

#pragma once

#include "../models/accumulation.h"

namespace tritonc::emulator::ops {

template <models::Input of> struct OperandType {
  static constexpr models::Input input = of;
};
using f16 = OperandType<models::Input::f16>;
using bf16 = OperandType<models::Input::bf16>;
using tf32 = OperandType<models::Input::tf32>;
using e4m3 = OperandType<models::Input::e4m3>;
using e5m2 = OperandType<models::Input::e5m2>;
using s8 = OperandType<models::Input::s8>;
using u8 = OperandType<models::Input::u8>;

struct f32 {
  using Element = float;
};
struct s32 {
  using Element = int32_t;
};
struct f64 {
  using Element = double;
};

} // namespace tritonc::emulator::ops
