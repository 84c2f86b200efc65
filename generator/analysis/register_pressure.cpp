// Finds the operation at which a thread holds the most registers. See register_pressure.h.
//
// Operations are numbered in text order. A tile is live from the operation after its definition to
// its last use. A tile that is defined before a loop and used in it is live until the end of the
// loop, because the next iteration needs it. The pressure before an operation counts its operands
// and all tiles that stay live. It does not count its results: an accumulator reuses the registers
// of the previous accumulator.
//
// Values that cost no registers do not count: tiles that repeat or reorder the elements of others,
// and values that are cheap to recompute (ranges, constants, pointers). So the result is a lower
// bound, and addresses come on top.
//
// Tested by tests/unit/analysis/register_pressure_test.cpp.

#include "analysis/register_pressure.h"

#include "analysis/layouts.h"

#include <algorithm>
#include <map>

namespace tritonc {

using namespace ir;

namespace {

// Returns whether the result has the same registers as the first operand.
bool is_same_registers(const Op &op) {
  return op.is(Opcode::expand_) || op.is(Opcode::broadcast_) || op.is(Opcode::trans_) ||
         op.is(Opcode::reshape_) || op.is(Opcode::extract_) || op.is(Opcode::wgmma_wait_);
}

bool is_recomputed(const Op &op) {
  return op.is(Opcode::constant_) || op.is(Opcode::splat_) || op.is(Opcode::range_) ||
         op.is(Opcode::in_bounds_) || op.is(Opcode::cmp_) || op.is(Opcode::undef_);
}

// The value that owns the registers of `value`.
const Value *holder_of(const Value *value) {
  while (value->op && is_same_registers(*value->op))
    value = value->op->operand(0);
  return value;
}

int registers_of(const Value *value) {
  const Type &type = value->type;
  if (!type.layout || !type.is_number() || (value->op && is_recomputed(*value->op)))
    return 0;
  return registers_per_thread(type);
}

struct Life {
  const Value *value;
  int from, until; // live before the operations from + 1 to until
};

class Lives {
public:
  explicit Lives(const Function &fn) { add(*fn.body); }

  const std::vector<Life> &all() const { return all_; }
  const std::vector<const Op *> &ops() const { return ops_; }

private:
  void make(const Value *value) {
    if (holder_of(value) != value)
      return;
    index_[value] = all_.size();
    all_.push_back({value, int(ops_.size()) - 1, -1});
    loops_of_.push_back(loops_.size());
  }

  // A use in an inner loop lasts until the end of that loop, which is not known yet.
  void use(const Value *value) {
    auto found = index_.find(holder_of(value));
    if (found == index_.end())
      return;
    all_[found->second].until = int(ops_.size()) - 1;
    if (size_t outside = loops_of_[found->second]; outside < loops_.size())
      used_in_[loops_[outside]].push_back(found->second);
  }

  void add(const Block &block) {
    for (const Value *argument : block.arguments)
      make(argument);
    for (const Op *op : block.ops) {
      ops_.push_back(op);
      for (const Value *operand : op->operands)
        use(operand);
      bool is_loop = op->is(Opcode::for_loop_) || op->is(Opcode::while_loop_);
      if (is_loop)
        loops_.push_back(op);
      for (const Block *inner : op->blocks)
        add(*inner);
      if (is_loop) {
        loops_.pop_back();
        for (size_t life : used_in_[op])
          all_[life].until = int(ops_.size()) - 1;
      }
      for (const Value *result : op->results)
        make(result);
    }
  }

  std::vector<Life> all_;
  std::vector<const Op *> ops_;
  std::vector<size_t> loops_of_;  // number of loops around the definition
  std::vector<const Op *> loops_; // loops around the current operation
  std::map<const Value *, size_t> index_;
  std::map<const Op *, std::vector<size_t>> used_in_;
};

} // namespace

Pressure highest_pressure(const Function &fn) {
  Lives lives(fn);
  std::vector<int> change(lives.ops().size() + 1);
  for (const Life &life : lives.all()) {
    if (life.until <= life.from)
      continue;
    change[size_t(life.from) + 1] += registers_of(life.value);
    change[size_t(life.until) + 1] -= registers_of(life.value);
  }
  Pressure highest;
  int held = 0, where = 0;
  for (size_t i = 0; i < lives.ops().size(); i++) {
    held += change[i];
    if (held > highest.registers) {
      highest.registers = held;
      highest.at = lives.ops()[i];
      where = int(i);
    }
  }
  for (const Life &life : lives.all())
    if (life.from < where && where <= life.until && registers_of(life.value) > 0)
      highest.tiles.push_back({life.value, registers_of(life.value)});
  std::stable_sort(highest.tiles.begin(), highest.tiles.end(),
                   [](const HeldTile &a, const HeldTile &b) { return a.registers > b.registers; });
  return highest;
}

} // namespace tritonc
