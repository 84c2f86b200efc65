// What the passes that turn dots into wgmmas share.

#pragma once

#include "ir/builder.h"
#include "ir/ir.h"

namespace tritonc {

/// Whether `op` is a dot with the instruction wgmma.
bool is_by_wgmma(const ir::Op &op);

/// The shared_load that makes the operand; null: it is in registers.
const ir::Op *shared_load_of(const ir::Value *operand);

/// Creates the wgmma of `dot`, with B and, unless it is in registers, A from where `dot` loads them.
/// `adds` (i1): whether it adds to the accumulator; null: it does.
ir::Op *start_wgmma(ir::Builder &builder, const ir::Op &dot, ir::Value *accumulator,
                    ir::Value *adds = nullptr);

/// Gives `matmul`, a wgmma, the properties that `dot` has beside its operands.
void copy_properties(ir::Op &matmul, const ir::Op &dot);

/// Waits until at most `pending` matmuls are in flight. Returns the accumulator of `dot`.
ir::Value *wait_for_wgmma(ir::Builder &builder, const ir::Op &dot, ir::Value *accumulator,
                          int64_t pending);

} // namespace tritonc
