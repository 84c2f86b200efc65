// One-operation kernels: each executes one GPU-only operation (generator/backend/target_ops.def).
// The same module becomes PTX for a GPU and host code for the emulator, so tests can compare both.
//
// The signature is `void kernel(in, out)`. Operations on tensor maps use `void kernel(in, out,
// maps)`, where `maps` holds one 128-byte map per block. Each block executes the operation once, in
// every thread that takes part in it. The buffers:
//
//     in    of block b, at b * in_bytes():   image | memory | one record per thread
//     out   of block b, at b * out_bytes():  image | memory | one result per thread
//
// image   shared memory: filled from `in` before the operation, written to `out` after it
// memory  global memory that the operation itself reads (from `in`) or writes (to `out`)
// record  the operation's operands and its result, in the layout of host code; the kernel reads
//         only the operands
//
// Some operand values are unknown before the kernel runs. In a record,
//
//     an address in shared memory      is an offset in the image
//     a matrix descriptor of wgmma     has as start address an offset in the image, divided by 16
//     a pointer to global memory       is an offset in the block's memory
//     the mbarrier of a copy           is the number of bytes that this block's mbarrier counts
//     an address in the cluster        is an offset in the image, plus the block's rank << 24
//     imm, a tensor map                is unused: `imm` is in the code, the map is the block's map
//
// If one thread executes the operation for all threads, it uses the first record of the block.
#pragma once

#include "backend/target_ops.h"

#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace tritonc::test {

/// The maximum number of blocks in a launch with maps: kernel parameters have at most 4 KB.
inline constexpr unsigned max_maps = 30;

struct OpKernel {
  std::string name; // "wgmma_f16_64_0_1"
  TargetOp op;
  std::vector<unsigned> immediates;

  unsigned threads = 32;     // per block
  unsigned blocks = 1;       // per cluster; the grid must be a multiple
  unsigned shared_bytes = 0; // dynamic shared memory of the launch
  unsigned image_bytes = 0;  // this and all other sizes: per block
  unsigned memory_bytes = 0;
  bool takes_map = false;

  std::vector<unsigned> operand_offsets; // bytes, in a record
  unsigned record_bytes = 0;             // size of a record
  unsigned result_offset = 0;            // bytes, in a record
  unsigned result_bytes = 0;             // size of a result; 0 = none

  unsigned in_bytes() const { return image_bytes + memory_bytes + threads * record_bytes; }
  unsigned out_bytes() const { return image_bytes + memory_bytes + threads * result_bytes; }
};

/// Whether `op` has a kernel. Barriers, fences, commits and waits have none, because they are part
/// of other operations' kernels. print and assert_fail have none, because they only report.
bool has_op_kernel(TargetOp op);

/// Adds a kernel that executes `op`, with these values of its `imm` operands, to `module`. Call
/// prepare_module first. The module may already hold other such kernels.
OpKernel add_op_kernel(llvm::Module &module, TargetOp op, std::vector<unsigned> immediates = {});

/// The sets of `imm` values to test, one kernel each. For wgmma: the smallest, a middle and the
/// largest N, each with every transposition.
std::vector<std::vector<unsigned>> immediates_to_try(TargetOp op);

} // namespace tritonc::test
