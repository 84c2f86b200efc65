// make_persistent: lets every block run several programs, one after another.
//
//     %x = program_id {axis = 0}           %n = host_value number of programs
//     %y = program_id {axis = 1}           %b = host_value number of blocks
//     ...                                  launch_blocks %b
//                                     =>   for_loop (%n - 1 - block_id) / %b + 1 {
//                                            (%u)
//                                            %p = block_id + %u * %b
//                                            %x, %y = place of %p
//                                            ...
//                                          }
//
// While the consumer warps store the output tile of one program, the producer warps already load
// for the next one. The launch starts no more blocks than the fewest waves need: on 132 SMs, 128
// programs in one wave are as fast as possible with 128 blocks.
//
// Method:  The host computes the number of waves and, from that, the number of blocks. Block b runs
//          the programs b, b + blocks, b + 2 * blocks, and so on. Where programs are coarsened, a
//          coarsened program counts as one program.
//
//          Programs have the order of swizzle_programs. Blocks that run at the same time should
//          load the same rows of A and columns of B, to find them in the L2 cache. Any order is
//          correct, because programs are independent of each other.
//
//          With schedule.stream_k, blocks divide the K iterations of some tiles (stream_k.h):
//
//            for_loop %items {
//              (%u)
//              %tile, %first, %last = item %u of the block
//              %sum = for_loop %last - %first, %zero { ... }
//              if %last == %n {
//                add the partials of other blocks to %sum
//                ...
//              } else {
//                leave %sum to another block
//              }
//            }
//
//          With schedule.multicast, a cluster takes the place of a block: its blocks run adjacent
//          programs along the axis of the grid that share an operand. If the number of programs is
//          odd, a block has a program outside of the grid, whose copies TMA clips.
//
//          The host also computes the number of iterations of loops where it can, so that no thread
//          divides for it.
// Needs:   lower_to_tma, which makes tensor maps from the grid; no program depends on the block
//          that runs it.
// Ensures: no program_id is left; only the host uses num_programs.
// Limits:  nothing happens unless the schedule is warp-specialized and the kernel is a matmul. In
//          loops of several dots, the arithmetic of one warpgroup should run while another one
//          multiplies. Warpgroups that start a program together take long until they do: attention
//          took 1.2 times as long with persistent blocks (H200, half, 4096 queries and keys, 128
//          elements, driver 580.159.04, 2026-11-30). With schedule.split_k > 1 each
//          program has its own block (later: its own cluster, see split_k_in_cluster), and there is
//          no loop: such launches have few programs.
//
// Tested by tests/unit/passes/make_persistent/ and make_persistent_test.cpp.

#include "passes/make_persistent.h"

#include "analysis/grid_axes.h"
#include "analysis/launch_config.h"
#include "ir/builder.h"
#include "passes/stream_k.h"
#include "passes/swizzle_programs.h"

#include <optional>

namespace tritonc {

using namespace ir;

namespace {

struct State {
  Function &fn;
  const Schedule &schedule;
  const std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found;

  Value *on_host(Builder &builder, Value *value, const char *name) {
    Value *result = builder.create(Opcode::host_value_, {value}, {value->type})->result();
    result->name = name;
    return result;
  }

  static Value *div(Builder &builder, Value *a, Value *b) {
    return builder.binary(Opcode::div_, a, b);
  }
  static Value *div_up(Builder &builder, Value *a, Value *b) {
    Value *one = builder.i32(1);
    return div(builder, builder.sub(builder.add(a, b), one), b);
  }

  // Passed by the host: the grid of output tiles, their number, and the number of blocks. A
  // coarsened program has one output tile. With multicast, all but the grid count clusters, each with
  // adjacent tiles along `shared_axis`.
  Value *pieces[3] = {}, *all = nullptr, *blocks = nullptr;
  int64_t shared_axis = 0;
  StreamK stream_k = {}; // if the schedule has it
  Value *rank = nullptr; // of the block in its cluster

  void launch(Builder &builder, const Op *coarsenings) {
    Value *counts[3];
    for (int axis = 0; axis < 3; axis++) {
      counts[axis] = coarsenings ? coarsenings->operand(size_t(axis)) : builder.num_programs(axis);
      if (schedule.multicast > 1 && axis == shared_axis)
        counts[axis] = div_up(builder, counts[axis], builder.i32(schedule.multicast));
      pieces[axis] = on_host(builder, counts[axis], "pieces");
    }
    Value *total = builder.mul(builder.mul(counts[0], counts[1]), counts[2]);
    if (schedule.split_k > 1) {
      builder.create(Opcode::launch_blocks_, {total})->set(attr::cluster_, int64_t(1));
      return;
    }
    Value *at_once = builder.create(Opcode::num_sms_, {}, {Type::scalar(Elem::i32)})->result();
    at_once = builder.mul(at_once, builder.i32(schedule.blocks_per_sm));
    if (schedule.multicast > 1) {
      Value *clusters = div(builder, at_once, builder.i32(schedule.multicast));
      Value *one = builder.i32(1); // a part of a GPU may have fewer SMs than a cluster has blocks
      at_once = builder.binary(Opcode::max_, clusters, one);
    }
    Value *waves = div_up(builder, total, at_once);
    all = on_host(builder, total, "all");
    Value *needed = div_up(builder, total, waves);
    if (schedule.stream_k) {
      Copies copies;
      Value *iterations = clone_computation(builder, matmul->loop->operand(0), fn.body, copies);
      stream_k = emit_stream_k(builder, total, at_once, iterations, matmul->dot->result()->type);
      needed = at_once;
    }
    blocks = on_host(builder, needed, "blocks");
    if (schedule.multicast > 1)
      needed = builder.mul(needed, builder.i32(schedule.multicast));
    builder.create(Opcode::launch_blocks_, {needed})->set(attr::cluster_, schedule.multicast);
  }

  // The index of program `number` along each axis of the grid.
  void place(Builder &builder, Value *number, Value *at[3]) {
    Value *in_plane = builder.mul(pieces[0], pieces[1]);
    at[2] = builder.binary(Opcode::udiv_, number, in_plane);
    Value *in_grid = builder.binary(Opcode::urem_, number, in_plane);
    std::array<Value *, 2> found = place_in_groups(builder, in_grid, pieces[0], pieces[1]);
    at[0] = found[0];
    at[1] = found[1];
  }

  void run() {
    if (schedule.multicast > 1)
      shared_axis = find_shared_operand(*matmul)->axis;
    std::set<const Op *> top;
    const Op *coarsenings = nullptr;
    for (Op *op : fn.body->ops) {
      if (op->is(Opcode::launch_blocks_))
        coarsenings = op;
      if (info(op->code).effect == Effect::host || is_hidden(*op))
        add_with_operands(op, top);
    }
    std::vector<Op *> rest, ops = std::move(fn.body->ops);
    fn.body->ops.clear();
    for (Op *op : ops) {
      if (op == coarsenings)
        continue;
      (top.count(op) ? fn.body->ops : rest).push_back(op);
      // The host uses its own values directly: host_value passes values to the device.
      for (Value *&operand : op->operands)
        if (top.count(op) && operand->op && operand->op->is(Opcode::host_value_))
          operand = operand->op->operand(0);
    }
    Op *end = rest.back(); // return
    rest.pop_back();

    Builder builder(fn, fn.body);
    builder.set_location(fn.location);
    launch(builder, coarsenings);
    Value *grid[3];
    for (int axis = 0; axis < 3; axis++)
      grid[axis] = on_host(builder, builder.num_programs(axis), "programs");
    let_host_count(rest, builder);
    Op *block = builder.create(Opcode::block_id_, {}, {Type::scalar(Elem::i32)});
    block->set(attr::axis_, int64_t(0));
    if (schedule.split_k > 1) {
      move_to(builder, block->result(), rest, grid);
      fn.body->ops.push_back(end);
      return;
    }
    Value *number = block->result();
    if (schedule.multicast > 1) {
      Value *size = builder.i32(schedule.multicast);
      number = builder.binary(Opcode::udiv_, block->result(), size);
      rank = builder.binary(Opcode::urem_, block->result(), size);
    }
    if (schedule.stream_k) {
      run_stream_k(builder, number, rest, grid);
      fn.body->ops.push_back(end);
      return;
    }
    // Every block has a first program, since there are no more blocks than programs. So the
    // quotient is usually 0, and bypass_divisions skips the division, which is slow on a GPU.
    Value *behind_first = builder.sub(builder.sub(all, builder.i32(1)), number);
    Value *more = builder.binary(Opcode::udiv_, behind_first, blocks);
    Value *iterations = builder.add(more, builder.i32(1));
    Op *loop = builder.for_loop(iterations, {});
    fn.body->ops.push_back(end);
    Value *wave = loop->blocks[0]->arguments[0];
    wave->name = "wave";
    Builder inside(fn, loop->blocks[0]);
    inside.set_location(fn.location);
    move_to(inside, inside.add(number, inside.mul(wave, blocks)), rest, grid);
    Builder(fn, loop->blocks[0]).yield({});
  }

  void run_stream_k(Builder &builder, Value *block, const std::vector<Op *> &ops, Value *grid[3]) {
    const WorkOfBlock work(builder, stream_k, block, blocks, all);
    Op *loop = builder.for_loop(work.items(), {});
    loop->blocks[0]->arguments[0]->name = "item";
    Builder inside(fn, loop->blocks[0]);
    inside.set_location(fn.location);
    const WorkItem item = work.item(inside, loop->blocks[0]->arguments[0]);
    move_to(inside, item.tile, ops, grid);
    emit_exchange_of_partials(fn, stream_k, item, block, blocks, matmul->loop, matmul->carried);
    Builder(fn, loop->blocks[0]).yield({});
  }

  // Moves the operations of the program to `builder`, for program `number`.
  void move_to(Builder &builder, Value *number, const std::vector<Op *> &ops, Value *grid[3]) {
    Value *at[3];
    place(builder, number, at);
    if (rank)
      at[shared_axis] =
          builder.add(builder.mul(at[shared_axis], builder.i32(schedule.multicast)), rank);
    for (Op *op : ops) {
      replace_operands(*op, at, grid);
      if (is_id(*op))
        continue;
      op->parent = builder.block();
      op->parent->ops.push_back(op);
      for (Block *inner : op->blocks)
        erase_ids(*inner);
    }
  }

  static bool is_id(const Op &op) {
    return op.is(Opcode::program_id_) || op.is(Opcode::block_id_) || op.is(Opcode::num_programs_);
  }

  static void erase_ids(Block &block) {
    std::erase_if(block.ops, [](const Op *op) { return is_id(*op); });
    for (Op *op : block.ops)
      for (Block *inner : op->blocks)
        erase_ids(*inner);
  }

  // Lets the host compute the iterations of loops that are the same in all programs.
  void let_host_count(const std::vector<Op *> &ops, Builder &builder) {
    for (Op *op : ops) {
      if (!op->is(Opcode::for_loop_) || op->operand(0)->op == nullptr ||
          constant_of(op->operand(0)) || !host_expression(op->operand(0)))
        continue;
      Copies copies;
      op->operands[0] = on_host(
          builder, clone_computation(builder, op->operand(0), fn.body, copies), "iterations");
    }
  }

  void replace_operands(Op &op, Value *at[3], Value *grid[3]) {
    for (Value *&operand : op.operands) {
      if (!operand->op)
        continue;
      if (operand->op->is(Opcode::program_id_) || operand->op->is(Opcode::block_id_))
        operand = at[operand->op->get(attr::axis_)];
      else if (operand->op->is(Opcode::num_programs_))
        operand = grid[operand->op->get(attr::axis_)];
    }
    for (Block *block : op.blocks)
      for (Op *inner : block->ops)
        replace_operands(*inner, at, grid);
  }
};

} // namespace

void make_persistent(Function &fn, const Schedule &schedule) {
  if (!schedule.is_warp_specialized())
    return;
  if (State state{fn, schedule}; state.matmul)
    state.run();
}

} // namespace tritonc
