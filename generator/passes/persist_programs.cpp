// persist_programs: let every block carry out several programs, one after another.
//
//     %x = program_id {axis = 0}           %n = host_value programs in all
//     %y = program_id {axis = 1}           %b = host_value blocks
//     ...                                  launch_blocks %b
//                                     =>   for_loop (%n - block_id + %b - 1) / %b {
//                                            (%u)
//                                            %p = block_id + %u * %b
//                                            %x, %y = place of %p
//                                            ...
//                                          }
//
// A block that goes on with its next program loads for it while the results of the one before are
// stored. There are as many blocks as are needed for the least number of rounds, and no more: 128
// programs of one round on 132 multiprocessors are as fast as they can be with 128 blocks.
//
// The host also counts the trips of loops, where it can, so that nobody divides on the GPU.
//
// If programs are bundled, a bundle is what is a program here.
//
// Two launches may share the pieces: one does as many as there are in full rounds, the other those
// that would leave most multiprocessors idle in the last round, cut into smaller ones. Their code
// is the same as if there were only one of them; it is the host that says which pieces.
//
// Where the blocks of a cluster will divide a program's sum among them (split_sums), there is a
// block for each program, and no loop: such programs are few.
//
// The place of a program. Blocks that run at one time should need the same rows and columns of the
// operands, so that they find them in the L2 cache: it is that of group_programs. Programs are
// independent of each other, so any order is right.
//
// Needs:   use_tensor_maps, whose maps are made from the grid; no program depends on the block that
//          it runs in.
// Ensures: there is no program_id; num_programs is used by the host only.
//
// Tested by tests/passes/persist_programs_test.cpp.

#include "passes/persist_programs.h"

#include "analysis/launch_form.h"
#include "ir/builder.h"
#include "passes/group_programs.h"

namespace tritonc {

using namespace ir;

namespace {

struct State {
  Function &fn;
  const Structure &structure;

  Value *on_host(Builder &builder, Value *value, const char *name) {
    Value *result = builder.create(Opcode::host_value_, {value}, {value->type})->result();
    result->name = name;
    return result;
  }

  static Value *div(Builder &builder, Value *a, Value *b) {
    return builder.binary(Opcode::div_, a, b);
  }
  static Value *rem(Builder &builder, Value *a, Value *b) {
    return builder.binary(Opcode::rem_, a, b);
  }
  static Value *div_up(Builder &builder, Value *a, Value *b) {
    return div(builder, builder.sub(builder.add(a, b), builder.i32(1)), b);
  }

  // What the host hands over: the grid of the pieces of work, and how many blocks there are for how
  // many of them, from which on. A piece is a bundle of programs, if there are bundles. If pieces
  // are those of a larger structure cut up, they are counted after that one's, of which the grid
  // is, and `first` is one.
  Value *pieces[3] = {}, *first = nullptr, *all = nullptr, *blocks = nullptr;

  void launch(Builder &builder, const Op *bundles) {
    Value *counts[3];
    for (int axis = 0; axis < 3; axis++) {
      counts[axis] = bundles ? bundles->operand(size_t(axis)) : builder.num_programs(axis);
      if (!structure.cuts.empty())
        counts[axis] = div_up(builder, counts[axis], builder.i32(structure.cuts[size_t(axis)]));
      pieces[axis] = on_host(builder, counts[axis], "pieces");
    }
    Value *total = builder.mul(builder.mul(counts[0], counts[1]), counts[2]);
    if (structure.splits > 1) {
      builder.create(Opcode::launch_blocks_, {total})->set("cluster", int64_t(1));
      return;
    }
    Value *at_once =
        builder.create(Opcode::num_multiprocessors_, {}, {Type::scalar(Elem::i32)})->result();
    at_once = builder.mul(at_once, builder.i32(structure.residency));
    if (structure.share == Structure::Share::full_rounds)
      total = builder.mul(div(builder, total, at_once), at_once);
    if (!structure.cuts.empty())
      total = cut(builder, total, at_once);
    Value *rounds = div_up(builder, total, at_once);
    all = on_host(builder, total, "all");
    Value *needed = div_up(builder, total, rounds);
    blocks = on_host(builder, needed, "blocks");
    builder.create(Opcode::launch_blocks_, {needed})->set("cluster", int64_t(1));
  }

  // How many pieces there are if those of the larger structure are cut up, or those left of them
  // after its full rounds.
  Value *cut(Builder &builder, Value *larger, Value *at_once) {
    Value *done = builder.i32(0);
    if (structure.share == Structure::Share::rest)
      done = builder.mul(div(builder, larger, at_once), at_once);
    first = on_host(builder, done, "first");
    return builder.mul(builder.sub(larger, done), builder.i32(cuts_of_one()));
  }

  int64_t cuts_of_one() const { return structure.cuts[0] * structure.cuts[1] * structure.cuts[2]; }

  // Where in the grid program number `number` is.
  void place(Builder &builder, Value *number, Value *at[3]) {
    Value *in_plane = builder.mul(pieces[0], pieces[1]);
    at[2] = builder.binary(Opcode::udiv_, number, in_plane);
    Value *in_grid = builder.binary(Opcode::urem_, number, in_plane);
    std::array<Value *, 2> found = place_in_groups(builder, in_grid, pieces[0], pieces[1]);
    at[0] = found[0];
    at[1] = found[1];
  }

  // The same for pieces of a larger structure cut up.
  void place_in_cut(Builder &builder, Value *number, Value *at[3]) {
    Value *in_all = builder.i32(cuts_of_one());
    place(builder, builder.add(first, div(builder, number, in_all)), at);
    Value *inside = rem(builder, number, in_all);
    for (size_t axis = 0; axis < 3; axis++) {
      Value *cuts = builder.i32(structure.cuts[axis]);
      at[axis] = builder.add(builder.mul(at[axis], cuts), rem(builder, inside, cuts));
      inside = div(builder, inside, cuts);
    }
  }

  void run() {
    std::set<const Op *> top;
    const Op *bundles = nullptr;
    for (Op *op : fn.body->ops) {
      if (op->is(Opcode::launch_blocks_))
        bundles = op;
      if (info(op->code).effect == Effect::host || is_hidden(*op))
        add_with_operands(op, top);
    }
    std::vector<Op *> rest, ops = std::move(fn.body->ops);
    fn.body->ops.clear();
    for (Op *op : ops) {
      if (op == bundles)
        continue;
      (top.count(op) ? fn.body->ops : rest).push_back(op);
      // Nobody hands over to the host what it knows.
      for (Value *&operand : op->operands)
        if (top.count(op) && operand->op && operand->op->is(Opcode::host_value_))
          operand = operand->op->operand(0);
    }
    Op *end = rest.back(); // return
    rest.pop_back();

    Builder builder(fn, fn.body);
    builder.set_location(fn.location);
    launch(builder, bundles);
    Value *grid[3];
    for (int axis = 0; axis < 3; axis++)
      grid[axis] = on_host(builder, builder.num_programs(axis), "programs");
    let_host_count(rest, builder);
    Op *block = builder.create(Opcode::block_id_, {}, {Type::scalar(Elem::i32)});
    block->set("axis", int64_t(0));
    if (structure.splits > 1) {
      move_to(builder, block->result(), rest, grid);
      fn.body->ops.push_back(end);
      return;
    }
    // There is a first one, as there are no more blocks than pieces: so most often there is nothing
    // to divide, which a GPU is slow at (bypass_divisions).
    Value *behind_first = builder.sub(builder.sub(all, builder.i32(1)), block->result());
    Value *more = builder.binary(Opcode::udiv_, behind_first, blocks);
    Value *trips = builder.add(more, builder.i32(1));
    Op *loop = builder.for_loop(trips, {});
    fn.body->ops.push_back(end);
    Value *round = loop->blocks[0]->arguments[0];
    round->name = "round";
    Builder inside(fn, loop->blocks[0]);
    inside.set_location(fn.location);
    move_to(inside, inside.add(block->result(), inside.mul(round, blocks)), rest, grid);
    Builder(fn, loop->blocks[0]).yield({});
  }

  // Puts the program's operations where `builder` is, for the program of this number.
  void move_to(Builder &builder, Value *number, const std::vector<Op *> &ops, Value *grid[3]) {
    Value *at[3];
    if (structure.cuts.empty())
      place(builder, number, at);
    else
      place_in_cut(builder, number, at);
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

  // The trips of loops that the host can count are the same for all programs, so it does.
  void let_host_count(const std::vector<Op *> &ops, Builder &builder) {
    for (Op *op : ops) {
      if (!op->is(Opcode::for_loop_) || op->operand(0)->op == nullptr ||
          constant_of(op->operand(0)) || !host_expression(op->operand(0)))
        continue;
      Copies copies;
      op->operands[0] =
          on_host(builder, clone_computation(builder, op->operand(0), fn.body, copies), "trips");
    }
  }

  void replace_operands(Op &op, Value *at[3], Value *grid[3]) {
    for (Value *&operand : op.operands) {
      if (!operand->op)
        continue;
      if (operand->op->is(Opcode::program_id_) || operand->op->is(Opcode::block_id_))
        operand = at[operand->op->integer("axis")];
      else if (operand->op->is(Opcode::num_programs_))
        operand = grid[operand->op->integer("axis")];
    }
    for (Block *block : op.blocks)
      for (Op *inner : block->ops)
        replace_operands(*inner, at, grid);
  }
};

} // namespace

void persist_programs(Function &fn, const Structure &structure) {
  if (structure.specialized)
    State{fn, structure}.run();
}

} // namespace tritonc
