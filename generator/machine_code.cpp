// Machine code: from tile IR that went through the pipeline, by LLVM and ptxas, or from the cache,
// or from a shard. See machine_code.h.
//
// Tested by tests/compile/structures_test.cpp, kernel_cache_test.cpp and shards_test.cpp.

#include "machine_code.h"

#include "backend/fatbinary.h"
#include "backend/ptx.h"
#include "backend/ptxas.h"
#include "cache.h"
#include "lower/lower.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/LLVMContext.h"

namespace tritonc {
namespace {

// The LLVM IR for machine code, not yet optimised: without places in the source unless they are to
// be in it, since it takes time to keep them right.
std::unique_ptr<llvm::Module> module_for_code(const ir::Function &function, const Gpu &gpu,
                                              const CompileOptions &options,
                                              llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> module = lower(function, gpu, context);
  if (!options.line_info)
    llvm::StripDebugInfo(*module);
  return module;
}

// The same for equal modules only. Written and compared in half the time of the text.
std::string bitcode_of(const llvm::Module &module) {
  llvm::SmallVector<char, 0> bytes;
  llvm::BitcodeWriter writer(bytes);
  writer.writeModule(module);
  writer.writeStrtab();
  return std::string(bytes.begin(), bytes.end());
}

// From LLVM IR to machine code. How many programs a multiprocessor runs, and so how many registers
// a thread has, rests on an estimate of choose_residency; where ptxas finds them too few, one
// program less is tried, until nothing spills or there is only one.
// `module` is the function's, which is afterwards as it was: others have code of the same module
// without making it.
Result<Cubin> assemble_function(ir::Function &function, std::unique_ptr<llvm::Module> module,
                                const Gpu &gpu, const CompileOptions &options,
                                const Toolchain &tools, StepTimes &times, std::string &ptx_text) {
  llvm::LLVMContext &context = module->getContext();
  const int estimate = function.residency;
  for (;;) {
    auto optimized = times.measure(Step::optimize, [&] { return optimize(*module, gpu); });
    if (!optimized)
      return optimized.failure();
    Result<std::string> ptx =
        times.measure(Step::ptx, [&] { return generate_ptx(*module, gpu, options.line_info); });
    if (!ptx)
      return ptx.failure();
    ptx_text = *ptx;
    Result<Cubin> cubin = times.measure(Step::ptxas, [&] {
      return assemble(tools, *ptx, function.name, gpu, "-O3", options.line_info);
    });
    if (!cubin || !cubin->resources.spill_stores || function.residency <= 1) {
      function.residency = estimate;
      return cubin;
    }
    function.residency--;
    module = times.measure(Step::lower,
                           [&] { return module_for_code(function, gpu, options, context); });
  }
}

// Of PTX, that ptxas takes it is found out with a cubin, which then nobody is given.
Result<MachineCode> make_code(ir::Function &function, std::unique_ptr<llvm::Module> module,
                              const Gpu &gpu, const Workshop &workshop, StepTimes &times) {
  const Toolchain &tools = *workshop.tools;
  std::string ptx;
  Result<Cubin> cubin =
      assemble_function(function, std::move(module), gpu, workshop.options, tools, times, ptx);
  if (!cubin)
    return cubin.failure();
  MachineCode code = {.resources = std::move(cubin->resources), .cubin = std::move(cubin->bytes)};
  code.ptx = std::move(ptx);
  code.cubin_bytes = int(code.cubin.size());
  return code;
}

} // namespace

int code_bytes(const MachineCode &code) {
  std::string ptx, problem;
  if (!holds_ptx(code.image) || !unpack(code.image, ptx, problem))
    return int(code.cubin.size());
  return int(ptx.size());
}

// A hash of all that machine code is made of.
std::string SharedCode::key_of(const Gpu &gpu, const Toolchain &tools, const std::string &bitcode) {
  std::string all;
  for (const std::string &part :
       {std::string(tool_name), std::string(gpu.name), tools.version, tools.compression,
        llvm::join(tools.ptxas_options, "\n"), bitcode})
    all += std::to_string(part.size()) + "\n" + part;
  return cache_key(all);
}

Result<MachineCode> *machine_code(ir::Function &function, const Gpu &gpu, Workshop &workshop,
                                  StepTimes &times) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::string bitcode = times.measure(Step::lower, [&] {
    module = module_for_code(function, gpu, workshop.options, context);
    return bitcode_of(*module);
  });
  return workshop.shared.get(gpu, *workshop.tools, bitcode, [&]() -> Result<MachineCode> {
    if (!workshop.cache)
      return make_code(function, std::move(module), gpu, workshop, times);
    std::string key = workshop.cache->key_of_code(gpu, bitcode);
    if (auto kept = times.measure(Step::cache, [&] { return workshop.cache->find_code(key); }))
      return *kept;
    Result<MachineCode> code = make_code(function, std::move(module), gpu, workshop, times);
    if (code)
      code->key = key;
    return code;
  });
}

std::optional<Failure> pack(const std::vector<MachineCode *> &codes, const Gpu &gpu,
                            Workshop &workshop, StepTimes &times) {
  std::vector<MachineCode *> unpacked;
  std::vector<const std::string *> contents;
  for (MachineCode *code : codes)
    if (workshop.shared.claim(code) && code->image.empty()) {
      unpacked.push_back(code);
      contents.push_back(gpu.is_ptx() ? &code->ptx : &code->cubin);
    }
  if (unpacked.empty())
    return std::nullopt;
  Result<std::vector<std::string>> images =
      times.measure(Step::fatbinary, [&] { return compress(*workshop.tools, contents, gpu); });
  if (!images)
    return images.failure();
  for (size_t i = 0; i < unpacked.size(); i++) {
    unpacked[i]->image = std::move((*images)[i]);
    unpacked[i]->cubin_bytes = code_bytes(*unpacked[i]);
  }
  if (workshop.cache)
    times.measure(Step::cache, [&] {
      for (const MachineCode *code : unpacked)
        workshop.cache->keep_code(*code);
    });
  return std::nullopt;
}

} // namespace tritonc
