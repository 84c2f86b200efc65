// The emulator as a leg: the machine code of a case, on this machine.

#pragma once

#include "random/legs.h"

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc::random {

/// Takes a function, which went through the pipeline for `gpu`, or two that share the work, through
/// lowering, optimization and code generation, for PTX and for the host, and emulates them: with
/// forward order and early copies, the other way round, and at random, always looking for races.
/// With `all_interleavings` false only the first. Where tensor maps don't fit, nothing is emulated.
/// `where` is " for sm_80".
std::optional<Failure> emulate(const std::vector<const ir::Function *> &fns, const Case &tried,
                               const Gpu &gpu, const std::string &where, bool all_interleavings,
                               Effort &effort);

} // namespace tritonc::random
