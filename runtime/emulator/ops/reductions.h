// Atomic additions to two 16-bit numbers in a word of global memory (PTX ISA, "red").

#pragma once

#include "../machine.h"

namespace tritonc::emulator::ops {

/// Each half is added by itself, rounded to nearest, ties to even; subnormal numbers are kept.
void red_add_f16x2(Thread &thread, const Site &site, void *address, uint32_t halves);
void red_add_bf16x2(Thread &thread, const Site &site, void *address, uint32_t halves);

} // namespace tritonc::emulator::ops
