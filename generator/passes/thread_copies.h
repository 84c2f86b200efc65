// Producer warps that copy the operands of a loop element by element, where TMA cannot.

#pragma once

#include "analysis/operand_loads.h"
#include "ir/builder.h"
#include "ir/ir.h"

#include <vector>

namespace tritonc {

/// An operand that producer warps copy: `load` reads its tiles, `buffer` has a place for each stage.
struct CopiedOperand {
  const OperandLoad *load = nullptr;
  ir::Value *buffer = nullptr;
};

/// Makes a loop like `loop` whose iterations copy only the operands, into the stages of a channel, from
/// stage number `step`. `copies` has what the producer has computed already. Returns the next number.
///
///     for_loop %n, %step {
///       (%t, %s)
///       %a0 = load part of %v, inside %limits
///       %a1 = load next part of %v, ...
///       %i = put %channel, %s
///       shared_store %a0, %as, %i {origin = [0,0]}
///       %b0 = load part of %w, ...
///       shared_store %a1, %as, %i {origin = [64,0]}
///       ...
///       put_done %channel, %s
///       yield %s + 1
///     }
///
/// A part is as large as the registers of the producer threads allow. While one part is stored, the next
/// one loads, and the first part of an iteration loads before its stage is empty. A part of a tile of
/// pointers is computed from parts of the indices.
ir::Value *copy_by_threads(ir::Builder &builder, ir::Function &fn, const ir::Op &loop,
                           const std::vector<CopiedOperand> &operands, ir::Value *channel,
                           ir::Value *step, int64_t producer_warps, ir::Copies copies);

} // namespace tritonc
