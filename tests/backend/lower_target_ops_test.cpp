// Tests backend/lower_target_ops.cpp.

#include "backend/lower_target_ops.h"

#include "backend/ptx.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

// The body of the only function, lowered, as text.
std::string lowered(const std::string &ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(ir, error, context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  prepare_module(*module);
  lower_target_ops(*module);
  std::string text;
  llvm::raw_string_ostream out(text);
  REQUIRE_FALSE(llvm::verifyModule(*module, &out));
  for (const llvm::Function &function : *module)
    if (!function.isDeclaration())
      function.print(out);
  return text;
}

} // namespace

TEST_CASE("a fragment goes in element by element and comes out as a vector") {
  std::string text = lowered(R"(
    declare <4 x float> @tritonc.mma_m16n8k16_f16(<4 x i32>, <2 x i32>, <4 x float>)
    define <4 x float> @f(<4 x i32> %a, <2 x i32> %b, <4 x float> %c) {
      %d = call <4 x float> @tritonc.mma_m16n8k16_f16(<4 x i32> %a, <2 x i32> %b, <4 x float> %c)
      ret <4 x float> %d
    })");
  CHECK(text.find("@llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>") != std::string::npos);
  CHECK(text.find("extractelement <4 x i32> %a, i64 3") != std::string::npos);
  CHECK(text.find("insertelement <4 x float>") != std::string::npos);
  CHECK(text.find("tritonc.") == std::string::npos);
}

TEST_CASE("a shared address becomes a pointer to shared memory") {
  std::string text = lowered(R"(
    declare i32 @tritonc.ldmatrix_x1(i32)
    define i32 @f(i32 %s) {
      %m = call i32 @tritonc.ldmatrix_x1(i32 %s)
      ret i32 %m
    })");
  CHECK(text.find("inttoptr i32 %s to ptr addrspace(3)") != std::string::npos);
  CHECK(text.find("m8n8.x1.b16.p3(ptr addrspace(3)") != std::string::npos);
}

TEST_CASE("arguments that the table gives, in its order") {
  std::string text = lowered(R"(
    declare i32 @tritonc.shfl_bfly(i32, i32)
    declare void @tritonc.barrier()
    define i32 @f(i32 %value, i32 %mask) {
      call void @tritonc.barrier()
      %r = call i32 @tritonc.shfl_bfly(i32 %value, i32 %mask)
      ret i32 %r
    })");
  CHECK(text.find("@llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %value, i32 %mask, i32 31)") !=
        std::string::npos);
  CHECK(text.find("@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)") != std::string::npos);
}

TEST_CASE("what is no target op stays as it is") {
  std::string text = lowered(R"(
    declare i32 @other(i32)
    define i32 @f(i32 %x) {
      %r = call i32 @other(i32 %x)
      ret i32 %r
    })");
  CHECK(text.find("call i32 @other(i32 %x)") != std::string::npos);
}
