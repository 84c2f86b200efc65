// A structure: how the blocks of a GPU are to carry out a kernel. A kernel may be compiled in
// several; the launch takes the one that suits the problem.

#pragma once

#include "ir/ir.h"
#include "target/gpu.h"

#include <optional>
#include <string>
#include <vector>

namespace tritonc {

struct Structure {
  /// Some warps only copy, by tensor maps, and the others multiply what has come, by wgmma. Else
  /// all warps of a program do the same.
  bool specialized = false;

  /// How many programs a block carries out at once, along each axis of the grid; empty: one.
  std::vector<int64_t> bundle = {};

  /// How much of K one step of the product takes, at least.
  int64_t step = 0;

  /// What a launch in it takes, for the host to compare; nothing: it is not known.
  std::optional<Expr> cost = {};

  /// "128x256x64 specialized"; "" for the plain one.
  std::string name;
};

/// The structures worth compiling for a function as translated, the best one first. The last is the
/// plain one, which makes no demands.
std::vector<Structure> structures_for(const ir::Function &fn, const Gpu &gpu);

} // namespace tritonc
