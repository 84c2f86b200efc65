// The structures of a function for tests that run one launch of it.

#pragma once

#include "passes/structure.h"

#include <optional>
#include <vector>

namespace tritonc::test {

/// Those of structures_for, each of which does all the work. Of two that share the pieces, the
/// first has the code of one that is among them anyway, and the second is as if all were left for
/// it.
inline std::vector<Structure> complete_structures_for(const ir::Function &fn, const Gpu &gpu) {
  std::vector<Structure> structures;
  for (Structure &structure : structures_for(fn, gpu)) {
    if (structure.share == Structure::Share::full_rounds || structure.divided)
      continue;
    structure.share = Structure::Share::all;
    structures.push_back(std::move(structure));
  }
  return structures;
}

/// Two launches of which the first stores the parts of sums and the second adds them.
struct DividedLaunches {
  Structure first, second;
};

inline std::optional<DividedLaunches> divided_launches_for(const ir::Function &fn, const Gpu &gpu) {
  std::vector<Structure> structures = structures_for(fn, gpu);
  for (size_t i = 0; i < structures.size(); i++)
    if (structures[i].share == Structure::Share::parts)
      return DividedLaunches{structures[i], structures[i + 1]};
  return std::nullopt;
}

} // namespace tritonc::test
