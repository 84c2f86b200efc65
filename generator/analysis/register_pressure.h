// Which tiles are held in registers together, and how many registers they take.
#pragma once

#include "ir/ir.h"

#include <vector>

namespace tritonc {

/// A tile that is held, in so many registers (of 32 bits) of each thread.
struct HeldTile {
  const ir::Value *value;
  int registers;
};

/// The place where a thread holds most.
struct Pressure {
  const ir::Op *at = nullptr; // before this is done; null: there are no tiles
  int registers = 0;
  std::vector<HeldTile> tiles; // the largest first
};

/// Looks at a function that has layouts.
Pressure highest_pressure(const ir::Function &fn);

} // namespace tritonc
