// Optimizes LLVM IR and generates PTX with LLVM's NVPTX back end.
//
// Decisions:
// - `optimize` runs only the O2 passes that change the code of ptxas. A module has one function, no
//   inlining and no variables in memory. TritonC's own passes have already chosen access widths and
//   unroll factors. The other O2 passes took more than half of the time. On 213 kernels of
//   kernels/, for sm_75 to sm_120, the totals of registers, of instructions and of instructions in
//   loops are within half a percent of O2's.
// - LLVM's code generation starts with similar passes again, which took half of its time. We skip
//   them (`left_out`), because ptxas generates shorter code without them. We also skip passes that
//   have no work.
// - Pointers to shared memory have 32 bits (`nvptx-short-ptr`). So an address takes one register,
//   and `inttoptr` of a target operation's i32 address is free.
// - LLVM fuses a multiplication and an addition only if both have the `contract` flag.
// - The PTX version is the GPU's minimum, or higher if an operation needs it. More drivers accept a
//   lower version.
// - By default the PTX has no source locations. Otherwise a new comment in a source file would
//   change the PTX and every cubin.
// - Before lower_target_ops the module has no inline assembly and no NVPTX intrinsics, so that the
//   emulator can run it. `optimize` checks this.
//
// Tested by tests/unit/backend/ptx_test.cpp.

#include "backend/ptx.h"

#include "backend/bypass_divisions.h"
#include "backend/lower_device_printf_assert.h"
#include "backend/lower_target_ops.h"
#include "backend/order_by_use.h"
#include "backend/predicate_accesses.h"
#include "backend/prepare_for_ptx.h"
#include "backend/scalarize_vectors.h"
#include "backend/target_ops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/PassRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DivRemPairs.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/VectorCombine.h"

#include <cassert>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace tritonc {
namespace {

constexpr const char *triple = "nvptx64-nvidia-cuda";

// LLVM keeps targets and options in globals.
void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    auto option = llvm::cl::getRegisteredOptions().find("nvptx-short-ptr");
    assert(option != llvm::cl::getRegisteredOptions().end() && "LLVM has the option");
    static_cast<llvm::cl::opt<bool> *>(option->second)->setValue(true);
  });
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(llvm::StringRef cpu,
                                                         const std::string &features) {
  initialize_llvm();
  llvm::Triple nvptx(triple);
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(nvptx, error);
  assert(target && "LLVM was built with NVPTX");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(nvptx, cpu, features, options, llvm::Reloc::PIC_, std::nullopt,
                                  llvm::CodeGenOptLevel::Aggressive));
}

// The target machine for a module before lower_target_ops. Each thread caches its machines, because
// creating one takes as long as some passes.
llvm::TargetMachine &target_machine(const llvm::Module &module, const Gpu &gpu) {
  thread_local std::map<std::pair<std::string_view, int>, std::unique_ptr<llvm::TargetMachine>>
      machines;
  int version = ptx_version_for(module, gpu);
  std::unique_ptr<llvm::TargetMachine> &machine = machines[{gpu.machine, version}];
  if (!machine)
    machine = make_target_machine(llvm::StringRef(gpu.machine), "+ptx" + std::to_string(version));
  return *machine;
}

// Passes of NVPTX code generation without a benefit. For each of 312 images of kernels/, for sm_75
// to sm_120, the code without them is equally good or better.
constexpr const char *left_out[] = {
    // Strength reduction of addresses holds a register for the whole loop. ptxas does the same
    // optimization and knows whether a register is free. Without these passes, code has 2 (wgmma)
    // to 8 percent fewer instructions, 1 to 5 percent fewer in loops, and spills less.
    "separate-const-offset-from-gep", "slsr", "gvn", "nary-reassociate", "early-cse", "loop-reduce",
    "canon-freeze",
    // Duplicates the code after a branch to save a branch.
    "block-placement",
    // Our pointers already have address spaces.
    "infer-address-spaces",
    // These have no work: no variables in memory, no calls, no physical registers. A large constant
    // costs ptxas no instruction.
    "sroa", "mergeicmps", "expand-memcmp", "partially-inline-libcalls", "consthoist",
    "early-tailduplication", "opt-phis", "peephole-opt", "stack-coloring", "localstackalloc",
    "stack-slot-coloring"};

// Adds all passes except those in `left_out`. LLVM has no option to disable most of them.
class CodeGeneration : public llvm::legacy::PassManager {
public:
  void add(llvm::Pass *pass) override {
    const llvm::PassInfo *info =
        llvm::PassRegistry::getPassRegistry()->getPassInfo(pass->getPassID());
    if (info && llvm::is_contained(left_out, info->getPassArgument()))
      delete pass;
    else
      llvm::legacy::PassManager::add(pass);
  }
};

// Collects the errors that LLVM reports through the context.
class ErrorCollector {
public:
  explicit ErrorCollector(llvm::LLVMContext &context) : context_(context) {
    context_.setDiagnosticHandler(std::make_unique<Handler>(errors_));
  }
  ~ErrorCollector() { context_.setDiagnosticHandler(std::make_unique<llvm::DiagnosticHandler>()); }
  const std::string &errors() const { return errors_; }

private:
  struct Handler : llvm::DiagnosticHandler {
    explicit Handler(std::string &errors) : errors(errors) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
      if (info.getSeverity() != llvm::DS_Error)
        return true;
      llvm::raw_string_ostream out(errors);
      llvm::DiagnosticPrinterRawOStream printer(out);
      out << (errors.empty() ? "" : "; ");
      info.print(printer);
      return true;
    }
    std::string &errors;
  };

  llvm::LLVMContext &context_;
  std::string errors_;
};

Error llvm_failed(const Gpu &gpu, const std::string &why) {
  return {Message::llvm_failed, {std::string(gpu.name), why}};
}

// An instruction that lower/ must not create; empty if the module has none.
std::string find_foreign_instruction(const llvm::Module &module) {
  for (const llvm::Function &function : module) {
    if (function.getName().starts_with("llvm.nvvm."))
      return "`" + function.getName().str() + "` before lower_target_ops";
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call && call->isInlineAsm())
        return "inline assembly before lower_target_ops";
    }
  }
  return "";
}

// The reason why the module is not valid IR; empty if valid.
std::string verify(const llvm::Module &module) {
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (!llvm::verifyModule(module, &out))
    return "";
  return problem.substr(0, problem.find('\n'));
}

// The passes have the same order as in O2.
llvm::FunctionPassManager optimizations() {
  llvm::LoopPassManager rotation;
  rotation.addPass(llvm::LoopRotatePass());
  rotation.addPass(llvm::LICMPass(llvm::LICMOptions()));

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::VectorCombinePass()); // without it, double kernels spill 50 percent more
  passes.addPass(llvm::ReassociatePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(rotation), /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::DivRemPairsPass());
  return passes;
}

void run_optimizations(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(optimizations()));
  passes.run(module, modules);
}

// Keeps only line numbers: a profiler needs no more, and full debug info adds sections to the PTX.
// The compile unit selects the kind of debug info. LLVM cannot change a unit, so this replaces it.
void keep_only_lines(llvm::Module &module) {
  llvm::NamedMDNode *units = module.getNamedMetadata("llvm.dbg.cu");
  if (!units)
    return;
  std::vector<llvm::DICompileUnit *> old(module.debug_compile_units_begin(),
                                         module.debug_compile_units_end());
  units->clearOperands();
  for (llvm::DICompileUnit *unit : old) {
    llvm::DIBuilder build(module);
    llvm::DICompileUnit *lines = build.createCompileUnit(
        unit->getSourceLanguage(), unit->getFile(), unit->getProducer(), unit->isOptimized(),
        /*Flags=*/"", /*RV=*/0, /*SplitName=*/"", llvm::DICompileUnit::DebugDirectivesOnly);
    for (llvm::Function &function : module)
      if (llvm::DISubprogram *program = function.getSubprogram();
          program && program->getUnit() == unit)
        program->replaceUnit(lines);
    build.finalize();
  }
}

// Adds a time and a size to `.file 1 "f.tc"`. Without them ptxas looks for the file and writes its
// time and size, so the code would differ between machines. ptxas ignores zeros, so both are 1.
std::string with_fixed_files(llvm::StringRef ptx) {
  std::string text;
  while (!ptx.empty()) {
    auto [line, rest] = ptx.split('\n');
    bool is_file = line.ltrim().starts_with(".file") && line.ends_with("\"");
    text += line.str() + (is_file ? ", 1, 1\n" : "\n");
    ptx = rest;
  }
  return text;
}

// Removes comments such as `// callseq 23, 0`. LLVM counts the calls of the whole process, so the
// PTX would depend on the order of the jobs.
std::string without_call_numbers(llvm::StringRef ptx) {
  std::string text;
  for (;;) {
    size_t comment = ptx.find(" // callseq ");
    text += ptx.substr(0, comment);
    if (comment == ptx.npos)
      return text;
    ptx = ptx.substr(ptx.find('\n', comment));
  }
}

} // namespace

void prepare_module(llvm::Module &module) {
  // The layout is the same for every GPU.
  static const llvm::DataLayout layout = make_target_machine("sm_80", "+ptx70")->createDataLayout();
  module.setTargetTriple(llvm::Triple(triple));
  module.setDataLayout(layout);
}

Result<std::monostate> optimize(llvm::Module &module, const Gpu &gpu) {
  for (const std::string &problem : {verify(module), find_foreign_instruction(module)})
    if (!problem.empty())
      return Error{Message::internal_error, {"lower", problem}};

  llvm::TargetMachine &machine = target_machine(module, gpu);
  assert(module.getDataLayout() == machine.createDataLayout() && "made by prepare_module");
  ErrorCollector collector(module.getContext());
  run_optimizations(module, machine);
  if (!collector.errors().empty())
    return llvm_failed(gpu, collector.errors());
  return std::monostate();
}

Result<std::string> generate_ptx(llvm::Module &module, const Gpu &gpu, bool line_info) {
  if (const TargetOpInfo *missing = find_missing_target_op(module, gpu))
    return Error{Message::internal_error,
                 {"lower", "`" + missing->name.str() + "` for " + std::string(gpu.name)}};
  llvm::TargetMachine &machine = target_machine(module, gpu);
  if (line_info)
    keep_only_lines(module);
  else
    llvm::StripDebugInfo(module);
  scalarize_vectors(module);
  lower_device_printf_assert(module);
  lower_target_ops(module);
  predicate_accesses(module);
  prepare_for_ptx(module);
  order_by_use(module);
  bypass_divisions(module);
#ifndef NDEBUG // `optimize` verified the module; the passes above have their own tests
  if (std::string problem = verify(module); !problem.empty())
    return Error{Message::internal_error, {"lower_target_ops", problem}};
#endif

  ErrorCollector collector(module.getContext());
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream out(ptx);
  CodeGeneration passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return llvm_failed(gpu, "it cannot write PTX");
  passes.run(module);
  if (!collector.errors().empty())
    return llvm_failed(gpu, collector.errors());
  std::string text = without_call_numbers(ptx);
  return line_info ? with_fixed_files(text) : text;
}

Result<std::string> emit_ptx(llvm::Module &module, const Gpu &gpu) {
  if (Result<std::monostate> optimized = optimize(module, gpu); !optimized)
    return optimized.error();
  return generate_ptx(module, gpu);
}

} // namespace tritonc
