// split_loops_in_cluster: lets the blocks of a cluster divide all loops of a program.
//
//     %p = program_id {axis = 0}               launch_blocks %p0 * 8, %p1, %p2 {cluster = 8}
//     %sum = for_loop %n, %zero {              %b = block_id {axis = 0}
//       (%t, %acc)                             %p = %b / 8
//       %x = load view(%t), %mask              %part = host_value (%n + 7) / 8
//       %y = add %acc, %x                      %first = %b rem 8 * %part
//       yield %y                               %own = for_loop %part, %zero {
//     }                                          (%t, %acc)
//     %r = reduce %sum {op = "add"}              %on = cmp %t + %first, %n {pred = "lt"}
//     for_loop %n {                              %u = umin %t + %first, %n - 1
//       (%t)                                     %x = load view(%u), %mask and %on
//       store view(%t), formula of %r    =>      %y = add %acc, %x
//     }                                          yield (select %on, %y, %acc)
//     store %w, %r                             }
//                                              %s = reduce %own {op = "add"}
//                                              %r = cluster_reduce %s {op = "add", to_all}
//                                              for_loop %part {
//                                                ...
//                                              }
//                                              if_else %b rem 8 == 0 {
//                                                store %w, %r
//                                              }
//
// A kernel with few long rows has few programs: most SMs have nothing to do. And a row is longer
// than the shared memory of one block. The blocks of a cluster have more of both, and can exchange
// their totals in about a microsecond.
//
// Method:  In each loop, all blocks run the same number of iterations, so that the host knows it.
//          The last blocks may reach past the end. There they repeat the last iteration with all
//          masks off, and keep their totals. The blocks combine their totals in the order of their
//          ranks, so the result is the same in every run. They rescale sums to the largest key of
//          all blocks before they combine them. The first block alone executes all other effects:
//          those after the last loop, and stores before it, which move there. It waits for the other
//          blocks if they may still have to load what it stores. When it has their totals, they have
//          loaded all that comes before.
// Needs:   form_views; the grid of programs.
// Ensures: no program_id is left; there is a launch_blocks; only the host uses num_programs.
// Limits:  nothing happens if schedule.cluster is 1. All loops of the function's body
//            - have a number of iterations that the host knows,
//            - carry only totals (associative_loop.h) of 32-bit numbers,
//            - contain no loops, branches or atomic operations.
//          There is such a loop. No block may access what another block stores in a loop: the
//          iterations of a loop store to different elements, and other loops access these elements
//          in the same iteration.
//
// Tested by tests/unit/passes/split_loops_in_cluster/ and split_loops_in_cluster_test.cpp.

#include "passes/split_loops_in_cluster.h"

#include "analysis/associative_loop.h"
#include "analysis/iteration_stores.h"
#include "analysis/launch_config.h"
#include "analysis/memory_access.h"
#include "analysis/same_value.h"
#include "passes/grid_of_blocks.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

using Total = AssociativeLoop::Total;

bool is_access(const Op &op) {
  const Effect effect = info(op.code).effect;
  return effect == Effect::read || effect == Effect::write;
}

bool is_write(const Op &op) { return info(op.code).effect == Effect::write; }

// The loops of a function, and everything after them.
class Program {
public:
  explicit Program(Function &fn) : fn_(fn) {}

  std::vector<Op *> loops;
  std::vector<std::vector<Total>> totals; // of each loop
  std::vector<Op *> rest;                 // what only one block executes
  bool rest_waits = false;                // until all blocks have come so far

  // Returns whether the loops can be divided. Moves operations where their order does not matter.
  bool prepare() {
    if (!find_loops())
      return false;
    Op *last = nullptr;
    for (size_t i = 0; i < loops.size(); i++)
      last = gather_totals(fn_, *loops[i], totals[i]);
    return find_rest(fn_.body->position_of(last) + 1) && are_blocks_independent();
  }

private:
  Function &fn_;
  std::vector<std::pair<Op *, Op *>> shared_; // accesses of all blocks; their loops or null
  SameValues same_;

  bool find_loops() {
    for (Op *op : fn_.body->ops) {
      if (!op->is(Opcode::for_loop_))
        continue;
      std::optional<std::vector<Total>> found = find_totals(fn_, *op);
      if (!found || !host_expression(op->operand(0)) || !can_divide(*op->blocks[0]) ||
          !std::all_of(found->begin(), found->end(), can_combine))
        return false;
      loops.push_back(op);
      totals.push_back(std::move(*found));
    }
    return !loops.empty();
  }

  static bool can_divide(const Block &body) {
    return std::all_of(body.ops.begin(), body.ops.end(), [](const Op *op) {
      return info(op->code).effect == Effect::pure || op->is(Opcode::load_) ||
             op->is(Opcode::store_) || op->is(Opcode::yield_);
    });
  }

  static bool can_combine(const Total &total) {
    const Elem elem = total.value->type.elem;
    return elem == Elem::f32 || elem == Elem::i32;
  }

  // Finds what comes after the loops and the totals of the last loop, which end at `end`; and stores
  // before.
  bool find_rest(size_t end) {
    const std::vector<Op *> &ops = fn_.body->ops;
    for (size_t i = 0; i < end; i++) {
      Op *op = ops[i];
      const Effect effect = info(op->code).effect;
      if (op->is(Opcode::store_))
        rest.push_back(op);
      else if (op->is(Opcode::load_))
        shared_.push_back({op, nullptr});
      else if (op->is(Opcode::for_loop_))
        add_accesses(op);
      else if (effect != Effect::pure && effect != Effect::host)
        return false;
    }
    // No later access may depend on a store that moves.
    for (const Op *store : rest)
      for (auto [access, loop] : shared_) {
        const Op &place = loop ? *loop : *access;
        if (fn_.body->position_of(&place) > fn_.body->position_of(store) &&
            overlap_of(fn_, *store, *access) != Overlap::none)
          return false;
      }
    std::vector<Op *> after(ops.begin() + int64_t(end), ops.end() - 1);
    rest.insert(rest.end(), after.begin(), after.end());
    return true;
  }

  void add_accesses(Op *loop) {
    for (Op *op : loop->blocks[0]->ops)
      if (is_access(*op))
        shared_.push_back({op, loop});
  }

  bool are_blocks_independent() {
    for (const Op *first : loops)
      for (const Op *second : loops)
        if (same_(first->operand(0), second->operand(0)))
          same_.add(first->blocks[0]->arguments[0], second->blocks[0]->arguments[0]);
    for (auto [store, loop] : shared_) {
      if (!store->is(Opcode::store_))
        continue;
      if (!stores_apart(*store, loop->blocks[0]->arguments[0]))
        return false;
      for (auto [access, other] : shared_)
        if (access != store && !is_of_same_block(*store, *loop, *access, other))
          return false;
    }
    for (const Op *op : rest)
      note_waits(*op);
    return true;
  }

  // Whether no other block makes `access` to an element that `store` stores.
  bool is_of_same_block(const Op &store, const Op &loop, const Op &access, const Op *other) {
    const Overlap overlap = overlap_of(fn_, store, access);
    if (overlap == Overlap::none)
      return true;
    if (!other || !same_(loop.operand(0), other->operand(0)))
      return false;
    return overlap == Overlap::same_index || same_(store.operand(0), access.operand(0));
  }

  void note_waits(const Op &op) {
    for (const Block *block : op.blocks)
      for (const Op *inner : block->ops)
        note_waits(*inner);
    if (!is_access(op))
      return;
    rest_waits |= op.is_atomic() || std::any_of(shared_.begin(), shared_.end(), [&](auto pair) {
                    auto [access, loop] = pair;
                    return (is_write(op) || is_write(*access)) &&
                           !comes_before_exchange(*access, loop) &&
                           overlap_of(fn_, op, *access) != Overlap::none;
                  });
  }

  // Whether all blocks have made `access`, a load, when a block has the totals of all.
  bool comes_before_exchange(const Op &access, const Op *loop) const {
    const size_t position = fn_.body->position_of(loop ? loop : &access);
    for (size_t i = 0; i < loops.size(); i++)
      if (!totals[i].empty() && position <= fn_.body->position_of(loops[i]))
        return access.is(Opcode::load_);
    return false;
  }
};

// Makes clusters, then divides the loops that Program has prepared.
class Division {
public:
  Division(Function &fn, int64_t blocks) : fn_(fn), blocks_(blocks) { make_clusters(); }

  void run(const Program &program) {
    for (size_t i = 0; i < program.loops.size(); i++) {
      divide(program.loops[i]);
      combine(program.loops[i], program.totals[i]);
    }
    execute_once(program.rest, program.rest_waits);
  }

private:
  // The iterations of a block, of a loop with `count` iterations.
  struct Part {
    Value *count, *iterations, *first, *last;
  };

  Function &fn_;
  const int64_t blocks_;
  Value *rank_ = nullptr;
  SameValues same_ = {};
  std::vector<Part> parts_ = {};

  void make_clusters() {
    GridOfBlocks grid = launch_grid_of_blocks(fn_, {1, 1, 1});
    Op *launch = *std::find_if(fn_.body->ops.begin(), fn_.body->ops.end(),
                               [](const Op *op) { return op->is(Opcode::launch_blocks_); });
    Builder host = Builder::before(fn_, launch);
    host.set_location(launch->location);
    launch->operands[0] = host.mul(launch->operand(0), host.i32(blocks_));
    launch->set(attr::cluster_, blocks_);

    Builder builder = Builder::after(fn_, launch);
    builder.set_location(launch->location);
    Value *id = grid.ids[0], *size = builder.i32(blocks_);
    Value *program = builder.binary(Opcode::udiv_, id, size);
    replace_uses(*fn_.body, id, program);
    program->op->operands[0] = id;
    rank_ = builder.binary(Opcode::urem_, id, size);
    rank_->name = "rank";
  }

  Part part_of(Op *loop) {
    Value *count = loop->operand(0);
    for (const Part &part : parts_)
      if (same_(part.count, count))
        return part;
    // Early, so that nothing before the loop delays copies of its tiles.
    auto position = [&](const Op *op) {
      return op && op->parent == fn_.body ? fn_.body->position_of(op) : 0;
    };
    Op *known = position(count->op) > position(rank_->op) ? count->op : rank_->op;
    Builder builder = Builder::after(fn_, known);
    builder.set_location(loop->location);
    Value *part = builder.add(count, builder.i32(blocks_ - 1));
    part = builder.binary(Opcode::div_, part, builder.i32(blocks_));
    part = builder.binary(Opcode::max_, part, builder.i32(0)); // later passes ask for the sign
    part = builder.create(Opcode::host_value_, {part}, {part->type})->result();
    part->name = "part";
    Value *first = builder.mul(rank_, part);
    Value *last = builder.sub(count, builder.i32(1));
    parts_.push_back({count, part, first, last});
    return parts_.back();
  }

  void divide(Op *loop) {
    const Part part = part_of(loop);
    Block &body = *loop->blocks[0];
    const std::vector<Op *> ops = body.ops;
    loop->operands[0] = part.iterations;
    Builder inside(fn_, &body, 0);
    inside.set_location(loop->location);
    Value *counter = body.arguments[0];
    Value *iteration = inside.add(counter, part.first);
    Value *is_on = inside.cmp("lt", iteration, part.count);
    Value *place = inside.binary(Opcode::umin_, iteration, part.last);
    replace_uses(body, counter, place);
    iteration->op->operands[0] = counter;
    for (Op *op : ops)
      if (is_access(*op))
        mask(*op, is_on);
    Op &yield = *body.terminator();
    Builder end = Builder::before(fn_, &yield);
    end.set_location(loop->location);
    for (size_t i = 0; i < yield.operands.size(); i++)
      yield.operands[i] = end.select(is_on, yield.operand(i), body.arguments[i + 1]);
  }

  // Makes the access only if `is_on`.
  void mask(Op &op, Value *is_on) {
    Builder builder = Builder::before(fn_, &op);
    builder.set_location(op.location);
    const size_t at = op.is(Opcode::load_) ? 1 : 2;
    if (Value *own = op.operand_or_null(at)) {
      Value *wide = own->type.is_scalar() ? is_on : builder.splat(is_on, own->type.shape);
      op.operands[at] = builder.binary(Opcode::and_, own, wide);
      return;
    }
    op.operands.push_back(is_on);
    if (op.is(Opcode::load_) && op.result()->type.is_number())
      op.operands.push_back(builder.filled(op.result()->type, 0));
  }

  // Combines the totals of all blocks. The reductions of each kind are consecutive, so they share
  // barriers.
  void combine(Op *loop, const std::vector<Total> &totals) {
    combine_totals(
        fn_, *loop, totals,
        [&](Builder &builder, const std::vector<size_t> &which, std::vector<Value *> &all) {
          for (size_t i : which)
            if (all[i]->type.is_scalar())
              all[i] = builder.splat(all[i], {1});
          for (size_t i : which) {
            Op *op = builder.create(Opcode::cluster_reduce_, {all[i]}, {all[i]->type});
            op->set(attr::blocks_, blocks_);
            op->set(attr::op_, totals[i].op);
            op->set(attr::to_all_);
            all[i] = op->result();
          }
          for (size_t i : which)
            if (totals[i].value->type.is_scalar())
              all[i] = builder.reduce(all[i], 0, totals[i].op);
        });
  }

  // Lets the first block of a cluster execute `ops`.
  void execute_once(const std::vector<Op *> &ops, bool waits) {
    if (ops.empty())
      return;
    Op *end = fn_.body->terminator();
    Builder builder = Builder::before(fn_, end);
    builder.set_location(ops[0]->location);
    if (waits)
      builder.create(Opcode::cluster_barrier_, {});
    Op *branch = builder.if_else(builder.cmp("eq", rank_, builder.i32(0)), {});
    for (Op *op : ops) {
      fn_.body->ops.erase(fn_.body->ops.begin() + int64_t(fn_.body->position_of(op)));
      op->parent = branch->blocks[0];
      branch->blocks[0]->ops.push_back(op);
    }
    for (Block *block : branch->blocks)
      Builder(fn_, block).yield({});
  }
};

} // namespace

bool try_splitting_loops(Function &fn, int64_t blocks) {
  Division division(fn, blocks); // first: it replaces operations
  Program program(fn);
  if (!program.prepare())
    return false;
  division.run(program);
  return true;
}

void split_loops_in_cluster(Function &fn, const Schedule &schedule) {
  if (schedule.cluster == 1)
    return;
  [[maybe_unused]] bool done = try_splitting_loops(fn, schedule.cluster);
  assert(done && "candidate_schedules has tried it");
}

} // namespace tritonc
