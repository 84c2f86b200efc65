// Counts the machine instructions of a kernel that decide its speed.
#pragma once

#include "backend/ptxas.h"
#include "target/gpu.h"

#include <map>
#include <string>
#include <vector>

namespace tritonc {

/// The name of each instruction of `kernel`, in the order of the code. See count_instructions.
std::vector<std::string> list_instructions(const std::string &cubin, const std::string &kernel);

/// The count of each instruction kind in `kernel`, by its name in NVIDIA's disassembly ("HMMA",
/// "LDG.128"). Instructions without an entry in the table count as "other".
std::map<std::string, int> count_instructions(const std::string &cubin, const std::string &kernel);

/// Resources and counts as text, one line each.
std::string sass_stats(const Cubin &cubin, const std::string &kernel, const Gpu &gpu);

} // namespace tritonc
