// Converts the 8-bit floats e4m3 and e5m2 to types with arithmetic, and back.

#pragma once

#include "ir/types.h"
#include "target/gpu.h"

#include "llvm/IR/IRBuilder.h"

#include <vector>

namespace tritonc {

bool is_small_float(ir::Elem elem);

/// The values of `codes` (i8) of type `elem` as halves; exact.
std::vector<llvm::Value *> halves_of(llvm::IRBuilder<> &builder, const Gpu &gpu, ir::Elem elem,
                                     const std::vector<llvm::Value *> &codes);

/// The codes of `numbers`, all float or all double, rounded once to nearest even. Values that are
/// too large, and infinity, become the largest number; NaN stays NaN.
std::vector<llvm::Value *> codes_of(llvm::IRBuilder<> &builder, const Gpu &gpu, ir::Elem elem,
                                    std::vector<llvm::Value *> numbers);

/// The code of a constant, with the same rounding.
llvm::Constant *code_of(llvm::LLVMContext &context, ir::Elem elem, double number);

} // namespace tritonc
