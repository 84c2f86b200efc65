// Tests backend/order_by_use.cpp.

#include "backend/order_by_use.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

// The names of the instructions in their new order; an instruction without a name is its opcode.
std::string ordered(const std::string &body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      "declare float @exp(float) memory(none) nounwind willreturn\n"
      "declare float @shuffle(float) convergent memory(none) nounwind willreturn\n"
      "declare void @wait()\n"
      "define void @k(ptr %p, ptr %q, float %x, float %y, i1 %c) {\nentry:\n" +
          body + "}",
      error, context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  order_by_use(*module);
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  CHECK_FALSE(llvm::verifyModule(*module, &problems));
  CHECK(problem == "");
  std::string names;
  for (const llvm::Instruction &instruction : llvm::instructions(module->getFunction("k")))
    names += (instruction.hasName() ? instruction.getName().str()
                                    : std::string(instruction.getOpcodeName())) +
             " ";
  return names;
}

} // namespace

TEST_CASE("order_by_use: computes element by element, not tile by tile") {
  CHECK(ordered("%e0 = call float @exp(float %x)\n"
                "%e1 = call float @exp(float %y)\n"
                "%d0 = fdiv float %x, %e0\n"
                "%d1 = fdiv float %y, %e1\n"
                "%s = fadd float %d0, %d1\n"
                "store float %s, ptr %p\n"
                "ret void\n") == "e0 d0 e1 d1 s store ret ");
}

TEST_CASE("order_by_use: a value with several uses moves to the first") {
  CHECK(ordered("%a = fadd float %x, %y\n"
                "%b = fmul float %x, %y\n"
                "%v = load float, ptr %p\n"
                "%d = fmul float %v, %a\n"
                "%e = fmul float %a, %b\n"
                "%f = fadd float %d, %e\n"
                "store float %f, ptr %q\n"
                "ret void\n") == "v a d b e f store ret ");
}

TEST_CASE("order_by_use: a result without a use does not hold its operands") {
  CHECK(ordered("%a = fadd float %x, %y\n"
                "%unused = fmul float %a, %x\n"
                "%unused2 = fmul float %unused, %x\n"
                "%v = load float, ptr %p\n"
                "%d = fmul float %v, %a\n"
                "store float %d, ptr %q\n"
                "ret void\n") == "v a d store ret ");
}

TEST_CASE("order_by_use: no instruction crosses an effect") {
  // What is computed before the wait hides its latency.
  CHECK(ordered("%a = fadd float %x, %y\n"
                "%b = fmul float %x, %x\n"
                "call void @wait()\n"
                "%d = fmul float %b, %a\n"
                "store float %d, ptr %q\n"
                "ret void\n") == "a b call d store ret ");
}

TEST_CASE("order_by_use: loads, phis and convergent calls keep their places") {
  CHECK(ordered("br label %loop\n"
                "loop:\n"
                "%i = phi float [ %x, %entry ], [ %n, %loop ]\n"
                "%v = load float, ptr %p\n"
                "%s = call float @shuffle(float %i)\n"
                "%w = load float, ptr %q\n"
                "%t = fmul float %w, %s\n"
                "%n = fadd float %t, %v\n"
                "br i1 %c, label %loop, label %end\n"
                "end:\n"
                "ret void\n") == "br i v s w t n br ret ");
}

TEST_CASE("order_by_use: the products of a loop over k stay between the loads of the next k") {
  CHECK(ordered("%a0 = load float, ptr %p\n"
                "%b0 = load float, ptr %q\n"
                "%m0 = fmul float %a0, %b0\n"
                "%a1 = load float, ptr %p\n"
                "%b1 = load float, ptr %q\n"
                "%m1 = fmul float %a1, %b1\n"
                "%s0 = fadd float %x, %m0\n"
                "%s1 = fadd float %s0, %m1\n"
                "store float %s1, ptr %p\n"
                "ret void\n") == "a0 b0 m0 a1 b1 m1 s0 s1 store ret ");
}

TEST_CASE("order_by_use: a value for another block stays") {
  CHECK(ordered("%a = fadd float %x, %y\n"
                "%b = fmul float %x, %x\n"
                "store float %b, ptr %p\n"
                "br label %end\n"
                "end:\n"
                "store float %a, ptr %q\n"
                "ret void\n") == "a b store br store ret ");
}

TEST_CASE("order_by_use: long chains need no deep recursion") {
  std::string body = "%v0 = fadd float %x, %y\n";
  for (int i = 1; i < 100000; i++)
    body += "%v" + std::to_string(i) + " = fadd float %v" + std::to_string(i - 1) + ", %y\n";
  ordered(body + "store float %v99999, ptr %p\nret void\n");
}
