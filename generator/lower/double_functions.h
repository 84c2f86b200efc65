// exp, exp2 and log of doubles, for which GPUs have no instruction.

#pragma once

#include "llvm/IR/IRBuilder.h"

namespace tritonc {

/// Code for e^x, 2^x and ln x of a double, to within 2 units in the last place. Infinities, NaN,
/// zero and negative numbers give what C's functions give; results and arguments may be subnormal.
llvm::Value *exp_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *exp2_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);
llvm::Value *log_of_double(llvm::IRBuilder<> &builder, llvm::Value *x);

} // namespace tritonc
