// Lowers tile IR to LLVM IR, both as text, for the tests of lower/.

#pragma once

#include "ir/ir.h"
#include "support/contains.h"

#include <string>
#include <string_view>

namespace tritonc::test {

/// The LLVM IR of a function in tile IR. Fails the test if the LLVM IR is invalid or contains
/// inline assembly.
std::string lowered(std::string_view tile_ir, const char *gpu = "80");

std::string lowered(const ir::Function &fn, const char *gpu = "80");

/// Like `lowered`, but first runs the pass pipeline on the function.
std::string compiled(std::string_view tile_ir, const char *gpu = "80");

int count(std::string_view text, std::string_view part);
using tritonc::contains;

} // namespace tritonc::test
