// lower_to_host: translates a kernel with target operations to a function for this machine's CPU.
#pragma once

#include "llvm/IR/Module.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tritonc {

/// A kernel as host code. See abi::host_code for `operations` and `sites`.
struct HostFunction {
  std::unique_ptr<llvm::Module> module; // in the context of the kernel's module
  llvm::Function *entry = nullptr;
  llvm::GlobalVariable *sites = nullptr; // an array of abi::host_site
  unsigned site_count = 0;
  llvm::GlobalVariable *constants = nullptr; // initial constant memory; null = none
  std::vector<uint32_t> parameter_bytes;     // size of the value that each argument points to
  std::vector<std::string> operations;
};

/// A call that `lower_to_host` does not support: neither `tritonc.*` nor an LLVM intrinsic without
/// memory effects, an assume-like intrinsic or memset. Empty if the module has none.
std::string find_foreign_call(const llvm::Module &module);

/// Translates the one kernel of `module`. The module is the output of `optimize` and does not
/// change. `layout` and `triple` describe the host: 64-bit, little endian.
HostFunction lower_to_host(const llvm::Module &module, const llvm::DataLayout &layout,
                           const llvm::Triple &triple);

} // namespace tritonc
