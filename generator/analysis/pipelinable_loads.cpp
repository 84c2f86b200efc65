// Finds loads that a loop may execute in an earlier iteration. See pipelinable_loads.h.
//
// Tested by tests/unit/passes/pipeline_loops_test.cpp and
// tests/unit/passes/prefetch_through_registers_test.cpp.

#include "analysis/pipelinable_loads.h"

#include "analysis/memory_access.h"

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

// Returns whether no store of the kernel can change the memory at `pointer`.
bool never_changes(const Function &fn, const Value *pointer) {
  pointer = root_of(pointer);
  return std::any_of(fn.parameters.begin(), fn.parameters.end(), [&](const Parameter &parameter) {
    return parameter.value == pointer && parameter.read_only && parameter.no_alias;
  });
}

std::optional<PipelinableLoad> pipelinable_loads(Function &fn, Block &body, Op *store) {
  if (!store->is(Opcode::shared_store_))
    return std::nullopt;
  Op *load = store->operand(0)->op;
  // A buffer outside the loop belongs to another pass: see specialize_warps.
  if (!load || !load->is(Opcode::load_) || load->parent != &body ||
      store->operand(1)->op->parent != &body || count_uses(*fn.body, load->result()) != 1)
    return std::nullopt;
  Value *mask = load->operand_or_null(1), *other = load->operand_or_null(2);
  std::set<const Value *> given = {body.arguments[0]};
  bool movable = load->result()->type.is_tile() && can_clone(load->operand(0), &body, given) &&
                 (!mask || can_clone(mask, &body, given)) && (!other || is_zero(other));
  if (!movable || (stores_to_memory(body) && !never_changes(fn, load->operand(0))))
    return std::nullopt;
  return PipelinableLoad{load, store, store->operand(1)};
}

int64_t bytes_of_tile(const Type &type) { return type.elements() * bytes_of(type.elem); }

} // namespace

int64_t PipelinableLoad::bytes() const {
  const Type &type = buffer->type;
  return type.elements() / type.shape[0] * bytes_of(type.elem);
}

std::vector<PipelinableLoad> pipelinable_loads(Function &fn, Op &loop) {
  std::vector<PipelinableLoad> loads;
  for (Op *op : loop.blocks[0]->ops)
    if (std::optional<PipelinableLoad> found = pipelinable_loads(fn, *loop.blocks[0], op))
      loads.push_back(*found);
  return loads;
}

int64_t bytes_beside(const std::vector<PipelinableLoad> &loads, Op &loop) {
  Block &body = *loop.blocks[0];
  std::set<const Value *> counted;
  for (const PipelinableLoad &staged : loads)
    counted.insert(staged.buffer);
  std::set<const Value *> used; // users other than matmuls and yields
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
    bool passes = op.is(Opcode::dot_) && op.get(attr::instruction_) != "wgmma";
    if (passes && used.count(op.result()))
      largest = std::max(largest, bytes_of_tile(op.result()->type));
  });
  return outside + largest;
}

} // namespace tritonc
