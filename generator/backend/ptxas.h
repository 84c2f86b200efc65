// Assembles PTX to a cubin by running ptxas.
#pragma once

#include "backend/toolchain.h"
#include "target/gpu.h"

#include <string>
#include <vector>

namespace tritonc {

/// The resources of a kernel, as ptxas reports them.
struct Resources {
  int registers = 0;                     // per thread
  int spill_stores = 0, spill_loads = 0; // bytes per thread
  int stack_bytes = 0;                   // per thread
  int static_shared = 0;                 // bytes per block
  std::vector<std::string>
      advice; // performance warnings C75xx of ptxas, such as "wgmma serialized"
};

struct Cubin {
  std::string bytes;
  Resources resources;
};

/// Assembles `ptx`, which has the entry `kernel`, for `gpu`. Tests that compare results may use
/// `optimization` "-O0". With `line_info` the cubin gets the line numbers of the PTX.
Result<Cubin> assemble(const Toolchain &tools, const std::string &ptx, const std::string &kernel,
                       const Gpu &gpu, const std::string &optimization = "-O3",
                       bool line_info = false);

/// The problem with `bytes` as a cubin that contains `kernel`; empty if valid.
std::string check_cubin(const std::string &bytes, const std::string &kernel);

/// Reads the report that `ptxas -v` prints about `kernel`. False if it is missing or malformed.
bool parse_report(const std::string &report, const std::string &kernel, Resources &resources);

} // namespace tritonc
