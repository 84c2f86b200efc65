// Atomic additions to two 16-bit floats in a word of global memory (PTX ISA, "red").

#pragma once

#include "../machine.h"

namespace tritonc::emulator::ops {

/// Add each 16-bit half separately, rounded to nearest, ties to even; keep subnormal values.
void red_add_f16x2(Thread &thread, const Site &site, void *address, uint32_t halves);
void red_add_bf16x2(Thread &thread, const Site &site, void *address, uint32_t halves);

} // namespace tritonc::emulator::ops
