// share_results: let every thread know what one of them got from an atomic operation.
//
//     %old = atomic %p, %v {op = "add"} : i32        %old = atomic %p, %v {op = "add"} : i32
//     store %q, %old                          =>     %mine = splat %old : i32[1] #0
//                                                    %all = convert_layout %mine : i32[1] #0
//                                                    %known = reduce %all {axis = 0, op = "add"} :
//                                                    i32 store %q, %known
//
// An element is changed by one thread, the first of those that hold it; only that thread learns
// what was there before. All others that hold the element, and of a scalar these are all, have
// nothing. convert_layout, even to the same layout, is a trip through shared memory: the first
// thread that holds an element stores it, and all load it.
//
// Needs:   assign_layouts.
// Ensures: whatever uses the result of an atomic operation has it in all threads.
// Limits:  results that nobody uses, and tiles of which each element is in one thread only, stay as
//          they are.
//
// Tested by tests/passes/share_results_test.cpp.

#include "passes/share_results.h"

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

void share_results(Function &fn) {
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
