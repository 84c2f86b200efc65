// Computes which tiles are live in registers at the same time, and how many registers they take.
#pragma once

#include "ir/ir.h"

#include <vector>

namespace tritonc {

/// A live tile, and the 32-bit registers that it takes in each thread.
struct HeldTile {
  const ir::Value *value;
  int registers;
};

/// The operation with the most live registers.
struct Pressure {
  const ir::Op *at = nullptr; // pressure before this operation; null: no tiles
  int registers = 0;
  std::vector<HeldTile> tiles; // largest first
};

/// Requires layouts.
Pressure highest_pressure(const ir::Function &fn);

} // namespace tritonc
