// lower_to_host: a kernel with GPU-only calls becomes a function for this machine's CPU.
#pragma once

#include "llvm/IR/Module.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tritonc {

/// A kernel as host code. What `operations` and `sites` mean is said at abi::host_code.
struct HostFunction {
  std::unique_ptr<llvm::Module> module; // in the context of the kernel's module
  llvm::Function *entry = nullptr;
  llvm::GlobalVariable *sites = nullptr; // an array of abi::host_site
  unsigned site_count = 0;
  llvm::GlobalVariable *constants = nullptr; // what is in constant memory at first; null: none
  std::vector<uint32_t> parameter_bytes;     // of the value that each argument points to
  std::vector<std::string> operations;
};

/// What `lower_to_host` does not know: a call of something else than tritonc.* and those of LLVM's
/// intrinsics that only compute. Empty if there is none.
std::string find_foreign_call(const llvm::Module &module);

/// Translates the one kernel of `module`, which is as `optimize` leaves it and stays so. `layout`
/// and `triple` are the host's: 64-bit, little-endian.
HostFunction lower_to_host(const llvm::Module &module, const llvm::DataLayout &layout,
                           const llvm::Triple &triple);

} // namespace tritonc
