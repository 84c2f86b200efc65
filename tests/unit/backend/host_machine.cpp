// Runs host code as one thread. See host_machine.h.

#include "unit/backend/host_machine.h"

#include "backend/host_object.h"
#include "backend/ptx.h"
#include "backend/target_ops.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <doctest/doctest.h>

#include <array>
#include <utility>

namespace tritonc::test {
namespace {

HostMachine *running = nullptr;
const abi::host_code *code_running = nullptr;

// Operation i of the running code.
template <size_t i>
void operation(void *, void *records, uint32_t count, const abi::host_site *site) {
  std::string name = code_running->operations[i];
  name.resize(std::min(name.find(' '), name.size()));
  running->calls.push_back({name, records, count, site->line});
  auto found = running->does.find(name);
  if (found != running->does.end())
    found->second(records, count);
}

template <size_t... i>
std::array<abi::host_operation, sizeof...(i)> table(std::index_sequence<i...>) {
  return {operation<i>...};
}

} // namespace

void HostMachine::run(const abi::host_code &code, std::vector<void *> arguments) {
  static const auto operations = table(std::make_index_sequence<32>());
  REQUIRE(code.operation_count <= operations.size());
  running = this;
  code_running = &code;
  code.entry(operations.data(), &thread, arguments.data());
}

std::string HostMachine::text() const {
  std::string all;
  for (const HostCall &call : calls) {
    all += (all.empty() ? "" : " ") + call.name;
    if (call.count > 1 && call.name.find("load_") != 0 && call.name.find("store_") != 0 &&
        call.name.find("atomic_") != 0)
      all += "*" + std::to_string(call.count);
  }
  return all;
}

LinkedHostCode host_code_of(const std::string &text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  REQUIRE_MESSAGE(module, error.getMessage().str());
  prepare_module(*module);
  HostKernel kernel = {.name = "k", .gpu = "sm_90a", .threads = 32, .shared_bytes = 0};
  for (const llvm::Function &function : *module)
    if (!function.isDeclaration())
      for (const llvm::Argument &argument : function.args())
        kernel.parameters.push_back({argument.getName().str(), argument.getType()->isPointerTy()});
  Result<std::string> object = host_object(*module, kernel, "the_code");
  std::string failure = object ? "" : tritonc::text(object.error());
  REQUIRE_MESSAGE(object, failure);
  return LinkedHostCode(*object, "the_code");
}

} // namespace tritonc::test
