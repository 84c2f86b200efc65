// Which structures a kernel is compiled in. See structure.h.
//
// Tested by tests/passes/structure_test.cpp.

#include "passes/structure.h"

#include "analysis/launch_form.h"
#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "analysis/product_loop.h"
#include "passes/bundle_programs.h"
#include "passes/choose_dots.h"
#include "passes/pipeline.h"
#include "passes/pipeline_loops.h"
#include "passes/remove_dead_code.h"
#include "passes/specialize_warps.h"
#include "passes/split_sums.h"
#include "passes/stage_operands.h"
#include "passes/swap_factors.h"
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

// Whether wgmma has products of this type, with such sums.
bool is_type_of_wgmma(const Op &dot) {
  Elem from = dot.operand(0)->type.elem, to = dot.result()->type.elem;
  if (from == Elem::i8)
    return to == Elem::i32;
  bool is_tf32 = from == Elem::f32 && dot.text("precision") == "tf32";
  bool is_narrow = is_float(from) && bits_of(from) <= 16;
  return (is_narrow || is_tf32) && to == Elem::f32;
}

// Whether wgmma can multiply these tiles.
bool fits_wgmma(const Op &dot) {
  Elem from = dot.operand(0)->type.elem;
  const Shape &a = dot.operand(0)->type.shape, &sum = dot.result()->type.shape;
  int64_t groups = sum[0] >= 128 ? 2 : 1, bytes_along_k = a[1] * bytes_of(from);
  return is_type_of_wgmma(dot) && sum[0] % 64 == 0 && sum[1] >= 16 && sum[1] <= 256 &&
         bytes_along_k >= 32 && sum[0] * sum[1] / (128 * groups) <= most_sums_of_a_thread;
}

// Whether the neighbours of factor `number` are neighbours along K.
bool lies_along_k(const LoadedFactor &factor, const TensorAccess &access, int number) {
  return access.contiguous == factor.perm[number == 0 ? 1 : 0];
}

// Whether the left factor may come from registers, element by element. Four numbers of 8 bits would
// have to be put together for each of them.
bool fits_registers(Elem elem) { return elem == Elem::f32; }

// Whether the copy engine can load factor `number`, and the tensor cores read it. What they read
// from shared memory has neighbours along K, or 16-bit elements; the left factor can also come from
// registers.
bool fits_copies(const Function &fn, const ProductLoop &product, int number) {
  const LoadedFactor &factor = product.factors[number];
  const Op &load = *factor.load;
  const Value *other = load.operand_or_null(2);
  std::optional<TensorAccess> access =
      tensor_access(load.operand(0), load.operand_or_null(1)).access;
  const Type &tile = load.result()->type;
  return access && (!other || is_zero(other)) && starts_at_chunks(*access, tile.elem, fn) &&
         (bytes_of(tile.elem) == 2 || lies_along_k(factor, *access, number) ||
          (number == 0 && fits_registers(tile.elem))) &&
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

// The step along K that fills a row of shared memory; nothing if the product can't be made to take
// other steps than the source's.
std::optional<int64_t> best_step(Function &fn) {
  constexpr int64_t row_bytes = 128;
  if (!has_free_steps(fn))
    return std::nullopt;
  const Type factor = find_product_loop(fn).found->dot->operand(0)->type;
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

// What a block computes at a time, how many rows of shared memory long its steps along K are, and
// how many blocks divide the steps among them.
struct Tile {
  int64_t rows, columns, k_rows, splits = 1;

  int64_t elements() const { return rows * columns; }
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
    {{128, 256, 1}, 711, 1500},
    {{128, 128, 1}, 456, 570},
    {{64, 256, 1}, 430, 750},
    {{64, 128, 1}, 217, 560},
    {{64, 64, 2}, 153, 320},
    // Adding what the blocks of a cluster have takes as long as its way between multiprocessors.
    {{128, 128, 1, 4}, 456, 5900},
    {{64, 128, 1, 2}, 217, 2500},
    {{64, 64, 2, 4}, 153, 2200},
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

// How many pieces of work there can be at once. The multiprocessors of an H200 are in groups of at
// most 18, and a cluster lies within one: of clusters of four there are four in each.
Expr pieces_at_once(int64_t splits) {
  constexpr int64_t group = 18;
  Expr all = {Expr::Kind::multiprocessors, 0, {}};
  if (splits == 1)
    return all;
  return Expr::binary(Expr::Kind::div, all * number(group / splits), number(group));
}

Expr pieces_of(const std::vector<int64_t> &bundle) {
  Expr pieces = number(1);
  for (size_t axis : {0, 1, 2})
    pieces = pieces * div_up(programs(axis), number(bundle[axis]));
  return pieces;
}

// How many bundles of programs the busiest multiprocessor has to carry out.
Expr pieces_of_a_multiprocessor(const std::vector<int64_t> &bundle) {
  return div_up(pieces_of(bundle), pieces_at_once(1));
}

// 128 bytes along K each.
Expr steps_of(const Problem &problem, int64_t splits = 1) {
  constexpr int64_t row_bytes = 128;
  return div_up(problem.k * number(problem.bytes), number(row_bytes * splits));
}

// Nanoseconds of so many rounds of blocks.
Expr cost_of_rounds(Expr rounds, const MeasuredTile &tile, const Problem &problem) {
  Expr steps = steps_of(problem, tile.tile.splits);
  return std::move(rounds) * (std::move(steps) * number(tile.step) + number(tile.rest));
}

// Nanoseconds of a launch: as long as its steps take, but not less than reading and writing
// everything once takes. What is done sooner with its steps has more time to wait for memory in.
Expr cost_of_launch(const Expr &by_steps, const Problem &problem, int64_t bytes_per_ns = 4000) {
  Expr elements = (problem.rows + problem.columns) * problem.k + problem.rows * problem.columns;
  Expr by_bytes = div_up(elements * number(problem.bytes), number(bytes_per_ns));
  return Expr::binary(Expr::Kind::max, by_steps, by_bytes) +
         Expr::binary(Expr::Kind::div, by_steps, number(16));
}

Expr cost(const Structure &structure, const MeasuredTile &tile, const Problem &problem) {
  Expr rounds = div_up(pieces_of(structure.bundle), pieces_at_once(structure.splits));
  return cost_of_launch(cost_of_rounds(std::move(rounds), tile, problem), problem);
}

// The same for the plain structure and 16-bit factors: its programs start sooner than specialised
// blocks, but mma.sync and the copies of threads are slower. Measured like `tiles`, of 32 x 32 to
// 128 x 128 sums of a program.
Expr cost_of_plain(const Shape &sum, const Problem &problem) {
  constexpr int64_t step = 80, sums_per_ns = 27, rest = 150, bytes_per_ns = 3000;
  Expr pieces = programs(0) * programs(1) * programs(2);
  MeasuredTile tile{{sum[0], sum[1], 1}, step + sum[0] * sum[1] / sums_per_ns, rest};
  Expr by_steps = cost_of_rounds(div_up(pieces, pieces_at_once(1)), tile, problem);
  return cost_of_launch(by_steps, problem, bytes_per_ns);
}

// Whether only the right factor must come from registers: the product has to be swapped for that.
bool is_better_swapped(const ProductLoop &product) {
  bool along_k[2];
  for (int number : {0, 1}) {
    const LoadedFactor &factor = product.factors[number];
    const Op &load = *factor.load;
    std::optional<TensorAccess> access =
        tensor_access(load.operand(0), load.operand_or_null(1)).access;
    along_k[number] = access && lies_along_k(factor, *access, number);
  }
  return fits_registers(product.dot->operand(0)->type.elem) && along_k[0] && !along_k[1];
}

// What the host knows of the product; nothing if that is too little.
std::optional<Problem> problem_of(const ProductLoop &product,
                                  const std::optional<size_t> (&axes)[2]) {
  std::optional<Expr> trips = host_expression(product.loop->operand(0));
  if (!trips || !axes[0] || !axes[1])
    return std::nullopt;
  const Shape &sum = product.dot->result()->type.shape, &a = product.dot->operand(0)->type.shape;
  return Problem{.rows = programs(*axes[0]) * number(sum[0]),
                 .columns = programs(*axes[1]) * number(sum[1]),
                 .k = *trips * number(a[1]),
                 .bytes = bytes_of(product.dot->operand(0)->type.elem)};
}

std::string name_of(const Tile &tile, int64_t step) {
  return std::to_string(tile.rows) + "x" + std::to_string(tile.columns) + "x" +
         std::to_string(step);
}

// How many programs of the function, along each axis of the grid, have sums of `wanted` together.
std::optional<std::vector<int64_t>> bundle_of(const Function &fn, const Tile &wanted,
                                              const std::optional<size_t> (&axes)[2]) {
  Function looked_at = clone(fn);
  const Shape sum = find_product_loop(looked_at).found->dot->result()->type.shape;
  int64_t extents[2] = {wanted.rows, wanted.columns};
  std::vector<int64_t> bundle(3, 1);
  for (size_t d = 0; d < 2; d++) {
    int64_t times = extents[d] / sum[d];
    if (times < 1 || (times > 1 && !axes[d]))
      return std::nullopt;
    if (times > 1)
      bundle[*axes[d]] *= times;
  }
  return bundle;
}

// The structure for `tile`, if the function can be in it.
std::optional<Structure> specialized_structure(const Function &fn, const Tile &tile,
                                               int copying_warps,
                                               const std::optional<size_t> (&axes)[2],
                                               std::optional<int64_t> row_of_k, const Gpu &gpu) {
  if (!row_of_k && (tile.k_rows > 1 || tile.splits > 1))
    return std::nullopt;
  Function tried = clone(fn);
  bool swapped = !copying_warps && is_better_swapped(*find_product_loop(tried).found);
  Tile wanted = tile;
  if (swapped)
    std::swap(wanted.rows, wanted.columns);
  std::optional<std::vector<int64_t>> bundle = bundle_of(fn, wanted, axes);
  if (!bundle)
    return std::nullopt;
  Structure structure{.specialized = true,
                      .copying_warps = copying_warps,
                      .bundle = *bundle,
                      .step = row_of_k.value_or(0) * tile.k_rows,
                      .swapped = swapped,
                      .splits = tile.splits};
  widen_steps(tried, structure);
  if (!try_bundling(tried, *bundle))
    return std::nullopt;
  remove_dead_code(tried);
  swap_factors(tried, structure);
  if (!can_specialize(tried, gpu, copying_warps) || (tile.splits > 1 && !can_split_sums(tried)))
    return std::nullopt;
  const Shape a = find_product_loop(tried).found->dot->operand(0)->type.shape;
  structure.name = name_of(wanted, a[1]) + " specialized";
  if (tile.splits > 1)
    structure.name += ", split " + std::to_string(tile.splits);
  if (copying_warps)
    structure.name += ", copied by threads";
  return structure;
}

// A structure that has a cost, and the tile that it has it by.
struct Candidate {
  Structure structure;
  MeasuredTile tile;
};

// Two structures that share the work: `large` in full rounds, and what is left of it cut into
// pieces like those of `small`. Nothing if these don't fit into each other.
std::vector<Structure> shared_work(const Candidate &large, const Candidate &small,
                                   const Problem &problem) {
  constexpr int64_t second_launch = 3000; // nanoseconds
  Structure first = large.structure, second = small.structure;
  for (size_t axis = 0; axis < 3; axis++) {
    if (first.bundle[axis] % second.bundle[axis] != 0)
      return {};
    second.cuts.push_back(first.bundle[axis] / second.bundle[axis]);
  }
  Expr pieces = pieces_of(first.bundle), at_once = pieces_at_once(1);
  Expr full = Expr::binary(Expr::Kind::div, pieces, at_once);
  Expr left = Expr::binary(Expr::Kind::rem, pieces, at_once);
  for (int64_t cuts : second.cuts)
    left = left * number(cuts);
  Expr by_steps = cost_of_rounds(full, large.tile, problem) +
                  cost_of_rounds(div_up(left, at_once), small.tile, problem) +
                  number(second_launch);
  first.share = Structure::Share::full_rounds;
  second.share = Structure::Share::rest;
  first.cost = cost_of_launch(by_steps, problem);
  second.cost.reset();
  second.name += ", for the rest of " + first.name;
  first.name += ", full rounds";
  return {first, second};
}

// What is known of a function before a tile is chosen.
struct Setting {
  Function &fn;
  ProductLoop product = *find_product_loop(fn).found;
  std::optional<int64_t> row_of_k = best_step(fn);
  std::optional<size_t> axes[2] = {grid_axis(fn, 0), grid_axis(fn, 1)};
  std::optional<Problem> problem = problem_of(product, axes);
};

// The structures for `tiles`; one without a cost if none of them will do, or nothing is known that
// could be compared.
std::vector<Structure> specialized_structures(const Setting &known,
                                              std::span<const MeasuredTile> tiles, const Gpu &gpu) {
  const Shape &sum = known.product.dot->result()->type.shape;
  const int copying_warps = tiles[0].copying_warps;
  std::vector<Structure> structures;
  std::vector<Candidate> candidates; // that may share the work
  for (const MeasuredTile &measured : tiles) {
    std::optional<Structure> structure = specialized_structure(
        known.fn, measured.tile, measured.copying_warps, known.axes, known.row_of_k, gpu);
    if (!structure)
      continue;
    if (known.problem)
      structure->cost = cost(*structure, measured, *known.problem);
    if (known.problem && measured.tile.splits == 1 && !copying_warps)
      candidates.push_back({*structure, measured});
    structures.push_back(std::move(*structure));
  }
  // What is left after full rounds of the largest pieces is done in the smallest.
  constexpr int64_t smallest = 64 * 64;
  if (candidates.size() > 1 && candidates.back().tile.tile.elements() == smallest)
    for (Structure &share : shared_work(candidates.front(), candidates.back(), *known.problem))
      structures.push_back(std::move(share));
  // Without a cost there is no telling which is best: the largest, or the source's own tile.
  if (structures.empty())
    for (std::optional<int64_t> row : {known.row_of_k, std::optional<int64_t>()}) {
      Tile whole = {sum[0], sum[1], 1};
      if (!copying_warps && is_better_swapped(known.product))
        std::swap(whole.rows, whole.columns);
      if (auto own = specialized_structure(known.fn, whole, copying_warps, known.axes, row, gpu);
          own && structures.empty())
        structures.push_back(std::move(*own));
    }
  if (!structures.empty() && !structures[0].cost)
    structures.resize(1);
  return structures;
}

// All structures of a product that has specialised ones, else none: those in which the copy engine
// brings the factors, those for when it can't, and the plain one. Only without the second is it
// known what the plain one costs, which is measured with factors that lie as the copy engine wants.
std::vector<Structure> product_structures(Function &fn, const Gpu &gpu) {
  Setting known{fn};
  std::vector<Structure> structures = specialized_structures(known, tiles, gpu);
  bool by_threads = false;
  if (structures.empty() || may_lack_maps(fn))
    for (Structure &structure : specialized_structures(known, tiles_by_threads, gpu)) {
      // One without a cost would seem to be the best of those that have one.
      if (!structures.empty() && structures[0].cost && !structure.cost)
        continue;
      structures.push_back(std::move(structure));
      by_threads = true;
    }
  if (structures.empty())
    return structures;
  Structure plain;
  if (structures[0].cost && known.problem->bytes == 2 && !by_threads)
    plain.cost = cost_of_plain(known.product.dot->result()->type.shape, *known.problem);
  structures.push_back(std::move(plain));
  return structures;
}

// --- Without wgmma -------------------------------------------------------------------------------

// All warps of a block copy by cp.async and multiply by mma. The larger the block's tile, the less
// it takes from shared memory for each sum: a multiprocessor has room for the sums of one tile of
// 128 x 256, or of two programs of 128 x 128. As measured on an H200 without wgmma (driver
// 580.159.04, f16, 2026-11-22); of other GPUs it is not known, but it is the ratio that counts.
constexpr MeasuredTile large = {{128, 256, 1}, 1060, 1500};
constexpr int64_t step_of_programs = 1145; // for as many sums, in programs of 128 x 128

// Whether everything that the product loads goes to shared memory by cp.async, in a ring of three
// slots at least, and is multiplied by tensor cores: through registers it would be too much.
bool fits_ring(Function &fn, const Gpu &gpu, const Structure &structure) {
  constexpr int64_t least_slots = 3;
  choose_dots(fn, gpu, structure);
  stage_operands(fn);
  remove_dead_code(fn);
  pipeline_loops(fn, gpu, structure);
  bool fits = true;
  for_each_op(*fn.body, [&](const Op &op) {
    fits &= !op.is(Opcode::load_) || op.operand(0)->type.is_scalar();
    if (op.is(Opcode::dot_))
      fits &= dot_instruction(op).tensor_core;
    if (op.is(Opcode::shared_alloc_))
      fits &= op.result()->type.shape[0] >= least_slots;
  });
  return fits;
}

// The structure of the large tile, with steps as long as three slots have room for.
std::optional<Structure> bundled_structure(const Function &fn,
                                           const std::optional<size_t> (&axes)[2],
                                           std::optional<int64_t> row_of_k, const Gpu &gpu) {
  std::optional<std::vector<int64_t>> bundle = bundle_of(fn, large.tile, axes);
  if (!bundle || std::all_of(bundle->begin(), bundle->end(), [](int64_t n) { return n == 1; }))
    return std::nullopt;
  int64_t longest = row_of_k.value_or(0);
  for (int64_t step : {longest, longest / 2}) {
    Function tried = clone(fn);
    Structure structure{.bundle = *bundle, .step = step};
    widen_steps(tried, structure);
    if (!try_bundling(tried, *bundle))
      return std::nullopt;
    remove_dead_code(tried);
    const Shape a = find_product_loop(tried).found->dot->operand(0)->type.shape;
    structure.name = name_of(large.tile, a[1]);
    if (fits_ring(tried, gpu, structure))
      return structure;
  }
  return std::nullopt;
}

// Products without tensor cores repeat a step in the text for each of its columns. With more than
// so many instructions a loop waits for the instruction cache: on an H200 (driver 580.159.04, f32,
// 2026-11-22) 4 % of the time with twice as many. Nobody knows how it is without cp.async.
Structure plain_structure(Function &fn, const Gpu &gpu) {
  constexpr int64_t most_instructions = 1024, least_columns = 8;
  Function tried = clone(fn);
  choose_dots(tried, gpu);
  const Op &dot = *find_product_loop(tried).found->dot;
  int64_t sums = std::max<int64_t>(dot.result()->type.elements() / (32 * tried.warps), 1);
  int64_t columns = std::max(most_instructions / sums, least_columns);
  bool is_long = !dot_instruction(dot).tensor_core && dot.operand(0)->type.shape[1] > columns;
  return {.step = is_long && gpu.has_cp_async && has_free_steps(fn) ? columns : 0};
}

// The bundle and the plain structure, with what both cost.
std::vector<Structure> bundled_structures(Function &fn, const Gpu &gpu) {
  ProductLoop product = *find_product_loop(fn).found;
  const Shape sum = product.dot->result()->type.shape;
  const std::optional<size_t> axes[2] = {grid_axis(fn, 0), grid_axis(fn, 1)};
  std::optional<Problem> problem = problem_of(product, axes);
  std::optional<Structure> bundled = bundled_structure(fn, axes, best_step(fn), gpu);
  if (!bundled || !problem)
    return {plain_structure(fn, gpu)};
  bundled->cost = cost(*bundled, large, *problem);
  Structure plain;
  Expr sums = pieces_of_a_multiprocessor({1, 1, 1}) * number(sum[0] * sum[1] * step_of_programs);
  Expr by_steps =
      steps_of(*problem) * div_up(sums, number(large.tile.elements())) + number(large.rest);
  plain.cost = cost_of_launch(by_steps, *problem);
  return {*bundled, plain};
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
  return std::nullopt;
}

// The right factor, if the left one has no neighbours along K either and would need to.
std::optional<Obstacle> not_along_k(const ProductLoop &product) {
  int along_k = 0;
  const Value *root = nullptr; // of the last one that is not
  for (int number : {0, 1}) {
    const LoadedFactor &factor = product.factors[number];
    const Op &load = *factor.load;
    TensorAccess access = *tensor_access(load.operand(0), load.operand_or_null(1)).access;
    if (bytes_of(load.result()->type.elem) == 2 || lies_along_k(factor, access, number))
      along_k++;
    else
      root = root_of(load.operand(0));
  }
  Elem elem = product.dot->operand(0)->type.elem;
  if (along_k == 2 || (along_k == 1 && fits_registers(elem)))
    return std::nullopt;
  return Obstacle{ObstacleKind::not_along_k, root ? root->name : ""};
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
  if (!is_type_of_wgmma(dot))
    return Obstacle{ObstacleKind::type};
  for (int number : {0, 1})
    if (std::optional<Obstacle> found = obstacle_of(fn, *product.found, number))
      return found;
  if (std::optional<Obstacle> found = not_along_k(*product.found))
    return found;
  if (!product_structures(fn, gpu).empty())
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
  Function canonical = canonical_form(fn);
  if (!is_product(canonical))
    return {{}};
  std::vector<Structure> structures =
      gpu.has_wgmma ? product_structures(canonical, gpu) : bundled_structures(canonical, gpu);
  if (structures.empty())
    structures.push_back(plain_structure(canonical, gpu));
  return structures;
}

} // namespace tritonc
