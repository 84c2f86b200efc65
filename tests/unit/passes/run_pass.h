// Runs a pass by its name.

#pragma once

#include "ir/ir.h"
#include "ir/schedule.h"
#include "target/gpu.h"

#include <string_view>

namespace tritonc::test {

/// Runs the pass `name` of the pipeline. Returns false if no pass has this name.
bool run_pass(std::string_view name, ir::Function &fn, const Gpu &gpu, const Schedule &schedule);

} // namespace tritonc::test
