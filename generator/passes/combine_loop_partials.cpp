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
//          memory once per partial.
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
#include <bit>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

// Parts per iteration: as many as the tile of all totals may have elements.
int64_t parts_of_iteration(int64_t elements) {
  constexpr int64_t max_elements = 4096, max_count = 64;
  return int64_t(
      std::bit_floor(uint64_t(std::clamp(max_elements / elements, int64_t(1), max_count))));
}

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
        builder.create(Opcode::view_, operands, {Type::view(tile.elem, tile.shape)})->result();
    const Bound exists{0, Poly::symbol(first) - Poly::symbol(partials.count)};
    Value *on = emit_mask(builder, tile.shape, {exists});
    return builder.load(view, on, emit_identity(builder, found.totals[number].op, tile));
  }

  void run(const Schedule &schedule) {
    Op *loop = found.loop;
    Builder builder = Builder::before(fn, loop);
    builder.set_location(loop->location);
    partials = emit_loop_partials(builder, found, schedule.blocks_per_sm);
    at_once = parts_of_iteration(partials.elements);
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
    std::vector<Value *> next;
    for (size_t i = 0; i < found.totals.size(); i++) {
      Value *total = inside.binary(*combining_op(found.totals[i].op), body->arguments[i + 1],
                                   load(inside, i, first));
      if (total->op->is(Opcode::add_) && is_integer(total->type.elem))
        total->op->set(attr::unsigned_); // like a reduction: modulo 2^bits
      next.push_back(total);
    }
    inside.yield(next);
    for (size_t i = 0; i < found.totals.size(); i++) {
      const auto &[op, total] = found.totals[i];
      Value *all = builder.reduce(combining->results[i], 0, op);
      all->name = total->name;
      replace_uses(*fn.body, total, all);
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
