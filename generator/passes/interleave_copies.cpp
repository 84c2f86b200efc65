// interleave_copies: starts the copies for later iterations between the slices of a loop's matmul.
//
//     async_copy ..., %sa                        %a0 = shared_load %sa ...
//     async_copy ..., %sb                        %a1 = shared_load %sa ...
//     async_commit                               async_copy ..., %sa
//     %a0 = shared_load %sa ...                  %d0 = dot %a0, ...
//     %a1 = shared_load %sa ...                  ...
//     %d0 = dot %a0, ...                   =>    async_copy ..., %sb
//     ...                                        %d1 = dot %a1, ...
//     %d3 = dot %a3, ...                         ...
//                                                async_commit
//                                                %d2 = dot %a2, ...
//                                                ...
//                                                %d3 = dot %a3, ...
//
// ptxas cannot prove that a copy and a later load access different shared memory. So in machine
// code every load that follows a copy in the text also follows it in time. At the head of the loop
// these are the loads that the arithmetic waits for.
//
// Method:  Spreads the copies evenly over all dots but the last, each copy before a dot. Moves the
//          commit before the last dot but one.
// Needs:   pipeline_loops, split_dots_along_k.
// Ensures: the copies of an iteration are committed before the last dot but one.
// Limits:  at least four dots directly in the loop, all in one chain: among fewer there is no room.
//          At least three stages: with two, the next iteration waits for the copies at once.
//          Exactly one commit.
//
// Tested by tests/unit/passes/interleave_copies/.

#include "passes/interleave_copies.h"

namespace tritonc {

using namespace ir;

namespace {

constexpr size_t min_dots = 4;
constexpr int64_t min_stages = 3;

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
  if (commits.size() != 1 || dots.size() < min_dots)
    return;
  for (const Op *copy : copies)
    if (copy->operand(1)->type.shape[0] < min_stages)
      return;
  size_t places = dots.size() - 1;
  for (size_t i = 0; i < copies.size(); i++)
    move_before(copies[i], dots[i * places / copies.size()]);
  move_before(commits[0], dots[places - 1]);
}

} // namespace

void interleave_copies(Function &fn) {
  std::vector<Op *> loops;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::for_loop_))
      loops.push_back(&op);
  });
  for (Op *loop : loops)
    spread(*loop);
}

} // namespace tritonc
