// align_tiles: lets loops over a row load and store whole vectors, wherever the row starts and ends.
//
//     %sum = for_loop %n, %zero {               %first = %row*%ld rounded up to a multiple of 8
//       (%t, %acc)                              %skip = %first - %row*%ld
//       %i = range                              %length = %N - %skip rounded down to a multiple of 8
//       %m = cmp %i, %N - 64*%t {lt}            %end = load the elements before and after
//       %v = view %x, %row*%ld + 64*%t          %sum = for_loop %n, %zero {
//       %a = load %v, %m, 0 : f16[64]             (%t, %acc)
//       %s = add %acc, %a                 =>      %i = range
//       yield %s                                  %m = cmp %i, %length - 64*%t {lt}
//     }                                           %v = view %x, %first + 64*%t
//     %r = reduce %sum {op = "add"}               %a = load %v, %m, 0 : f16[64]
//                                                 ...
//                                               }
//                                               %r = add (reduce %sum), (reduce %end)
//
// Rows of odd length start at any element, so an access of 16 bytes would not be aligned. The tiles
// of the loop start at the first aligned element of the row instead, and end at the last whole
// vector. The few elements before and after them are one small tile.
//
// Other arrays may start at another element modulo a vector. An array that is only read, and whose
// first element is aligned for each row, such as the weights of a norm, is loaded as two aligned
// vectors, of which a funnel_shift takes the elements. An access through a view with {ragged} moves
// a whole vector where it finds the vector aligned and on, and single elements elsewhere.
//
// Method:  All tiles of a loop move by the same number of elements. So the pass must see all
//          operations on tiles, and a total must not depend on the elements that the mask turns off:
//          the pass evaluates their value with the mask off. The code of the loop for the small tile
//          comes before the loop; its loads come before all loops, once for all that load the same
//          elements, unless a store may change them. A sum that iterations rescale to their key
//          (associative_loop.h) is rescaled to the larger key of the tiles and the small tile.
//          Accesses that are aligned already only need {ragged} if any element may be the last.
// Needs:   canonical loops (expand_inductions) and views (form_views).
// Ensures: all loops have the same number of iterations as before.
// Limits:  moves tiles of one axis and one extent, which loops of the body access under masks with
//          one bound; the loops carry totals only. Does nothing if the first array is aligned.
//
// Tested by tests/unit/passes/align_tiles/.

#include "passes/align_tiles.h"

#include "analysis/affine.h"
#include "analysis/associative_loop.h"
#include "analysis/memory_access.h"
#include "analysis/repeated_loads.h"
#include "analysis/same_value.h"
#include "analysis/tensor_access.h"
#include "ir/builder.h"
#include "passes/merge_repeated_loads.h"
#include "passes/select_mma.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tritonc {

using namespace ir;

namespace {

int64_t elements_of_vector(Elem elem) { return widest_access_bytes / bytes_of(elem); }

bool is_tile(const Value *value) { return value->type.is_tile(); }

bool has_tiles(const Op &op) {
  return std::any_of(op.operands.begin(), op.operands.end(), is_tile) ||
         std::any_of(op.results.begin(), op.results.end(), is_tile);
}

// What a loop adds to one of its totals.
struct Added {
  const Value *value;
  const Value *key = nullptr; // of a rescaled sum: the next key, of which `value` is a formula
};

struct RowLoop {
  Op *op;
  // Comparisons: element i of iteration t is on if i + extent * t < end.
  std::vector<Op *> bounds = {};
  std::vector<AssociativeLoop::Total> totals = {};
  std::vector<Added> added = {}; // to each total

  Block &body() const { return *op->blocks[0]; }
  Value *counter() const { return body().arguments[0]; }
  bool has_bound(const Op *comparison) const {
    return std::find(bounds.begin(), bounds.end(), comparison) != bounds.end();
  }
};

// The constant that a value has where all bounds are off; nullopt: not known to be constant.
class ValuesOff {
public:
  explicit ValuesOff(const std::vector<RowLoop> &loops) {
    for (const RowLoop &loop : loops)
      for (const Op *bound : loop.bounds)
        known_[bound->result()] = 0;
  }

  std::optional<double> of(const Value *value) {
    auto [at, is_new] = known_.emplace(value, std::nullopt);
    if (is_new && value->op)
      known_[value] = of(*value->op); // `at` may be invalid
    return known_[value];
  }

private:
  std::optional<double> of(const Op &op) {
    auto operand = [&](size_t i) { return of(op.operand(i)); };
    auto both = [&](auto combine) -> std::optional<double> {
      std::optional<double> a = operand(0), b = operand(1);
      return a && b ? std::optional<double>(combine(*a, *b)) : std::nullopt;
    };
    switch (op.code) {
    case Opcode::constant_:
      return op.has(attr::number_) ? op.get(attr::number_) : double(op.get(attr::value_));
    case Opcode::splat_:
      return operand(0);
    case Opcode::cast_:
      return of_cast(operand(0), op);
    case Opcode::select_:
      if (std::optional<double> condition = operand(0))
        return operand(*condition != 0 ? 1 : 2);
      return std::nullopt;
    case Opcode::load_: {
      const Value *mask = op.operand_or_null(1), *other = op.operand_or_null(2);
      return mask && other && of(mask) == 0.0 ? of(other) : std::nullopt;
    }
    case Opcode::and_:
      if (op.result()->type.elem == Elem::i1 && (operand(0) == 0.0 || operand(1) == 0.0))
        return 0;
      return std::nullopt;
    case Opcode::add_:
      return both([](double a, double b) { return a + b; });
    case Opcode::sub_:
      return both([](double a, double b) { return a - b; });
    case Opcode::mul_:
      return both([](double a, double b) { return a * b; });
    case Opcode::max_:
      return both([](double a, double b) { return std::max(a, b); });
    case Opcode::min_:
      return both([](double a, double b) { return std::min(a, b); });
    case Opcode::reduce_:
      return of_reduction(operand(0), op);
    default:
      return std::nullopt;
    }
  }

  // Only constants that every floating-point type has.
  static std::optional<double> of_cast(std::optional<double> value, const Op &op) {
    bool is_exact = value && (*value == 0 || std::isinf(*value));
    bool widens = op.operand(0)->type.elem == op.result()->type.elem ||
                  (is_float(op.operand(0)->type.elem) &&
                   (op.result()->type.elem == Elem::f32 || op.result()->type.elem == Elem::f64));
    return is_float(op.result()->type.elem) && (is_exact || widens) ? value : std::nullopt;
  }

public:
  // Whether elements `off` leave a total by `op` as it is; `start`: what it starts from, if known.
  static bool leave_total(std::string_view op, const Type &type, std::optional<double> off,
                          std::optional<double> start) {
    if (!off)
      return false;
    if (op == "add" || op == "xor" || op == "or" || op == "umax")
      return *off == 0;
    // Infinity does not keep a total that is NaN.
    const double infinity = std::numeric_limits<double>::infinity();
    const bool is_number = start && !std::isnan(*start);
    if (is_float(type.elem) && is_number && *off == (op == "max" ? -infinity : infinity))
      return op == "max" || op == "min";
    return start && *off == *start; // min, max, umin, and: repeating the start changes nothing
  }

private:
  // Of equal elements, all reductions but sums have the same result.
  static std::optional<double> of_reduction(std::optional<double> off, const Op &op) {
    const std::string_view how = op.get(attr::op_);
    const bool repeats = how != "add" && how != "xor";
    return repeats || leave_total(how, op.result()->type, off, std::nullopt) ? off : std::nullopt;
  }

  std::map<const Value *, std::optional<double>> known_;
};

// The loops over a row whose tiles can move.
struct Row {
  Function &fn;
  int64_t extent = 0; // of the tiles
  int64_t vector = 1; // elements
  std::vector<RowLoop> loops = {};
  Poly start = {};              // the row's first element, from a multiple of 16 bytes
  std::optional<Poly> end = {}; // the number of its elements
  SameValues same = {};

  bool find() {
    for (Op *op : fn.body->ops)
      if (op->is(Opcode::for_loop_))
        loops.push_back({op});
    return !loops.empty() && has_one_extent() && find_start() && find_bounds() &&
           std::all_of(loops.begin(), loops.end(),
                       [&](const RowLoop &loop) {
                         return same(loops[0].op->operand(0), loop.op->operand(0)) &&
                                moves_with_tiles(loop);
                       }) &&
           has_totals_only();
  }

  // Whether `view` moves by `extent` elements per iteration.
  static std::optional<Poly> start_of(const Value *view, const RowLoop &loop, int64_t extent) {
    std::optional<Affine> form = affine_of(view);
    if (!form)
      return std::nullopt;
    Poly first = form->offset.substitute(loop.counter(), Poly::constant(0));
    Poly step = form->strides[0] * Poly::constant(extent) * Poly::symbol(loop.counter());
    return form->offset == first + step ? std::optional(std::move(first)) : std::nullopt;
  }

  // The type of an element's index in the row.
  Elem index_type() const { return loops[0].bounds[0]->operand(0)->type.elem; }

private:
  bool is_of_extent(const Value *value) {
    if (!is_tile(value))
      return true;
    if (!extent && value->type.rank() == 1)
      extent = value->type.shape[0];
    return value->type.shape == Shape{extent};
  }

  // Whether all operations on tiles are known, and all tiles have one extent. Before the first loop
  // no tile is computed from a range.
  bool has_one_extent() {
    bool are_known = true, is_before = true;
    for_each_op(*fn.body, [&](const Op &op) {
      const bool is_row_loop = op.is(Opcode::for_loop_) && op.parent == fn.body;
      const bool is_in_row_loop = op.parent != fn.body;
      is_before &= !is_row_loop;
      for (const std::vector<Value *> *values : {&op.operands, &op.results})
        are_known &= std::all_of(values->begin(), values->end(),
                                 [&](const Value *value) { return is_of_extent(value); });
      are_known &= op.blocks.empty() || is_row_loop;
      are_known &= !is_in_row_loop || has_tiles(op) || !has_effect(op);
      if (!has_tiles(op) || is_row_loop || op.is(Opcode::yield_))
        return;
      are_known &= is_elementwise(op) || op.is(Opcode::reduce_) ||
                   (is_in_row_loop && op.is_load_or_store() && op.operand(0)->type.is_view());
      are_known &= !is_before || std::none_of(op.operands.begin(), op.operands.end(), is_tile);
    });
    return are_known && extent;
  }

  static bool has_effect(const Op &op) {
    const Effect effect = info(op.code).effect;
    return effect != Effect::pure && effect != Effect::control;
  }

  // Finds the first access that is not aligned, though its array is.
  bool find_start() {
    for (const RowLoop &loop : loops)
      for (const Op *op : loop.body().ops) {
        if (!op->is_load_or_store())
          continue;
        const Value *view = op->operand(0);
        std::optional<Poly> first = start_of(view, loop, extent);
        std::optional<Affine> form = affine_of(view);
        const int64_t elements = elements_of_vector(view->type.elem);
        if (!first || !comes_before_loops(*first))
          return false;
        vector = std::max(vector, elements);
        const bool is_candidate = start.is_zero() && form->strides[0].is_constant(1) &&
                                  alignment_of(form->base) % widest_access_bytes == 0;
        if (is_candidate && divisor_of(*first, fn) % elements != 0)
          start = std::move(*first);
      }
    return !start.is_zero() && extent % vector == 0;
  }

  // Whether `poly` can be computed before the loops.
  bool comes_before_loops(const Poly &poly) const {
    auto is_before = [&](const Value *symbol) {
      return symbol->op ? symbol->op->parent == fn.body &&
                              fn.body->position_of(symbol->op) < fn.body->position_of(loops[0].op)
                        : !symbol->block;
    };
    return std::all_of(poly.terms.begin(), poly.terms.end(), [&](const auto &term) {
      return std::all_of(term.first.begin(), term.first.end(), is_before);
    });
  }

public:
  // Whether `load` can be two aligned loads and a funnel_shift.
  bool is_shiftable(const Op &load, const RowLoop &loop) const {
    if (!load.is(Opcode::load_))
      return false;
    const Affine form = *affine_of(load.operand(0));
    const Poly first = *start_of(load.operand(0), loop, extent);
    const int64_t elements = elements_to_shift(load);
    if (elements < min_elements_to_shift || load.result()->type.elem == Elem::i1)
      return false;
    const bool is_aligned = form.strides[0].is_constant(1) &&
                            divisor_of(first, fn) % elements == 0 &&
                            alignment_of(form.base) % widest_access_bytes == 0;
    return is_aligned && is_read_only(form.base);
  }

  // The elements of each of the two loads: a vector, or those that a thread has.
  int64_t elements_to_shift(const Op &load) const {
    return std::min(elements_of_vector(load.result()->type.elem), extent / threads());
  }

  // That hold a tile.
  int64_t threads() const { return 32 * (fn.programs_of_block() > 1 ? 1 : warps_for_tile(extent)); }

private:
  static constexpr int64_t min_elements_to_shift = 4; // fewer are as many instructions as loads

  bool is_read_only(const Value *base) const {
    return std::any_of(fn.parameters.begin(), fn.parameters.end(), [&](const Parameter &parameter) {
      return parameter.value == base && parameter.read_only;
    });
  }

  int alignment_of(const Value *base) const {
    for (const Parameter &parameter : fn.parameters)
      if (parameter.value == base)
        return parameter.aligned_bytes;
    return 1;
  }

  // Finds the comparisons that all have the same end.
  bool find_bounds() {
    for (RowLoop &loop : loops)
      for (Op *op : loop.body().ops) {
        if (!op->is(Opcode::cmp_) || !is_tile(op->result()))
          continue;
        std::optional<std::vector<Bound>> found = bounds_of(op->result(), 1);
        if (!found || found->size() != 1)
          continue;
        const Poly counted = Poly::symbol(loop.counter()) * Poly::constant(extent);
        Poly before = counted - (*found)[0].before;
        const bool has_end = comes_before_loops(before) && (!end || *end == before);
        if (!has_end)
          continue;
        end = std::move(before);
        loop.bounds.push_back(op);
      }
    return !loops[0].bounds.empty();
  }

  // Whether only the index of an element, not the iteration, decides what the loop does with it.
  static bool moves_with_tiles(const RowLoop &loop) {
    std::set<const Value *> of_iteration = {loop.counter()};
    for (const Op *op : loop.body().ops) {
      const bool depends = std::any_of(op->operands.begin(), op->operands.end(),
                                       [&](Value *value) { return of_iteration.count(value); });
      if (!depends || op->is(Opcode::view_) || loop.has_bound(op))
        continue;
      const bool is_index = info(op->code).effect == Effect::pure && op->results.size() == 1 &&
                            (!is_tile(op->result()) || op->is(Opcode::splat_));
      if (!is_index)
        return false;
      of_iteration.insert(op->results.begin(), op->results.end());
    }
    return true;
  }

  // Whether elements that are off change nothing: no total, no memory.
  bool has_totals_only() {
    ValuesOff off(loops);
    std::set<const Value *> totals;
    for (RowLoop &loop : loops) {
      if (!find_added(loop))
        return false;
      for (size_t i = 0; i < loop.totals.size(); i++) {
        if (!is_left_by_off_elements(loop, i, off))
          return false;
        totals.insert(loop.totals[i].value);
      }
      for (const Op *op : loop.body().ops) {
        const Value *mask = op->is_load_or_store() ? mask_of(*op) : nullptr;
        if (op->is_load_or_store() && (!mask || off.of(mask) != 0.0))
          return false;
        if (op->is(Opcode::reduce_) && !is_reduced_total(loop, *op))
          return false;
      }
    }
    return std::all_of(fn.body->ops.begin(), fn.body->ops.end(), [&](const Op *op) {
      return !op->is(Opcode::reduce_) || totals.count(op->result());
    });
  }

  // Finds the totals of `loop`. Each position of a tile has a total of other elements afterwards, so
  // only their scalars count.
  bool find_added(RowLoop &loop) {
    std::optional<std::vector<AssociativeLoop::Total>> found = find_totals(fn, *loop.op);
    if (!found || !std::all_of(found->begin(), found->end(),
                               [](const auto &total) { return total.value->type.is_scalar(); }))
      return false;
    loop.totals = std::move(*found);
    const std::vector<RescaledSum> sums = find_rescaled_sums(*loop.op);
    for (size_t i = 0; i < loop.totals.size(); i++) {
      auto sum = std::find_if(sums.begin(), sums.end(),
                              [&](const RescaledSum &one) { return one.sum == i; });
      const Op *next = loop.body().terminator()->operand(i)->op;
      loop.added.push_back(
          sum != sums.end()
              ? Added{sum->terms, sum->larger}
              : Added{next->operand(next->operand(0) == loop.body().arguments[i + 1] ? 1 : 0)});
    }
    return true;
  }

  // Whether elements that are off change neither total `i` nor, if it is a key, its sums: exp(key -
  // larger) is 1 for equal numbers.
  static bool is_left_by_off_elements(const RowLoop &loop, size_t i, ValuesOff &off) {
    const bool is_key =
        std::any_of(loop.totals.begin(), loop.totals.end(),
                    [&](const AssociativeLoop::Total &total) { return total.key == i; });
    const std::optional<double> start = off.of(loop.op->operand(i + 1));
    return (!is_key || (start && std::isfinite(*start))) &&
           ValuesOff::leave_total(loop.totals[i].op, loop.op->results[i]->type,
                                  off.of(loop.added[i].value), start);
  }

  // Whether `reduce` makes what a loop adds to a total of the same operation.
  static bool is_reduced_total(const RowLoop &loop, const Op &reduce) {
    for (size_t i = 0; i < loop.totals.size(); i++)
      if (loop.added[i].value == reduce.result())
        return loop.totals[i].op == reduce.get(attr::op_);
    return false;
  }
};

// Moves the tiles of all loops to the first aligned element, and makes the code for the elements
// before and after them.
struct Alignment {
  Row &row;
  Function &fn;
  Value *first = nullptr;   // the first aligned element, from the start of the array; all i64
  Value *skipped = nullptr; // elements before it
  Value *length = nullptr;  // elements of whole vectors
  Value *count = nullptr;   // elements of the row
  Value *small_range = nullptr;
  Value *index = nullptr, *on = nullptr;        // of the small tile: elements of the row
  std::map<const Value *, Value *> loaded = {}; // the small tiles of loads before all loops

  void run() {
    Builder builder = Builder::before(fn, row.loops[0].op);
    builder.set_location(row.loops[0].op->location);
    emit_extents(builder);
    emit_small_tile(builder);
    load_early(builder);
    for (RowLoop &loop : row.loops)
      add_small_tile(loop);
    for (Op *op : all_of(Opcode::range_))
      if (op->result() != small_range)
        move_range(op);
    for (RowLoop &loop : row.loops) {
      for (Op *bound : loop.bounds)
        move_bound(loop, bound);
      for (Op *op : std::vector<Op *>(loop.body().ops)) {
        if (row.is_shiftable(*op, loop))
          shift_load(op);
        else if (op->is_load_or_store())
          move_access(loop, op);
      }
    }
    merge_repeated_loads(fn); // of the small tile, in all loops
  }

private:
  std::vector<Op *> all_of(Opcode code) {
    std::vector<Op *> found;
    for_each_op(*fn.body, [&](Op &op) {
      if (op.is(code))
        found.push_back(&op);
    });
    return found;
  }

  void emit_extents(Builder &builder) {
    Value *start = emit(builder, row.start), *multiple = builder.i64(-row.vector);
    Value *rounded = builder.add(start, builder.i64(row.vector - 1));
    first = builder.binary(Opcode::and_, rounded, multiple);
    skipped = builder.sub(first, start);
    Value *iterations = builder.cast(row.loops[0].op->operand(0), Elem::i64);
    Value *all = builder.mul(iterations, builder.i64(row.extent));
    count = at_least_zero(builder, builder.binary(Opcode::min_, emit(builder, *row.end), all));
    // The second of two shifted vectors is in the row, too.
    Value *unused = builder.add(skipped, builder.i64(has_shiftable_loads() ? row.vector : 0));
    Value *rest = at_least_zero(builder, builder.sub(count, unused));
    length = builder.binary(Opcode::and_, rest, multiple);
    first->name = "first";
    length->name = "length";
  }

  bool has_shiftable_loads() const {
    return std::any_of(row.loops.begin(), row.loops.end(), [&](const RowLoop &loop) {
      return std::any_of(loop.body().ops.begin(), loop.body().ops.end(),
                         [&](const Op *op) { return row.is_shiftable(*op, loop); });
    });
  }

  static Value *at_least_zero(Builder &builder, Value *value) {
    return builder.binary(Opcode::max_, value, builder.i64(0));
  }

  // The first half of the small tile is before the vectors, the second half after them. Both have
  // room for the elements beside a vector that a shifted load leaves out. No two threads have the
  // same element: else a warp could load what another warp has stored.
  void emit_small_tile(Builder &builder) {
    const int64_t size = std::max(4 * row.vector, row.threads());
    const Elem elem = row.index_type();
    auto splat = [&](Value *value) { return builder.splat(builder.cast(value, elem), {size}); };
    small_range = builder.range(0, size);
    Value *half = builder.i64(size / 2);
    Value *i = elem == Elem::i32 ? small_range : builder.cast(small_range, elem);
    Value *is_before = builder.cmp("lt", i, splat(half));
    Value *after = builder.sub(builder.add(skipped, length), half);
    index = builder.select(is_before, i, builder.add(i, splat(after)));
    Value *end_before = splat(builder.binary(Opcode::min_, skipped, count));
    Value *end_after = splat(count);
    on = builder.cmp("lt", index, builder.select(is_before, end_before, end_after));
  }

  // Loads of the small tile come first, so that no loop waits for them.
  void load_early(Builder &builder) {
    for (const RowLoop &loop : row.loops)
      for (const Op *op : loop.body().ops)
        if (can_load_early(loop, *op)) {
          std::map<const Value *, Value *> copies;
          builder.set_location(op->location);
          loaded[op->result()] = small(builder, loop, op->result(), copies);
        }
  }

  // The code of `loop` for the small tile.
  void add_small_tile(const RowLoop &loop) {
    Builder builder = Builder::before(fn, loop.op);
    std::map<const Value *, Value *> copies = loaded;
    for (const Op *op : loop.body().ops) {
      builder.set_location(op->location);
      if (op->is(Opcode::load_))
        small(builder, loop, op->result(), copies);
      if (op->is(Opcode::store_)) {
        Value *value = small(builder, loop, op->operand(1), copies);
        Value *mask = small(builder, loop, op->operand(2), copies);
        Op *made = builder.store(pointers(builder, loop, op->operand(0)), value, mask);
        keep_cache_hint(*made, *op);
        set_apart(*made);
      }
    }
    std::vector<Value *> more(loop.totals.size());
    for (bool is_rescaled : {false, true}) // keys come before their sums
      for (size_t i = 0; i < more.size(); i++) {
        const auto &[value, key] = loop.added[i];
        if (loop.totals[i].rescaling.has_value() != is_rescaled)
          continue;
        if (is_rescaled)
          copies[key] = repeated(builder, more[*loop.totals[i].key], key);
        more[i] = small(builder, loop, value, copies);
        if (is_tile(more[i]))
          more[i] = builder.reduce(more[i], 0, loop.totals[i].op);
      }
    combine_totals(
        fn, *loop.op, loop.totals,
        [&](Builder &after, const std::vector<size_t> &which, std::vector<Value *> &all) {
          for (size_t i : which) {
            const auto &[op, total, key, rescaling] = loop.totals[i];
            Value *own = rescaling
                             ? emit_rescaled(after, *rescaling, more[i], more[*key], all[*key])
                             : more[i];
            all[i] = after.combine(op, all[i], own);
            all[i]->name = total->name;
          }
        });
  }

  // `scalar` as a scalar or small tile, like `value`.
  Value *repeated(Builder &builder, Value *scalar, const Value *value) {
    return is_tile(value) ? builder.splat(scalar, index->type.shape) : scalar;
  }

  // The vectors of the loops have no element of the small tile.
  void set_apart(Op &access) {
    const Value *root = root_of(access.operand(0));
    const bool has_scalar_access =
        std::any_of(fn.body->ops.begin(), fn.body->ops.end(), [&](const Op *op) {
          const bool is_scalar =
              (op->is_load_or_store() || op->is_atomic()) && !is_tile(op->operand(0));
          return is_scalar && root_of(op->operand(0)) == root;
        });
    if (!has_scalar_access)
      access.set(attr::apart_);
  }

  // The elements of `view` at `index`.
  Value *pointers(Builder &builder, const RowLoop &loop, const Value *view) {
    const Affine form = *affine_of(view);
    const Shape &shape = index->type.shape;
    Value *first_of_row = emit(builder, *Row::start_of(view, loop, row.extent));
    Value *offset = builder.cast(index, Elem::i64);
    offset = builder.mul(offset, builder.splat(emit(builder, form.strides[0]), shape));
    offset = builder.add(offset, builder.splat(first_of_row, shape));
    Value *base = builder.splat(const_cast<Value *>(form.base), shape);
    return builder.addptr(base, offset);
  }

  // A copy of `value` for the small tile.
  Value *small(Builder &builder, const RowLoop &loop, const Value *value,
               std::map<const Value *, Value *> &copies) {
    const Op *op = value->op;
    const bool is_outside = !op || op->parent == fn.body;
    if (is_outside && !is_tile(value))
      return const_cast<Value *>(value);
    if (auto found = copies.find(value); found != copies.end())
      return found->second;
    if (loop.has_bound(op))
      return on;
    if (op->is(Opcode::range_))
      return copies[value] = builder.cast(index, value->type.elem);
    std::vector<Value *> operands;
    for (const Value *operand : op->operands)
      operands.push_back(operand->type.is_view() ? pointers(builder, loop, operand)
                                                 : small(builder, loop, operand, copies));
    Type type = value->type;
    if (is_tile(value))
      type.shape = index->type.shape;
    Op *made = builder.create(op->code, operands, {type});
    made->attributes = op->attributes;
    made->result()->name = value->name;
    if (op->is(Opcode::load_))
      set_apart(*made);
    return copies[value] = made->result();
  }

  // Whether the small tile of `op`, of the body of `loop`, can be loaded before all loops: whether
  // nothing changes its elements before, and only constants and the bound decide what it loads.
  bool can_load_early(const RowLoop &loop, const Op &op) const {
    if (!op.is(Opcode::load_) || !loop.has_bound(op.operand(1)->op))
      return false;
    if (const Value *other = op.operand_or_null(2); other && !number_of(other))
      return false;
    auto changes = [&](const Block &block, size_t first, size_t end) {
      return std::any_of(block.ops.begin() + int64_t(first), block.ops.begin() + int64_t(end),
                         [&](const Op *before) { return may_change(fn, *before, op); });
    };
    return !changes(*fn.body, fn.body->position_of(row.loops[0].op),
                    fn.body->position_of(loop.op)) &&
           !changes(loop.body(), 0, loop.body().position_of(&op));
  }

  void move_range(Op *range) {
    const bool is_before = range->parent == fn.body;
    Builder builder = is_before ? Builder::before(fn, row.loops[0].op) : Builder::after(fn, range);
    builder.set_location(range->location);
    Value *position = range->result();
    Value *distance = builder.cast(skipped, position->type.elem);
    Value *moved = builder.add(position, builder.splat(distance, position->type.shape));
    moved->name = position->name;
    replace_uses(*fn.body, position, moved);
    moved->op->operands[0] = position;
  }

  void move_bound(const RowLoop &loop, Op *bound) {
    Builder builder = Builder::before(fn, bound);
    builder.set_location(bound->location);
    const Elem elem = bound->operand(0)->type.elem;
    Value *counter = builder.cast(loop.counter(), Elem::i64);
    Value *done = builder.mul(counter, builder.i64(row.extent));
    Value *left = builder.cast(builder.sub(length, done), elem);
    Value *position = builder.range(0, row.extent);
    position = elem == Elem::i32 ? position : builder.cast(position, elem);
    Value *inside = builder.cmp("lt", position, builder.splat(left, {row.extent}));
    inside->name = bound->result()->name;
    replace_uses(*fn.body, bound->result(), inside);
  }

  // An access has its own view: others of the same elements may be shifted.
  void move_access(const RowLoop &loop, Op *access) {
    Value *view = access->operand(0);
    const Affine form = *affine_of(view);
    const bool is_contiguous = form.strides[0].is_constant(1);
    Builder builder = Builder::before(fn, access);
    builder.set_location(access->location);
    std::vector<Value *> operands = view->op->operands;
    const bool is_first = is_contiguous && *Row::start_of(view, loop, row.extent) == row.start;
    Value *distance = is_contiguous ? skipped : builder.mul(skipped, operands[2]);
    operands[1] = is_first ? emit(builder, form.offset - row.start + Poly::symbol(first))
                           : builder.add(operands[1], distance);
    Op *moved = builder.create(Opcode::view_, operands, {view->type});
    moved->result()->name = view->name;
    if (is_contiguous && !is_first)
      moved->set(attr::ragged_,
                 may_start_alike(view, loop) ? elements_of_vector(view->type.elem) : 1);
    access->operands[0] = moved->result();
  }

  // Whether rows of the array of `view` start like those of the first array, modulo a vector, if all
  // integer parameters are equal: two leading dimensions, for example.
  bool may_start_alike(const Value *view, const RowLoop &loop) const {
    Poly difference = *Row::start_of(view, loop, row.extent) - row.start;
    const Value *any = nullptr;
    for (const Parameter &parameter : fn.parameters) {
      if (!parameter.value->type.is_number())
        continue;
      any = any ? any : parameter.value;
      difference = difference.substitute(parameter.value, Poly::symbol(any));
    }
    return difference.is_zero();
  }

  void shift_load(Op *load) {
    Value *view = load->operand(0);
    const int64_t elements = row.elements_to_shift(*load);
    Builder builder = Builder::before(fn, load);
    builder.set_location(load->location);
    Value *whole = builder.binary(Opcode::and_, skipped, builder.i64(-elements));
    Value *distance = builder.cast(builder.sub(skipped, whole), Elem::i32);
    const bool is_cached = !DiffersByProgram()(view); // but for the shift
    Value *loaded[2];
    for (int side : {0, 1}) {
      std::vector<Value *> operands = view->op->operands;
      Value *moved = builder.add(whole, builder.i64(side * elements));
      operands[1] = builder.add(operands[1], moved);
      Value *at = builder.create(Opcode::view_, operands, {view->type})->result();
      std::vector<Value *> of_load = load->operands;
      of_load[0] = at;
      Op *made = builder.create(Opcode::load_, of_load, {load->result()->type});
      keep_cache_hint(*made, *load);
      if (is_cached)
        made->set(attr::cached_);
      loaded[side] = made->result();
    }
    Op *shifted = builder.create(Opcode::funnel_shift_, {loaded[0], loaded[1], distance},
                                 {load->result()->type});
    shifted->set(attr::vector_, elements);
    shifted->result()->name = load->result()->name;
    replace_uses(*fn.body, load->result(), shifted->result());
    erase(load);
  }
};

// Marks the views whose accesses are narrow only because of the ends of their masks. With another
// access of single elements, tiles would move between the two layouts.
void mark_ragged_masks(Function &fn) {
  std::vector<std::pair<Op *, int>> ragged; // views, elements of a vector
  bool are_wide = true;
  for_each_op(*fn.body, [&](const Op &op) {
    if (!op.is_load_or_store() || !is_tile(op.operand(0)))
      return;
    const Value *pointers = op.operand(0), *mask = mask_of(op);
    const int wide = vector_elements(pointers, nullptr, fn);
    are_wide &= wide > 1;
    if (pointers->type.is_view() && mask && is_tile(mask) &&
        bounds_of(mask, pointers->type.rank()) && wide > vector_elements(pointers, mask, fn))
      ragged.emplace_back(pointers->op, wide);
  });
  for (auto [view, wide] : ragged)
    if (are_wide)
      view->set(attr::ragged_, wide);
}

} // namespace

void align_tiles(Function &fn) {
  mark_ragged_masks(fn);
  Row row{fn};
  if (row.find())
    Alignment{row, fn}.run();
}

} // namespace tritonc
