// Tests backend/cluster_target_ops.cpp.

#include "backend/cluster_target_ops.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

// The names of the instructions of `body` after the pass. A call without a result has the name of
// its function.
std::string order(const std::string &body) {
  std::string text = R"(
    declare i32 @tritonc.tid_x() memory(none)
    declare i32 @tritonc.cvt_rna_tf32(float) memory(none)
    declare <2 x i32> @tritonc.mma_m8n8k16_s8(i32, i32, <2 x i32>) memory(none)
    declare i32 @tritonc.ldmatrix_x1(i32) memory(read)
    declare i32 @tritonc.shfl_bfly(i32, i32) memory(inaccessiblemem: readwrite)
    declare void @tritonc.cp_async_16(i32, ptr addrspace(1), i32)
    declare void @tritonc.cp_async_commit()
    declare void @tritonc.barrier()
    define void @k(i32 %i, i32 %j, float %x, float %y, <2 x i32> %v, ptr addrspace(1) %p) {)" +
                     body + "ret void }";
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  llvm::Function &function = *module->getFunction("k");
  cluster_target_ops(function);
  REQUIRE_FALSE(llvm::verifyModule(*module));
  std::string names;
  for (const llvm::Instruction &instruction : function.getEntryBlock()) {
    std::string name = instruction.getName().str();
    if (const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && name.empty())
      name = call->getCalledFunction()->getName().substr(8).str();
    if (!name.empty())
      names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

} // namespace

TEST_CASE("cluster_target_ops: groups independent calls of one operation") {
  CHECK(order(R"(
    %a = call i32 @tritonc.cvt_rna_tf32(float %x)
    %d = call <2 x i32> @tritonc.mma_m8n8k16_s8(i32 %a, i32 %j, <2 x i32> %v)
    %d0 = extractelement <2 x i32> %d, i32 0
    %b = call i32 @tritonc.cvt_rna_tf32(float %y)
    %e = call <2 x i32> @tritonc.mma_m8n8k16_s8(i32 %b, i32 %j, <2 x i32> %v)
    %e0 = extractelement <2 x i32> %e, i32 0
  )") == "a b d e d0 e0");
}

TEST_CASE("cluster_target_ops: keeps dependent calls in lockstep") {
  CHECK(order(R"(
    %a = call i32 @tritonc.shfl_bfly(i32 %i, i32 1)
    %a1 = add i32 %a, %i
    %a2 = call i32 @tritonc.shfl_bfly(i32 %a1, i32 2)
    %b = call i32 @tritonc.shfl_bfly(i32 %j, i32 1)
    %b1 = add i32 %b, %j
    %b2 = call i32 @tritonc.shfl_bfly(i32 %b1, i32 2)
  )") == "a b a1 b1 a2 b2");
}

TEST_CASE("cluster_target_ops: nothing crosses a memory access") {
  CHECK(order(R"(
    %a = call i32 @tritonc.ldmatrix_x1(i32 %i)
    call void @tritonc.barrier()
    %b = call i32 @tritonc.ldmatrix_x1(i32 %j)
    store i32 %a, ptr addrspace(1) %p
    %c = call i32 @tritonc.ldmatrix_x1(i32 %j)
  )") == "a barrier b c");
}

TEST_CASE("cluster_target_ops: copies do not cross a commit or a load") {
  CHECK(order(R"(
    call void @tritonc.cp_async_16(i32 %i, ptr addrspace(1) %p, i32 16)
    %q = getelementptr i8, ptr addrspace(1) %p, i32 %j
    call void @tritonc.cp_async_16(i32 %j, ptr addrspace(1) %q, i32 16)
    call void @tritonc.cp_async_commit()
    %r = getelementptr i8, ptr addrspace(1) %p, i32 %i
    call void @tritonc.cp_async_16(i32 %j, ptr addrspace(1) %r, i32 16)
    %b = call i32 @tritonc.ldmatrix_x1(i32 %j)
    call void @tritonc.cp_async_16(i32 %i, ptr addrspace(1) %r, i32 16)
  )") == "q cp_async_16 cp_async_16 cp_async_commit r cp_async_16 b cp_async_16");
}

TEST_CASE("cluster_target_ops: does nothing without a group") {
  const char *body = R"(
    %t = call i32 @tritonc.tid_x()
    %s = add i32 %t, %i
    %a = call i32 @tritonc.ldmatrix_x1(i32 %s)
    %u = add i32 %a, %j
  )";
  CHECK(order(body) == "t s a u");
}
