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
// Method:  One iteration loads many partials at once: an iteration per partial would wait for
//          memory once per partial. A total with a key combines the values of those parts whose key
//          is the total of the keys:
//
//              %k = max %key, %p.key                    %p.key, %p.at: partials
//              %is = cmp %key, %k {pred = "eq"}         the same for %p.key and %p.at
//              %here = select %is, %at, %nothing
//              %y = min %here, %p.here
//
//          A rescaled sum is multiplied by exp(its key - %k) first.
// Needs:   form_views; a loop that find_associative_loop finds; the grid of programs.
// Ensures: the loop over the elements is gone.
// Limits:  nothing happens unless the schedule is split_loop and its work is reduction.
//
// Tested by tests/unit/passes/combine_loop_partials/.

#include "passes/combine_loop_partials.h"

#include "analysis/tensor_access.h"
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
  Value *program = nullptr; // its index in the grid
  int64_t at_once = 1;

  Type tile_of(size_t number) const {
    const Type &total = found.totals[number].value->type;
    return Type::tile(total.elem, with_parts(total.shape, at_once));
  }

  // Total `number` of `at_once` parts from `first`; parts that do not exist change nothing.
  Value *load(Builder &builder, size_t number, Value *first) {
    const Type tile = tile_of(number);
    Value *part = builder.cast(first, Elem::i64);
    Value *stride = builder.mul(partials.programs, builder.i64(partials.elements));
    std::vector<Value *> operands = {partials.memory,
                                     emit_offset(builder, partials, part, program, number), stride};
    int64_t inner = tile.elements() / at_once;
    for (size_t d = 1; d < tile.shape.size(); d++)
      operands.push_back(builder.i64(inner /= tile.shape[d]));
    Value *view =
        builder.create(Opcode::view_, operands, {Type::view(partials.elem, tile.shape)})->result();
    const Bound exists{0, Poly::symbol(first) - Poly::symbol(partials.count)};
    Value *on = emit_mask(builder, tile.shape, {exists});
    Value *nothing = emit_identity(builder, found.totals[number].op, tile);
    Value *loaded = builder.load(view, on, emit_as(builder, nothing, partials.elem));
    return emit_as(builder, loaded, tile.elem);
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
    if (const AssociativeLoop::Total &total = found.totals[number]; total.rescaling)
      return emit_rescaled(builder, *total.rescaling, totals[number], totals[*total.key],
                           best[*total.key]);
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
      next[i] = builder.binary(*combining_op(found.totals[i].op), before, more);
      if (next[i]->op->is(Opcode::add_) && is_integer(next[i]->type.elem))
        next[i]->op->set(attr::unsigned_); // like a reduction: modulo 2^bits
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

  void run(const Schedule &schedule) {
    Op *loop = found.loop;
    Builder builder = Builder::before(fn, loop);
    builder.set_location(loop->location);
    partials = emit_loop_partials(builder, found, schedule.blocks_per_sm);
    at_once = parts_of_iteration(found);
    Value *ids[3], *programs[3];
    for (int axis : {0, 1, 2}) {
      ids[axis] = builder.program_id(axis);
      programs[axis] = builder.num_programs(axis);
    }
    program = emit_program_index(builder, ids, programs);
    Value *rounded = builder.add(partials.count, builder.i32(at_once - 1));
    Value *iterations = builder.binary(Opcode::udiv_, rounded, builder.i32(at_once));
    std::vector<Value *> starts;
    for (size_t i = 0; i < found.totals.size(); i++)
      starts.push_back(emit_identity(builder, found.totals[i].op, tile_of(i)));
    Op *combining = builder.for_loop(iterations, starts);
    combining->location = loop->location;

    Block *body = combining->blocks[0];
    Builder inside(fn, body);
    inside.set_location(loop->location);
    Value *first = inside.mul(body->arguments[0], inside.i32(at_once));
    std::vector<Value *> loaded;
    for (size_t i = 0; i < found.totals.size(); i++)
      loaded.push_back(load(inside, i, first));
    inside.yield(combined(inside, {body->arguments.begin() + 1, body->arguments.end()}, loaded));
    std::vector<Value *> all = reduced(builder, combining->results);
    for (size_t i = 0; i < found.totals.size(); i++) {
      all[i]->name = found.totals[i].value->name;
      replace_uses(*fn.body, found.totals[i].value, all[i]);
    }
    remove_dead_code(fn); // the loop over the elements
  }
};

} // namespace

void combine_loop_partials(Function &fn, const Schedule &schedule) {
  if (schedule.kind != Schedule::Kind::split_loop || !schedule.is_second())
    return;
  std::optional<AssociativeLoop> found = find_associative_loop(fn);
  assert(found && "candidate_schedules has looked");
  State{fn, std::move(*found)}.run(schedule);
}

} // namespace tritonc
