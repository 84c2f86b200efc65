// GPU-only operations as calls of declared functions: what `lower/` writes, and what stays in the
// LLVM IR until the last step. The table is target_ops.def, which also explains the columns.
#pragma once

#include "target/gpu.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

#include <optional>
#include <string>
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
  WarpWriteShared,
  Read,
  Write,
  Atomic,
  AsyncCopy,
  Wait,
  Barrier,
  Mbarrier,
  Fence,
  Warpgroup,
  Report,
};

/// A result or operand type of the table.
struct TargetType {
  enum Kind { none, i32, i64, f32, f64, ptr, gptr, imm } kind;
  unsigned elements = 1; // of a vector; `overloaded`: as many as the first operand says
  unsigned below = 0;    // i32 in [0, below); 0: any

  static constexpr unsigned overloaded = 0;

  bool is_vector() const { return elements != 1; }

  /// `acc_elements`: how many elements an `acc` or `iacc` has; unused for others.
  llvm::Type *get(llvm::LLVMContext &context, unsigned acc_elements = 0) const;
};

/// The column "NVPTX form".
struct NvptxForm {
  enum Kind { Intrinsic, Asm, Hint, Report } kind;
  llvm::Intrinsic::ID intrinsic = llvm::Intrinsic::not_intrinsic;
  llvm::StringRef text; // an intrinsic's arguments (empty: all operands in order), or PTX
};

/// One row of the table.
struct TargetOpInfo {
  TargetOp op;
  llvm::StringRef name;      // "ldmatrix_x4"
  llvm::StringRef signature; // "ldmatrix_x4 v4i32(i32)": see target_op_signature
  TargetType result;
  std::vector<TargetType> operands;
  TargetEffect effect;
  int min_sm;
  bool only_this_sm;   // not what is newer: `90a`
  int min_ptx_version; // 80 stands for `.version 8.0`; 0: whatever the GPU's own is
  NvptxForm nvptx;

  /// Whether its result or an operand is `acc` or `iacc`, so that it is a family of functions.
  bool is_overloaded() const;
};

const std::vector<TargetOpInfo> &all_target_ops();
const TargetOpInfo &target_op_info(TargetOp op);

/// How host code names the operation: "<name> <result>(<operands>)", the types as the table spells
/// them, without blanks. Valid as long as the program.
llvm::StringRef target_op_signature(TargetOp op);

bool has_target_op(const Gpu &gpu, TargetOp op);

/// The operation that `name`, "tritonc.<name>" or "tritonc.<name>.v64f32", declares.
std::optional<TargetOp> target_op_named(llvm::StringRef name);

/// Appends a call of `op`, which the module then declares. The operands must have the types of
/// the table, and `imm` operands must be constants; both are asserted.
llvm::CallInst *call_target_op(llvm::IRBuilderBase &builder, TargetOp op,
                               llvm::ArrayRef<llvm::Value *> operands = {});

/// An operation called in `module` that `gpu` has not; null if it has all.
const TargetOpInfo *find_missing_target_op(const llvm::Module &module, const Gpu &gpu);

/// The lowest PTX version that knows all operations called in `module`, or `gpu`'s own if higher.
int ptx_version_for(const llvm::Module &module, const Gpu &gpu);

} // namespace tritonc
