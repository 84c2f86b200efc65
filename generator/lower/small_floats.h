// Numbers of 8 bits, e4m3 and e5m2: into the types that can be computed with, and back.

#pragma once

#include "ir/types.h"
#include "target/gpu.h"

#include "llvm/IR/IRBuilder.h"

#include <vector>

namespace tritonc {

bool is_small_float(ir::Elem elem);

/// The numbers that `codes` (i8) of type `elem` stand for, as halves: exact.
std::vector<llvm::Value *> halves_of(llvm::IRBuilder<> &builder, const Gpu &gpu, ir::Elem elem,
                                     const std::vector<llvm::Value *> &codes);

/// The codes of `numbers`, all float or all double, rounded once, to nearest, ties to even. What is
/// too large, infinity too, becomes the largest number; NaN stays NaN.
std::vector<llvm::Value *> codes_of(llvm::IRBuilder<> &builder, const Gpu &gpu, ir::Elem elem,
                                    std::vector<llvm::Value *> numbers);

/// The same of a constant.
llvm::Constant *code_of(llvm::LLVMContext &context, ir::Elem elem, double number);

} // namespace tritonc
