// Functions of floats for which GPUs have no instruction, or only an inaccurate one.

#pragma once

#include "llvm/IR/IRBuilder.h"

namespace tritonc {

/// Emit these functions of a float. Infinities, NaN and zero give the results of the C functions.
/// Beyond 2^50, sine and cosine are NaN.
llvm::Value *sin_of_float(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *cos_of_float(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *tanh_of_float(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *erf_of_float(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *pow_of_floats(llvm::IRBuilder<> &builder, llvm::Value *x, llvm::Value *y);

/// The nearest integer to a float or double; halves round away from zero.
llvm::Value *rounded_away(llvm::IRBuilder<> &builder, llvm::Value *x);

} // namespace tritonc
