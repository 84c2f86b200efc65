// Kernels around one GPU-only operation each (generator/backend/target_ops.def), by which what a
// GPU does can be compared with what the emulator does: the same module becomes PTX or host code.
//
// `void kernel(in, out)`, and for operations on tensor maps `void kernel(in, out, maps)`, whose
// third parameter is the maps of all blocks, 128 bytes each. Each block executes the operation
// once in every thread that the operation is for. What it works on:
//
//     in    of block b, at b * in_bytes():   image | memory | a record for each thread
//     out   of block b, at b * out_bytes():  image | memory | a result for each thread
//
// image   shared memory: filled from `in` before the operation, written to `out` after it
// memory  global memory that the operation itself reads (from `in`) or writes (to `out`)
// record  the operation's operands and its result, as host code lays them out; only the operands
//         are read
//
// Some operands can't be known before the kernel runs, so in records they mean
//
//     an address in shared memory      the offset in the image
//     a matrix descriptor of wgmma     the start address in it: the offset in the image, over 16
//     a pointer to global memory       the offset in the block's memory
//     the mbarrier of a copy           how many bytes will be counted on it in this block
//     an address in the cluster        the offset in the image, plus the block's rank << 24
//     imm, a tensor map                nothing: `imm` is in the code, the map is the block's
//
// An operation that one thread does for all takes its operands from the first record of the block.
#pragma once

#include "backend/target_ops.h"

#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace tritonc::test {

/// The most blocks of a launch whose blocks have a map each: parameters have 4 KB.
inline constexpr unsigned max_maps = 30;

struct OpKernel {
  std::string name; // "wgmma_f16_64_0_1"
  TargetOp op;
  std::vector<unsigned> immediates;

  unsigned threads = 32;     // of a block
  unsigned blocks = 1;       // of a cluster: launch a multiple
  unsigned shared_bytes = 0; // dynamic, to launch with
  unsigned image_bytes = 0;  // all sizes: of one block
  unsigned memory_bytes = 0;
  bool takes_map = false;

  std::vector<unsigned> operand_offsets; // in a record
  unsigned record_bytes = 0;             // from one record to the next
  unsigned result_offset = 0;            // in a record
  unsigned result_bytes = 0;             // from one result to the next; 0: there is none

  unsigned in_bytes() const { return image_bytes + memory_bytes + threads * record_bytes; }
  unsigned out_bytes() const { return image_bytes + memory_bytes + threads * result_bytes; }
};

/// Whether there is a kernel for `op`. Not for those that do nothing by themselves: barriers,
/// fences, commits and waits, which stand in the kernels of others, and what only reports.
bool has_op_kernel(TargetOp op);

/// Adds the kernel that executes `op`, with these values of its `imm` operands, to `module`, which
/// prepare_module has prepared and which may hold other such kernels.
OpKernel add_op_kernel(llvm::Module &module, TargetOp op, std::vector<unsigned> immediates = {});

/// The values of the `imm` operands that are worth a kernel each: for wgmma the smallest, a middle
/// and the largest number of columns, with every transposition.
std::vector<std::vector<unsigned>> immediates_to_try(TargetOp op);

} // namespace tritonc::test
