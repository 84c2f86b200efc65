// bypass_divisions: adds fast paths to integer divisions. See bypass_divisions.cpp.

#pragma once

namespace llvm {
class Module;
}

namespace tritonc {

/// Adds fast paths for quotient 0 and for power-of-two divisors. Run it after the optimizer, which
/// hoists divisions out of loops but cannot hoist branches.
void bypass_divisions(llvm::Module &module);

} // namespace tritonc
