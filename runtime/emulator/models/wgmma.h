// wgmma.mma_async: a warpgroup's matmul D = A B + D, 64 x N, with 32 bytes of k.
//
// Matrix descriptors give the layout of B, and of A unless it is in registers, in shared memory.
// Shapes, types and fragments: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions";
// fragments.h.

#pragma once

#include "accumulation.h"
#include "matrix_descriptor.h"

#include <cstddef>
#include <cstdint>

namespace tritonc::emulator::models {

struct Wgmma {
  Input a = Input::f16, b = Input::f16;
  unsigned n = 8;
  bool a_in_registers = false;
  Major major_a = Major::k, major_b = Major::k; // immediates trans-a, trans-b
  bool add = true;                              // scale-d; false = D = A B

  unsigned k() const { return 32 / bytes_of(a); }
  /// Registers of D per thread.
  unsigned accumulators() const { return n / 2; }
};

/// Returns null, or why the instruction is invalid: "N must be a multiple of 8".
const char *check(const Wgmma &instruction);

/// The operands of one wgmma.
struct WgmmaOperands {
  /// The start of the block's window of 256 KiB. A descriptor's addresses are relative to it.
  const std::byte *window = nullptr;
  MatrixDescriptor a, b;
  /// A, if in registers: [thread], 4 registers each.
  const uint32_t *const *a_registers = nullptr;
};

/// Adds A B to the accumulators: `d`[thread] points to n / 2 floats, or int32_t for integers. The
/// caller must check that the operands are in readable memory (`chunk_addresses`). Warp w reads
/// rows 16w to 16w + 15 of A and all of B. `warps` is a mask: only these warps' parts are read and
/// written.
void wgmma(const Wgmma &instruction, const Accumulation &how, const WgmmaOperands &operands,
           float *const d[128], unsigned warps = 0xf);
void wgmma(const Wgmma &instruction, const WgmmaOperands &operands, int32_t *const d[128],
           unsigned warps = 0xf);

} // namespace tritonc::emulator::models
