// The emulator as a leg: the machine code of a case, on this machine.

#pragma once

#include "random/legs.h"

#include "ir/ir.h"
#include "target/gpu.h"

namespace tritonc::random {

/// Takes `fn`, which went through the pipeline for `gpu`, through lowering, optimisation and code
/// generation, for PTX and for the host, and emulates it: with forward order and early copies, the
/// other way round, and at random, always looking for races. With `all_schedules` false only the
/// first. Where its tensor maps don't fit, it isn't emulated. `where` is " for sm_80".
std::optional<Failure> emulate(const ir::Function &fn, const Case &tried, const Gpu &gpu,
                               const std::string &where, bool all_schedules, Effort &effort);

} // namespace tritonc::random
