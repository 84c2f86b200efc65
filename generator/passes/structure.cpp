// Which structures a kernel is compiled in. See structure.h.
//
// structures_for has all that are tried, in order. What they are made of is elsewhere:
//
//     structure_tiles          what a block computes at a time: bundles of programs, steps along K
//     structure_demands        what the product must be like
//     structure_costs          measured tiles, and what launches take
//     program_costs            what launches take that have no product
//     specialized_structures   some warps copy, the others multiply
//     uniform_structures       all warps do the same: together, bundled, alone, plain
//     obstacles                why there is none of the best
//
// Tested by tests/passes/structure_test.cpp.

#include "passes/structure.h"

#include "ir/checks.h"
#include "passes/pipeline.h"
#include "passes/program_costs.h"
#include "passes/specialized_structures.h"
#include "passes/structure_costs.h"
#include "passes/structure_demands.h"
#include "passes/structure_tiles.h"
#include "passes/uniform_structures.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

bool is_product(Function &fn) {
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  return product && is_in_loops_only(*product);
}

bool has_costs(const std::vector<Structure> &structures) {
  return !structures.empty() && structures[0].cost;
}

// All but those without a cost, where others have one: they would seem to be the best.
void append_comparable(std::vector<Structure> &structures, std::vector<Structure> more) {
  for (Structure &structure : more)
    if (!has_costs(structures) || structure.cost)
      structures.push_back(std::move(structure));
}

// What the plain structure takes beside `others`, for wgmma; nothing if they have no costs, or it
// is not known: it was measured with 16-bit factors that lie as the copy engine wants, so not if
// others are there for when they don't.
std::optional<Expr> cost_of_plain_beside(const std::vector<Structure> &others,
                                         const ProductSetting &setting,
                                         const std::optional<Problem> &problem) {
  if (!has_costs(others))
    return std::nullopt;
  bool by_threads = std::any_of(others.begin(), others.end(), [](const Structure &structure) {
    return structure.copying_warps > 0;
  });
  if (problem->bytes != 2 || by_threads)
    return std::nullopt;
  return cost_of_plain(setting.sum(), setting.product.dot->operand(0)->type.shape[1], *problem);
}

// The plain structure, of programs that have blocks of their own.
Structure structure_of(std::optional<ProgramWork> work) {
  if (!work)
    return {};
  Expr cost = cost_of_programs_apart(*work, work->likely_resident);
  return {.cost = std::move(cost), .work = std::move(work)};
}

} // namespace

std::vector<Structure> structures_for(const Function &fn, const Gpu &gpu) {
  Function canonical = canonical_form(fn);
  if (!is_product(canonical) || has_own_order(canonical))
    return {structure_of(work_of_programs(canonical, gpu))};
  const ProductSetting setting = setting_of(canonical);
  const std::optional<Problem> problem = problem_of(setting);
  std::vector<Structure> structures;
  if (gpu.has_wgmma) {
    // Some warps copy, the others multiply. The copy engine brings the factors; threads do where it
    // can't, or where a launch may find that it can't.
    structures = specialized_structures(setting, problem, tiles_by_engine, gpu);
    if (structures.empty() || may_lack_maps(canonical))
      append_comparable(structures,
                        specialized_structures(setting, problem, tiles_by_threads, gpu));
    // All warps do the same, for small products, and for those of few rows.
    if (has_costs(structures))
      for (auto structure : {together_structure, alone_structure})
        if (std::optional<Structure> found = structure(setting, *problem, gpu))
          structures.push_back(std::move(*found));
  } else if (problem) {
    // A warp copies by the copy engine, the others multiply by mma. Or all warps do the same, for
    // several programs at once.
    if (gpu.has_tensor_maps)
      for (Structure &structure : specialized_structures(setting, problem, tiles_by_mma, gpu))
        if (structure.cost) // else nobody knows whether it is faster than all warps alike
          structures.push_back(std::move(structure));
    if (std::optional<Structure> bundled = bundled_structure(setting, *problem, gpu))
      structures.push_back(std::move(*bundled));
  }
  // The same for one program.
  if (!gpu.has_wgmma || structures.empty())
    structures.push_back(plain_structure(setting, problem, gpu));
  else
    structures.push_back({.cost = cost_of_plain_beside(structures, setting, problem)});
  return structures;
}

std::vector<Structure> structures_for_code(const Function &fn, const Gpu &gpu) {
  std::vector<Structure> structures = structures_for(fn, gpu);
  if (has_checks(fn))
    structures.erase(structures.begin(), structures.end() - 1);
  return structures;
}

} // namespace tritonc
