// Functions of doubles, for which GPUs have no instructions.

#pragma once

#include "llvm/IR/IRBuilder.h"

namespace tritonc {

/// Emit e^x, 2^x and ln x of a double, accurate to 2 ulp. Infinities, NaN, zero and negative
/// arguments give the results of the C functions. Arguments and results may be subnormal.
llvm::Value *exp_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *exp2_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *log_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);

/// The same for:
/// - sine and cosine, for |x| up to 2^45 (beyond: NaN), accurate to 2 ulp
/// - tanh, accurate to 3 ulp
/// - the error function and x^y, accurate to 2 ulp
llvm::Value *sin_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *cos_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *tanh_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *erf_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *pow_of_doubles(llvm::IRBuilder<> &builder, llvm::Value *x, llvm::Value *y);

} // namespace tritonc
