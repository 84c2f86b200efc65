// Lowers atomic operations on global memory.
//
// Only the first thread that holds an element changes it; the results in the other threads are
// unspecified. A scalar atomic operation has fences around it. With the barriers of the source,
// they order all earlier and all later accesses of the program's threads. (In PTX's memory model a
// block barrier passes on what the fence of one thread has ordered.)
//
// Tested by tests/unit/lower/atomics_test.cpp.

#include "lower/addresses.h"

namespace tritonc {

using namespace ir;

namespace {

llvm::AtomicRMWInst::BinOp operation_of(std::string_view op, bool fp) {
  using Operation = llvm::AtomicRMWInst;
  if (op == "exchange")
    return Operation::Xchg;
  switch (*combining_op(op)) {
  case Opcode::add_:
    return fp ? Operation::FAdd : Operation::Add;
  case Opcode::min_:
    return fp ? Operation::FMin : Operation::Min;
  case Opcode::max_:
    return fp ? Operation::FMax : Operation::Max;
  case Opcode::umin_:
    return Operation::UMin;
  case Opcode::umax_:
    return Operation::UMax;
  case Opcode::and_:
    return Operation::And;
  case Opcode::or_:
    return Operation::Or;
  default:
    return Operation::Xor;
  }
}

} // namespace

// Changes the value at the address and returns the old value.
llvm::Value *Lowering::changed(const Op &op, llvm::Value *address,
                               const std::vector<llvm::Value *> &values) {
  constexpr auto relaxed = llvm::AtomicOrdering::Monotonic;
  llvm::SyncScope::ID scope = context_.getOrInsertSyncScopeID("device");
  llvm::Type *type = values[0]->getType();
  llvm::Type *bits = builder_.getIntNTy(type->getScalarSizeInBits());
  llvm::Align align(uint64_t(bytes_of(op.result()->type.elem)));
  auto as_bits = [&](llvm::Value *value) { return builder_.CreateBitCast(value, bits); };
  if (op.is(Opcode::atomic_cas_)) {
    llvm::Value *desired = as_bits(values[1]), *expected = as_bits(values[0]);
    llvm::Value *both =
        builder_.CreateAtomicCmpXchg(address, expected, desired, align, relaxed, relaxed, scope);
    return builder_.CreateBitCast(builder_.CreateExtractValue(both, 0), type);
  }
  auto operation = operation_of(op.get(attr::op_), type->isFloatingPointTy());
  bool moves = operation == llvm::AtomicRMWInst::Xchg;
  llvm::Value *old = builder_.CreateAtomicRMW(
      operation, address, moves ? as_bits(values[0]) : values[0], align, relaxed, scope);
  return builder_.CreateBitCast(old, type);
}

void Lowering::lower_atomic(const Op &op) {
  size_t values = op.is(Opcode::atomic_cas_) ? 2 : 1;
  const Value *pointers = op.operand(0), *mask = op.operand_or_null(values + 1);
  const Type &type = op.result()->type;
  const LinearLayout layout = type.is_tile() ? *type.layout : layout_of_scalar();
  llvm::Value *is_first = holds_first_copy(layout);
  GlobalAddresses addresses(*this, pointers, layout);
  Registers result;
  for (size_t r = 0; r < size_t(layout.registers()); r++) {
    auto element = [&](const Value *value) {
      return value->type.is_tile() ? registers(value)[r] : scalar(value);
    };
    llvm::Value *on = is_first;
    // A masked-off load returns an unspecified value, which must not decide a branch.
    if (mask)
      on = on ? builder_.CreateAnd(on, builder_.CreateFreeze(element(mask))) : element(mask);
    std::vector<llvm::Value *> operands;
    for (size_t i = 1; i <= values; i++)
      operands.push_back(element(op.operand(i)));
    llvm::Value *address = addresses[int(r)], *old = nullptr;
    llvm::BasicBlock *before = builder_.GetInsertBlock(), *inside = nullptr;
    guarded(on, [&] {
      if (!type.is_tile())
        call_target_op(builder_, TargetOp::fence_gpu);
      old = changed(op, address, operands);
      if (!type.is_tile())
        call_target_op(builder_, TargetOp::fence_gpu);
      inside = builder_.GetInsertBlock();
    });
    if (on) {
      llvm::PHINode *phi = builder_.CreatePHI(old->getType(), 2);
      phi->addIncoming(old, inside);
      phi->addIncoming(llvm::Constant::getNullValue(old->getType()), before);
      old = phi;
    }
    result.push_back(old);
  }
  define(op.result(), std::move(result));
}

} // namespace tritonc
