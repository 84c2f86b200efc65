// Compiles a kernel to an object file for this machine's CPU. See host_object.h.
//
// Decisions:
// - x86-64-v3: the CPUs since 2013, with AVX2 and F16C (half conversions). Without F16C, LLVM calls
//   conversion functions that not every C library has. For aarch64 the baseline.
// - No passes run between lower_to_host and code generation. The optimizer has already run on the
//   GPU code, and lower_to_host mainly adds calls.
// - LLVM fuses multiplications and additions as on the GPU (ptx.cpp).
//
// Tested by tests/unit/backend/host_object_test.cpp.

#include "backend/host_object.h"

#include "backend/lower_to_host.h"

#include <tritonc/descriptor.hpp>

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <cassert>
#include <memory>
#include <mutex>
#include <optional>

namespace tritonc {
namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const std::string &triple) {
  initialize_llvm();
  llvm::Triple host(
      llvm::Triple::normalize(triple.empty() ? llvm::sys::getDefaultTargetTriple() : triple));
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(host, error);
  bool is_supported = target && host.isOSBinFormatELF() && host.isLittleEndian() &&
                      host.isArch64Bit() && (host.isX86() || host.isAArch64());
  if (!is_supported)
    return Error{Message::no_host_object,
                 {host.str(), target ? "only ELF for x86-64 and aarch64 is supported" : error}};
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(host, host.isX86() ? "x86-64-v3" : "generic", "", options,
                                  llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

// Builds the abi::host_code of a function and the data that it points to.
class Description {
public:
  explicit Description(HostFunction &function)
      : function_(function), module_(*function.module), context_(module_.getContext()),
        pointer_(llvm::PointerType::get(context_, 0)), word_(llvm::Type::getInt32Ty(context_)) {}

  void add(const HostKernel &kernel, const std::string &symbol) {
    std::vector<llvm::Constant *> operations, parameters, buffers;
    for (const std::string &operation : function_.operations)
      operations.push_back(string(operation));
    for (size_t i = 0; i < kernel.parameters.size(); i++)
      parameters.push_back(record({string(kernel.parameters[i].name), word(bytes_of(i)),
                                   word(kernel.parameters[i].is_pointer)}));
    for (const HostKernel::Buffer &buffer : kernel.buffers)
      buffers.push_back(record({string(buffer.name), word(buffer.offset), word(buffer.bytes)}));

    llvm::Constant *magic = llvm::ConstantDataArray::getString(
        context_, llvm::StringRef(abi::host_code_magic, sizeof abi::host_code_magic),
        /*AddNull=*/false);
    llvm::Constant *code =
        record({magic, word(abi::host_code_version), word(operations.size()), array(operations),
                function_.entry, string(kernel.name), string(kernel.gpu), array(parameters),
                array(buffers), function_.sites, word(parameters.size()), word(buffers.size()),
                word(function_.site_count), word(kernel.threads), word(kernel.shared_bytes),
                word(kernel.cluster_size), constants(), word(constant_bytes()),
                word(kernel.blocks_per_sm)});
    assert(module_.getDataLayout().getTypeAllocSize(code->getType()) == sizeof(abi::host_code) &&
           "as descriptor.hpp says");
    auto *global = new llvm::GlobalVariable(module_, code->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::ExternalLinkage, code, symbol);
    global->setVisibility(llvm::GlobalValue::HiddenVisibility);
    global->setAlignment(llvm::Align(alignof(abi::host_code)));
  }

private:
  // The size of the value that an argument points to.
  uint32_t bytes_of(size_t parameter) const { return function_.parameter_bytes[parameter]; }

  llvm::Constant *constants() {
    return function_.constants ? (llvm::Constant *)function_.constants
                               : llvm::ConstantPointerNull::get(pointer_);
  }

  uint64_t constant_bytes() const {
    return function_.constants
               ? module_.getDataLayout().getTypeAllocSize(function_.constants->getValueType())
               : 0;
  }

  llvm::Constant *word(uint64_t value) { return llvm::ConstantInt::get(word_, value); }

  llvm::Constant *record(llvm::ArrayRef<llvm::Constant *> members) {
    return llvm::ConstantStruct::getAnon(context_, members);
  }

  llvm::Constant *constant(llvm::Constant *value) {
    auto *global = new llvm::GlobalVariable(module_, value->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, value);
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return global;
  }

  llvm::Constant *string(llvm::StringRef text) {
    return constant(llvm::ConstantDataArray::getString(context_, text));
  }

  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> rows) {
    if (rows.empty())
      return llvm::ConstantPointerNull::get(pointer_);
    return constant(
        llvm::ConstantArray::get(llvm::ArrayType::get(rows[0]->getType(), rows.size()), rows));
  }

  HostFunction &function_;
  llvm::Module &module_;
  llvm::LLVMContext &context_;
  llvm::PointerType *pointer_;
  llvm::IntegerType *word_;
};

// Lowers the kernel and adds its description.
Result<HostFunction> describe(const llvm::Module &module, const HostKernel &kernel,
                              const std::string &symbol, llvm::TargetMachine &machine) {
  if (std::string foreign = find_foreign_call(module); !foreign.empty())
    return Error{Message::internal_error, {"lower", foreign + " before lower_to_host"}};
  HostFunction function =
      lower_to_host(module, machine.createDataLayout(), machine.getTargetTriple());
  Description(function).add(kernel, symbol);
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (llvm::verifyModule(*function.module, &out))
    return Error{Message::internal_error, {"lower_to_host", problem.substr(0, problem.find('\n'))}};
  return function;
}

} // namespace

Result<std::string> host_object(const llvm::Module &module, const HostKernel &kernel,
                                const std::string &symbol, const std::string &triple) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = make_machine(triple);
  if (!machine)
    return machine.error();
  Result<HostFunction> function = describe(module, kernel, symbol, **machine);
  if (!function)
    return function.error();
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile))
    return Error{Message::internal_error, {"host_object", "LLVM cannot write objects"}};
  passes.run(*function->module);
  return std::string(bytes.begin(), bytes.end());
}

Result<std::string> host_text(const llvm::Module &module, const HostKernel &kernel,
                              const std::string &symbol, const std::string &triple) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = make_machine(triple);
  if (!machine)
    return machine.error();
  Result<HostFunction> function = describe(module, kernel, symbol, **machine);
  if (!function)
    return function.error();
  std::string text;
  llvm::raw_string_ostream out(text);
  function->module->print(out, nullptr);
  return text;
}

} // namespace tritonc
