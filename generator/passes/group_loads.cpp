// group_loads: issues the loads of an iteration before anything waits for one of them.
//
//     for_loop %n, %s, %r {              for_loop %n, %s, %r {
//       %x = load %v                       %x = load %v
//       %a = add %s, %x                    %w = view %y, %at, %one
//       %w = view %y, %at, %one      =>    %z = load %w
//       %z = load %w                       sched_barrier
//       %b = add %r, %z                    %a = add %s, %x
//       yield %a, %b                       %b = add %r, %z
//     }                                    yield %a, %b
//                                        }
//
// A load from memory takes about 600 ns. ptxas moves a narrow load to its use, even if more registers
// are free. Then each access of a tile waits for the one before. ptxas moves no load across a
// sched_barrier. Loads of 16 bytes stay together with the hint of choose_occupancy, and a
// sched_barrier makes them slower.
//
// On an H200 (driver 580.159.04, 2026-11-28), code for rows of odd length is up to 6 times as fast: in
// the mean 1.5 times in moments, 1.2 times in softmax_inner.
//
// Method:  Operations with an effect, such as stores and barriers, divide a loop into parts. In each
//          part, the loads that need no other load form a group, as far as there are registers for
//          them. The group comes first, with the computation of its addresses; then the
//          sched_barrier; then everything that needs no other load. The remaining loads form the next
//          group.
// Needs:   layouts, and widths of accesses (assign_layouts).
// Ensures: no operation crosses another one with an effect.
// Limits:  changes nothing where fewer than two accesses of a group are narrow and fill whole sectors.
//          Of accesses that share sectors, the later ones find them in L1, if they come later.
//          Changes no kernel with a dot: its schedule loads ahead. Changes no code outside of loops.
//
// Tested by tests/unit/passes/group_loads/.

#include "passes/group_loads.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "ir/builder.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// Registers for addresses, counters, comparisons, and values from before the loop.
constexpr int other_registers = 32;
// A group takes time in proportion to its part. Longer parts would make the time grow as n * n.
constexpr ptrdiff_t max_operations_of_part = 2000;

using Ops = std::vector<Op *>;
using OpSet = std::set<const Op *>;

bool may_move(const Op *op) {
  return info(op->code).effect == Effect::pure || is_unordered_load(*op);
}

bool depends_on(const Op &op, const OpSet &ops) {
  return std::any_of(op.operands.begin(), op.operands.end(),
                     [&](const Value *operand) { return ops.count(operand->op); });
}

int registers_of(const Value *value) {
  return value->type.is_tile() ? registers_per_thread(value->type)
                               : std::max(1, bits_of(value->type.elem) / 32);
}

int accesses_of(const Op &load) {
  return load.result()->type.is_tile()
             ? load.result()->type.layout->registers() / int(load.get(attr::vector_, 1))
             : 1;
}

// Whether ptxas may move the accesses of a load to their uses, and they are good together: they are no
// plain vectors of 16 bytes, and no access needs a sector of another one.
bool is_narrow(const Op &load, const Function &fn) {
  const Type &type = load.result()->type;
  const bool is_wide = load.get(attr::vector_, 1) * bytes_of(type.elem) == widest_access_bytes;
  return type.is_tile() && (!is_wide || is_ragged(load.operand(0))) &&
         fills_sectors(*type.layout, load.operand(0), fn);
}

class Grouping {
public:
  Grouping(Function &fn, Block &block, int registers)
      : fn_(fn), block_(block), registers_(registers - other_registers) {
    for (const Value *carried : block.arguments)
      registers_ -= registers_of(carried);
    for (const Op *op : block.ops) // while the block is whole: the analysis follows carried values
      if (op->is(Opcode::load_) && is_narrow(*op, fn))
        narrow_.insert(op);
  }

  void run() {
    Ops ops;
    ops.swap(block_.ops);
    auto op = ops.begin();
    while (op != ops.end()) {
      const auto limit = op + std::min(ops.end() - op, max_operations_of_part);
      auto end = std::find_if_not(op, limit, may_move);
      group({op, end});
      op = end;
      if (op != limit)
        block_.ops.push_back(*op++);
    }
  }

private:
  Function &fn_;
  Block &block_;
  int registers_;
  OpSet narrow_;

  // The loads of `ops` that need no other load of `ops`, as far as the registers suffice.
  struct Group {
    OpSet loads;
    int registers = 0, narrow_accesses = 0;
  };

  Group first_group(const Ops &ops) {
    Group group;
    OpSet late;
    for (const Op *op : ops) {
      const bool waits = depends_on(*op, late);
      if (waits || op->is(Opcode::load_))
        late.insert(op);
      if (waits || !op->is(Opcode::load_))
        continue;
      const int registers = std::max(accesses_of(*op), registers_of(op->result()));
      if (group.registers + registers > registers_)
        continue;
      group.loads.insert(op);
      group.registers += registers;
      if (narrow_.count(op))
        group.narrow_accesses += accesses_of(*op);
    }
    return group;
  }

  void group(Ops ops) {
    while (!ops.empty()) {
      const Group group = first_group(ops);
      if (group.narrow_accesses < 2) {
        move_through_last(ops, group.loads);
        continue;
      }
      move_with_operands(ops, group.loads);
      Builder builder(fn_, &block_, block_.ops.size());
      builder.set_location(block_.ops.back()->location);
      builder.create(Opcode::sched_barrier_, {});
      move_without_loads(ops);
    }
  }

  // The functions below move operations from `ops` to the block.

  void move_if(Ops &ops, const OpSet &moved) {
    auto rest = std::stable_partition(ops.begin(), ops.end(),
                                      [&](const Op *op) { return moved.count(op); });
    block_.ops.insert(block_.ops.end(), ops.begin(), rest);
    ops.erase(ops.begin(), rest);
  }

  // All operations up to the last of `loads`; all, if there is none.
  void move_through_last(Ops &ops, const OpSet &loads) {
    auto last = std::find_if(ops.rbegin(), ops.rend(),
                             [&](const Op *op) { return loads.empty() || loads.count(op); });
    block_.ops.insert(block_.ops.end(), ops.begin(), last.base());
    ops.erase(ops.begin(), last.base());
  }

  void move_with_operands(Ops &ops, OpSet needed) {
    for (auto op = ops.rbegin(); op != ops.rend(); ++op)
      if (needed.count(*op))
        for (const Value *operand : (*op)->operands)
          needed.insert(operand->op);
    move_if(ops, needed);
  }

  void move_without_loads(Ops &ops) {
    OpSet late, early;
    for (const Op *op : ops)
      (op->is(Opcode::load_) || depends_on(*op, late) ? late : early).insert(op);
    move_if(ops, early);
  }
};

} // namespace

void group_loads(Function &fn, const Gpu &gpu) {
  std::vector<Block *> blocks;
  bool has_dot = false;
  for_each_op(*fn.body, [&](Op &op) {
    has_dot |= op.is(Opcode::dot_);
    if (op.is(Opcode::for_loop_) || op.is(Opcode::while_loop_))
      blocks.insert(blocks.end(), op.blocks.begin(), op.blocks.end());
  });
  if (has_dot || blocks.empty())
    return;
  const int registers =
      std::min(gpu.max_registers_per_thread, gpu.registers_per_block / fn.threads());
  for (Block *block : blocks)
    Grouping(fn, *block, registers).run();
}

} // namespace tritonc
