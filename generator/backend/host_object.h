// A kernel as an object file for this machine's CPU: host code and what describes it.
#pragma once

#include "backend/result.h"

#include "llvm/IR/Module.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc {

/// What abi::host_code says of a kernel beyond its code.
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
};

/// The ELF object for the one kernel of `module`, which is as `optimize` leaves it and stays so.
/// Its one visible symbol, `symbol`, is the abi::host_code, and hidden: each program that links it
/// has it to itself. An LLVM triple of "x86_64-linux-gnu" or "aarch64-linux-gnu"; empty: this
/// machine's. Same module, same bytes.
Result<std::string> host_object(const llvm::Module &module, const HostKernel &kernel,
                                const std::string &symbol, const std::string &triple = "");

/// The LLVM IR that `host_object` makes its object from, as text.
Result<std::string> host_text(const llvm::Module &module, const HostKernel &kernel,
                              const std::string &symbol, const std::string &triple = "");

} // namespace tritonc
