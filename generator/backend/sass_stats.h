// What a kernel's machine code is made of: counts of the instructions that decide its speed.
#pragma once

#include "backend/ptxas.h"
#include "target/gpu.h"

#include <map>
#include <string>

namespace tritonc {

/// How often each kind of instruction occurs in `kernel`, by its name in NVIDIA's disassembly
/// ("HMMA", "LDG.128"); those that decide nothing are counted as "other".
std::map<std::string, int> count_instructions(const std::string &cubin, const std::string &kernel);

/// Resources and counts as text, a line each.
std::string sass_stats(const Cubin &cubin, const std::string &kernel, const Gpu &gpu);

} // namespace tritonc
