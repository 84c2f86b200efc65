// What a person wants to know of a compiled kernel besides its table of resources: for the page of
// tritonc report.
#pragma once

#include "emit/library.h"
#include "ir/ir.h"
#include "target/gpu.h"

#include <string>

namespace tritonc {

/// Of a function that went through the pipeline, and its machine code.
ImageDetails details_of(const ir::Function &function, const Gpu &gpu, const std::string &cubin,
                        int registers, int static_shared);

/// How many blocks of so many threads, registers for each, and bytes of shared memory run at once.
ImageDetails::Occupancy occupancy_of(const Gpu &gpu, int threads, int registers, int shared_bytes);

} // namespace tritonc
