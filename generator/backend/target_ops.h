// GPU-only operations as calls of declared functions: what `lower/` writes, and what stays in the
// LLVM IR until the last step. The table is target_ops.def, which also explains the columns.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

#include <optional>
#include <vector>

namespace tritonc {

enum class TargetOp {
#define TARGET_OP(name, ...) name,
#include "backend/target_ops.def"
};

enum class TargetEffect {
  Pure,
  Warp,
  WarpExchange,
  WarpReadShared,
  AsyncCopy,
  Wait,
  Barrier,
};

/// A result or operand type of the table.
struct TargetType {
  enum Kind { none, i32, v2i32, v4i32, f32, v4f32, gptr, imm } kind;
  unsigned below = 0; // i32 in [0, below); 0: any

  llvm::Type *get(llvm::LLVMContext &context) const;
};

/// One row of the table.
struct TargetOpInfo {
  TargetOp op;
  llvm::StringRef name; // "ldmatrix_x4"
  TargetType result;
  std::vector<TargetType> operands;
  TargetEffect effect;
  int min_sm;
  llvm::Intrinsic::ID nvptx_intrinsic;
  llvm::StringRef nvptx_arguments; // "-1, $0, $1, 31"; empty: all operands in order
};

const std::vector<TargetOpInfo> &all_target_ops();
const TargetOpInfo &target_op_info(TargetOp op);

/// The operation that `name`, "tritonc.<name>", declares.
std::optional<TargetOp> target_op_named(llvm::StringRef name);

/// Appends a call of `op`, which the module then declares. The operands must have the types of
/// the table, and `imm` operands must be constants; both are asserted.
llvm::CallInst *call_target_op(llvm::IRBuilderBase &builder, TargetOp op,
                               llvm::ArrayRef<llvm::Value *> operands = {});

} // namespace tritonc
