// Lowers the hidden parameters, which the host computes and passes. Tensor maps are passed by value
// in the constant bank, where TMA reads them ("grid constant" in PTX).
//
// Tested by tests/unit/lower/warp_specialize_test.cpp.

#include "analysis/launch_config.h"
#include "lower/lowering.h"

namespace tritonc {

using namespace ir;

namespace {

// CUtensorMap of the CUDA driver API.
constexpr unsigned map_bytes = 128, map_alignment = 64;

} // namespace

// Finds the operations that only the host needs. The kernel omits them, so two functions that
// differ only in these operations become one kernel.
void Lowering::find_host_side() {
  std::set<const Value *> needed;
  auto add_operands = [&](const Op &op) { needed.insert(op.operands.begin(), op.operands.end()); };
  for (size_t i = fn_.body->ops.size(); i-- > 0;) {
    const Op &op = *fn_.body->ops[i];
    bool is_hosts = is_hidden(op) || (info(op.code).effect == Effect::host &&
                                      !op.is(Opcode::launch_warps_)); // which ends warps, too
    bool is_for_others = info(op.code).effect == Effect::pure && !needed.count(op.results[0]);
    if (is_hosts || is_for_others) {
      host_side_.insert(&op);
      continue;
    }
    add_operands(op);
    for (Block *block : op.blocks)
      for_each_op(*block, add_operands);
  }
}

void Lowering::add_hidden_parameters(std::vector<llvm::Type *> &types) {
  for (const Op *op : hidden_)
    types.push_back(op->is(Opcode::tensor_map_) ? builder_.getPtrTy()
                                                : element_type(op->result()->type));
}

void Lowering::define_hidden_parameters() {
  size_t own = fn_.parameters.size();
  for (size_t i = 0; i < hidden_.size(); i++) {
    const Op &op = *hidden_[i];
    llvm::Argument *argument = function_->getArg(unsigned(own + i));
    if (op.is(Opcode::tensor_map_)) {
      llvm::Type *bytes = llvm::ArrayType::get(builder_.getInt8Ty(), map_bytes);
      argument->addAttr(llvm::Attribute::getWithByValType(context_, bytes));
      argument->addAttr(llvm::Attribute::getWithAlignment(context_, llvm::Align(map_alignment)));
      argument->addAttr(llvm::Attribute::get(context_, "nvvm.grid_constant"));
    }
    if (op.is(Opcode::workspace_))
      argument->addAttr(llvm::Attribute::NoAlias);
    if (!op.result()->name.empty())
      argument->setName(op.result()->name);
    values_[op.result()] = {argument};
  }
}

} // namespace tritonc
