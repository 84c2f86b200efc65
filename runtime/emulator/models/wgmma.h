// wgmma.mma_async: a warpgroup's matrix product D = A B + D, 64 x N, 32 bytes of k.
//
// B, and A unless it comes from registers, are in shared memory, described by matrix descriptors.
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
  Major major_a = Major::k, major_b = Major::k; // by the immediates trans-a, trans-b
  bool add = true;                              // scale-d: false is D = A B

  unsigned k() const { return 32 / bytes_of(a); }
  /// Registers of D to a thread.
  unsigned accumulators() const { return n / 2; }
};

/// Null, or why there is no such instruction: "N = 12 isn't a multiple of 8".
const char *check(const Wgmma &instruction);

/// The operands of one wgmma.
struct WgmmaOperands {
  /// Where the block's window of 256 KiB begins; a descriptor's addresses count from there.
  const std::byte *window = nullptr;
  MatrixDescriptor a, b;
  /// If A comes from registers: [thread], 4 each.
  const uint32_t *const *a_registers = nullptr;
};

/// Reads the operands and adds the product to the accumulators: `d`[thread] points to n / 2 floats,
/// or int32_t for integers. Whether the operands lie in memory that may be read is the caller's
/// business: see `chunk_addresses`; warp w reads rows 16w to 16w + 15 of A and all of B. `warps`: a
/// mask of those whose part this is about; others' is neither read nor written.
void wgmma(const Wgmma &instruction, const Accumulation &how, const WgmmaOperands &operands,
           float *const d[128], unsigned warps = 0xf);
void wgmma(const Wgmma &instruction, const WgmmaOperands &operands, int32_t *const d[128],
           unsigned warps = 0xf);

} // namespace tritonc::emulator::models
