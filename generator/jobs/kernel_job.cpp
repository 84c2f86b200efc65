// Runs a kernel job: from tile IR to an image or to the requested stage. See kernel_job.h.
//
// Tested by tests/end_to_end/compile/compile_test.cpp and schedules_test.cpp.

#include "jobs/kernel_job.h"

#include "analysis/launch_config.h"
#include "analysis/register_pressure.h"
#include "analysis/shared_access.h"
#include "backend/host_object.h"
#include "backend/ptx.h"
#include "backend/sass_stats.h"
#include "emit/interface.h"
#include "ir/checks.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "jobs/image_details.h"
#include "lower/host_kernel.h"
#include "lower/lower.h"
#include "passes/pipeline.h"
#include "schedule/candidates.h"
#include "schedule/cost_formulas.h"
#include "schedule/elementwise_cost_model.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>

namespace tritonc {
namespace {

// Thrown if the IR is invalid after a pass.
struct BrokenRule : std::exception {
  explicit BrokenRule(Error failure) : failure(std::move(failure)) {}
  Error failure;
};

// Observes the function after each pass: runs the verifier and handles --print-after.
PassObserver observer(const CompileOptions &options, KernelJob &job, const std::string &heading) {
#ifdef NDEBUG
  bool verify = options.verify_each;
#else
  bool verify = true;
#endif
  return [&options, &job, heading, verify](std::string_view pass, ir::Function &function) {
    if (options.print_after == pass || options.print_after == "all")
      job.printed += "// after " + std::string(pass) + heading + "\n" + ir::print(function) + "\n";
    if (!verify)
      return;
    if (std::string problems = ir::verify(function); !problems.empty())
      throw BrokenRule(
          {Message::internal_error, {std::string(pass), problems.substr(0, problems.find('\n'))}});
  };
}

std::string text_of(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

// --- Messages about a kernel ---------------------------------------------------------------------

// The source operation of `op`. If a pass created `op`, the nearest enclosing operation that comes
// from the source.
int origin_of(const ir::Op *op) {
  for (; op; op = op->parent ? op->parent->parent : nullptr)
    if (op->location.origin > 0)
      return op->location.origin;
  return Remark::kernel;
}

// The source operation of a value. For a loop-carried value, the operation that computes its next
// value.
int origin_of(const ir::Value *value) {
  if (value->op || !value->block)
    return origin_of(value->op);
  const ir::Op *loop = value->block->parent, *end = value->block->terminator();
  size_t counter = loop && loop->is(ir::Opcode::for_loop_) ? 1 : 0;
  size_t carried = size_t(value->index) - counter;
  bool has_next = end && end->is(ir::Opcode::yield_) && size_t(value->index) >= counter &&
                  carried < end->operands.size() && end->operand(carried)->op;
  return origin_of(has_next ? end->operand(carried)->op : loop);
}

// "`sum` (f32[128,128])"
std::string text_of(const ir::Value &tile) {
  ir::Type type = tile.type;
  type.layout = {};
  std::string text = ir::text_of(type);
  return tile.name.empty() ? text : "`" + tile.name + "` (" + text + ")";
}

constexpr size_t max_causes = 3; // notes per message: only the largest consumers matter

// "3 tiles of f16[128,64]"
std::string text_of_buffer(const ir::Type &buffer) {
  ir::Type tile = ir::Type::tile(buffer.elem, {buffer.shape.begin() + 1, buffer.shape.end()});
  int64_t stages = buffer.shape[0];
  return (stages == 1 ? "one tile of " : std::to_string(stages) + " tiles of ") + ir::text_of(tile);
}

// Notes for the largest shared memory buffers. If buffers share an address range, only the largest.
std::vector<Remark> largest_buffers(const ir::Function &function) {
  struct Buffer {
    const ir::Op *op;
    int64_t begin, bytes;
  };
  std::vector<Buffer> buffers;
  ir::for_each_op(*function.body, [&](const ir::Op &op) {
    if (!op.is(ir::Opcode::shared_alloc_))
      return;
    const ir::Type &type = op.result()->type;
    buffers.push_back({&op, op.get(ir::attr::address_), type.elements() * ir::bytes_of(type.elem)});
  });
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const Buffer &a, const Buffer &b) { return a.bytes > b.bytes; });
  std::vector<Remark> notes;
  std::vector<Buffer> said;
  for (const Buffer &one : buffers) {
    bool is_in_turn = llvm::any_of(said, [&](const Buffer &other) {
      return one.begin < other.begin + other.bytes && other.begin < one.begin + one.bytes;
    });
    if (is_in_turn || said.size() == max_causes)
      continue;
    said.push_back(one);
    Error note = {Message::takes_shared,
                  {std::to_string(one.bytes), text_of_buffer(one.op->result()->type)}};
    notes.push_back({std::move(note), origin_of(one.op)});
  }
  return notes;
}

std::optional<Remark> check_shared(const ir::Function &function, int static_bytes, const Gpu &gpu) {
  int bytes = function.shared_bytes_of_block() + static_bytes;
  if (bytes <= gpu.max_shared_bytes)
    return std::nullopt;
  std::vector<Remark> notes = largest_buffers(function);
  notes.push_back({{Message::less_shared, {}}});
  return Remark{{Message::shared_too_large,
                 {function.name, std::string(gpu.name), std::to_string(bytes),
                  std::to_string(gpu.max_shared_bytes)}},
                Remark::kernel,
                std::move(notes)};
}

// Adds a warning for the shared memory access with the worst bank conflicts. The only remedy is
// another tile, so the warning is off by default; `tritonc report` shows all conflicts.
void add_bank_conflicts(const ir::Function &function, const Gpu &gpu,
                        std::vector<Remark> &warnings) {
  double worst = 1.5;
  std::optional<Remark> found;
  ir::for_each_op(*function.body, [&](const ir::Op &op) {
    bool loads = op.is(ir::Opcode::shared_load_);
    if (!loads && !op.is(ir::Opcode::shared_store_))
      return;
    SharedAccess access = shared_access(op, loads ? gpu.has_ldmatrix : gpu.has_stmatrix);
    if (access.conflicts <= worst)
      return;
    worst = access.conflicts;
    const ir::Value *tile = loads ? op.result() : op.operand(0);
    found = Remark{{Message::bank_conflicts,
                    {function.name, std::string(gpu.name), loads ? "load" : "store", text_of(*tile),
                     std::to_string(int(access.conflicts + 0.5))}},
                   origin_of(&op),
                   {{{Message::other_tiles, {std::to_string(access.bytes)}}}}};
  });
  if (found)
    warnings.push_back(std::move(*found));
}

// The warning about spills: where the register pressure is highest, and which tiles cause it.
Remark spill_warning(const ir::Function &function, const Resources &resources, const Gpu &gpu) {
  Pressure pressure = highest_pressure(function);
  std::vector<Remark> notes;
  for (const HeldTile &tile : pressure.tiles)
    if (notes.size() < max_causes && 8 * tile.registers >= pressure.registers)
      notes.push_back(
          {{Message::takes_registers, {text_of(*tile.value), std::to_string(tile.registers)}},
           origin_of(tile.value)});
  notes.push_back({{Message::smaller_tiles, {}}});
  return {{Message::spills,
           {function.name, std::string(gpu.name),
            std::to_string(resources.spill_stores + resources.spill_loads),
            std::to_string(pressure.registers), std::to_string(resources.registers)}},
          origin_of(pressure.at),
          std::move(notes)};
}

// The source operation of the first matmul: ptxas' performance warnings are mostly about matmuls.
int origin_of_matmul(const ir::Function &function) {
  int origin = Remark::kernel;
  ir::for_each_op(*function.body, [&](const ir::Op &op) {
    bool is_matmul =
        op.is(ir::Opcode::wgmma_ss_) || op.is(ir::Opcode::wgmma_rs_) || op.is(ir::Opcode::dot_);
    if (is_matmul && origin == Remark::kernel)
      origin = origin_of(&op);
  });
  return origin;
}

std::vector<Remark> warnings_about(const ir::Function &function, const Resources &resources,
                                   const Gpu &gpu) {
  std::vector<Remark> warnings;
  bool spills = resources.spill_stores || resources.spill_loads;
  if (spills && !ir::has_checks(function)) // calls of assert and print spill with any tile
    warnings.push_back(spill_warning(function, resources, gpu));
  add_bank_conflicts(function, gpu, warnings);
  for (const std::string &advice : resources.advice)
    warnings.push_back({{Message::slow_code, {function.name, std::string(gpu.name), advice}},
                        origin_of_matmul(function),
                        {{{Message::try_tiles, {}}}}});
  return warnings;
}

// Blocks per SM, from the registers of the machine code; nullopt if the registers are unknown. They
// depend on the arguments if the shared memory of `launch` does.
std::optional<Expr> blocks_per_sm(const ir::Function &function, const Gpu &gpu,
                                  const Resources &resources, const LaunchConfig &launch) {
  if (!resources.registers)
    return std::nullopt;
  const int bytes =
      launch.shared_bytes ? 0 : function.shared_bytes_of_block() + resources.static_shared;
  const int blocks =
      std::max(occupancy_of(gpu, function.threads(), resources.registers, bytes).blocks, 1);
  if (!launch.shared_bytes)
    return number(blocks);
  Expr by_shared = Expr::binary(Expr::Kind::div, number(gpu.max_shared_bytes),
                                Expr::binary(Expr::Kind::max, *launch.shared_bytes, number(1)));
  Expr most = Expr::binary(Expr::Kind::min, std::move(by_shared), number(blocks));
  return Expr::binary(Expr::Kind::max, std::move(most), number(1));
}

// The launch configuration. The baseline has no guards of its own, so a launch can always fall back
// to it.
LaunchConfig launch_config_of(const ir::Function &function, const Gpu &gpu,
                              const Candidate &candidate, const Resources &resources) {
  const Schedule &schedule = candidate.schedule;
  LaunchConfig launch = launch_config(function);
  launch.schedule = schedule;
  launch.cost = candidate.cost;
  const int64_t spilled = resources.spill_stores + resources.spill_loads;
  std::optional<Expr> blocks = blocks_per_sm(function, gpu, resources, launch);
  if (blocks && candidate.work)
    launch.cost = cost_of_elementwise(*candidate.work, std::move(*blocks), spilled);
  if (blocks && candidate.copies)
    launch.cost =
        cost_of_copies(*candidate.copies, function.threads(), std::move(*blocks), spilled);
  if (schedule.is_first())
    launch.part = LaunchConfig::Part::first;
  else if (schedule.is_second())
    launch.part = LaunchConfig::Part::second;
  else if (schedule.is_warp_specialized() && !launch.cost)
    launch.cost = Expr::constant(0);
  return launch;
}

Image make_image(const ir::Function &function, const Gpu &gpu, const Candidate &candidate,
                 const MachineCode &code) {
  const Resources &resources = code.resources;
  return {.gpu = std::string(gpu.name),
          .sm = gpu.sm,
          .suffix = gpu.suffix,
          .threads = function.threads(),
          .shared_bytes = function.shared_bytes_of_block(),
          .static_shared = resources.static_shared,
          .registers = resources.registers,
          .spill_stores = resources.spill_stores,
          .spill_loads = resources.spill_loads,
          .stack_bytes = resources.stack_bytes,
          .has_checks = ir::has_checks(function),
          .launch = launch_config_of(function, gpu, candidate, resources)};
}

// The optimized LLVM IR of a function after the pipeline.
Result<std::unique_ptr<llvm::Module>> optimized_module(const ir::Function &function, const Gpu &gpu,
                                                       llvm::LLVMContext &context,
                                                       StepTimes &times) {
  std::unique_ptr<llvm::Module> module =
      times.measure(Step::lower, [&] { return lower(function, gpu, context); });
  auto optimized = times.measure(Step::optimize, [&] { return optimize(*module, gpu); });
  if (!optimized)
    return optimized.error();
  return module;
}

// --- Host code -----------------------------------------------------------------------------------

// Whether the kernel with `assert` and `print` can use the schedule. An `assert` or `print` of an
// operand is an extra use, which may rule out the schedule.
bool has_schedule(const ir::Function &checked, const Gpu &gpu, const Schedule &schedule) {
  std::vector<Candidate> candidates = candidate_schedules(checked, gpu);
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const Candidate &other) { return other.schedule == schedule; });
}

// The function for host code, which always has `assert` and `print`; GPU code usually does not.
// `function` is the GPU function after the pipeline. Returns nullopt if host code cannot use this
// schedule; it can always use the baseline.
std::optional<ir::Function> checked_function(const KernelJob &job, const ir::Function &function) {
  if (ir::has_checks(*job.checked) == ir::has_checks(function))
    return ir::clone(function);
  if (!has_schedule(*job.checked, *job.gpu, job.candidate.schedule))
    return std::nullopt;
  ir::Function checked = ir::clone(*job.checked);
  checked.file = function.file;
  run_pipeline(checked, *job.gpu, {}, job.candidate.schedule);
  return checked;
}

// Adds the host code of `function` to the image. The symbol contains a hash of the code, so one
// program can link two libraries with the same name.
std::optional<Error> add_host_code(const ir::Function &function, const std::string &heading,
                                   const CompileOptions &options, KernelJob &job) {
  llvm::LLVMContext context;
  std::optional<ir::Function> found = checked_function(job, function);
  if (!found)
    return std::nullopt;
  ir::Function &checked = *found;
  auto module = optimized_module(checked, *job.gpu, context, job.times);
  if (!module)
    return module.error();
  std::string identity = options.name + "\n" + function.name + heading + "\n" + text_of(**module);
  job.image.host_symbol = "tritonc_host_" + short_hash(identity);
  Result<std::string> object = job.times.measure(Step::host_code, [&] {
    return host_object(**module, describe(checked, *job.gpu), job.image.host_symbol);
  });
  if (!object)
    return object.error();
  job.image.host_object = std::move(*object);
  return std::nullopt;
}

std::optional<Error> build_host_text(const ir::Function &function, KernelJob &job) {
  llvm::LLVMContext context;
  std::optional<ir::Function> found = checked_function(job, function);
  if (!found) { // the emulator then uses the baseline
    job.candidate.schedule = {};
    found = checked_function(job, function);
  }
  ir::Function &checked = *found;
  auto module = optimized_module(checked, *job.gpu, context, job.times);
  if (!module)
    return module.error();
  Result<std::string> text = host_text(**module, describe(checked, *job.gpu), function.name);
  if (!text)
    return text.error();
  job.stage_output = *text;
  return std::nullopt;
}

// --- One kernel ----------------------------------------------------------------------------------

// Builds LLVM IR or PTX, without the retries for spills.
std::optional<Error> build_text(const CompileOptions &options, const ir::Function &function,
                                KernelJob &job) {
  llvm::LLVMContext context;
  auto module = optimized_module(function, *job.gpu, context, job.times);
  if (!module)
    return module.error();
  if (options.stage == Stage::llvm) {
    job.stage_output = text_of(**module);
    return std::nullopt;
  }
  Result<std::string> ptx = generate_ptx(**module, *job.gpu, options.line_info);
  if (!ptx)
    return ptx.error();
  job.stage_output = *ptx;
  return std::nullopt;
}

// Adds the stages of --keep, under a file name that is the same in every build.
std::optional<Error> keep_stages(const CompileOptions &options, const ir::Function &function,
                                 const std::string &heading, const std::string &tile_ir,
                                 const MachineCode &code, KernelJob &job) {
  std::string stem = function.name + "-" + short_hash(function.name + heading);
  for (Stage stage : options.keep) {
    if (stage == Stage::tile_ir)
      job.kept.push_back({stem + ".tile-ir", tile_ir});
    if (stage == Stage::ptx)
      job.kept.push_back({stem + ".ptx", code.ptx});
    if (stage == Stage::cubin)
      job.kept.push_back({stem + ".cubin", code.cubin});
    if (stage == Stage::sass_stats)
      job.kept.push_back({stem + ".sass-stats",
                          sass_stats({code.cubin, code.resources}, function.name, *job.gpu)});
    if (stage != Stage::llvm)
      continue;
    llvm::LLVMContext context;
    auto module = optimized_module(function, *job.gpu, context, job.times);
    if (!module)
      return module.error();
    job.kept.push_back({stem + ".ll", text_of(**module)});
  }
  return std::nullopt;
}

// Builds the image or the requested stage from tile IR.
std::optional<Remark> build_kernel(CompileSession &session, const std::string &heading,
                                   KernelJob &job) {
  const CompileOptions &options = session.options;
  const Gpu &gpu = *job.gpu;
  const bool is_baseline = job.candidate.schedule.is_baseline();
  auto skip = [&](SkipReason reason, int64_t bytes) {
    job.skip_reason = reason;
    job.skip_bytes = bytes;
  };
  ir::Function function = ir::clone(*job.function);
  function.file = shown_path(function.file);
  ir::number_origins(function);
  job.times.measure(Step::passes, [&] {
    run_pipeline(function, gpu, observer(options, job, heading), job.candidate.schedule);
  });
  std::optional<Remark> too_large = check_shared(function, 0, gpu);
  if (too_large && !is_baseline && options.stage != Stage::library) {
    job.candidate.schedule = {};
    return build_kernel(session, heading, job);
  }
  if (too_large) { // of a schedule: its stages
    skip(SkipReason::shared_memory, function.shared_bytes_of_block());
    return is_baseline ? too_large : std::nullopt;
  }
  if (options.stage == Stage::llvm || options.stage == Stage::ptx)
    return build_text(options, function, job);
  if (options.stage == Stage::host_llvm)
    return build_host_text(function, job);

  std::string tile_ir;
  if (llvm::is_contained(options.keep, Stage::tile_ir))
    tile_ir = ir::print(function);
  Result<MachineCode> *made = machine_code(function, gpu, session, job.times);
  if (!made) {
    job.skip_reason = SkipReason::shard;
    return std::nullopt;
  }
  Result<MachineCode> &code = *made;
  if (!code)
    return code.error();
  job.code = &*code;
  if (options.shards) { // the later call that makes the library reports the messages
    job.skip_reason = SkipReason::shard;
    return std::nullopt;
  }
  if (too_large = check_shared(function, code->resources.static_shared, gpu); too_large) {
    skip(SkipReason::shared_memory,
         function.shared_bytes_of_block() + code->resources.static_shared);
    return is_baseline ? too_large : std::nullopt;
  }
  // ptxas gives only an informational message if it waits after every wgmma. Such code has half the
  // speed, so the compiler drops the schedule.
  if (!is_baseline && !code->resources.advice.empty()) {
    job.warnings = {{{Message::schedule_left_out,
                      {function.name, std::string(gpu.name), text_of(job.candidate.schedule)}},
                     origin_of_matmul(function)}};
    skip(SkipReason::ptxas_advisory, 0);
  } else if (!is_baseline && code->resources.spill_stores) {
    skip(SkipReason::spills, code->resources.spill_stores + code->resources.spill_loads);
  } else {
    job.warnings = warnings_about(function, code->resources, gpu);
  }
  if (options.stage == Stage::cubin)
    job.stage_output = code->cubin;
  if (options.stage == Stage::sass_stats)
    job.stage_output = sass_stats({code->cubin, code->resources}, function.name, gpu);
  if (options.stage != Stage::library || job.is_skipped())
    return std::nullopt;

  job.image = make_image(function, gpu, job.candidate, *code);
  if (!options.keep.empty())
    if (std::optional<Error> failure = keep_stages(options, function, heading, tile_ir, *code, job))
      return failure;
  if (options.details)
    job.image.details = details_of(function, gpu, code->cubin, code->resources.registers,
                                   code->resources.static_shared);
  if (llvm::is_contained(options.emulate, &gpu))
    return add_host_code(function, heading, options, job);
  return std::nullopt;
}

} // namespace

std::string shown_path(const std::string &path) {
  std::filesystem::path shown(path);
  bool is_elsewhere = shown.is_absolute() || *shown.begin() == "..";
  return (is_elsewhere ? shown.filename() : shown).generic_string();
}

void run_kernel_job(CompileSession &session, const std::string &heading, KernelJob &job) {
  try {
    job.failure = build_kernel(session, heading, job);
  } catch (const BrokenRule &rule) {
    job.failure = rule.failure;
  } catch (const std::bad_alloc &) {
    job.failure = Error{Message::out_of_memory, {}};
  } catch (const std::exception &exception) {
    job.failure = Error{Message::internal_error, {"the back end", exception.what()}};
  }
}

} // namespace tritonc
