// Structures in which some warps copy and the others multiply. See specialized_structures.h.
//
// Method: each tile is tried on a clone, by the passes that come before specialize_warps, and is
// taken if what they make of the function meets the demands.
//
// Tested by tests/passes/structure_test.cpp.

#include "passes/specialized_structures.h"

#include "passes/bundle_programs.h"
#include "passes/narrow_steps.h"
#include "passes/remove_dead_code.h"
#include "passes/split_sums.h"
#include "passes/store_parts.h"
#include "passes/structure_demands.h"
#include "passes/swap_factors.h"
#include "passes/widen_steps.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

std::string name_of(const Structure &structure, const Tile &tile, Function &fn) {
  std::string name = name_of_tile(tile, fn) + " specialized";
  if (structure.splits > 1)
    name += ", split " + std::to_string(structure.splits);
  if (structure.teams > 1)
    name += ", ping-pong";
  if (structure.copying_warps)
    name += ", copied by threads";
  return name;
}

// `structure` with a name, if the function can be in it.
std::optional<Structure> tried_structure(const ProductSetting &setting, Structure structure,
                                         const Tile &wanted, const Gpu &gpu) {
  Function tried = clone(setting.fn);
  narrow_steps(tried, structure);
  widen_steps(tried, structure);
  if (!try_bundling(tried, structure.bundle))
    return std::nullopt;
  remove_dead_code(tried);
  swap_factors(tried, structure);
  if (!can_specialize(tried, gpu, structure) || (structure.splits > 1 && !can_split_sums(tried)))
    return std::nullopt;
  structure.name = name_of(structure, wanted, tried);
  return structure;
}

// The same, or with steps of half a row, or a place for one piece of the results only: where shared
// memory is scarce, these leave enough of it for the ring that mma needs. wgmma's fits all GPUs
// that have it.
std::optional<Structure> fitting_structure(const ProductSetting &setting, Structure structure,
                                           const Tile &wanted, const Gpu &gpu) {
  std::optional<Structure> found = tried_structure(setting, structure, wanted, gpu);
  if (found || gpu.has_wgmma)
    return found;
  structure.step /= 2;
  for (int64_t pieces : {2, 1}) {
    structure.staged_pieces = pieces;
    if ((found = tried_structure(setting, structure, wanted, gpu)))
      return found;
  }
  return std::nullopt;
}

// The structure for a tile, if the function can be in it.
std::optional<Structure> specialized_structure(const ProductSetting &setting,
                                               const MeasuredTile &measured,
                                               std::optional<int64_t> row_of_k, const Gpu &gpu) {
  const Tile &tile = measured.tile;
  const int copying_warps = measured.copying_warps;
  if (!row_of_k && (tile.k_rows > 1 || tile.splits > 1))
    return std::nullopt;
  bool swapped = gpu.has_wgmma && !copying_warps && is_better_swapped(setting.product);
  Tile wanted = tile;
  if (swapped)
    std::swap(wanted.rows, wanted.columns);
  std::optional<std::vector<int64_t>> bundle = bundle_of(setting, wanted);
  if (!bundle)
    return std::nullopt;
  Structure structure{.specialized = true,
                      .copying_warps = copying_warps,
                      .teams = measured.teams,
                      .bundle = *bundle,
                      .step = row_of_k.value_or(0) * tile.k_rows,
                      .swapped = swapped,
                      .splits = tile.splits};
  return fitting_structure(setting, structure, wanted, gpu);
}

// The structure for the source's own tile, of any size; nobody has measured what it takes. If it
// can't have longer steps, it has the source's.
std::optional<Structure> own_structure(const ProductSetting &setting, int copying_warps,
                                       const Gpu &gpu) {
  MeasuredTile own = {{setting.sum()[0], setting.sum()[1], 1}, 0, 0, copying_warps};
  if (gpu.has_wgmma && !copying_warps && is_better_swapped(setting.product))
    std::swap(own.tile.rows, own.tile.columns);
  for (std::optional<int64_t> row : {setting.row_of_k, std::optional<int64_t>()})
    if (auto structure = specialized_structure(setting, own, row, gpu))
      return structure;
  return std::nullopt;
}

// --- Shared work ---------------------------------------------------------------------------------

// A structure, and the tile that it has its cost by.
struct Candidate {
  Structure structure;
  MeasuredTile tile;
};

// Two structures that share the work: `large` in full rounds, and what is left of it cut into
// pieces like those of `small`. Nothing if these don't fit into each other.
std::vector<Structure> shared_work(const Candidate &large, const Candidate &small,
                                   const Problem &problem) {
  Structure first = large.structure, second = small.structure;
  for (size_t axis = 0; axis < 3; axis++) {
    if (first.bundle[axis] % second.bundle[axis] != 0)
      return {};
    second.cuts.push_back(first.bundle[axis] / second.bundle[axis]);
  }
  first.share = Structure::Share::full_rounds;
  second.share = Structure::Share::rest;
  first.cost = cost_of_shares(first.bundle, large.tile, second.cuts, small.tile, problem);
  second.cost.reset();
  second.name += ", for the rest of " + first.name;
  first.name += ", full rounds";
  return {first, second};
}

// The same for the largest and the smallest of `candidates`, if that is small enough: what is left
// after full rounds of the one is done in the other.
std::vector<Structure> shared_work(const std::vector<Candidate> &candidates,
                                   const std::optional<Problem> &problem) {
  constexpr int64_t smallest = 64 * 64;
  if (!problem || candidates.size() < 2 || candidates.back().tile.tile.elements() != smallest)
    return {};
  return shared_work(candidates.front(), candidates.back(), *problem);
}

// --- Divided sums --------------------------------------------------------------------------------

// Two launches, of which the first stores the parts of sums in the tile of `of`, and the second
// adds them, program by program. Nothing if the function can't be divided so.
std::vector<Structure> divided_sums(const Candidate &of, const ProductSetting &setting,
                                    const Problem &problem) {
  bool is_tiled = setting.axes[0] && setting.axes[1] && setting.axes[0] != setting.axes[1];
  if (!is_tiled || !can_divide_sums(setting.fn))
    return {};
  Structure first = of.structure;
  first.share = Structure::Share::parts;
  first.divided = {.bundle = first.bundle,
                   .rows = first.bundle[*setting.axes[0]] * setting.sum()[0],
                   .columns = first.bundle[*setting.axes[1]] * setting.sum()[1],
                   .rows_axis = *setting.axes[0],
                   .columns_axis = *setting.axes[1]};
  first.cost = cost_of_parts(first, of.tile, setting.sum(), problem);
  Structure second{.step = first.step,
                   .share = Structure::Share::sum_of_parts,
                   .divided = first.divided,
                   .name = "sum of the parts of " + first.name};
  first.name += ", in parts";
  return {first, second};
}

// Those of the tile that is best at it.
std::vector<Structure> divided_sums(const ProductSetting &setting, const Problem &problem,
                                    const Gpu &gpu) {
  for (const MeasuredTile &tile : tiles_of_parts)
    if (auto structure = specialized_structure(setting, tile, setting.row_of_k, gpu))
      return divided_sums({*structure, tile}, setting, problem);
  return {};
}

// Whether teams compute `tile`: then it is not worth having without them too.
bool is_by_teams(const Tile &tile, const std::vector<Candidate> &candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate &candidate) {
    return candidate.tile.teams > 1 && candidate.tile.tile == tile;
  });
}

} // namespace

std::vector<Structure> specialized_structures(const ProductSetting &setting,
                                              const std::optional<Problem> &problem,
                                              std::span<const MeasuredTile> tiles, const Gpu &gpu) {
  const int copying_warps = tiles[0].copying_warps;
  std::vector<Structure> structures;
  std::vector<Candidate> candidates; // that may share the work
  for (const MeasuredTile &measured : tiles) {
    if (is_by_teams(measured.tile, candidates))
      continue;
    std::optional<Structure> structure =
        specialized_structure(setting, measured, setting.row_of_k, gpu);
    if (!structure)
      continue;
    if (problem)
      structure->cost = cost_of(*structure, measured, *problem);
    if (measured.tile.splits == 1 && !copying_warps)
      candidates.push_back({*structure, measured});
    structures.push_back(std::move(*structure));
  }
  for (Structure &share : shared_work(candidates, problem))
    structures.push_back(std::move(share));
  if (problem && gpu.has_wgmma && !copying_warps)
    for (Structure &share : divided_sums(setting, *problem, gpu))
      structures.push_back(std::move(share));
  // Without a cost there is no telling which is best: the largest, or the source's own tile.
  if (structures.empty())
    if (std::optional<Structure> own = own_structure(setting, copying_warps, gpu))
      structures.push_back(std::move(*own));
  if (!structures.empty() && !structures[0].cost)
    structures.resize(1);
  return structures;
}

} // namespace tritonc
