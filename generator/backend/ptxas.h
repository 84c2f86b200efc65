// PTX text to machine code, by ptxas.
#pragma once

#include "backend/toolchain.h"
#include "target/gpu.h"

#include <string>
#include <vector>

namespace tritonc {

/// What a kernel takes from the GPU, as ptxas reports it.
struct Resources {
  int registers = 0;                     // per thread
  int spill_stores = 0, spill_loads = 0; // bytes per thread
  int stack_bytes = 0;                   // per thread
  int static_shared = 0;                 // bytes per block
  std::vector<std::string>
      advice; // what ptxas found slow: messages C75xx, such as "wgmma serialized"
};

struct Cubin {
  std::string bytes;
  Resources resources;
};

/// Assembles `ptx`, in which `kernel` is an entry, for `gpu`. Code that is compared with other code
/// may be optimised less: "-O0". With `line_info` it says what the PTX does of lines.
Result<Cubin> assemble(const Toolchain &tools, const std::string &ptx, const std::string &kernel,
                       const Gpu &gpu, const std::string &optimization = "-O3",
                       bool line_info = false);

/// What is wrong with `bytes` as a cubin that contains `kernel`; empty if nothing is.
std::string check_cubin(const std::string &bytes, const std::string &kernel);

/// Reads the report that `ptxas -v` prints about `kernel`. False if it is not there or not
/// readable.
bool parse_report(const std::string &report, const std::string &kernel, Resources &resources);

} // namespace tritonc
