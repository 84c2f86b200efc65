// The kernels around one operation each (op_kernels.h), compiled: for the GPU as cubins, for this
// machine as host code. op_kernels_build writes the table. Needs no LLVM.

#pragma once

#include <tritonc/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tritonc::test {

/// What test::OpKernel says, and the code.
struct OpEntry {
  const char *name;               // "wgmma_f16_64_0_1"
  const char *op;                 // "wgmma_f16"
  unsigned immediates[4];         // as many as the operation has
  unsigned threads;               // of a block
  unsigned blocks;                // of a cluster
  unsigned shared_bytes;          // dynamic
  unsigned image_bytes;           // all sizes: of one block
  unsigned memory_bytes;          //
  bool takes_map;                 //
  unsigned operand_count;         //
  unsigned operand_offsets[12];   // in a record
  unsigned record_bytes;          // from one record to the next
  unsigned result_bytes;          // from one result to the next
  size_t cubin_begin, cubin_size; // in op_cubins
  const abi::host_code *host;

  unsigned in_bytes() const { return image_bytes + memory_bytes + threads * record_bytes; }
  unsigned out_bytes() const { return image_bytes + memory_bytes + threads * result_bytes; }
};

/// The most blocks of a launch of kernels that take maps.
inline constexpr unsigned max_maps = 30;

extern const std::span<const OpEntry> op_entries;
extern "C" const unsigned char op_cubins[];

} // namespace tritonc::test
