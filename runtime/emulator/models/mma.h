// mma.sync: a warp's matrix product D = A B + C, from and to the threads' registers.
//
// A is row-major, B column-major. Shapes, types and fragments: PTX ISA, "Matrix
// multiply-accumulate instructions"; fragments.h.

#pragma once

#include "accumulation.h"

#include <cstdint>

namespace tritonc::emulator::models {

struct MmaShape {
  unsigned m, n, k;
};

/// The registers of a warp: [lane] points to those of a thread. D may be C.
template <typename Operand, typename Result> struct WarpRegisters {
  const Operand *a[32], *b[32];
  const Result *c[32];
  Result *d[32];
};

/// f16, bf16, tf32 and 8-bit floats: m16n8k4 (tf32), k8 (f16, bf16, tf32), k16 (f16, bf16), k32
/// (fp8). Sums are those of `how`.
void mma(unsigned k, Input a, Input b, const Accumulation &how,
         const WarpRegisters<uint32_t, float> &registers);

/// Integers of 8 bits: m8n8k16, m16n8k16, m16n8k32. Sums wrap around.
void mma(MmaShape shape, Input a, Input b, const WarpRegisters<uint32_t, int32_t> &registers);

/// f64: m8n8k4, m16n8k4, m16n8k8, m16n8k16. One fused multiply-add after another, k ascending.
void mma(MmaShape shape, const WarpRegisters<double, double> &registers);

} // namespace tritonc::emulator::models
