// bypass_divisions: see bypass_divisions.cpp.

#pragma once

namespace llvm {
class Module;
}

namespace tritonc {

/// Lets code go round divisions where there is nothing to divide. After the optimiser, which takes
/// divisions out of loops, but no branches.
void bypass_divisions(llvm::Module &module);

} // namespace tritonc
