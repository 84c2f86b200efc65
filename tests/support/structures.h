// The structures of a function for tests that run one launch of it.

#pragma once

#include "passes/structure.h"

#include <vector>

namespace tritonc::test {

/// Those of structures_for, each of which does all the work. Of two that share it, the first has
/// the code of one that is among them anyway, and the second is as if all were left for it.
inline std::vector<Structure> complete_structures_for(const ir::Function &fn, const Gpu &gpu) {
  std::vector<Structure> structures;
  for (Structure &structure : structures_for(fn, gpu)) {
    if (structure.share == Structure::Share::full_rounds)
      continue;
    structure.share = Structure::Share::all;
    structures.push_back(std::move(structure));
  }
  return structures;
}

} // namespace tritonc::test
