// order_by_use: moves computations to their first use. See order_by_use.cpp.

#pragma once

namespace llvm {
class Module;
}

namespace tritonc {

/// Moves each instruction without effects to its first use in the block. Run it after the optimizer,
/// which has an order of its own.
void order_by_use(llvm::Module &module);

} // namespace tritonc
