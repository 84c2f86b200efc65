// Random kernels to carry to a GPU: compiled, with what they are launched with and what they must
// leave in memory, in one file.
//
// The file starts with a line and goes on with records. Inputs are drawn again where they are
// needed (data.h), and of outputs there is only a hash, so a kernel takes little more than its
// code.
//
// Knows nothing of the compiler.

#pragma once

#include "random/case.h"

#include <istream>
#include <ostream>

namespace tritonc::random {

/// The code of a kernel, as the driver loads it.
struct BatchImage {
  std::string how; // "-O3": how ptxas was told to optimize
  std::string bytes;
};

struct BatchKernel {
  uint64_t seed = 0;
  std::string gpu; // "sm_90a"
  uint32_t threads = 0, shared_bytes = 0;
  Case tried; // without its source; buffers that are written have hashes
  std::vector<BatchImage> images;
};

/// Before the first kernel.
void write_batch_header(std::ostream &out);
void write_batch_kernel(std::ostream &out, const BatchKernel &kernel);

/// False if it is no such file, or one of another version.
bool read_batch_header(std::istream &in);
/// Nothing at the end of the file; with `is_broken` true if that is not where it should be.
std::optional<BatchKernel> read_batch_kernel(std::istream &in, bool &is_broken);

} // namespace tritonc::random
