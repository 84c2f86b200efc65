// The table of the compiled one-operation kernels (op_kernels.h): cubins for the GPU, host code for
// this machine. op_kernels_build writes it. Needs no LLVM.

#pragma once

#include <tritonc/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tritonc::test {

/// The data of test::OpKernel, and the code.
struct OpEntry {
  const char *name;               // "wgmma_f16_64_0_1"
  const char *op;                 // "wgmma_f16"
  unsigned immediates[4];         // the values of the `imm` operands, then 0
  unsigned threads;               // per block
  unsigned blocks;                // per cluster
  unsigned shared_bytes;          // dynamic
  unsigned image_bytes;           // this and all other sizes: per block
  unsigned memory_bytes;          //
  bool takes_map;                 //
  unsigned operand_count;         //
  unsigned operand_offsets[12];   // bytes, in a record
  unsigned record_bytes;          // size of a record
  unsigned result_bytes;          // size of a result
  size_t cubin_begin, cubin_size; // bytes, in op_cubins
  const abi::host_code *host;

  unsigned in_bytes() const { return image_bytes + memory_bytes + threads * record_bytes; }
  unsigned out_bytes() const { return image_bytes + memory_bytes + threads * result_bytes; }
};

/// The maximum number of blocks in a launch of a kernel with maps.
inline constexpr unsigned max_maps = 30;

extern const std::span<const OpEntry> op_entries;
extern "C" const unsigned char op_cubins[];

} // namespace tritonc::test
