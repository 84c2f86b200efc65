// Compiles a kernel to an object file for this machine's CPU: host code and its description.
#pragma once

#include "support/result.h"

#include "llvm/IR/Module.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc {

/// The description of a kernel in abi::host_code.
struct HostKernel {
  struct Parameter {
    std::string name;
    bool is_pointer = false;
  };
  struct Buffer {
    std::string name;
    uint32_t offset = 0, bytes = 0; // in dynamic shared memory
  };
  std::string name;
  std::string gpu; // "sm_90a"
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  uint32_t threads = 0;
  uint32_t shared_bytes = 0;
  uint32_t cluster_size = 1;
  uint32_t blocks_per_sm = 0; // 0: not decided
};

/// The ELF object for the one kernel of `module`. The module is the output of `optimize` and does
/// not change. The object's only global symbol, `symbol`, is the abi::host_code. It has hidden
/// visibility, so that each program has its own copy. `triple`: "x86_64-linux-gnu" or
/// "aarch64-linux-gnu"; empty = this machine. The same module gives the same bytes.
Result<std::string> host_object(const llvm::Module &module, const HostKernel &kernel,
                                const std::string &symbol, const std::string &triple = "");

/// The LLVM IR of the object that `host_object` returns, as text.
Result<std::string> host_text(const llvm::Module &module, const HostKernel &kernel,
                              const std::string &symbol, const std::string &triple = "");

} // namespace tritonc
