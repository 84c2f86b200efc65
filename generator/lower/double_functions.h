// Functions of doubles, for which GPUs have no instruction.

#pragma once

#include "llvm/IR/IRBuilder.h"

namespace tritonc {

/// Code for e^x, 2^x and ln x of a double, to within 2 units in the last place. Infinities, NaN,
/// zero and negative numbers give what C's functions give; results and arguments may be subnormal.
llvm::Value *exp_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *exp2_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *log_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);

/// The same of sine and cosine, for |x| up to 2^45 (beyond, NaN); of tanh, to within 3 units; of
/// the error function and of x^y, to within 2.
llvm::Value *sin_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *cos_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *tanh_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *erf_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *pow_of_doubles(llvm::IRBuilder<> &builder, llvm::Value *x, llvm::Value *y);

} // namespace tritonc
