// mma.sync: a warp's matmul D = A B + C on the threads' registers.
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

/// The registers of a warp, indexed by lane. D may be C.
template <typename Operand, typename Result> struct WarpRegisters {
  const Operand *a[32], *b[32];
  const Result *c[32];
  Result *d[32];
};

/// f16, bf16, tf32 and 8-bit floats: m16n8k4 (tf32), k8 (f16, bf16, tf32), k16 (f16, bf16), k32
/// (fp8). Accumulates by the rules of `how`.
void mma(unsigned k, Input a, Input b, const Accumulation &how,
         const WarpRegisters<uint32_t, float> &registers);

/// 8-bit integers: m8n8k16, m16n8k16, m16n8k32. Accumulators wrap around.
void mma(MmaShape shape, Input a, Input b, const WarpRegisters<uint32_t, int32_t> &registers);

/// f64: m8n8k4, m16n8k4, m16n8k8, m16n8k16. A sequence of fused multiply-adds, k ascending.
void mma(MmaShape shape, const WarpRegisters<double, double> &registers);

} // namespace tritonc::emulator::models
