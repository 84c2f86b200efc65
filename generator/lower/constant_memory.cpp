// Lowers constant memory, which is one block, and the loads from it.
//
// The size of the block is a power of two. Each offset counts modulo this size, rounded down to a
// multiple of the element size. So every load is valid, whatever its offset: masked-off loads
// execute too, without branches. GPUs load fastest if all lanes of a warp read the same address,
// else one address after another.
//
// Tested by tests/unit/lower/constant_memory_test.cpp.

#include "lower/lowering.h"
#include "lower/small_floats.h"

#include <tritonc/descriptor.hpp>

namespace tritonc {

using namespace ir;

namespace {

constexpr unsigned constant_space = 4;

} // namespace

// The initial values from the source, then zeros.
llvm::Constant *Lowering::content_of(const ConstantMemory &part) {
  llvm::Type *element = part.elem == Elem::i1 ? builder_.getInt8Ty() : type_of(part.elem);
  std::vector<llvm::Constant *> elements(size_t(part.count), llvm::Constant::getNullValue(element));
  for (size_t i = 0; i < part.values.size(); i++)
    elements[i] = llvm::ConstantInt::get(element, uint64_t(part.values[i]), true, true);
  for (size_t i = 0; i < part.floats.size(); i++)
    elements[i] = is_small_float(part.elem) ? code_of(context_, part.elem, part.floats[i])
                                            : llvm::ConstantFP::get(element, part.floats[i]);
  return llvm::ConstantArray::get(llvm::ArrayType::get(element, elements.size()), elements);
}

// The host may set other values, so LLVM must not rely on these.
void Lowering::make_constant_memory() {
  if (fn_.constant_memory.empty())
    return;
  std::vector<llvm::Constant *> members;
  int64_t end = 0;
  auto fill_to = [&](int64_t offset) {
    if (offset > end)
      members.push_back(llvm::Constant::getNullValue(
          llvm::ArrayType::get(builder_.getInt8Ty(), uint64_t(offset - end))));
    end = offset;
  };
  for (const ConstantMemory &part : fn_.constant_memory) {
    fill_to(part.offset);
    members.push_back(content_of(part));
    end += part.bytes();
  }
  fill_to(fn_.constant_bytes());
  llvm::Constant *content = llvm::ConstantStruct::getAnon(context_, members, /*Packed=*/true);
  constants_ = new llvm::GlobalVariable(
      module_, content->getType(), /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
      content, abi::constant_block, nullptr, llvm::GlobalValue::NotThreadLocal, constant_space,
      /*isExternallyInitialized=*/true);
  constants_->setAlignment(llvm::Align(256));
}

llvm::Value *Lowering::constant_element(const Op &op, llvm::Value *offset) {
  Elem elem = op.result()->type.elem;
  llvm::Type *type = type_of(elem);
  uint64_t size = uint64_t(bytes_of(elem));
  llvm::Value *inside = builder_.CreateAnd(
      offset, builder_.getInt32(uint32_t(uint64_t(fn_.constant_bytes()) - size)));
  llvm::Value *address = builder_.CreateGEP(builder_.getInt8Ty(), constants_,
                                            builder_.CreateZExt(inside, builder_.getInt64Ty()));
  llvm::Type *stored = elem == Elem::i1 ? builder_.getInt8Ty() : type;
  llvm::LoadInst *loaded = builder_.CreateAlignedLoad(stored, address, llvm::Align(size));
  loaded->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return elem == Elem::i1 ? builder_.CreateICmpNE(loaded, llvm::Constant::getNullValue(stored))
                          : (llvm::Value *)loaded;
}

} // namespace tritonc
