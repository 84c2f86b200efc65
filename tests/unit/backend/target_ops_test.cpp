// Tests backend/target_ops.cpp and every row of target_ops.def: ptxas accepts each operation for
// every GPU that has it, with the PTX version of the row.

#include "backend/target_ops.h"

#include "backend/ptx.h"
#include "backend/ptxas.h"
#include "target/gpu.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Verifier.h"

#include <doctest/doctest.h>

#include <set>

using namespace tritonc;

namespace {

// The accumulator counts to test: an instruction with 8, 64 and 256 columns. 0 = the operation has
// no accumulators.
std::vector<unsigned> acc_elements(const TargetOpInfo &op) {
  if (op.is_overloaded())
    return {4, 32, 128};
  return {0};
}

std::string kernel_name(const TargetOpInfo &op, unsigned acc_elements) {
  return op.name.str() + (acc_elements ? "_" + std::to_string(acc_elements) : "");
}

// setmaxnreg takes multiples of 8, at least 24.
unsigned immediate(const TargetOpInfo &op) { return op.name.starts_with("setmaxnreg") ? 40 : 1; }

// Loads and stores with every width, through an address with a cache hint. Some hints apply only to
// loads or only to stores.
void access(llvm::IRBuilder<> &builder, const TargetOpInfo &op, llvm::Value *marked,
            llvm::Value *plain) {
  for (llvm::IntegerType *type :
       {builder.getInt8Ty(), builder.getInt16Ty(), builder.getInt32Ty(), builder.getInt64Ty()})
    for (unsigned count : {1, 2, 4}) {
      unsigned width = type->getBitWidth(), bits = count * width;
      if (bits > 128 || (bits > 32 && count > 1 && width < 32))
        continue;
      llvm::Type *moved = type;
      if (count > 1)
        moved = llvm::FixedVectorType::get(type, count);
      bool loads = op.op != TargetOp::hint_wt, stores = op.op != TargetOp::hint_cv;
      llvm::Value *value = builder.CreateAlignedLoad(moved, loads ? marked : plain, llvm::Align(16),
                                                     /*isVolatile=*/true);
      builder.CreateAlignedStore(value, stores ? marked : plain, llvm::Align(16),
                                 /*isVolatile=*/true);
    }
}

// A kernel with the operation's name that executes it and stores the result. The operands come from
// memory, so the optimizer knows nothing about them.
void add_kernel(llvm::Module &module, const TargetOpInfo &op, unsigned acc_elements = 0) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 1);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false);
  auto *kernel = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                        kernel_name(op, acc_elements), module);
  kernel->setCallingConv(llvm::CallingConv::PTX_Kernel);
  kernel->addFnAttr("nvvm.maxntid", "128");

  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", kernel));
  auto operand = [&](TargetType wanted) -> llvm::Value * {
    if (wanted.kind == TargetType::gptr)
      return kernel->getArg(0);
    if (wanted.kind == TargetType::imm)
      return builder.getInt32(immediate(op));
    if (op.nvptx.kind == NvptxForm::Report && wanted.kind == TargetType::ptr)
      return builder.CreateGlobalString("{i32} {f16[4]}"); // the format must be known
    return builder.CreateAlignedLoad(wanted.get(context, acc_elements), kernel->getArg(0),
                                     llvm::Align(16), /*isVolatile=*/true);
  };
  llvm::SmallVector<llvm::Value *> operands;
  for (TargetType wanted : op.operands)
    operands.push_back(operand(wanted));
  if (op.is_overloaded())
    operands[0] = builder.getInt32(acc_elements);
  llvm::CallInst *result = call_target_op(builder, op.op, operands);
  if (op.nvptx.kind == NvptxForm::Hint)
    access(builder, op, result, kernel->getArg(1));
  else if (!result->getType()->isVoidTy())
    builder.CreateAlignedStore(result, kernel->getArg(1), llvm::Align(16));
  builder.CreateRetVoid();
}

// The rows of one PTX version that `gpu` has.
std::vector<const TargetOpInfo *> rows(const Gpu &gpu, int ptx_version) {
  std::vector<const TargetOpInfo *> result;
  for (const TargetOpInfo &op : all_target_ops())
    if (op.min_ptx_version == ptx_version && has_target_op(gpu, op.op))
      result.push_back(&op);
  return result;
}

void check_rows(const Toolchain &tools, const Gpu &gpu,
                const std::vector<const TargetOpInfo *> &ops) {
  llvm::LLVMContext context;
  llvm::Module module("ops", context);
  prepare_module(module);
  for (const TargetOpInfo *op : ops)
    for (unsigned elements : acc_elements(*op))
      add_kernel(module, *op, elements);

  Result<std::string> ptx = emit_ptx(module, gpu);
  REQUIRE_MESSAGE(ptx, text(ptx.error()));
  Result<Cubin> cubin = assemble(tools, *ptx, kernel_name(*ops[0], acc_elements(*ops[0])[0]), gpu);
  REQUIRE_MESSAGE(cubin, text(cubin.error()));
  for (const TargetOpInfo *op : ops)
    for (unsigned elements : acc_elements(*op)) {
      CAPTURE(kernel_name(*op, elements));
      CHECK(check_cubin(cubin->bytes, kernel_name(*op, elements)).empty());
    }
}

} // namespace

TEST_CASE("target_ops: ptxas accepts every operation on every GPU") {
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  std::set<int> ptx_versions;
  for (const TargetOpInfo &op : all_target_ops())
    ptx_versions.insert(op.min_ptx_version);
  for (const Gpu &gpu : all_gpus())
    for (int version : ptx_versions)
      if (auto ops = rows(gpu, version); !ops.empty()) {
        CAPTURE(gpu.name);
        CAPTURE(version);
        check_rows(*tools, gpu, ops);
      }
}

TEST_CASE("emit_ptx: names an operation that the GPU lacks") {
  for (const char *name : {"75", "80", "89", "90", "100a", "120"}) {
    const Gpu &gpu = *find_gpu(name);
    CAPTURE(gpu.name);
    for (const TargetOpInfo &op : all_target_ops()) {
      CAPTURE(op.name.str());
      llvm::LLVMContext context;
      llvm::Module module("ops", context);
      prepare_module(module);
      add_kernel(module, op, acc_elements(op)[0]);
      CHECK((find_missing_target_op(module, gpu) == nullptr) == has_target_op(gpu, op.op));
      if (has_target_op(gpu, op.op))
        continue;
      Result<std::string> ptx = emit_ptx(module, gpu);
      REQUIRE_FALSE(ptx);
      CHECK(ptx.error().id == Message::internal_error);
      CHECK(text(ptx.error()).find("`" + op.name.str() + "`") != std::string::npos);
    }
  }
}

TEST_CASE("has_target_op: sm is a minimum or one exact GPU") {
  auto has = [](const char *gpu, TargetOp op) { return has_target_op(*find_gpu(gpu), op); };
  CHECK(has("75", TargetOp::barrier));
  CHECK_FALSE(has("75", TargetOp::cp_async_16));
  CHECK(has("80", TargetOp::cp_async_16));
  CHECK(has("90a", TargetOp::cp_async_16));
  CHECK(has("90a", TargetOp::wgmma_f16));
  CHECK_FALSE(has("90", TargetOp::wgmma_f16));
  CHECK_FALSE(has("100a", TargetOp::wgmma_f16));
}

TEST_CASE("ptx_version_for: maximum of the GPU and its operations") {
  auto version = [](const char *gpu, std::initializer_list<TargetOp> ops) {
    llvm::LLVMContext context;
    llvm::Module module("ops", context);
    prepare_module(module);
    for (TargetOp op : ops)
      add_kernel(module, target_op_info(op));
    return ptx_version_for(module, *find_gpu(gpu));
  };
  CHECK(version("89", {TargetOp::mma_m16n8k16_f16}) == 78);
  CHECK(version("89", {TargetOp::mma_m16n8k16_f16, TargetOp::mma_m16n8k32_e4m3}) == 84);
  CHECK(version("90", {TargetOp::bulk_commit}) == 80);
  CHECK(version("120", {TargetOp::mma_m16n8k32_e4m3}) == 87);
}

TEST_CASE("target_op_signature: is unique and without blanks") {
  CHECK(target_op_signature(TargetOp::barrier) == "barrier none()");
  CHECK(target_op_signature(TargetOp::tid_x) == "tid_x below(1024)()");
  CHECK(target_op_signature(TargetOp::mma_m16n8k16_f16) ==
        "mma_m16n8k16_f16 v4f32(v4i32,v2i32,v4f32)");
  CHECK(target_op_signature(TargetOp::wgmma_f16) == "wgmma_f16 acc(imm,i64,i64,i32,imm,imm,acc)");
  CHECK(target_op_signature(TargetOp::red_add_f16x2) == "red_add_f16x2 none(gptr,i32)");
  std::set<std::string> seen;
  for (const TargetOpInfo &op : all_target_ops()) {
    CAPTURE(op.signature.str());
    CHECK(op.signature.count(' ') == 1);
    CHECK(op.signature.starts_with((op.name + " ").str()));
    CHECK(seen.insert(op.signature.str()).second);
  }
}

TEST_CASE("target_op_named: finds operations by name") {
  for (const TargetOpInfo &op : all_target_ops()) {
    CAPTURE(op.name.str());
    std::string name = "tritonc." + op.name.str();
    bool is_float = op.result.kind == TargetType::f32;
    if (op.is_overloaded())
      name += is_float ? ".v64f32" : ".v64i32";
    CHECK(target_op_named(name) == op.op);
    CHECK(&target_op_info(op.op) == &op);
  }
  CHECK_FALSE(target_op_named("tritonc.nothing"));
  CHECK_FALSE(target_op_named("tid_x"));
  CHECK_FALSE(target_op_named("llvm.nvvm.barrier0"));
  CHECK_FALSE(target_op_named("tritonc.barrier.v4f32"));
  for (const char *overload : {"", ".", ".v", ".v4", ".vf32", ".v4i32", ".v4f32x", ".v04f32"}) {
    CAPTURE(overload);
    CHECK_FALSE(target_op_named(std::string("tritonc.wgmma_f16") + overload));
  }
}

TEST_CASE("call_target_op: declares one function per vector length") {
  llvm::LLVMContext context;
  llvm::Module module("ops", context);
  add_kernel(module, target_op_info(TargetOp::wgmma_wait_f32), 4);
  add_kernel(module, target_op_info(TargetOp::wgmma_wait_f32), 128);
  add_kernel(module, target_op_info(TargetOp::wgmma_wait_s32), 128);
  CHECK(module.getFunction("tritonc.wgmma_wait_f32.v4f32"));
  CHECK(module.getFunction("tritonc.wgmma_wait_s32.v128i32"));
  llvm::Function *wait = module.getFunction("tritonc.wgmma_wait_f32.v128f32");
  REQUIRE(wait);
  CHECK(wait->isConvergent());
  CHECK_FALSE(wait->doesNotAccessMemory());
  CHECK(wait->getReturnType() == llvm::FixedVectorType::get(llvm::Type::getFloatTy(context), 128));
  CHECK_FALSE(llvm::verifyModule(module));
}

TEST_CASE("call_target_op: assert_fail may not return and reads arguments") {
  llvm::LLVMContext context;
  llvm::Module module("ops", context);
  add_kernel(module, target_op_info(TargetOp::assert_fail));
  llvm::Function *assert_fail = module.getFunction("tritonc.assert_fail");
  REQUIRE(assert_fail);
  CHECK_FALSE(assert_fail->willReturn());
  CHECK(assert_fail->onlyAccessesInaccessibleMemOrArgMem());
  CHECK_FALSE(assert_fail->doesNotAccessMemory());
}

TEST_CASE("call_target_op: declares an operation once, with its effects") {
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
