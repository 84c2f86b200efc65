// Which structures a kernel is compiled in. See structure.h.
//
// Tested by tests/passes/structure_test.cpp.

#include "passes/structure.h"

#include "analysis/launch_form.h"
#include "analysis/layouts.h"
#include "analysis/product_loop.h"
#include "passes/bundle_programs.h"
#include "passes/pipeline.h"
#include "passes/remove_dead_code.h"
#include "passes/widen_steps.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t most_sums_of_a_thread = 128; // a warpgroup's wgmma needs 26 registers besides

// Whether nothing but loops is around the product: the copying warps repeat them.
bool is_in_loops_only(const ProductLoop &product) {
  for (const Op *outer = product.loop->parent->parent; outer; outer = outer->parent->parent)
    if (!outer->is(Opcode::for_loop_))
      return false;
  return true;
}

// Whether wgmma can multiply these tiles.
bool fits_wgmma(const Op &dot) {
  Elem from = dot.operand(0)->type.elem;
  const Shape &a = dot.operand(0)->type.shape, &sum = dot.result()->type.shape;
  int64_t groups = sum[0] >= 128 ? 2 : 1;
  return (from == Elem::f16 || from == Elem::bf16) && dot.result()->type.elem == Elem::f32 &&
         sum[0] % 64 == 0 && sum[1] >= 16 && sum[1] <= 256 && a[1] >= 16 &&
         sum[0] * sum[1] / (128 * groups) <= most_sums_of_a_thread;
}

// Whether the copy engine can load the factor, and the tensor cores read it.
bool fits_copies(const LoadedFactor &factor) {
  const Op &load = *factor.load;
  const Value *other = load.operand_or_null(2);
  std::optional<TensorAccess> access =
      tensor_access(load.operand(0), load.operand_or_null(1)).access;
  const Type &tile = load.result()->type;
  return access && (!other || is_zero(other)) &&
         panel_row_bytes(tile.shape, access->contiguous, bytes_of(tile.elem)) > 0;
}

bool can_specialize(Function &fn) {
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  return product && is_in_loops_only(*product) && fits_wgmma(*product->dot) &&
         fits_copies(product->factors[0]) && fits_copies(product->factors[1]);
}

// --- Other tiles than the source's ---------------------------------------------------------------

// Whether the factor moves on along K by `step` in each trip, and its mask, if any, with it.
bool moves_along_k(const ProductLoop &product, int number) {
  const Op &load = *product.factors[number].load;
  const Value *counter = product.loop->blocks[0]->arguments[0];
  size_t k = size_t(product.factors[number].perm[number == 0 ? 1 : 0]);
  int64_t step = product.dot->operand(0)->type.shape[1];
  std::optional<Affine> form = affine_of(load.operand(0));
  auto growth = [&](const Poly &poly) {
    return poly.substitute(counter, Poly::symbol(counter) + Poly::constant(1)) - poly;
  };
  if (!form || !(growth(form->offset) == form->strides[k] * Poly::constant(step)))
    return false;
  for (const Poly &stride : form->strides)
    if (!growth(stride).is_zero())
      return false;
  if (!load.operand_or_null(1))
    return true;
  std::optional<std::vector<Bound>> bounds = bounds_of(load.operand(1), load.result()->type.rank());
  return bounds && std::all_of(bounds->begin(), bounds->end(), [&](const Bound &bound) {
           return growth(bound.before).is_constant(bound.axis == int(k) ? step : 0);
         });
}

// The step along K that fills a row of shared memory, if the product can be made to take it.
int64_t best_step(Function &fn) {
  constexpr int64_t row_bytes = 128;
  ProductLoop product = *find_product_loop(fn).found;
  const Type &factor = product.dot->operand(0)->type;
  bool changes_nothing_else =
      product.loop->results.size() == 1 && host_expression(product.loop->operand(0)).has_value();
  for (const Op *op : product.loop->blocks[0]->ops) {
    Effect effect = info(op->code).effect;
    changes_nothing_else &=
        effect == Effect::pure || effect == Effect::read || op->is(Opcode::yield_);
  }
  bool moves = moves_along_k(product, 0) && moves_along_k(product, 1);
  int64_t best = row_bytes / bytes_of(factor.elem);
  return changes_nothing_else && moves ? std::max(best, factor.shape[1]) : factor.shape[1];
}

// The axis of the grid along which the programs of a bundle have their sums stacked along `axis`.
std::optional<size_t> grid_axis(const Function &fn, int axis) {
  for (size_t g = 0; g < 3; g++) {
    Function bundled = clone(fn);
    std::vector<int64_t> times(3, 1);
    times[g] = 2;
    Shape before = find_product_loop(bundled).found->dot->result()->type.shape;
    if (!try_bundling(bundled, times))
      continue;
    remove_dead_code(bundled);
    std::optional<ProductLoop> product = find_product_loop(bundled).found;
    if (product && product->dot->result()->type.shape[size_t(axis)] == 2 * before[size_t(axis)])
      return g;
  }
  return std::nullopt;
}

struct Tile {
  int64_t rows, columns;
  bool operator==(const Tile &) const = default;
};

// From the one that moves the fewest bytes for each sum to the one that has work for the most
// multiprocessors.
constexpr Tile tiles[] = {{128, 256}, {128, 128}, {64, 256}, {64, 128}, {64, 64}};

// --- Cost ----------------------------------------------------------------------------------------

// Of a tile, in clock cycles of a multiprocessor, as measured on an H200: a step along K at the
// speed of the tensor cores, which smaller tiles don't reach because of the bytes they move; and
// what a tile takes before and after its steps.
struct TileCost {
  int64_t step, rest;
};

TileCost cost_of(const Tile &tile) {
  int64_t ideal = tile.rows * tile.columns / 32; // of 64 columns of f16
  int64_t bytes = (tile.rows + tile.columns) * 64 * 2;
  int64_t by_bytes = bytes / 60;
  return {std::max(ideal, by_bytes), 1500 + tile.rows * tile.columns / 16};
}

Expr programs_along(size_t axis, int64_t bundle) {
  return Expr::binary(Expr::Kind::ceil_div, {Expr::Kind::programs, int64_t(axis), {}},
                      Expr::constant(bundle));
}

Expr cost(const Structure &structure, const Tile &tile, const Expr &trips,
          int64_t trips_of_source) {
  Expr pieces = programs_along(0, structure.bundle[0]);
  for (size_t axis : {1, 2})
    pieces = Expr::binary(Expr::Kind::mul, pieces, programs_along(axis, structure.bundle[axis]));
  Expr rounds = Expr::binary(Expr::Kind::ceil_div, pieces, {Expr::Kind::multiprocessors, 0, {}});
  Expr steps = Expr::binary(Expr::Kind::ceil_div, trips, Expr::constant(trips_of_source));
  TileCost of_tile = cost_of(tile);
  Expr cycles = Expr::binary(Expr::Kind::add,
                             Expr::binary(Expr::Kind::mul, steps, Expr::constant(of_tile.step)),
                             Expr::constant(of_tile.rest));
  return Expr::binary(Expr::Kind::mul, rounds, cycles);
}

std::string text_of(const Tile &tile, int64_t step) {
  return std::to_string(tile.rows) + "x" + std::to_string(tile.columns) + "x" +
         std::to_string(step) + " specialized";
}

// The specialised structures of a function that can be in one.
std::vector<Structure> specialized_structures(Function &fn) {
  ProductLoop product = *find_product_loop(fn).found;
  const Shape &sum = product.dot->result()->type.shape;
  int64_t own_step = product.dot->operand(0)->type.shape[1], step = best_step(fn);
  std::optional<Expr> trips = host_expression(product.loop->operand(0));
  std::optional<size_t> axes[2] = {grid_axis(fn, 0), grid_axis(fn, 1)};

  std::vector<Structure> structures;
  std::vector<Tile> candidates(std::begin(tiles), std::end(tiles));
  if (std::find(candidates.begin(), candidates.end(), Tile{sum[0], sum[1]}) == candidates.end())
    candidates.push_back({sum[0], sum[1]});
  for (const Tile &tile : candidates) {
    int64_t wanted[2] = {tile.rows, tile.columns};
    std::vector<int64_t> bundle(3, 1);
    bool possible = true;
    for (size_t d = 0; d < 2; d++) {
      int64_t times = wanted[d] / sum[d];
      possible &= times >= 1 && (times == 1 || axes[d]);
      if (possible && times > 1)
        bundle[*axes[d]] *= times;
    }
    if (!possible)
      continue;
    Structure structure{
        .specialized = true, .bundle = bundle, .step = step, .name = text_of(tile, step)};
    Function tried = clone(fn);
    widen_steps(tried, structure);
    if (!try_bundling(tried, bundle))
      continue;
    remove_dead_code(tried);
    if (!can_specialize(tried))
      continue;
    if (trips)
      structure.cost = cost(structure, tile, *trips, step / own_step);
    structures.push_back(std::move(structure));
  }
  return structures;
}

bool is_product(Function &fn) {
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  return product && is_in_loops_only(*product);
}

} // namespace

std::vector<Structure> structures_for(const Function &fn, const Gpu &gpu) {
  std::vector<Structure> structures;
  if (gpu.has_wgmma) {
    Function canonical = clone(fn);
    PassObserver nobody;
    PassRunner run(canonical, nobody);
    canonicalize(run);
    if (is_product(canonical))
      structures = specialized_structures(canonical);
  }
  structures.push_back({});
  return structures;
}

} // namespace tritonc
