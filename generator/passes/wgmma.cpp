// What the passes that start wgmmas share. See wgmma.h.
//
// Tested by tests/unit/passes/pipeline_wgmma/ and issue_wgmma_async/.

#include "passes/wgmma.h"

namespace tritonc {

using namespace ir;

bool is_by_wgmma(const Op &op) {
  return op.is(Opcode::dot_) && op.get(attr::instruction_) == "wgmma";
}

const Op *shared_load_of(const Value *operand) {
  return operand->op && operand->op->is(Opcode::shared_load_) ? operand->op : nullptr;
}

Value *wait_for_wgmma(Builder &builder, const Op &dot, Value *accumulator, int64_t pending) {
  Op *op = builder.create(Opcode::wgmma_wait_, {accumulator}, {accumulator->type});
  op->set(attr::pending_, pending);
  op->copy(attr::warpgroups_, dot);
  op->copy(attr::rows_, dot);
  return op->result();
}

void copy_properties(Op &matmul, const Op &dot) {
  matmul.copy(attr::warpgroups_, dot);
  matmul.copy(attr::rows_, dot);
  matmul.copy(attr::precision_, dot);
  matmul.copy(attr::unsigned_, dot);
}

Op *start_wgmma(Builder &builder, const Op &dot, Value *accumulator, Value *adds) {
  const Op *left = shared_load_of(dot.operand(0)), *right = dot.operand(1)->op;
  std::vector<Value *> operands = {dot.operand(0)};
  if (left)
    operands = {left->operand(0), left->operand(1)};
  operands.insert(operands.end(), {right->operand(0), right->operand(1), accumulator});
  if (adds)
    operands.push_back(adds);
  std::vector<int64_t> perm = right->get(attr::perm_);
  Op *matmul = builder.create(left ? Opcode::wgmma_ss_ : Opcode::wgmma_rs_, std::move(operands),
                              {dot.result()->type});
  if (left) {
    std::vector<int64_t> perms = left->get(attr::perm_);
    perms.insert(perms.end(), perm.begin(), perm.end());
    matmul->set(attr::perms_, perms);
  } else {
    matmul->set(attr::perm_, perm);
    matmul->set(attr::origin_, std::vector<int64_t>{0, 0});
  }
  copy_properties(*matmul, dot);
  return matmul;
}

} // namespace tritonc
