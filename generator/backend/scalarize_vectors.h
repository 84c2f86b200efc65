// scalarize_vectors: splits vector phis into scalar phis. See scalarize_vectors.cpp.

#pragma once

namespace llvm {
class Module;
}

namespace tritonc {

/// Splits vector phis into scalar phis. Run it after the optimizer, which has less work on vectors.
void scalarize_vectors(llvm::Module &module);

} // namespace tritonc
