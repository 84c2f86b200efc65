// combine_loop_partials: replaces a loop that reduces by a loop that combines its partials.
//
//     %sum = for_loop %n, %zero {              %all = for_loop (%parts + 63) / 64, %zeros {
//       ...                                      (%t, %acc)
//     }                                          %v = view workspace of 64 parts
//     %r = reduce %sum {op = "add"} : f32        %p = load %v, row < %parts - %t*64 : f32[64]
//     store %w, %r                        =>     %y = add %acc, %p
//                                                yield %y
//                                              }
//                                              %r = reduce %all {axis = 0, op = "add"} : f32
//                                              store %w, %r
//
// This is the second launch; store_loop_partials makes the first. It combines the partials in a
// fixed order, so the result is the same in every run.
//
// Method:  An iteration per partial would wait for memory once per partial. So one iteration loads
//          many partials: small ones lie beside one another, on an axis of their own, as above.
//          Large ones, such as the accumulators of a matmul (split-K), come in turn: then loads past
//          the last partial load the last one again, and count as nothing. They have no mask,
//          because ptxas would not move a load before its condition.
//
//          A total with a key combines the values of those parts whose key is the total of the keys:
//
//              %k = max %key, %p.key                    %p.key, %p.at: partials
//              %is = cmp %key, %k {pred = "eq"}         the same for %p.key and %p.at
//              %here = select %is, %at, %nothing
//              %y = min %here, %p.here
//
//          A rescaled sum is multiplied by exp(its key - %k) first.
//
//          A block of the first launch may have run several programs of a matmul. So a program finds
//          its tile in the total of a block. With schedule.division, several blocks of this launch
//          share the tile of a program, since a launch of few blocks reads slowly.
// Needs:   form_views; a loop that find_associative_loop finds; the grid of programs; set_k_tile
//          with the K tile of the first launch, in which iterations are counted.
// Ensures: the loop over the elements is gone, and no dot is left.
// Limits:  nothing happens unless the schedule's work is reduction.
//
// Tested by tests/unit/passes/combine_loop_partials/ and combine_loop_partials_test.cpp.

#include "passes/combine_loop_partials.h"

#include "analysis/tensor_access.h"
#include "passes/grid_of_blocks.h"
#include "passes/loop_partials.h"
#include "passes/remove_dead_code.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

Shape with_parts(Shape shape, int64_t parts) {
  shape.insert(shape.begin(), parts);
  return shape;
}

struct State {
  Function &fn;
  AssociativeLoop found;
  LoopPartials partials = {};
  PartsOfIteration parts = parts_of_iteration(found);
  Value *block = nullptr;  // its index in one part of the first launch
  Value *within = nullptr; // the first element of the program in a total; null: it is the first

  Type tile_of(size_t number) const {
    const Type &total = found.totals[number].value->type;
    return parts.beside > 1 ? Type::tile(total.elem, with_parts(total.shape, parts.beside)) : total;
  }

  Value *emit_place(Builder &builder, size_t number, Value *part) {
    Value *index = builder.add(builder.mul(builder.cast(part, Elem::i64), partials.blocks), block);
    return emit_total(builder, partials, number, index, within, found.totals[number].value->type,
                      parts.beside);
  }

  // Total `number` of all parts beside one another from `first` on. Parts that do not exist change
  // nothing.
  Value *load_beside(Builder &builder, size_t number, Value *first) {
    const Type tile = tile_of(number);
    const Bound exists{0, Poly::symbol(first) - Poly::symbol(partials.count)};
    Value *on = emit_mask(builder, tile.shape, {exists});
    Value *nothing = emit_identity(builder, found.totals[number].op, tile);
    nothing = emit_as(builder, nothing, partials.elem);
    Value *loaded = builder.load(emit_place(builder, number, first), on, nothing);
    return emit_as(builder, loaded, tile.elem);
  }

  // Total `number` of `part`, or of the last part.
  Value *load_one(Builder &builder, size_t number, Value *part, Value *last) {
    part = builder.binary(Opcode::min_, part, last);
    Value *loaded = builder.load(emit_place(builder, number, part));
    return emit_as(builder, loaded, found.totals[number].value->type.elem);
  }

  // `loaded`, or what changes nothing if there is no such part.
  Value *if_exists(Builder &builder, size_t number, Value *part, Value *loaded) {
    Value *exists = builder.cmp("lt", part, partials.count);
    if (loaded->type.is_tile())
      exists = builder.splat(exists, loaded->type.shape);
    return builder.select(exists, loaded,
                          emit_identity(builder, found.totals[number].op, loaded->type));
  }

  // The numbers of all totals, each after its key.
  std::vector<size_t> keys_first() const {
    auto depth = [&](size_t number) {
      int depth = 0;
      for (auto key = found.totals[number].key; key; key = found.totals[*key].key)
        depth++;
      return depth;
    };
    std::vector<size_t> numbers(found.totals.size());
    std::iota(numbers.begin(), numbers.end(), size_t(0));
    std::stable_sort(numbers.begin(), numbers.end(),
                     [&](size_t a, size_t b) { return depth(a) < depth(b); });
    return numbers;
  }

  // `totals[number]` where its keys are `best`: elsewhere, values that change nothing. Or rescaled
  // to `best`.
  Value *at_keys(Builder &builder, size_t number, const std::vector<Value *> &totals,
                 const std::vector<Value *> &best) {
    if (const AssociativeLoop::Total &total = found.totals[number]; total.rescaling) {
      AssociativeLoop::Rescaling rescaling = *total.rescaling;
      for (int64_t &axis : rescaling.axes)
        axis += totals[number]->type.rank() - total.value->type.rank(); // parts beside one another
      return emit_rescaled(builder, rescaling, totals[number], totals[*total.key],
                           best[*total.key]);
    }
    Value *on = nullptr;
    for (auto key = found.totals[number].key; key; key = found.totals[*key].key) {
      Value *at = builder.cmp("eq", totals[*key], best[*key]);
      if (is_float(best[*key]->type.elem)) // all keys are NaN
        at = builder.binary(Opcode::or_, at, builder.cmp("ne", best[*key], best[*key]));
      on = on ? builder.binary(Opcode::and_, on, at) : at;
    }
    if (!on)
      return totals[number];
    Value *nothing = emit_identity(builder, found.totals[number].op, totals[number]->type);
    return builder.select(on, totals[number], nothing);
  }

  // The totals of `carried` and of the partials of an iteration.
  std::vector<Value *> combined(Builder &builder, const std::vector<Value *> &carried,
                                const std::vector<Value *> &loaded) {
    std::vector<Value *> next(carried.size());
    for (size_t i : keys_first()) {
      Value *before = at_keys(builder, i, carried, next);
      Value *more = at_keys(builder, i, loaded, next);
      next[i] = builder.combine(found.totals[i].op, before, more);
    }
    return next;
  }

  // The totals of all parts of an iteration.
  std::vector<Value *> reduced(Builder &builder, const std::vector<Value *> &tiles) {
    std::vector<Value *> all(tiles.size()), repeated(tiles.size()); // for each part
    for (size_t i : keys_first()) {
      all[i] = builder.reduce(at_keys(builder, i, tiles, repeated), 0, found.totals[i].op);
      const Shape &shape = tiles[i]->type.shape;
      if (is_key(i))
        repeated[i] = all[i]->type.is_scalar()
                          ? builder.splat(all[i], shape)
                          : builder.broadcast(builder.expand(all[i], 0), shape);
    }
    return all;
  }

  bool is_key(size_t number) const {
    return std::any_of(found.totals.begin(), found.totals.end(),
                       [&](const AssociativeLoop::Total &total) { return total.key == number; });
  }

  // The totals of `carried` and of the partials of an iteration, from `first` on.
  std::vector<Value *> iteration(Builder &builder, std::vector<Value *> carried, Value *first,
                                 Value *last) {
    const size_t totals = carried.size();
    std::vector<Value *> loaded(totals);
    if (parts.beside > 1) {
      for (size_t i = 0; i < totals; i++)
        loaded[i] = load_beside(builder, i, first);
      return combined(builder, carried, loaded);
    }
    std::vector<Value *> numbers;
    std::vector<std::vector<Value *>> all; // loads of all parts come first
    for (int64_t turn = 0; turn < parts.in_turn; turn++) {
      numbers.push_back(builder.add(first, builder.i32(turn)));
      for (size_t i = 0; i < totals; i++)
        loaded[i] = load_one(builder, i, numbers.back(), last);
      all.push_back(loaded);
    }
    for (size_t turn = 0; turn < all.size(); turn++) {
      for (size_t i = 0; i < totals; i++)
        all[turn][i] = if_exists(builder, i, numbers[turn], all[turn][i]);
      carried = combined(builder, carried, all[turn]);
    }
    return carried;
  }

  // Emits the partials, the block that stored those of a program, and its place in their totals.
  void find_partials(Builder &builder, const Schedule &schedule) {
    const SplitKPartials stored = schedule.partials.value_or(SplitKPartials{});
    std::vector<int64_t> programs = stored.coarsening; // of a block, in parts by `division`
    Value *ids[3], *inside[3] = {};                    // of the block, and in the block
    std::vector<Value *> blocks;
    for (size_t axis : {0, 1, 2}) {
      if (const Op *launch = launch_of(fn)) { // coarsen_programs has divided programs
        ids[axis] = make_block_id(builder, int64_t(axis));
        blocks.push_back(launch->operands[axis]);
        programs[axis] *= schedule.division[axis];
      } else {
        ids[axis] = builder.program_id(int(axis));
        blocks.push_back(builder.num_programs(int(axis)));
      }
      if (programs[axis] == 1)
        continue;
      Value *times = builder.i32(programs[axis]), *one = builder.i32(1);
      Value *rounded = builder.sub(builder.add(blocks[axis], times), one);
      blocks[axis] = builder.binary(Opcode::div_, rounded, times);
      inside[axis] = builder.binary(Opcode::urem_, ids[axis], times);
      ids[axis] = builder.binary(Opcode::udiv_, ids[axis], times);
    }
    std::vector<int64_t> times;
    for (size_t axis : stored.axes)
      times.push_back(programs[axis]);
    partials = emit_loop_partials(builder, found, blocks, times, schedule.blocks_per_sm);
    block = emit_block_index(builder, partials, ids);
    const Shape &shape = found.totals[0].value->type.shape;
    for (size_t d = 0; d < stored.axes.size(); d++)
      if (Value *number = inside[stored.axes[d]]) {
        Value *tile = builder.i64(shape[d] * partials.strides[0][d]);
        Value *start = builder.mul(builder.cast(number, Elem::i64), tile);
        within = within ? builder.add(within, start) : start;
      }
  }

  void run(const Schedule &schedule) {
    Op *loop = found.loop;
    Builder builder = Builder::before(fn, loop);
    builder.set_location(loop->location);
    find_partials(builder, schedule);
    Value *at_once = builder.i32(parts.all()), *one = builder.i32(1);
    Value *rounded = builder.sub(builder.add(partials.count, at_once), one);
    Value *iterations = builder.binary(Opcode::div_, rounded, at_once);
    Value *last = builder.sub(partials.count, one);
    std::vector<Value *> starts;
    for (size_t i = 0; i < found.totals.size(); i++)
      starts.push_back(emit_identity(builder, found.totals[i].op, tile_of(i)));
    Op *combining = builder.for_loop(iterations, starts);
    combining->location = loop->location;

    Block *body = combining->blocks[0];
    Builder inside(fn, body);
    inside.set_location(loop->location);
    Value *first = inside.mul(body->arguments[0], inside.i32(parts.all()));
    inside.yield(
        iteration(inside, {body->arguments.begin() + 1, body->arguments.end()}, first, last));
    std::vector<Value *> all =
        parts.beside > 1 ? reduced(builder, combining->results) : combining->results;
    for (size_t i = 0; i < found.totals.size(); i++) {
      all[i]->name = found.totals[i].value->name;
      replace_uses(*fn.body, found.totals[i].value, all[i]);
    }
    remove_dead_code(fn); // the loop over the elements
  }
};

} // namespace

void combine_loop_partials(Function &fn, const Schedule &schedule) {
  if (schedule.work != Schedule::Work::reduction)
    return;
  std::optional<AssociativeLoop> found = find_associative_loop(fn);
  assert(found && "candidate_schedules has looked");
  State{fn, std::move(*found)}.run(schedule);
}

} // namespace tritonc
