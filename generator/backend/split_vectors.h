// split_vectors: see split_vectors.cpp.

#pragma once

namespace llvm {
class Module;
}

namespace tritonc {

/// Makes of vectors that blocks hand on their elements. After the optimiser, which has less to do
/// as long as they are vectors.
void split_vectors(llvm::Module &module);

} // namespace tritonc
