// Links host code into this process. See jit.h.

#include "support/jit.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>
#include <stdexcept>

namespace tritonc::test {
namespace {

template <typename T> T required(llvm::Expected<T> value) {
  if (!value)
    throw std::runtime_error("linking host code: " + llvm::toString(value.takeError()));
  return std::move(*value);
}

void required(llvm::Error error) {
  if (error)
    throw std::runtime_error("linking host code: " + llvm::toString(std::move(error)));
}

} // namespace

struct LinkedHostCode::Linker {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

LinkedHostCode::LinkedHostCode(const std::string &object, const std::string &symbol)
    : linker_(std::make_unique<Linker>()) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  linker_->jit = required(llvm::orc::LLJITBuilder().setNumCompileThreads(0).create());
  llvm::orc::LLJIT &jit = *linker_->jit;
  // Functions of this process, for example those of <math.h>.
  jit.getMainJITDylib().addGenerator(
      required(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit.getDataLayout().getGlobalPrefix())));
  required(jit.addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object, symbol)));
  code_ = required(jit.lookup(symbol)).toPtr<const abi::host_code *>();
}

LinkedHostCode::~LinkedHostCode() = default;
LinkedHostCode::LinkedHostCode(LinkedHostCode &&) noexcept = default;

} // namespace tritonc::test
