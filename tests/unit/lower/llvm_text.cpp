// Lowers tile IR to LLVM IR as text, for the tests of lower/. See llvm_text.h.

#include "unit/lower/llvm_text.h"

#include "lower/lower.h"
#include "passes/pipeline.h"
#include "support/tile_ir.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

namespace tritonc::test {
namespace {

std::string text_of(const ir::Function &fn, const Gpu &gpu) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = lower(fn, gpu, context);
  std::string text, errors;
  llvm::raw_string_ostream(text) << *module;
  llvm::raw_string_ostream stream(errors);
  bool broken = llvm::verifyModule(*module, &stream);
  REQUIRE_MESSAGE(!broken, errors, text);
  CHECK_FALSE(contains(text, " asm "));
  return text;
}

} // namespace

std::string lowered(std::string_view tile_ir, const char *gpu) {
  return text_of(parsed(tile_ir), *find_gpu(gpu));
}

std::string lowered(const ir::Function &fn, const char *gpu) { return text_of(fn, *find_gpu(gpu)); }

std::string compiled(std::string_view tile_ir, const char *gpu) {
  ir::Function fn = parsed(tile_ir);
  run_pipeline(fn, *find_gpu(gpu), [](std::string_view, ir::Function &f) { check_rules(f); });
  return text_of(fn, *find_gpu(gpu));
}

int count(std::string_view text, std::string_view part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    found++;
  return found;
}

} // namespace tritonc::test
