// Reads the GPU, the kernels and their parameters from a cubin.
#pragma once

#include "support/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tritonc {

struct CubinParameter {
  uint32_t offset = 0, bytes = 0;
};

struct CubinKernel {
  std::string name;
  int registers = 0; // per thread
  int stack_bytes = 0;
  int code_bytes = 0;
  std::vector<CubinParameter> parameters;
  int parameter_bytes = 0; // total
};

struct CubinContents {
  int sm = 0;      // 90
  std::string gpu; // "sm_90a"; "sm_90" if the cubin has no note of the ptxas command line
  std::vector<CubinKernel> kernels;
  std::vector<std::string> calls; // driver functions, sorted: "__assertfail", "vprintf"
};

/// `problem`: the reason why the bytes cannot be read; empty if valid.
struct CubinReading {
  CubinContents contents;
  std::string problem;
};

CubinReading read_cubin(const std::string &bytes);

} // namespace tritonc
