// add_parts: add the parts of a sum that another launch has stored, in place of computing it.
//
//     %sum = for_loop %n, %zero {              %sum = for_loop (%parts + 7) / 8, %zero {
//       (%t, %acc)                               (%t, %acc)
//       %a = load ...                            %s = %t * 8
//       ...                               =>     %v = view scratch of part min(%s, %parts - 1)
//       yield %d                                 %x = load %v
//     }                                          ... and seven more
//     ... what is done with %sum                 %y = add %acc, %s < %parts ? %x : 0
//                                                ...
//                                                yield %z
//                                              }
//                                              ... what is done with %sum
//
// The other half of store_parts. The parts are added in their order, so the result is the same each
// time. A loop that takes them one by one would wait for memory as often; of eight (of fewer, if a
// thread has more of a tile), all are on their way at once. So nobody asks before a load whether
// the part is there: ptxas would not load ahead of the question.
//
// Needs:   widen_steps with the first launch's steps, which the parts are counted in; programs are
//          not bundled, and not yet in groups.
// Ensures: there is no product any more.
//
// Tested by tests/passes/add_parts_test.cpp.

#include "passes/add_parts.h"

#include "analysis/product_loop.h"
#include "passes/sum_parts.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// So many at once that a thread has registers for what it loads: 64 elements, of which choose_dots
// leaves it 32 of a tile at most.
int64_t parts_of_trip(const Type &tile) {
  constexpr int64_t most = 8, least = 2, elements_under_way = 64 * 128;
  return std::clamp(elements_under_way / tile.elements(), least, most);
}

struct State {
  Function &fn;
  const DividedSum &divided;
  SumParts parts = {};
  Value *ids[3] = {};

  // The part of what the program computes; if there is none of this number, the last.
  Value *part(Builder &builder, Value *number, Value *last, const Type &tile) {
    Poly row = Poly::symbol(ids[divided.rows_axis]) * Poly::constant(tile.shape[0]);
    Poly column = Poly::symbol(ids[divided.columns_axis]) * Poly::constant(tile.shape[1]);
    Value *there = builder.binary(Opcode::min_, number, last);
    return builder.load(emit_view(builder, parts, divided, Poly::symbol(there),
                                  Poly::symbol(ids[divided.third_axis()]), row, column, tile));
  }

  void run() {
    ProductLoop product = *find_product_loop(fn).found;
    Op *loop = product.loop;
    Value *sum = loop->results[product.carried], *start = loop->operand(1 + product.carried);
    Builder builder = Builder::before(fn, loop);
    builder.set_location(loop->location);
    parts = emit_sum_parts(builder, divided, loop->operand(0), sum->type.elem);
    for (int axis : {0, 1, 2})
      ids[axis] = builder.program_id(axis);
    const int64_t at_once = parts_of_trip(sum->type);
    Value *trips = builder.add(parts.count, builder.i32(at_once - 1));
    trips = builder.binary(Opcode::udiv_, trips, builder.i32(at_once));
    Value *last = builder.sub(parts.count, builder.i32(1));
    Op *adding = builder.for_loop(trips, {start});
    adding->location = loop->location;

    Block *body = adding->blocks[0];
    Builder inside(fn, body);
    inside.set_location(loop->location);
    Value *first = inside.mul(body->arguments[0], inside.i32(at_once));
    std::vector<Value *> numbers, loaded;
    for (int64_t i = 0; i < at_once; i++) {
      numbers.push_back(inside.add(first, inside.i32(i)));
      loaded.push_back(part(inside, numbers.back(), last, sum->type));
    }
    Value *all = body->arguments[1], *nothing = inside.filled(sum->type, 0);
    for (size_t i = 0; i < loaded.size(); i++) {
      Value *is_there = inside.splat(inside.cmp("lt", numbers[i], parts.count), sum->type.shape);
      all = inside.add(all, inside.select(is_there, loaded[i], nothing));
    }
    inside.yield({all});
    adding->results[0]->name = sum->name;
    replace_uses(*fn.body, sum, adding->results[0]);
    erase(loop);
  }
};

} // namespace

void add_parts(Function &fn, const Structure &structure) {
  if (structure.share == Structure::Share::sum_of_parts)
    State{fn, *structure.divided}.run();
}

} // namespace tritonc
