// Functions of floats for which GPUs have no instruction, or only a coarse one.

#pragma once

#include "llvm/IR/IRBuilder.h"

namespace tritonc {

/// Code for these functions of a float. Infinities, NaN and zero give what C's functions give.
/// Beyond 2^50 there is no sine or cosine: NaN.
llvm::Value *sin_of_float(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *cos_of_float(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *tanh_of_float(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *erf_of_float(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *pow_of_floats(llvm::IRBuilder<> &builder, llvm::Value *x, llvm::Value *y);

/// The nearest integer to a float or double, halves away from zero.
llvm::Value *rounded_away(llvm::IRBuilder<> &builder, llvm::Value *x);

} // namespace tritonc
