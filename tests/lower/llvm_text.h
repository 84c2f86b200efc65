// Tile IR in, LLVM IR out, as text.

#pragma once

#include "ir/ir.h"

#include <string>
#include <string_view>

namespace tritonc::test {

/// The LLVM IR of a function in tile IR. Fails the test if LLVM finds it invalid or if there is
/// inline assembly in it.
std::string lowered(std::string_view tile_ir, const char *gpu = "80");

std::string lowered(const ir::Function &fn, const char *gpu = "80");

/// What `lowered` gives for a function that still has to go through the pipeline.
std::string compiled(std::string_view tile_ir, const char *gpu = "80");

int count(std::string_view text, std::string_view part);
inline bool contains(std::string_view text, std::string_view part) { return count(text, part) > 0; }

} // namespace tritonc::test
