// Compiles random kernels into a file. See batch.h.

#include "random_kernels/batch.h"

#include "random_kernels/generate.h"
#include "random_kernels/isolate.h"

#include "backend/fatbinary.h"
#include "backend/ptx.h"
#include "backend/ptxas.h"
#include "lower/lower.h"
#include "passes/pipeline.h"
#include "support/kernel_file.h"
#include "translate/translate.h"

#include <fstream>
#include <list>
#include <sstream>

#include <poll.h>

namespace tritonc::random {
namespace {

constexpr int seconds_per_kernel = 1000; // for kernels that hang: a busy machine may be very slow

std::string required_ptx(const ir::Function &fn, const Gpu &gpu) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = lower(fn, gpu, context);
  Result<std::string> ptx = emit_ptx(*module, gpu);
  if (!ptx)
    throw std::runtime_error(text(ptx.error()));
  return *ptx;
}

std::string required_image(const Toolchain &tools, const std::string &ptx, const Gpu &gpu,
                           const std::string &how) {
  Result<Cubin> cubin = assemble(tools, ptx, "k", gpu, how);
  if (!cubin)
    throw std::runtime_error(text(cubin.error()));
  Result<std::vector<std::string>> images = compress(tools, {&cubin->bytes}, gpu);
  if (!images)
    throw std::runtime_error(text(images.error()));
  return images->front();
}

// The record of a seed; "" if it is omitted; "failed: " and the reason if it does not compile.
std::string record_of(uint64_t seed, const Gpu &gpu) {
  Generated made = generate(seed);
  if (!made.evaluation.is_exact())
    return "";
  BatchKernel kernel;
  kernel.seed = seed;
  kernel.gpu = std::string(gpu.name);
  kernel.tried = case_of(made.kernel, made.evaluation);
  test::KernelFile file(kernel.tried.source);
  FrontEndResult source = translate_source(file.input);
  if (source.errors > 0)
    return "failed: " + source.diagnostics_text;
  kernel.tried.source.clear();
  ir::Function &fn = source.kernels[0];
  run_pipeline(fn, gpu);
  if (fn.shared_bytes > gpu.max_shared_bytes)
    return "";
  kernel.threads = uint32_t(fn.warps * 32);
  kernel.shared_bytes = uint32_t(fn.shared_bytes);
  try {
    Result<Toolchain> tools = find_toolchain({});
    if (!tools)
      return "failed: " + text(tools.error());
    std::string ptx = required_ptx(fn, gpu);
    for (const char *how : {"-O3", "-O0"})
      kernel.images.push_back({how, required_image(*tools, ptx, gpu, how)});
  } catch (const std::exception &exception) {
    return std::string("failed: ") + exception.what();
  }
  std::ostringstream out;
  write_batch_kernel(out, kernel);
  return out.str();
}

} // namespace

BatchResult write_batch(const Batch &batch) {
  BatchResult result;
  const Gpu &gpu = *find_gpu(batch.gpu);
  std::ofstream out(batch.path, std::ios::binary);
  write_batch_header(out);
  // In the order of the seeds, so that the file is reproducible.
  std::list<std::pair<uint64_t, Child>> jobs;
  uint64_t next = batch.from, end = batch.from + batch.kernels;
  while (next < end || !jobs.empty()) {
    while (next < end && int(jobs.size()) < batch.jobs) {
      uint64_t seed = next++;
      jobs.emplace_back(seed,
                        Child([&gpu, seed] { return record_of(seed, gpu); }, seconds_per_kernel));
    }
    auto &[seed, child] = jobs.front();
    while (!child.poll()) {
      pollfd wait = {child.readable(), POLLIN, 0};
      ::poll(&wait, 1, child.time_left() + 1);
      for (auto &[other_seed, other] : jobs) // so that no child blocks on a full pipe
        other.poll();
    }
    const Isolated &made = child.result();
    bool is_good = made.end == Isolated::End::done && !made.text.starts_with("failed: ");
    if (!is_good)
      result.failures.push_back("seed " + std::to_string(seed) + ": " + made.text);
    else if (made.text.empty())
      result.left_out++;
    else
      result.written++, out << made.text;
    jobs.pop_front();
    if (batch.progress && (next - batch.from) % 50 == 0)
      batch.progress(std::to_string(result.written) + " kernels, " + std::to_string(out.tellp()) +
                     " bytes");
  }
  if (!out.flush())
    result.failures.push_back("cannot write " + batch.path);
  return result;
}

} // namespace tritonc::random
