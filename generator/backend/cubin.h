// What a cubin says of itself: for which GPU it is, which kernels it has, what they are given.
#pragma once

#include "backend/result.h"

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
  int parameter_bytes = 0; // all together
};

struct CubinContents {
  int sm = 0;      // 90
  std::string gpu; // "sm_90a"; without the letter if the cubin does not say how it was made
  std::vector<CubinKernel> kernels;
  std::vector<std::string> calls; // functions of the driver's, sorted: "__assertfail", "vprintf"
};

/// What is wrong with the bytes, if they cannot be read.
struct CubinReading {
  CubinContents contents;
  std::string problem;
};

CubinReading read_cubin(const std::string &bytes);

} // namespace tritonc
