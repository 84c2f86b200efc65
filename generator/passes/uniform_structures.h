// Structures in which all warps of a block do the same: they copy, and they multiply.

#pragma once

#include "passes/structure.h"
#include "passes/structure_costs.h"
#include "passes/structure_tiles.h"

#include <optional>

namespace tritonc {

/// A bundle of programs to bundled_tile, of 16-bit factors, with steps as long as three slots have
/// room for. Nothing if the function can't be in it.
std::optional<Structure> bundled_structure(const ProductSetting &setting, const Problem &problem,
                                           const Gpu &gpu);

/// A bundle of programs to together_tile, for wgmma, of 16-bit factors that are copied 16 bytes at
/// a time. Nothing if the function can't be in it.
std::optional<Structure> together_structure(const ProductSetting &setting, const Problem &problem,
                                            const Gpu &gpu);

/// One program a block, and one block a multiprocessor, where programs have too few rows for wgmma:
/// what takes long is reading the other factor, so as much of it as possible is under way. Of the
/// same factors; nothing if the function can't be in it.
std::optional<Structure> alone_structure(const ProductSetting &setting, const Problem &problem,
                                         const Gpu &gpu);

/// The plain one where there is no wgmma: one program a block, with shorter steps than the source's
/// if those would make the loop's instructions too many, or leave no room for a second block. It
/// has a cost if tensor cores multiply and the host knows `problem`.
Structure plain_structure(const ProductSetting &setting, const std::optional<Problem> &problem,
                          const Gpu &gpu);

} // namespace tritonc
