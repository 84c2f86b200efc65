// Loads that only fill shared memory. See staged_load.h.
//
// Tested by tests/passes/pipeline_loops_test.cpp and tests/passes/load_ahead_test.cpp.

#include "analysis/staged_load.h"

#include <algorithm>
#include <optional>

namespace tritonc {

using namespace ir;

namespace {

bool stores_to_memory(Block &block) {
  bool found = false;
  for_each_op(block, [&](Op &op) { found |= info(op.code).effect == Effect::write; });
  return found;
}

// Whether no store of the kernel can change what is read through `pointer`.
bool never_changes(const Function &fn, const Value *pointer) {
  while (pointer->op && pointer->op->is(Opcode::addptr_))
    pointer = pointer->op->operand(0);
  return std::any_of(fn.parameters.begin(), fn.parameters.end(), [&](const Parameter &parameter) {
    return parameter.value == pointer && parameter.read_only && parameter.no_alias;
  });
}

std::optional<StagedLoad> staged_load(Function &fn, Block &body, Op *store) {
  if (!store->is(Opcode::shared_store_))
    return std::nullopt;
  Op *load = store->operand(0)->op;
  // A ring that lives outside of the loop is somebody else's: see specialize_warps.
  if (!load || !load->is(Opcode::load_) || load->parent != &body ||
      store->operand(1)->op->parent != &body || count_uses(*fn.body, load->result()) != 1)
    return std::nullopt;
  Value *mask = load->operand_or_null(1), *other = load->operand_or_null(2);
  std::set<const Value *> given = {body.arguments[0]};
  bool movable = load->operand(0)->type.is_view() && can_clone(load->operand(0), &body, given) &&
                 (!mask || can_clone(mask, &body, given)) && (!other || is_zero(other));
  if (!movable || (stores_to_memory(body) && !never_changes(fn, load->operand(0)->op->operand(0))))
    return std::nullopt;
  return StagedLoad{load, store, store->operand(1)};
}

int64_t bytes_of_tile(const Type &type) { return type.elements() * bytes_of(type.elem); }

} // namespace

int64_t StagedLoad::bytes() const {
  const Type &type = buffer->type;
  return type.elements() / type.shape[0] * bytes_of(type.elem);
}

std::vector<StagedLoad> staged_loads(Function &fn, Op &loop) {
  std::vector<StagedLoad> loads;
  for (Op *op : loop.blocks[0]->ops)
    if (std::optional<StagedLoad> found = staged_load(fn, *loop.blocks[0], op))
      loads.push_back(*found);
  return loads;
}

int64_t bytes_beside(const std::vector<StagedLoad> &loads, Op &loop) {
  Block &body = *loop.blocks[0];
  std::set<const Value *> counted;
  for (const StagedLoad &staged : loads)
    counted.insert(staged.buffer);
  std::set<const Value *> used; // by others than products and the end of a block
  for_each_op(body, [&](Op &op) {
    if (!op.is(Opcode::dot_) && !op.is(Opcode::yield_))
      used.insert(op.operands.begin(), op.operands.end());
  });
  int64_t outside = 0, largest = 0;
  for_each_op(body, [&](Op &op) {
    for (const Value *operand : op.operands) {
      if (!operand->op || !operand->op->is(Opcode::shared_alloc_) ||
          !counted.insert(operand).second)
        continue;
      int64_t bytes = bytes_of_tile(operand->type);
      if (operand->op->parent == &body)
        largest = std::max(largest, bytes);
      else
        outside += bytes;
    }
    if (op.is(Opcode::dot_) && used.count(op.result()))
      largest = std::max(largest, bytes_of_tile(op.result()->type));
  });
  return outside + largest;
}

} // namespace tritonc
