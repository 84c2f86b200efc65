// store_loop_partials: divides a loop that reduces among blocks, which store partials.
//
//     %x = program_id {axis = 0}               launch_blocks %p0 * %parts, %p1, %p2
//     %sum = for_loop %n, %zero {              %b = block_id {axis = 0}
//       (%t, %acc)                             %s = %b / %p0
//       %a = load ... formula of %t            %x = %b rem %p0
//       %y = add %acc, %a                      %sum = for_loop min(%part, %n - %s*%part), %zero {
//       yield %y                          =>     (%t, %acc)
//     }                                          %a = load ... formula of %t + %s*%part
//     %r = reduce %sum {op = "add"}              ...
//     store %w, %r                             }
//                                              %r = reduce %sum {op = "add"}
//                                              store workspace of part %s, %r
//
// A sum of few long rows has few programs: most SMs have nothing to do. This is split-K without a
// matmul, for every operation that is associative: sums, minima, maxima, bitwise operations, and
// the place of an extreme element.
//
// Method:  A second launch (combine_loop_partials) combines the partials, always in the same order,
//          and runs what follows. The reductions of a total by the same operation belong to the
//          first launch, so that a partial is small. All parts have the same number of iterations,
//          except the last one.
// Needs:   form_views; a loop that find_associative_loop finds; the grid of programs.
// Ensures: after the loop and these reductions, a block only stores its partial. No program_id is
//          left; there is a launch_blocks; only the host uses num_programs.
// Limits:  nothing happens unless the schedule is split_loop and its work is partials.
//
// Tested by tests/unit/passes/store_loop_partials/.

#include "passes/store_loop_partials.h"

#include "passes/grid_of_blocks.h"
#include "passes/loop_partials.h"
#include "passes/remove_dead_code.h"
#include "passes/split_k_in_cluster.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

Op *launch_of(Function &fn) {
  auto found = std::find_if(fn.body->ops.begin(), fn.body->ops.end(),
                            [](const Op *op) { return op->is(Opcode::launch_blocks_); });
  return *found;
}

// A new block_id of the first axis, divided into the part and the index of the program.
Value *divide_first_axis(Function &fn, GridOfBlocks &blocks) {
  Value *id = blocks.ids[0];
  Builder builder = Builder::after(fn, launch_of(fn));
  builder.set_location(fn.location);
  Value *part = builder.binary(Opcode::udiv_, id, blocks.programs[0]);
  Value *program = builder.binary(Opcode::urem_, id, blocks.programs[0]);
  replace_uses(*fn.body, id, program);
  part->op->operands[0] = program->op->operands[0] = id;
  blocks.ids[0] = program;
  return part;
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
  if (schedule.kind != Schedule::Kind::split_loop || !schedule.is_first())
    return;
  std::optional<AssociativeLoop> found = find_associative_loop(fn);
  assert(found && "candidate_schedules has looked");
  GridOfBlocks blocks = launch_grid_of_blocks(fn, {1, 1, 1});
  Value *part = divide_first_axis(fn, blocks);
  Op *loop = found->loop;
  Builder builder = Builder::before(fn, loop);
  builder.set_location(loop->location);
  LoopPartials partials = emit_loop_partials(builder, *found, schedule.blocks_per_sm);

  Op *launch = launch_of(fn);
  std::vector<Value *> counts = launch->operands;
  counts[0] = builder.mul(counts[0], partials.count_on_host);
  builder.create(Opcode::launch_blocks_, counts);

  Value *first = builder.mul(part, partials.steps);
  Value *left = builder.sub(loop->operand(0), first);
  take_part_of_steps(fn, loop, first, builder.binary(Opcode::min_, partials.steps, left));
  erase(launch);
  erase_the_rest(fn, *found);
  Builder end(fn, fn.body, fn.body->ops.size() - 1);
  end.set_location(loop->location);
  Value *program = emit_program_index(end, blocks.ids, blocks.programs);
  for (size_t i = 0; i < found->totals.size(); i++) {
    Value *total = emit_as(end, found->totals[i].value, partials.elem);
    Value *offset = emit_offset(end, partials, end.cast(part, Elem::i64), program, i);
    if (total->type.is_scalar()) {
      end.store(end.addptr(partials.memory, offset), total);
      continue;
    }
    std::vector<Value *> operands = {partials.memory, offset};
    int64_t stride = total->type.elements();
    for (int64_t extent : total->type.shape)
      operands.push_back(end.i64(stride /= extent));
    Type type = Type::view(partials.elem, total->type.shape);
    end.store(end.create(Opcode::view_, operands, {type})->result(), total);
  }
}

} // namespace tritonc
