// store_loop_partials: divides a loop that reduces among blocks, which store partials.
//
//     launch_blocks %p0, %p1, %p2              launch_blocks %p0, %p1, %p2 * %parts
//     %z = block_id {axis = 2}                 %b = block_id {axis = 2}
//     %sum = for_loop %n, %zero {              %s = %b / %p2
//       (%t, %acc)                             %z = %b rem %p2
//       %a = load ... formula of %t            %sum = for_loop min(%part, %n - %s*%part), %zero {
//       %y = add %acc, %a                        (%t, %acc)
//       yield %y                          =>     %a = load ... formula of %t + %s*%part
//     }                                          ...
//     %r = reduce %sum {op = "add"}            }
//     store %w, %r                             %r = reduce %sum {op = "add"}
//                                              store workspace of part %s, %r
//
// A sum of few long rows has few programs: most SMs have nothing to do. So has a matmul with few
// rows and columns but a very long K, even with split_k_in_cluster, because the size of a cluster
// is limited. Through a workspace, any number of blocks can share a loop. The pass divides every
// loop of an associative operation: matmuls (split-K), sums, minima, maxima, bitwise operations, the
// place of an extreme element, and softmax and attention in one loop (split-KV, "flash decoding").
//
// Method:  A second launch (combine_loop_partials) combines the partials, always in the same order,
//          and runs what follows. The reductions of a total by the same operation belong to the
//          first launch, so that a partial is small. All parts have the same number of iterations,
//          except the last one. If TMA loads a matmul, all have the same: past the end of K, TMA
//          reads zeros, because these coordinates are outside of the tensor map. Then the host knows
//          the number of iterations, as specialize_warps requires.
//          If a program computes how many iterations it has, the host divides an upper bound: the
//          last parts of a program may have none.
//          The store reads the index of the block again: during the loop, no register keeps it.
// Needs:   form_views; a loop that find_associative_loop finds. Of a matmul: lower_to_tma, which
//          needs the whole loop and the grid of programs.
// Ensures: after the loop and these reductions, a block only stores its partial. No program_id is
//          left; there is a launch_blocks; only the host uses num_programs.
// Limits:  nothing happens unless the schedule's work is partials. split_k_in_cluster and
//          split_loops_in_cluster divide loops without a workspace: a cluster has one launch, and
//          its blocks run what follows the loop together, instead of storing partials.
//
// Tested by tests/unit/passes/store_loop_partials/ and store_loop_partials_test.cpp.

#include "passes/store_loop_partials.h"

#include "analysis/launch_config.h"
#include "analysis/matmul_loop.h"
#include "passes/grid_of_blocks.h"
#include "passes/loop_partials.h"
#include "passes/remove_dead_code.h"
#include "passes/split_k_in_cluster.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

// The index of the block along the last axis, which the function may already have.
Value *last_block_id(Function &fn, Builder &builder) {
  for (Op *op : fn.body->ops)
    if (op->is(Opcode::block_id_) && op->get(attr::axis_) == 2)
      return op->result();
  return make_block_id(builder, 2);
}

// Divides the index along the last axis, of which there are `count` in each part, into the part and
// the index in it. Replaces all uses, and returns the part.
Value *divide_last_axis(Function &fn, Builder &builder, Value *id, Value *count) {
  count = builder.create(Opcode::host_value_, {count}, {count->type})->result();
  Value *part = builder.binary(Opcode::udiv_, id, count);
  Value *inside = builder.binary(Opcode::urem_, id, count);
  replace_uses(*fn.body, id, inside);
  part->op->operands[0] = inside->op->operands[0] = id;
  return part;
}

bool loads_by_tma(const Op &loop) {
  const std::vector<Op *> &ops = loop.blocks[0]->ops;
  return std::any_of(ops.begin(), ops.end(),
                     [](const Op *op) { return op->is(Opcode::tma_load_); });
}

// Erases all operations after the loop, except those that compute the totals, and the return.
void erase_the_rest(Function &fn, const AssociativeLoop &found) {
  std::set<const Op *> kept;
  for (const AssociativeLoop::Total &total : found.totals)
    add_with_operands(total.value->op, kept);
  const size_t end = fn.body->position_of(found.loop);
  std::vector<Op *> ops(fn.body->ops.begin() + int64_t(end) + 1, fn.body->ops.end() - 1);
  for (auto op = ops.rbegin(); op != ops.rend(); op++)
    if (!kept.contains(*op))
      erase(*op);
}

} // namespace

void store_loop_partials(Function &fn, const Schedule &schedule) {
  if (schedule.work != Schedule::Work::partials)
    return;
  std::optional<AssociativeLoop> found = find_associative_loop(fn);
  assert(found && "candidate_schedules has looked");
  if (!launch_of(fn)) // coarsen_programs makes it for a matmul
    launch_grid_of_blocks(fn, {1, 1, 1});
  Op *loop = found->loop, *launch = launch_of(fn);
  const bool is_padded = loads_by_tma(*loop) && find_matmul_loop(fn).found;
  Builder top = Builder::before(fn, launch);
  top.set_location(fn.location);
  std::vector<Value *> blocks = launch->operands;
  Value *part = divide_last_axis(fn, top, last_block_id(fn, top), blocks[2]);
  erase(launch);
  if (schedule.swap_operands) // the loop computes the transpose
    found->totals[0].value = Builder::after(fn, loop).trans(found->totals[0].value, {1, 0});

  Builder builder = Builder::before(fn, loop);
  builder.set_location(loop->location);
  LoopPartials partials = emit_loop_partials(builder, *found, blocks, {}, schedule.blocks_per_sm);
  blocks[2] = builder.mul(blocks[2], partials.count_on_host);
  builder.create(Opcode::launch_blocks_, blocks);
  Value *first = builder.mul(part, partials.steps), *steps = partials.steps;
  if (!is_padded)
    steps = builder.binary(Opcode::min_, steps, builder.sub(loop->operand(0), first));
  if (!is_padded && !host_expression(loop->operand(0)))
    steps = builder.binary(Opcode::max_, steps, builder.i32(0));
  take_part_of_steps(fn, loop, first, steps);

  erase_the_rest(fn, *found);
  Builder end(fn, fn.body, fn.body->ops.size() - 1);
  end.set_location(loop->location);
  Value *ids[3]; // of all parts; again, so that the loop has their registers
  for (int64_t axis : {0, 1, 2}) {
    ids[axis] = make_block_id(end, axis);
    ids[axis]->op->set(attr::again_);
  }
  Value *index = emit_block_index(end, partials, ids);
  for (size_t i = 0; i < found->totals.size(); i++) {
    Value *total = emit_as(end, found->totals[i].value, partials.elem);
    end.store(emit_total(end, partials, i, index, nullptr, total->type), total);
  }
}

} // namespace tritonc
