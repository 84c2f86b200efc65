// Target operations: GPU-only operations as calls of declared functions. `lower/` creates these
// calls, and they stay in the LLVM IR until lower_target_ops. target_ops.def has the table and
// explains its columns.
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
  WarpShuffle,
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
  unsigned elements = 1; // vector elements; `overloaded`: the first operand gives the count
  unsigned below = 0;    // i32 in [0, below); 0 = any i32

  static constexpr unsigned overloaded = 0;

  bool is_vector() const { return elements != 1; }

  /// `acc_elements`: the element count of an `acc` or `iacc`; unused for other types.
  llvm::Type *get(llvm::LLVMContext &context, unsigned acc_elements = 0) const;
};

/// The column "NVPTX form".
struct NvptxForm {
  enum Kind { Intrinsic, Asm, Hint, Report } kind;
  llvm::Intrinsic::ID intrinsic = llvm::Intrinsic::not_intrinsic;
  llvm::StringRef text; // arguments of the intrinsic (empty: all operands in order), or PTX
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
  bool only_this_sm;   // no newer architecture has it: `90a`
  int min_ptx_version; // 80 = `.version 8.0`; 0 = the GPU's own
  NvptxForm nvptx;

  /// Whether the result or an operand is `acc` or `iacc`. Then the row is a family of functions.
  bool is_overloaded() const;
};

const std::vector<TargetOpInfo> &all_target_ops();
const TargetOpInfo &target_op_info(TargetOp op);

/// The name of the operation in host code: "<name> <result>(<operands>)", with the types as in the
/// table, without blanks. The string has static lifetime.
llvm::StringRef target_op_signature(TargetOp op);

bool has_target_op(const Gpu &gpu, TargetOp op);

/// The operation with the function name `name`: "tritonc.<name>" or "tritonc.<name>.v64f32".
std::optional<TargetOp> target_op_named(llvm::StringRef name);

/// Appends a call of `op` and declares the function if necessary. Asserts that the operands have
/// the types of the table, and that `imm` operands are constants.
llvm::CallInst *call_target_op(llvm::IRBuilderBase &builder, TargetOp op,
                               llvm::ArrayRef<llvm::Value *> operands = {});

/// An operation that `module` calls and `gpu` lacks; null if `gpu` has all.
const TargetOpInfo *find_missing_target_op(const llvm::Module &module, const Gpu &gpu);

/// The lowest PTX version with all operations that `module` calls, or `gpu`'s own if higher.
int ptx_version_for(const llvm::Module &module, const Gpu &gpu);

} // namespace tritonc
