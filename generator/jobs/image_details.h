// Details of a compiled kernel for the HTML page of tritonc report: layouts, shared memory
// accesses, instructions and occupancy.
#pragma once

#include "emit/library.h"
#include "ir/ir.h"
#include "target/gpu.h"

#include <string>

namespace tritonc {

/// Details of a function after the pipeline and of its machine code.
ImageDetails details_of(const ir::Function &function, const Gpu &gpu, const std::string &cubin,
                        int registers, int static_shared);

/// The occupancy of a kernel: blocks per SM for these threads per block, registers per thread and
/// bytes of shared memory per block.
ImageDetails::Occupancy occupancy_of(const Gpu &gpu, int threads, int registers, int shared_bytes);

} // namespace tritonc
