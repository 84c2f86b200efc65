// Generates machine code from tile IR with LLVM and ptxas, or takes it from the cache or a shard
// file. See shared_code.h.
//
// Tested by tests/end_to_end/compile/schedules_test.cpp, tests/unit/jobs/kernel_cache_test.cpp and
// shards_test.cpp.

#include "jobs/shared_code.h"
#include "support/version.h"

#include "backend/fatbinary.h"
#include "backend/ptx.h"
#include "backend/ptxas.h"
#include "jobs/cache.h"
#include "lower/lower.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/LLVMContext.h"

#include <algorithm>

namespace tritonc {
namespace {

// The unoptimized LLVM IR. Without --line-info it has no debug info, because LLVM spends time to
// maintain debug info.
std::unique_ptr<llvm::Module> module_for_code(const ir::Function &function, const Gpu &gpu,
                                              const CompileOptions &options,
                                              llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> module = lower(function, gpu, context);
  if (!options.line_info)
    llvm::StripDebugInfo(*module);
  return module;
}

// Bitcode identifies a module. It takes half the time of the textual IR to write and compare.
std::string bitcode_of(const llvm::Module &module) {
  llvm::SmallVector<char, 0> bytes;
  llvm::BitcodeWriter writer(bytes);
  writer.writeModule(module);
  writer.writeStrtab();
  return std::string(bytes.begin(), bytes.end());
}

// Compiles LLVM IR to machine code. The blocks per SM, which limit the registers per thread, come
// from an estimate of choose_occupancy, or from ptxas. If ptxas spills, this function retries with one
// block less, until nothing spills or one block is left; after a choice of ptxas with one block. At the
// end it restores `function`, so the job that makes the code and a job that finds the code in the cache
// see the same function.
Result<Cubin> assemble_function(ir::Function &function, std::unique_ptr<llvm::Module> module,
                                const Gpu &gpu, const CompileOptions &options,
                                const Toolchain &tools, StepTimes &times, std::string &ptx_text) {
  llvm::LLVMContext &context = module->getContext();
  const int estimate = function.blocks_per_sm;
  for (;;) {
    auto optimized = times.measure(Step::optimize, [&] { return optimize(*module, gpu); });
    if (!optimized)
      return optimized.error();
    Result<std::string> ptx =
        times.measure(Step::ptx, [&] { return generate_ptx(*module, gpu, options.line_info); });
    if (!ptx)
      return ptx.error();
    ptx_text = *ptx;
    Result<Cubin> cubin = times.measure(Step::ptxas, [&] {
      return assemble(tools, *ptx, function.name, gpu, "-O3", options.line_info);
    });
    if (!cubin || !cubin->resources.spill_stores || function.blocks_per_sm == 1) {
      function.blocks_per_sm = estimate;
      return cubin;
    }
    function.blocks_per_sm = std::max(function.blocks_per_sm - 1, 1);
    module = times.measure(Step::lower,
                           [&] { return module_for_code(function, gpu, options, context); });
  }
}

// Makes cubin and PTX. Even if only PTX is embedded, ptxas runs to check that it accepts the PTX.
Result<MachineCode> make_code(ir::Function &function, std::unique_ptr<llvm::Module> module,
                              const Gpu &gpu, const CompileSession &session, StepTimes &times) {
  const Toolchain &tools = *session.tools;
  std::string ptx;
  Result<Cubin> cubin =
      assemble_function(function, std::move(module), gpu, session.options, tools, times, ptx);
  if (!cubin)
    return cubin.error();
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

// A hash of all inputs of the machine code.
std::string SharedCode::key_of(const Gpu &gpu, const Toolchain &tools, const std::string &bitcode) {
  std::string all;
  for (const std::string &part :
       {std::string(tool_name), std::string(gpu.name), tools.version, tools.compression,
        llvm::join(tools.ptxas_options, "\n"), bitcode})
    all += std::to_string(part.size()) + "\n" + part;
  return cache_key(all);
}

Result<MachineCode> *machine_code(ir::Function &function, const Gpu &gpu, CompileSession &session,
                                  StepTimes &times) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::string bitcode = times.measure(Step::lower, [&] {
    module = module_for_code(function, gpu, session.options, context);
    return bitcode_of(*module);
  });
  return session.shared.get(gpu, *session.tools, bitcode, [&]() -> Result<MachineCode> {
    if (!session.cache)
      return make_code(function, std::move(module), gpu, session, times);
    std::string key = session.cache->key_of_code(gpu, bitcode);
    if (auto kept = times.measure(Step::cache, [&] { return session.cache->find_code(key); }))
      return *kept;
    Result<MachineCode> code = make_code(function, std::move(module), gpu, session, times);
    if (code)
      code->key = key;
    return code;
  });
}

std::optional<Error> pack(const std::vector<MachineCode *> &codes, const Gpu &gpu,
                          CompileSession &session, StepTimes &times) {
  std::vector<MachineCode *> unpacked;
  std::vector<const std::string *> contents;
  for (MachineCode *code : codes)
    if (session.shared.claim(code) && code->image.empty()) {
      unpacked.push_back(code);
      contents.push_back(gpu.is_ptx() ? &code->ptx : &code->cubin);
    }
  if (unpacked.empty())
    return std::nullopt;
  Result<std::vector<std::string>> images =
      times.measure(Step::fatbinary, [&] { return compress(*session.tools, contents, gpu); });
  if (!images)
    return images.error();
  for (size_t i = 0; i < unpacked.size(); i++) {
    unpacked[i]->image = std::move((*images)[i]);
    unpacked[i]->cubin_bytes = code_bytes(*unpacked[i]);
  }
  if (session.cache)
    times.measure(Step::cache, [&] {
      for (const MachineCode *code : unpacked)
        session.cache->keep_code(*code);
    });
  return std::nullopt;
}

} // namespace tritonc
