// reduce_split_k_partials: replaces the mainloop by a loop that adds split-K partials.
//
//     %sum = for_loop %n, %zero {              %sum = for_loop (%parts + 7) / 8, %zero {
//       (%t, %acc)                               (%t, %acc)
//       %a = load ...                            %s = %t * 8
//       ...                               =>     %v = view workspace of part min(%s, %parts - 1)
//       yield %d                                 %x = load %v
//     }                                          ... and seven more
//     ... epilogue with %sum                     %y = add %acc, %s < %parts ? %x : 0
//                                                ...
//                                                yield %z
//                                              }
//                                              ... epilogue with %sum
//
// This is the second launch of split-K; store_split_k_partials makes the first. It adds the
// partials in their order, so the result is the same in every run.
//
// Method:  A loop with one partial per iteration would wait for memory once per partial. So one
//          iteration loads up to eight partials at once: fewer if a thread has many elements of the
//          tile. Loads past the last partial load the last one again, and add zero. They have no
//          mask, because ptxas would not move a load before its condition.
// Needs:   set_k_tile with the K tile of the first launch, in which partials are counted; runs
//          before coarsen_programs and swizzle_programs.
// Ensures: no dot is left.
// Limits:  nothing happens unless schedule.work is reduction, of split-K.
//
// Tested by tests/unit/passes/reduce_split_k_partials/ and reduce_split_k_partials_test.cpp.

#include "passes/reduce_split_k_partials.h"

#include "analysis/matmul_loop.h"
#include "passes/split_k_workspace.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// Partials per iteration, so that a thread has registers for the elements that it loads: 64. By
// select_mma a thread has at most 32 elements of a tile.
int64_t parts_of_trip(const Type &tile) {
  constexpr int64_t max_count = 8, min_count = 2, elements_under_way = 64 * 128;
  return std::clamp(elements_under_way / tile.elements(), min_count, max_count);
}

struct State {
  Function &fn;
  const SplitKPartials &split_k;
  SplitKWorkspace parts = {};
  Value *ids[3] = {};

  // Loads partial `number` of the program's tile, or partial `last` if `number` is larger.
  Value *part(Builder &builder, Value *number, Value *last, const Type &tile) {
    Poly row = Poly::symbol(ids[split_k.rows_axis]) * Poly::constant(tile.shape[0]);
    Poly column = Poly::symbol(ids[split_k.columns_axis]) * Poly::constant(tile.shape[1]);
    Value *there = builder.binary(Opcode::min_, number, last);
    return builder.load(emit_view(builder, parts, split_k, Poly::symbol(there),
                                  Poly::symbol(ids[split_k.third_axis()]), row, column, tile));
  }

  void run() {
    MatmulLoop matmul = *find_matmul_loop(fn).found;
    Op *loop = matmul.loop;
    Value *accumulator = loop->results[matmul.carried], *start = loop->operand(1 + matmul.carried);
    Builder builder = Builder::before(fn, loop);
    builder.set_location(loop->location);
    parts = emit_split_k_workspace(builder, split_k, loop->operand(0), accumulator->type.elem);
    for (int axis : {0, 1, 2})
      ids[axis] = builder.program_id(axis);
    const int64_t at_once = parts_of_trip(accumulator->type);
    Value *iterations = builder.add(parts.count, builder.i32(at_once - 1));
    iterations = builder.binary(Opcode::udiv_, iterations, builder.i32(at_once));
    Value *last = builder.sub(parts.count, builder.i32(1));
    Op *adding = builder.for_loop(iterations, {start});
    adding->location = loop->location;

    Block *body = adding->blocks[0];
    Builder inside(fn, body);
    inside.set_location(loop->location);
    Value *first = inside.mul(body->arguments[0], inside.i32(at_once));
    std::vector<Value *> numbers, loaded;
    for (int64_t i = 0; i < at_once; i++) {
      numbers.push_back(inside.add(first, inside.i32(i)));
      loaded.push_back(part(inside, numbers.back(), last, accumulator->type));
    }
    Value *all = body->arguments[1], *nothing = inside.filled(accumulator->type, 0);
    for (size_t i = 0; i < loaded.size(); i++) {
      Value *is_there =
          inside.splat(inside.cmp("lt", numbers[i], parts.count), accumulator->type.shape);
      all = inside.add(all, inside.select(is_there, loaded[i], nothing));
    }
    inside.yield({all});
    adding->results[0]->name = accumulator->name;
    replace_uses(*fn.body, accumulator, adding->results[0]);
    erase(loop);
  }
};

} // namespace

void reduce_split_k_partials(Function &fn, const Schedule &schedule) {
  if (schedule.work == Schedule::Work::reduction && schedule.partials)
    State{fn, *schedule.partials}.run();
}

} // namespace tritonc
