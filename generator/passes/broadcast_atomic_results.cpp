// broadcast_atomic_results: passes the result of an atomic operation to all threads that need it.
//
//     %old = atomic %p, %v {op = "add"} : i32       %old = atomic %p, %v {op = "add"} : i32
//     store %q, %old                                %mine = splat %old : i32[1] #0
//                                             =>    %all = convert_layout %mine : i32[1] #0
//                                                   %known = reduce %all {axis = 0, op = "add"}
//                                                   store %q, %known
//
// One thread changes an element: the first thread that holds it. Only that thread receives the old
// value. The other threads that hold the element have an undefined value. For a scalar these are
// all other threads.
//
// Method:  Inserts a convert_layout to the same layout: a round trip through shared memory, in
//          which the first thread that holds an element stores it, and all threads load it. A
//          scalar makes the trip as a tile of one element.
// Needs:   assign_layouts.
// Ensures: every use of an atomic result has the old value in all threads.
// Limits:  leaves unused results, and tiles with each element in one thread only, unchanged.
//
// Tested by tests/unit/passes/broadcast_atomic_results/.

#include "passes/broadcast_atomic_results.h"

#include "analysis/layouts.h"
#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

bool has_copies(const LinearLayout &layout) {
  return std::count(layout.lane.begin(), layout.lane.end(), 0u) ||
         std::count(layout.warp.begin(), layout.warp.end(), 0u);
}

Value *shared_by_all(Builder &builder, Value *tile) {
  return builder.create(Opcode::convert_layout_, {tile}, {tile->type})->result();
}

void share(Function &fn, Op *op, const std::vector<Op *> &users) {
  Value *old = op->result();
  bool is_tile = old->type.is_tile();
  if (users.empty() || (is_tile && !has_copies(*old->type.layout)))
    return;
  Builder builder = Builder::after(fn, op);
  builder.set_location(op->location);
  Value *known;
  if (is_tile) {
    known = shared_by_all(builder, old);
  } else {
    auto layout = std::make_shared<const LinearLayout>(blocked_layout({1}, {0}, 1, fn.warps));
    Type type = old->type.with_shape({1}).with_layout(layout);
    Value *tile = builder.create(Opcode::splat_, {old}, {type})->result();
    known = builder.reduce(shared_by_all(builder, tile), 0, "add");
  }
  replace_uses(users, old, known);
}

} // namespace

void broadcast_atomic_results(Function &fn) {
  std::vector<Op *> operations;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is_atomic())
      operations.push_back(&op);
  });
  Users users(*fn.body);
  for (Op *op : operations)
    share(fn, op, users.of(op->result()));
}

} // namespace tritonc
