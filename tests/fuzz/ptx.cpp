// Fuzz target `ptx`: from source to PTX. See targets.h.

#include "backend/ptx.h"
#include "fuzz/source_input.h"
#include "fuzz/targets.h"
#include "fuzz/text_mutator.h"
#include "fuzz/words.h"
#include "ir/checks.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "lower/lower.h"
#include "passes/pipeline.h"
#include "support/schedules.h"

#include <algorithm>

namespace tritonc::fuzz {
namespace {

// The approximate number of values per thread over all operations. LLVM's time grows with it.
int64_t work_of(const ir::Function &fn) {
  int64_t work = 0;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) {
    for (const ir::Value *result : op.results)
      work += 1 + (result->type.is_shared()
                       ? 0
                       : ir::element_count(result->type.shape) / std::max(32 * fn.warps, 32));
  });
  return work;
}

// Compile time grows with the size of a kernel. Larger kernels would only exceed the time limit.
constexpr int64_t max_work = 6000;

bool compile(const ir::Function &source, const SourceInput &options) {
  const Gpu &gpu = *options.known_gpu();
  Schedule schedule = options.chosen(test::schedules_for(source, gpu));
  ir::Function fn = ir::clone(source);
  run_pipeline(fn, gpu, {}, schedule);
  if (std::string broken = ir::verify(fn); !broken.empty())
    fail("after all passes: " + broken, ir::print(fn));
  if (fn.shared_bytes > gpu.max_shared_bytes || work_of(fn) > max_work)
    return false;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = lower(fn, gpu, context);
  Result<std::string> made = emit_ptx(*module, gpu);
  if (!made)
    fail("no PTX: " + text(made.error()), ir::print(fn));
  return true;
}

} // namespace

void ptx(std::string_view bytes) {
  SourceInput source(bytes);
  FrontEndResult result = run_front_end(source);
  static Count count("kernels that became PTX");
  for (const ir::Function &kernel : result.kernels)
    count += compile(kernel, source);
}

std::string mutate_source(std::string_view bytes, uint64_t seed) {
  return TextMutator(bytes, seed, source_words()).mutated();
}

} // namespace tritonc::fuzz
