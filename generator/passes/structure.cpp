// Which structures a kernel is compiled in. See structure.h.
//
// Tested by tests/passes/structure_test.cpp.

#include "passes/structure.h"

#include "analysis/launch_form.h"
#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "analysis/product_loop.h"
#include "passes/bundle_programs.h"
#include "passes/pipeline.h"
#include "passes/remove_dead_code.h"
#include "passes/specialize_warps.h"
#include "passes/widen_steps.h"

#include <algorithm>
#include <span>

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
  int64_t groups = sum[0] >= 128 ? 2 : 1, bytes_along_k = a[1] * bytes_of(from);
  bool half = from == Elem::f16 || from == Elem::bf16;
  bool tf32 = from == Elem::f32 && dot.text("precision") == "tf32";
  return (half || tf32) && dot.result()->type.elem == Elem::f32 && sum[0] % 64 == 0 &&
         sum[1] >= 16 && sum[1] <= 256 && bytes_along_k >= 32 &&
         sum[0] * sum[1] / (128 * groups) <= most_sums_of_a_thread;
}

// Whether the copy engine can load factor `number`, and the tensor cores read it: only of 16-bit
// elements do they take factors whose neighbours are not neighbours along K.
bool fits_copies(const Function &fn, const ProductLoop &product, int number) {
  const LoadedFactor &factor = product.factors[number];
  const Op &load = *factor.load;
  const Value *other = load.operand_or_null(2);
  std::optional<TensorAccess> access =
      tensor_access(load.operand(0), load.operand_or_null(1)).access;
  const Type &tile = load.result()->type;
  int64_t k = factor.perm[number == 0 ? 1 : 0];
  return access && (!other || is_zero(other)) && starts_at_chunks(*access, tile.elem, fn) &&
         (bytes_of(tile.elem) == 2 || access->contiguous == k) &&
         panel_row_bytes(tile.shape, access->contiguous, bytes_of(tile.elem)) > 0;
}

// Whether warps that copy can load factor `number` element by element, and store it as the tensor
// cores read it.
bool fits_copies_by_threads(const ProductLoop &product, int number) {
  const Op &load = *product.factors[number].load;
  const Type &tile = load.result()->type;
  const Value *view = load.operand(0), *mask = load.operand_or_null(1);
  const Value *other = load.operand_or_null(2);
  std::optional<int> along = view->type.is_view() ? contiguous_axis(view) : std::nullopt;
  return along && bytes_of(tile.elem) == 2 && (!mask || bounds_of(mask, tile.rank())) &&
         (!other || is_zero(other)) && panel_row_bytes(tile.shape, *along, bytes_of(tile.elem)) > 0;
}

// Whether a launch may find that the copy engine does not take what is loaded or stored: nobody has
// promised that it starts at 16 bytes, and each of its rows.
bool may_lack_map(const Function &fn, const Op &access) {
  constexpr int64_t chunk_bytes = 16;
  const Value *pointers = access.operand(0);
  std::optional<TensorAccess> tensor =
      tensor_access(pointers, access.operand_or_null(access.is(Opcode::load_) ? 1 : 2)).access;
  if (!tensor)
    return false; // then none is made
  int64_t bytes = bytes_of(pointers->type.elem);
  bool aligned = divisor_of(tensor->offset, fn) * bytes % chunk_bytes == 0;
  for (size_t d = 0; d < tensor->strides.size(); d++)
    aligned &= int(d) == tensor->contiguous ||
               divisor_of(tensor->strides[d], fn) * bytes % chunk_bytes == 0;
  for (const Parameter &parameter : fn.parameters)
    aligned &= parameter.value != tensor->base || parameter.aligned_bytes % chunk_bytes == 0;
  return !aligned;
}

bool may_lack_maps(Function &fn) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::load_) || op.is(Opcode::store_))
      found |= op.operand(0)->type.is_view() && may_lack_map(fn, op);
  });
  return found;
}

// Whether something else may store to what is loaded through `pointers`: the copy engine loads when
// it likes.
bool is_stored_to(Function &fn, const Value *pointers) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) {
    if (info(op.code).effect == Effect::write)
      found |= !root_of(op.operand(0)) || root_of(op.operand(0)) == root_of(pointers);
  });
  return found;
}

// Whether whoever copies can compute where from, and what is masked off: from parameters and the
// counters of the loops around.
bool can_be_followed(Function &fn, const ProductLoop &product) {
  std::set<const Value *> counters;
  for (const Op *loop = product.loop; loop; loop = loop->parent->parent)
    counters.insert(loop->blocks[0]->arguments[0]);
  for (const Op *loop = product.loop; loop; loop = loop->parent->parent)
    if (!can_clone(loop->operand(0), fn.body, counters))
      return false;
  return std::all_of(std::begin(product.factors), std::end(product.factors),
                     [&](const LoadedFactor &factor) {
                       const Value *mask = factor.load->operand_or_null(1);
                       return can_clone(factor.load->operand(0), fn.body, counters) &&
                              (!mask || can_clone(mask, fn.body, counters));
                     });
}

bool can_specialize(Function &fn, const Gpu &gpu, int copying_warps) {
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  if (!product || !is_in_loops_only(*product) || !fits_wgmma(*product->dot) ||
      !can_be_followed(fn, *product) || ring_slots(fn, *product, gpu, 1) < least_ring_slots)
    return false;
  for (int number : {0, 1})
    if (!(copying_warps ? fits_copies_by_threads(*product, number)
                        : fits_copies(fn, *product, number)) ||
        is_stored_to(fn, product->factors[number].load->operand(0)))
      return false;
  return true;
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
  if (load.operand_or_null(2) && !is_zero(load.operand(2)))
    return false;
  if (!load.operand_or_null(1))
    return true;
  std::optional<std::vector<Bound>> bounds = bounds_of(load.operand(1), load.result()->type.rank());
  return bounds && std::all_of(bounds->begin(), bounds->end(), [&](const Bound &bound) {
           return growth(bound.before).is_constant(bound.axis == int(k) ? step : 0);
         });
}

// The step along K that fills a row of shared memory; nothing if the product can't be made to take
// other steps than the source's.
std::optional<int64_t> best_step(Function &fn) {
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
  if (!changes_nothing_else || !moves_along_k(product, 0) || !moves_along_k(product, 1))
    return std::nullopt;
  return std::max(row_bytes / bytes_of(factor.elem), factor.shape[1]);
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

// What a block computes at a time, and how many rows of shared memory long its steps along K are.
struct Tile {
  int64_t rows, columns, k_rows;
};

// From the one that moves the fewest bytes for each sum to the one that has work for the most
// multiprocessors. `step` and `rest`: nanoseconds of a multiprocessor for 128 bytes along K, and
// for what comes before and after all steps, as measured on an H200 (driver 580.159.04, f16,
// 2026-11-21). wgmma and the copies that feed it share the bandwidth of shared memory, which is why
// smaller tiles take longer than their share.
struct MeasuredTile {
  Tile tile;
  int64_t step, rest;
  int copying_warps = 0; // by threads
};
constexpr MeasuredTile tiles[] = {
    {{128, 256, 1}, 711, 1500}, {{128, 128, 1}, 456, 570}, {{64, 256, 1}, 430, 750},
    {{64, 128, 1}, 217, 560},   {{64, 64, 2}, 153, 320},
};

// The same where threads copy, element by element at worst, as which it was measured. What limits
// is how many loads are under way, so there are as many of these threads as there are registers
// for.
constexpr MeasuredTile tiles_by_threads[] = {
    {{128, 256, 1}, 2830, 1900, 4},
    {{128, 128, 1}, 1240, 5600, 8},
    {{64, 128, 1}, 930, 4250, 8},
    {{64, 64, 1}, 630, 3700, 8},
};

// --- Cost ----------------------------------------------------------------------------------------

Expr operator*(Expr a, Expr b) { return Expr::binary(Expr::Kind::mul, std::move(a), std::move(b)); }
Expr operator+(Expr a, Expr b) { return Expr::binary(Expr::Kind::add, std::move(a), std::move(b)); }
Expr number(int64_t value) { return Expr::constant(value); }
Expr div_up(Expr a, Expr b) {
  return Expr::binary(Expr::Kind::ceil_div, std::move(a), std::move(b));
}
Expr programs(size_t axis) { return {Expr::Kind::programs, int64_t(axis), {}}; }

// What the host knows of a product: its rows and columns, K, and the bytes of an element.
struct Problem {
  Expr rows, columns, k;
  int64_t bytes;
};

// Nanoseconds of a launch: so many rounds of blocks, each as long as its steps take; but not less
// than reading and writing everything once takes.
Expr cost(const Structure &structure, const MeasuredTile &measured, const Problem &problem) {
  constexpr int64_t bytes_per_ns = 4000, row_bytes = 128;
  Expr pieces = number(1);
  for (size_t axis : {0, 1, 2})
    pieces = pieces * div_up(programs(axis), number(structure.bundle[axis]));
  Expr rounds = div_up(pieces, {Expr::Kind::multiprocessors, 0, {}});
  Expr steps = div_up(problem.k * number(problem.bytes), number(row_bytes));
  Expr by_steps = rounds * (steps * number(measured.step) + number(measured.rest));
  Expr elements = (problem.rows + problem.columns) * problem.k + problem.rows * problem.columns;
  Expr by_bytes = div_up(elements * number(problem.bytes), number(bytes_per_ns));
  return Expr::binary(Expr::Kind::max, by_steps, by_bytes);
}

std::string text_of(const Tile &tile, int64_t step, int copying_warps) {
  return std::to_string(tile.rows) + "x" + std::to_string(tile.columns) + "x" +
         std::to_string(step) + " specialized" + (copying_warps ? ", copied by threads" : "");
}

// The structure for `tile`, if the function can be in it.
std::optional<Structure> specialized_structure(const Function &fn, const Tile &tile,
                                               int copying_warps,
                                               const std::optional<size_t> (&axes)[2],
                                               std::optional<int64_t> row_of_k, const Gpu &gpu) {
  if (!row_of_k && tile.k_rows > 1)
    return std::nullopt;
  Function tried = clone(fn);
  const Shape sum = find_product_loop(tried).found->dot->result()->type.shape;
  int64_t wanted[2] = {tile.rows, tile.columns};
  std::vector<int64_t> bundle(3, 1);
  for (size_t d = 0; d < 2; d++) {
    int64_t times = wanted[d] / sum[d];
    if (times < 1 || (times > 1 && !axes[d]))
      return std::nullopt;
    if (times > 1)
      bundle[*axes[d]] *= times;
  }
  Structure structure{.specialized = true,
                      .copying_warps = copying_warps,
                      .bundle = bundle,
                      .step = row_of_k.value_or(0) * tile.k_rows};
  widen_steps(tried, structure);
  if (!try_bundling(tried, bundle))
    return std::nullopt;
  remove_dead_code(tried);
  if (!can_specialize(tried, gpu, copying_warps))
    return std::nullopt;
  structure.name =
      text_of(tile, find_product_loop(tried).found->dot->operand(0)->type.shape[1], copying_warps);
  return structure;
}

std::vector<Structure> specialized_structures(Function &fn, std::span<const MeasuredTile> tiles,
                                              const Gpu &gpu) {
  ProductLoop product = *find_product_loop(fn).found;
  const Shape &sum = product.dot->result()->type.shape;
  int64_t own_step = product.dot->operand(0)->type.shape[1];
  std::optional<int64_t> row_of_k = best_step(fn);
  const std::optional<size_t> axes[2] = {grid_axis(fn, 0), grid_axis(fn, 1)};

  std::vector<Structure> structures;
  std::optional<Expr> trips = host_expression(product.loop->operand(0));
  for (const MeasuredTile &measured : tiles) {
    std::optional<Structure> structure =
        specialized_structure(fn, measured.tile, measured.copying_warps, axes, row_of_k, gpu);
    if (!structure)
      continue;
    if (trips && axes[0] && axes[1])
      structure->cost = cost(*structure, measured,
                             {.rows = programs(*axes[0]) * number(sum[0]),
                              .columns = programs(*axes[1]) * number(sum[1]),
                              .k = *trips * number(own_step),
                              .bytes = bytes_of(product.dot->operand(0)->type.elem)});
    structures.push_back(std::move(*structure));
  }
  // Without a cost there is no telling which is best: the largest, or the source's own tile.
  if (structures.empty())
    for (std::optional<int64_t> row : {row_of_k, std::optional<int64_t>()})
      if (auto own = specialized_structure(fn, {sum[0], sum[1], 1}, tiles[0].copying_warps, axes,
                                           row, gpu);
          own && structures.empty())
        structures.push_back(std::move(*own));
  if (!structures.empty() && !structures[0].cost)
    structures.resize(1);
  return structures;
}

// Those in which the copy engine brings the factors, and those for when it can't.
std::vector<Structure> specialized_structures(Function &fn, const Gpu &gpu) {
  std::vector<Structure> structures = specialized_structures(fn, tiles, gpu);
  if (structures.empty() || may_lack_maps(fn))
    for (Structure &structure : specialized_structures(fn, tiles_by_threads, gpu))
      structures.push_back(std::move(structure));
  return structures;
}

bool is_product(Function &fn) {
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  return product && is_in_loops_only(*product);
}

} // namespace

namespace {

Function canonical_form(const Function &fn) {
  Function canonical = clone(fn);
  PassObserver nobody;
  PassRunner run(canonical, nobody);
  canonicalize(run);
  return canonical;
}

Obstacle obstacle_of(NoProductLoop why) {
  switch (why) {
  case NoProductLoop::several_dots:
    return {ObstacleKind::several_products};
  case NoProductLoop::not_loaded:
    return {ObstacleKind::not_loaded};
  default:
    return {ObstacleKind::no_product};
  }
}

std::optional<Obstacle> obstacle_of(Function &fn, const ProductLoop &product, int number) {
  const LoadedFactor &factor = product.factors[number];
  const Op &load = *factor.load;
  TensorAccessResult access = tensor_access(load.operand(0), load.operand_or_null(1));
  const Value *root = root_of(load.operand(0));
  std::string name = root ? root->name : "";
  if (!access.access)
    return Obstacle{ObstacleKind::access, name, access.why};
  if (!starts_at_chunks(*access.access, load.result()->type.elem, fn))
    return Obstacle{ObstacleKind::access, name, NoTensor::strange_offset};
  if (is_stored_to(fn, load.operand(0)))
    return Obstacle{ObstacleKind::stored_to, name};
  bool along_k = access.access->contiguous == factor.perm[number == 0 ? 1 : 0];
  if (bytes_of(load.result()->type.elem) != 2 && !along_k)
    return Obstacle{ObstacleKind::not_along_k, name};
  return std::nullopt;
}

} // namespace

std::optional<Obstacle> find_obstacle(const Function &source, const Gpu &gpu) {
  if (!gpu.has_wgmma)
    return Obstacle{ObstacleKind::gpu};
  Function fn = canonical_form(source);
  ProductLoopResult product = find_product_loop(fn);
  if (!product.found)
    return obstacle_of(product.why);
  if (!is_in_loops_only(*product.found))
    return Obstacle{ObstacleKind::loops};
  const Op &dot = *product.found->dot;
  bool known_type = bytes_of(dot.operand(0)->type.elem) == 2 || dot.text("precision") == "tf32";
  if (!known_type || dot.result()->type.elem != Elem::f32)
    return Obstacle{ObstacleKind::type};
  for (int number : {0, 1})
    if (std::optional<Obstacle> found = obstacle_of(fn, *product.found, number))
      return found;
  if (!specialized_structures(fn, gpu).empty())
    return std::nullopt;
  if (!can_be_followed(fn, *product.found))
    return Obstacle{ObstacleKind::computed};
  if (ring_slots(fn, *product.found, gpu, 1) < least_ring_slots)
    return Obstacle{ObstacleKind::shared_memory};
  return Obstacle{ObstacleKind::tile};
}

std::vector<std::pair<std::string, int64_t>> unpromised_multiples(const Function &source) {
  constexpr int64_t chunk = 16;
  Function fn = canonical_form(source);
  std::vector<std::pair<std::string, int64_t>> found;
  for_each_op(*fn.body, [&](const Op &op) {
    bool accesses = op.is(Opcode::load_) || op.is(Opcode::store_);
    if (!accesses || op.operand(0)->type.is_scalar())
      return;
    int64_t multiple = chunk / bytes_of(op.operand(0)->type.elem);
    std::optional<Affine> form = affine_of(op.operand(0));
    for (size_t d = 0; form && d < form->strides.size(); d++)
      for (const auto &[monomial, coefficient] : form->strides[d].terms)
        if (monomial.size() == 1 && coefficient == 1 &&
            divisor_of(form->strides[d], fn) % multiple != 0) {
          std::pair<std::string, int64_t> entry{monomial[0]->name, multiple};
          if (std::find(found.begin(), found.end(), entry) == found.end())
            found.push_back(entry);
        }
  });
  return found;
}

std::vector<Structure> structures_for(const Function &fn, const Gpu &gpu) {
  std::vector<Structure> structures;
  if (gpu.has_wgmma) {
    Function canonical = canonical_form(fn);
    if (is_product(canonical))
      structures = specialized_structures(canonical, gpu);
  }
  structures.push_back({});
  return structures;
}

} // namespace tritonc
