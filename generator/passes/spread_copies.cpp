// spread_copies: start the copies for later iterations between the slices of a loop's product.
//
//     async_copy ..., %sa                        %a0 = shared_load %sa ...
//     async_copy ..., %sb                        %a1 = shared_load %sa ...
//     async_commit                               async_copy ..., %sa
//     %a0 = shared_load %sa ...                  %d0 = dot %a0, ...
//     %a1 = shared_load %sa ...             =>   ...
//     %d0 = dot %a0, ...                         async_copy ..., %sb
//     ...                                        async_commit
//     %d3 = dot %a3, ...                         %d3 = dot %a3, ...
//
// Nobody can tell a copy's write to shared memory from one that a later load reads, so in machine
// code all loads that follow a copy in the text follow it in time. At the head of the loop they are
// those that the arithmetic waits for.
//
// Needs:   pipeline_loops, slice_dots.
// Ensures: the copies of an iteration are committed before the last dot but one.
// Limits:  at least four dots directly in the loop, all in a chain: among fewer there is no room.
//          At least three slots: with two, what is copied is waited for at once.
//
// Tested by tests/passes/spread_copies_test.cpp.

#include "passes/spread_copies.h"

namespace tritonc {

using namespace ir;

namespace {

constexpr size_t least_dots = 4;
constexpr int64_t least_slots = 3;

void move_before(Op *op, Op *place) {
  Block &block = *place->parent;
  erase(op);
  op->parent = &block;
  block.ops.insert(block.ops.begin() + ptrdiff_t(block.position_of(place)), op);
}

void spread(Op &loop) {
  std::vector<Op *> copies, commits, dots;
  for (Op *op : loop.blocks[0]->ops) {
    if (op->is(Opcode::async_copy_))
      copies.push_back(op);
    if (op->is(Opcode::async_commit_))
      commits.push_back(op);
    if (op->is(Opcode::dot_) && !dots.empty() && op->operand(2) != dots.back()->result())
      return;
    if (op->is(Opcode::dot_))
      dots.push_back(op);
  }
  if (commits.size() != 1 || dots.size() < least_dots)
    return;
  for (const Op *copy : copies)
    if (copy->operand(1)->type.shape[0] < least_slots)
      return;
  size_t places = dots.size() - 1;
  for (size_t i = 0; i < copies.size(); i++)
    move_before(copies[i], dots[i * places / copies.size()]);
  move_before(commits[0], dots[places - 1]);
}

} // namespace

void spread_copies(Function &fn) {
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    spread(*loop);
}

} // namespace tritonc
