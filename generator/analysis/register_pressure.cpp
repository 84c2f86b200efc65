// Which tiles are held in registers together. See register_pressure.h.
//
// Operations are numbered in the order of the text. A tile is held from behind what makes it until
// its last use; one that is used in a loop and made before it, until the loop's end, for the next
// iteration needs it too. Just before an operation, what it uses is held, and all that lives on.
// What it makes is not yet: a sum takes the place of the sum before it.
//
// What costs no registers is not counted: a tile that repeats others' elements or is another view
// of them, and what is as easily computed again (numbers of a range, constants, pointers). So the
// number is what tiles take at least; addresses come on top.
//
// Tested by tests/analysis/register_pressure_test.cpp.

#include "analysis/register_pressure.h"

#include <algorithm>
#include <map>

namespace tritonc {

using namespace ir;

namespace {

// Whether the registers of the result are those of the first operand.
bool is_same_registers(const Op &op) {
  return op.is(Opcode::expand_) || op.is(Opcode::broadcast_) || op.is(Opcode::trans_) ||
         op.is(Opcode::reshape_) || op.is(Opcode::extract_) || op.is(Opcode::product_wait_);
}

bool is_recomputed(const Op &op) {
  return op.is(Opcode::constant_) || op.is(Opcode::splat_) || op.is(Opcode::range_) ||
         op.is(Opcode::inside_) || op.is(Opcode::cmp_) || op.is(Opcode::undefined_);
}

// The value whose registers these are.
const Value *holder_of(const Value *value) {
  while (value->op && is_same_registers(*value->op))
    value = value->op->operand(0);
  return value;
}

int registers_of(const Value *value) {
  const Type &type = value->type;
  if (!type.layout || !type.is_number() || (value->op && is_recomputed(*value->op)))
    return 0;
  return std::max(1, type.layout->registers() * bits_of(type.elem) / 32);
}

struct Life {
  const Value *value;
  int from, until; // held before the operations behind the first, up to the second
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

  // In a loop that it was not made in, it is used until the end, which is not known yet.
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
  std::vector<size_t> loops_of_;  // how many loops are around what makes it
  std::vector<const Op *> loops_; // around us
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
