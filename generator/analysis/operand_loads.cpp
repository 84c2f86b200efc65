// Finds the loaded tiles that dots can read from shared memory. See operand_loads.h.
//
// Tested by tests/unit/analysis/operand_loads_test.cpp.

#include "analysis/operand_loads.h"

#include "analysis/memory_access.h"

#include <algorithm>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

// Adds the dots that use `tile`, whose axis d is axis perm[d] of the loaded tile. Returns false if
// something else uses it.
bool add_uses(const Users &users, const Value *tile, const std::vector<int64_t> &perm,
              std::vector<OperandUse> &uses) {
  for (Op *user : users.of(tile)) {
    if (user->is(Opcode::trans_)) {
      std::vector<int64_t> outer = user->get(attr::perm_);
      for (int64_t &axis : outer)
        axis = perm[size_t(axis)];
      if (!add_uses(users, user->result(), outer, uses))
        return false;
      continue;
    }
    if (!user->is(Opcode::dot_) || user->operand(2) == tile)
      return false;
    const size_t operand = user->operand(0) == tile ? 0 : 1;
    if (operand == 0 && user->operand(1) == tile)
      return false; // both operands of one dot
    uses.push_back({user, operand, perm});
  }
  return true;
}

bool contains_dot(Block &block) {
  bool found = false;
  for_each_op(block, [&](const Op &op) { found |= op.is(Opcode::dot_); });
  return found;
}

} // namespace

std::vector<OperandLoad> operand_loads(Function &fn) {
  const Users users(*fn.body);
  std::vector<OperandLoad> found;
  for_each_op(*fn.body, [&](Op &op) {
    if ((!op.is(Opcode::load_) && !op.is(Opcode::tma_load_)) || op.result()->type.rank() != 2)
      return;
    OperandLoad load{&op, {}};
    std::vector<int64_t> perm(2);
    std::iota(perm.begin(), perm.end(), 0);
    if (add_uses(users, op.result(), perm, load.uses) && !load.uses.empty())
      found.push_back(std::move(load));
  });
  return found;
}

bool is_in_mainloop(const OperandLoad &load) {
  const Block &block = *load.load->parent;
  return block.parent && block.parent->is(Opcode::for_loop_) &&
         std::none_of(block.ops.begin(), block.ops.end(), [](Op *op) {
           return op->is(Opcode::for_loop_) && contains_dot(*op->blocks[0]);
         });
}

int panel_axis(const Function &fn, const Op &load, const OperandUse &use) {
  const int64_t along_k = use.perm[use.operand == 0 ? 1 : 0];
  return contiguous_axis(load.operand(0), fn).value_or(int(along_k));
}

bool has_dot(const Block &block) {
  return std::any_of(block.ops.begin(), block.ops.end(),
                     [](const Op *op) { return op->is(Opcode::dot_); });
}

} // namespace tritonc
