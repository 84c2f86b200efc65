// A file of compiled random kernels with their launches and expected outputs, to run on a GPU of
// another machine.
//
// The file has a header line and then records. Inputs are regenerated from their formula (data.h),
// and outputs are stored as hashes. So a kernel needs little more space than its code.
//
// Does not depend on the compiler.

#pragma once

#include "random_kernels/case.h"

#include <istream>
#include <ostream>

namespace tritonc::random {

/// The code of a kernel in the form that the driver loads.
struct BatchImage {
  std::string how; // ptxas optimization flag, "-O3"
  std::string bytes;
};

struct BatchKernel {
  uint64_t seed = 0;
  std::string gpu; // "sm_90a"
  uint32_t threads = 0, shared_bytes = 0;
  Case tried; // without its source; outputs have hashes
  std::vector<BatchImage> images;
};

/// Writes the header line.
void write_batch_header(std::ostream &out);
void write_batch_kernel(std::ostream &out, const BatchKernel &kernel);

/// Returns false if it is not such a file, or has another version.
bool read_batch_header(std::istream &in);
/// Reads the next kernel. Returns nullopt at the end; sets `is_broken` if the file is damaged.
std::optional<BatchKernel> read_batch_kernel(std::istream &in, bool &is_broken);

} // namespace tritonc::random
