// The emulator leg: runs the host code of a case on the emulator.

#pragma once

#include "random_kernels/legs.h"

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc::random {

/// Lowers, optimizes, and generates code (PTX and host) for a function after the pipeline for
/// `gpu`, or for two functions that share the work. Then emulates them with three interleavings:
/// forward order with early copies, reversed order with late copies, and random. Race checks are
/// always on. Without `all_interleavings`, only the first one runs. If tensor maps don't fit,
/// nothing runs. `where` is for messages: " for sm_80".
std::optional<Failure> emulate(const std::vector<const ir::Function *> &fns, const Case &tried,
                               const Gpu &gpu, const std::string &where, bool all_interleavings,
                               Effort &effort);

} // namespace tritonc::random
