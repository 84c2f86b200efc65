// LLVM IR to PTX, with LLVM's NVPTX back end.
//
// Decisions:
// - Of O2's passes only those that make a difference to ptxas's code. There is one function, there
//   is nothing to inline and no variable in memory; how wide an access is and how far a loop is
//   unrolled was decided by our own passes, which know more. The others took more than half of the
//   time. On 213 kernels of kernels/, for sm_75 to sm_120, the sums of registers, of instructions
//   and of instructions in loops are within half a percent of O2's.
// - Code generation begins with some of the same kind again, which took half of its time. Those are
//   left out (`left_out`): ptxas's code is shorter without. So are some that have nothing to do.
// - Pointers to shared memory are 32 bits wide (`nvptx-short-ptr`), so that an address takes one
//   register and `inttoptr` of what a target op takes is free.
// - Multiplications and additions are fused where an instruction's `contract` flag allows it, not
//   everywhere.
// - The PTX version is the GPU's, or that of the newest operation used: the lower, the more drivers
//   take the text.
// - Where in the source an instruction comes from does not go into PTX. Otherwise a comment in a
//   source would change the text, and with it every cubin.
// - Before lower_target_ops there is no inline assembly and no intrinsic that only NVPTX has: what
//   lower/ builds could be executed by an emulator. The check is here, since here it ends.
//
// Tested by tests/backend/ptx_test.cpp.

#include "backend/ptx.h"

#include "backend/bypass_divisions.h"
#include "backend/lower_reports.h"
#include "backend/lower_target_ops.h"
#include "backend/prepare_for_ptx.h"
#include "backend/split_vectors.h"
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

// For a module before lower_target_ops. Making one takes as long as some of the passes; each thread
// keeps those it has made.
llvm::TargetMachine &target_machine(const llvm::Module &module, const Gpu &gpu) {
  thread_local std::map<std::pair<std::string_view, int>, std::unique_ptr<llvm::TargetMachine>>
      machines;
  int version = ptx_version_for(module, gpu);
  std::unique_ptr<llvm::TargetMachine> &machine = machines[{gpu.machine, version}];
  if (!machine)
    machine = make_target_machine(llvm::StringRef(gpu.machine), "+ptx" + std::to_string(version));
  return *machine;
}

// Passes of NVPTX's code generation that don't pay: for each of 312 images of kernels/, for sm_75
// to sm_120, code without them is as good or better.
constexpr const char *left_out[] = {
    // What strength reduction takes out of an address costs a register for as long as the loop
    // runs; ptxas does the same, and knows whether there is one. Without these, code has 2 (wgmma)
    // to 8 percent fewer instructions, 1 to 5 percent fewer in loops, and spills less.
    "separate-const-offset-from-gep", "slsr", "gvn", "nary-reassociate", "early-cse", "loop-reduce",
    "canon-freeze",
    // Copies what is behind a branch, to save one.
    "block-placement",
    // Our pointers say what they point to.
    "infer-address-spaces",
    // There is nothing for them to do: no variable in memory, no call, no register of a machine.
    // Large constants cost ptxas no instruction.
    "sroa", "mergeicmps", "expand-memcmp", "partially-inline-libcalls", "consthoist",
    "early-tailduplication", "opt-phis", "peephole-opt", "stack-coloring", "localstackalloc",
    "stack-slot-coloring"};

// All passes that are added, but for those: LLVM has no option for most of them.
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

// What LLVM reports while it works on a module, which it does through the context.
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

Failure llvm_failed(const Gpu &gpu, const std::string &why) {
  return {Message::llvm_failed, {std::string(gpu.name), why}};
}

// What lower/ must not have built; empty if all is well.
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

// Why the module is not valid IR; empty if it is.
std::string verify(const llvm::Module &module) {
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (!llvm::verifyModule(module, &out))
    return "";
  return problem.substr(0, problem.find('\n'));
}

// In O2's order.
llvm::FunctionPassManager optimisations() {
  llvm::LoopPassManager rotation;
  rotation.addPass(llvm::LoopRotatePass());
  rotation.addPass(llvm::LICMPass(llvm::LICMOptions()));

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::VectorCombinePass()); // without, doubles spill half as much again
  passes.addPass(llvm::ReassociatePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(rotation), /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::DivRemPairsPass());
  return passes;
}

void run_optimisations(llvm::Module &module, llvm::TargetMachine &machine) {
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
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(optimisations()));
  passes.run(module, modules);
}

// Lines are enough for a profiler; more would be sections of its own in the PTX. How much there is
// to be is said by the compile unit, which cannot be changed but replaced.
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

// `.file 1 "f.tc"` gets a time and a size: without, ptxas writes those that the file has, if it
// finds one of that name, and the code differs from one machine to the next. Zeros count as none.
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
      return Failure{Message::internal_error, {"lower", problem}};

  llvm::TargetMachine &machine = target_machine(module, gpu);
  assert(module.getDataLayout() == machine.createDataLayout() && "made by prepare_module");
  ErrorCollector collector(module.getContext());
  run_optimisations(module, machine);
  if (!collector.errors().empty())
    return llvm_failed(gpu, collector.errors());
  return std::monostate();
}

Result<std::string> generate_ptx(llvm::Module &module, const Gpu &gpu, bool line_info) {
  if (const TargetOpInfo *missing = find_missing_target_op(module, gpu))
    return Failure{Message::internal_error,
                   {"lower", "`" + missing->name.str() + "` for " + std::string(gpu.name)}};
  llvm::TargetMachine &machine = target_machine(module, gpu);
  if (line_info)
    keep_only_lines(module);
  else
    llvm::StripDebugInfo(module);
  split_vectors(module);
  lower_reports(module);
  lower_target_ops(module);
  prepare_for_ptx(module);
  bypass_divisions(module);
#ifndef NDEBUG // verified by `optimize`; what was done since has its own tests
  if (std::string problem = verify(module); !problem.empty())
    return Failure{Message::internal_error, {"lower_target_ops", problem}};
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
  return line_info ? with_fixed_files(ptx) : ptx.str().str();
}

Result<std::string> emit_ptx(llvm::Module &module, const Gpu &gpu) {
  if (Result<std::monostate> optimized = optimize(module, gpu); !optimized)
    return optimized.failure();
  return generate_ptx(module, gpu);
}

} // namespace tritonc
