// Tests backend/target_ops.cpp, and every row of target_ops.def: whatever the table says that a GPU
// has, ptxas takes for that GPU.

#include "backend/target_ops.h"

#include "backend/ptx.h"
#include "backend/ptxas.h"
#include "target/gpu.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Verifier.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

bool has(const Gpu &gpu, const TargetOpInfo &op) { return gpu.sm >= op.min_sm; }

// A value of the operand's type that the optimiser knows nothing about: read from `in`.
llvm::Value *operand(llvm::IRBuilder<> &builder, TargetType type, llvm::Value *in) {
  if (type.kind == TargetType::gptr)
    return in;
  if (type.kind == TargetType::imm)
    return builder.getInt32(1);
  return builder.CreateAlignedLoad(type.get(builder.getContext()), in, llvm::Align(16), true);
}

// A kernel of the operation's name that executes it and stores what it gives.
void add_kernel(llvm::Module &module, const TargetOpInfo &op) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 1);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false);
  auto *kernel = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, op.name, module);
  kernel->setCallingConv(llvm::CallingConv::PTX_Kernel);
  kernel->addFnAttr("nvvm.maxntid", "128");

  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", kernel));
  llvm::SmallVector<llvm::Value *> operands;
  for (TargetType wanted : op.operands)
    operands.push_back(operand(builder, wanted, kernel->getArg(0)));
  llvm::CallInst *result = call_target_op(builder, op.op, operands);
  if (!result->getType()->isVoidTy())
    builder.CreateAlignedStore(result, kernel->getArg(1), llvm::Align(16));
  builder.CreateRetVoid();
}

} // namespace

TEST_CASE("every operation becomes PTX that ptxas takes, on every GPU that has it") {
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  for (const Gpu &gpu : all_gpus()) {
    CAPTURE(gpu.name);
    llvm::LLVMContext context;
    llvm::Module module("ops", context);
    prepare_module(module);
    for (const TargetOpInfo &op : all_target_ops())
      if (has(gpu, op))
        add_kernel(module, op);

    Result<std::string> ptx = emit_ptx(module, gpu);
    REQUIRE_MESSAGE(ptx, text(ptx.failure()));
    Result<Cubin> cubin = assemble(*tools, *ptx, "tid_x", gpu);
    REQUIRE_MESSAGE(cubin, text(cubin.failure()));
    for (const TargetOpInfo &op : all_target_ops()) {
      CAPTURE(op.name.str());
      CHECK(check_cubin(cubin->bytes, op.name.str()).empty() == has(gpu, op));
    }
  }
}

TEST_CASE("names lead back to their operation") {
  for (const TargetOpInfo &op : all_target_ops()) {
    CAPTURE(op.name.str());
    CHECK(target_op_named("tritonc." + op.name.str()) == op.op);
    CHECK(&target_op_info(op.op) == &op);
  }
  CHECK_FALSE(target_op_named("tritonc.nothing"));
  CHECK_FALSE(target_op_named("tid_x"));
  CHECK_FALSE(target_op_named("llvm.nvvm.barrier0"));
}

TEST_CASE("an operation is declared once, with its effects") {
  llvm::LLVMContext context;
  llvm::Module module("ops", context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "f", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  call_target_op(builder, TargetOp::barrier);
  call_target_op(builder, TargetOp::barrier);
  call_target_op(builder, TargetOp::tid_x);
  builder.CreateRetVoid();

  CHECK(module.size() == 3);
  llvm::Function *barrier = module.getFunction("tritonc.barrier");
  REQUIRE(barrier);
  CHECK(barrier->isConvergent());
  CHECK(barrier->doesNotThrow());
  CHECK_FALSE(barrier->doesNotAccessMemory());
  llvm::Function *tid = module.getFunction("tritonc.tid_x");
  REQUIRE(tid);
  CHECK_FALSE(tid->isConvergent());
  CHECK(tid->doesNotAccessMemory());
  CHECK_FALSE(llvm::verifyModule(module));
}
