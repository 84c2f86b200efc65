// Tests backend/bypass_divisions.cpp.

#include "backend/bypass_divisions.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

std::string bypassed(const std::string &body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(
      R"(
      declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
      declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
      define void @k(ptr %out, i32 %a, i32 %b, i64 %w) {
        )" +
          body + "\n store i32 %r, ptr %out\n ret void }",
      error, context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  bypass_divisions(*module);
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  CHECK_FALSE(llvm::verifyModule(*module, &problems));
  CHECK(problem == "");
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

bool is_bypassed(const std::string &body) {
  return bypassed(body).find("label %divide") != std::string::npos;
}

} // namespace

TEST_CASE("bypass_divisions: quotient is 0, a shift, or a division") {
  std::string text = bypassed("%r = udiv i32 %a, %b");
  CAPTURE(text);
  auto follows = [&, at = size_t(0)](const char *line) mutable {
    at = text.find(line, at);
    return at != std::string::npos;
  };
  CHECK(follows("icmp ult i32 %a, %b"));
  CHECK(follows("more:"));
  CHECK(follows("sub i32 %b, 1"));
  CHECK(follows("shift:"));
  CHECK(follows("call i32 @llvm.cttz.i32(i32 %b, i1 true)"));
  CHECK(follows("lshr i32 %a,"));
  CHECK(follows("divide:"));
  CHECK(follows("udiv i32 %a, %b"));
  CHECK(follows("phi i32 [ 0, %0 ]"));
}

TEST_CASE("bypass_divisions: every path computes the same value") {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(R"(
      define i32 @quotient(i32 %x, i32 %y) {
        %r = udiv i32 %x, %y
        ret i32 %r
      }
      define i32 @remainder(i32 %x, i32 %y) {
        %r = urem i32 %x, %y
        ret i32 %r
      })",
                                                                   error, *context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  bypass_divisions(*module);
  auto jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(
      jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  using Function = uint32_t(uint32_t, uint32_t);
  auto *quotient = llvm::cantFail(jit->lookup("quotient")).toPtr<Function *>();
  auto *remainder = llvm::cantFail(jit->lookup("remainder")).toPtr<Function *>();
  std::vector<uint32_t> numbers = {0, 1, 2, 3, 15, 16, 17, 48, 512, 65535, 65536};
  for (uint32_t large : {0x7fffffffu, 0x80000000u, 0x80000001u, 0xffffffffu})
    numbers.push_back(large);
  for (uint32_t x : numbers)
    for (uint32_t y : numbers) {
      if (y == 0)
        continue;
      CAPTURE(x);
      CAPTURE(y);
      CHECK(quotient(x, y) == x / y);
      CHECK(remainder(x, y) == x % y);
    }
}

TEST_CASE("bypass_divisions: bypasses uniform divisions, also chained ones") {
  const std::string block = "%x = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n";
  CHECK(is_bypassed(block + "%r = udiv i32 %x, %b"));
  CHECK(is_bypassed(block + "%y = add i32 %x, %a\n %r = urem i32 %y, %b"));
  // Each division has its own branch.
  std::string twice = bypassed(block + "%y = udiv i32 %x, %a\n %r = urem i32 %y, %b");
  size_t ways = 0;
  for (size_t at = twice.find("phi"); at != std::string::npos; at = twice.find("phi", at + 1))
    ways++;
  CHECK(ways == 2);
}

TEST_CASE("bypass_divisions: does nothing to per-thread divisions") {
  CHECK_FALSE(is_bypassed("%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n %r = udiv i32 %t, %b"));
  CHECK_FALSE(is_bypassed("%l = load i32, ptr %out\n %r = urem i32 %a, %l"));
}

TEST_CASE("bypass_divisions: does nothing to constant, signed or i64 divisions") {
  CHECK_FALSE(is_bypassed("%r = udiv i32 %a, 48"));
  CHECK_FALSE(is_bypassed("%r = sdiv i32 %a, %b"));
  CHECK_FALSE(is_bypassed("%q = udiv i64 %w, %w\n %r = trunc i64 %q to i32"));
}
