// Compiles and links a tile IR kernel as host code. See host_code.h.

#include "support/host_code.h"

#include "backend/host_object.h"
#include "backend/ptx.h"
#include "lower/host_kernel.h"
#include "lower/lower.h"

#include <doctest/doctest.h>

namespace tritonc::test {

LinkedHostCode host_code_of(const ir::Function &fn, const Gpu &gpu) {
  llvm::LLVMContext context;
  return host_code_of(*optimized(fn, gpu, context), describe(fn, gpu));
}

std::unique_ptr<llvm::Module> optimized(const ir::Function &fn, const Gpu &gpu,
                                        llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> module = lower(fn, gpu, context);
  REQUIRE(optimize(*module, gpu));
  return module;
}

LinkedHostCode host_code_of(const llvm::Module &module, const HostKernel &kernel) {
  const std::string symbol = "host_code";
  Result<std::string> object = host_object(module, kernel, symbol);
  std::string failure = object ? "" : text(object.error());
  REQUIRE_MESSAGE(object, failure);
  return LinkedHostCode(*object, symbol);
}

} // namespace tritonc::test
