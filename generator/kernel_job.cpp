// One kernel of one variant for one GPU, in one structure: from tile IR to an image. See
// kernel_job.h.
//
// Tested by tests/compile/compile_test.cpp and structures_test.cpp.

#include "kernel_job.h"

#include "analysis/launch_form.h"
#include "analysis/register_pressure.h"
#include "analysis/shared_access.h"
#include "backend/host_object.h"
#include "backend/ptx.h"
#include "backend/sass_stats.h"
#include "details.h"
#include "emit/interface.h"
#include "ir/checks.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "lower/host_kernel.h"
#include "lower/lower.h"
#include "passes/pipeline.h"
#include "passes/program_costs.h"

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

// The rule of the tile IR that a pass broke.
struct BrokenRule : std::exception {
  explicit BrokenRule(Failure failure) : failure(std::move(failure)) {}
  Failure failure;
};

// Looks at the function after each pass, for the verifier and for --print-after.
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

// --- What is to be said about a kernel -----------------------------------------------------------

// Where something comes from: of what no operation of the source has made, what is around it.
int origin_of(const ir::Op *op) {
  for (; op; op = op->parent ? op->parent->parent : nullptr)
    if (op->location.origin > 0)
      return op->location.origin;
  return Remark::kernel;
}

// What a loop carries comes from where it gets its next value.
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

constexpr size_t most_causes = 3; // what takes less is not what makes it too much

// "3 tiles of f16[128,64]"
std::string text_of_buffer(const ir::Type &buffer) {
  ir::Type tile = ir::Type::tile(buffer.elem, {buffer.shape.begin() + 1, buffer.shape.end()});
  int64_t slots = buffer.shape[0];
  return (slots == 1 ? "one tile of " : std::to_string(slots) + " tiles of ") + ir::text_of(tile);
}

// The buffers that take most, as notes. Of those that have a place in turn, the largest.
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
    buffers.push_back({&op, op.integer("address"), type.elements() * ir::bytes_of(type.elem)});
  });
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const Buffer &a, const Buffer &b) { return a.bytes > b.bytes; });
  std::vector<Remark> notes;
  std::vector<Buffer> said;
  for (const Buffer &one : buffers) {
    bool is_in_turn = llvm::any_of(said, [&](const Buffer &other) {
      return one.begin < other.begin + other.bytes && other.begin < one.begin + one.bytes;
    });
    if (is_in_turn || said.size() == most_causes)
      continue;
    said.push_back(one);
    Failure note = {Message::takes_shared,
                    {std::to_string(one.bytes), text_of_buffer(one.op->result()->type)}};
    notes.push_back({std::move(note), origin_of(one.op)});
  }
  return notes;
}

std::optional<Remark> check_shared(const ir::Function &function, int static_bytes, const Gpu &gpu) {
  int bytes = function.shared_bytes + static_bytes;
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

// The access to shared memory in which lanes get in each other's way most. A kernel can only have
// other tiles then, so it is said only to those who ask; `tritonc report` shows all.
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

// Where a thread holds most, and what.
Remark spill_warning(const ir::Function &function, const Resources &resources, const Gpu &gpu) {
  Pressure pressure = highest_pressure(function);
  std::vector<Remark> notes;
  for (const HeldTile &tile : pressure.tiles)
    if (notes.size() < most_causes && 8 * tile.registers >= pressure.registers)
      notes.push_back(
          {{Message::takes_registers, {text_of(*tile.value), std::to_string(tile.registers)}},
           origin_of(tile.value)});
  notes.push_back({{Message::smaller_tiles, {}}});
  return {{Message::spills,
           {function.name, std::string(gpu.name), std::to_string(resources.spill_stores),
            std::to_string(pressure.registers), std::to_string(resources.registers)}},
          origin_of(pressure.at),
          std::move(notes)};
}

// What ptxas has to say is mostly about products.
int origin_of_product(const ir::Function &function) {
  int origin = Remark::kernel;
  ir::for_each_op(*function.body, [&](const ir::Op &op) {
    bool is_product = op.is(ir::Opcode::shared_product_) || op.is(ir::Opcode::fragment_product_) ||
                      op.is(ir::Opcode::dot_);
    if (is_product && origin == Remark::kernel)
      origin = origin_of(&op);
  });
  return origin;
}

std::vector<Remark> warnings_about(const ir::Function &function, const Resources &resources,
                                   const Gpu &gpu) {
  std::vector<Remark> warnings;
  bool spills = resources.spill_stores || resources.spill_loads;
  if (spills && !ir::has_checks(function)) // what goes round a call says nothing about the tile
    warnings.push_back(spill_warning(function, resources, gpu));
  add_bank_conflicts(function, gpu, warnings);
  for (const std::string &advice : resources.advice)
    warnings.push_back({{Message::slow_code, {function.name, std::string(gpu.name), advice}},
                        origin_of_product(function),
                        {{{Message::try_tiles, {}}}}});
  return warnings;
}

// As the registers of its code have it. Nothing if nobody knows those.
std::optional<int64_t> resident_programs(const ir::Function &function, const Gpu &gpu,
                                         const Resources &resources) {
  if (!resources.registers)
    return std::nullopt;
  return occupancy_of(gpu, function.threads(), resources.registers,
                      function.shared_bytes + resources.static_shared)
      .blocks;
}

// The plain form makes no demands, so it is there for when the others don't fit.
LaunchForm form_of(const ir::Function &function, const Gpu &gpu, const Structure &structure,
                   const Resources &resources) {
  LaunchForm form = launch_form(function);
  form.name = structure.name;
  form.cost = structure.cost;
  std::optional<int64_t> resident = resident_programs(function, gpu, resources);
  if (structure.work && resident)
    form.cost = cost_of_programs_apart(*structure.work, std::max<int64_t>(*resident, 1));
  if (structure.is_first())
    form.share = LaunchForm::Share::first;
  else if (structure.is_second())
    form.share = LaunchForm::Share::rest;
  else if (structure.specialized && !form.cost)
    form.cost = Expr::constant(0);
  return form;
}

Image make_image(const ir::Function &function, const Gpu &gpu, const Structure &structure,
                 const MachineCode &code) {
  const Resources &resources = code.resources;
  return {.gpu = std::string(gpu.name),
          .sm = gpu.sm,
          .suffix = gpu.suffix,
          .threads = function.threads(),
          .shared_bytes = function.shared_bytes,
          .static_shared = resources.static_shared,
          .registers = resources.registers,
          .spill_stores = resources.spill_stores,
          .spill_loads = resources.spill_loads,
          .stack_bytes = resources.stack_bytes,
          .has_checks = ir::has_checks(function),
          .form = form_of(function, gpu, structure, resources)};
}

// The LLVM IR of a function that went through the pipeline.
Result<std::unique_ptr<llvm::Module>> optimized_module(const ir::Function &function, const Gpu &gpu,
                                                       llvm::LLVMContext &context,
                                                       StepTimes &times) {
  std::unique_ptr<llvm::Module> module =
      times.measure(Step::lower, [&] { return lower(function, gpu, context); });
  auto optimized = times.measure(Step::optimize, [&] { return optimize(*module, gpu); });
  if (!optimized)
    return optimized.failure();
  return module;
}

// --- Host code -----------------------------------------------------------------------------------

// Whether a kernel with `assert` and `print` can be in the structure too: what says something about
// a factor uses it.
bool has_structure(const ir::Function &checked, const Gpu &gpu, const Structure &structure) {
  std::vector<Structure> structures = structures_for(checked, gpu);
  return std::any_of(structures.begin(), structures.end(),
                     [&](const Structure &other) { return other.name == structure.name; });
}

// The function that host code is made of: with `assert` and `print`, which code for GPUs mostly has
// not. `function` is that for GPUs, after the pipeline. Nothing if there is no host code in this
// structure; there always is in the plain one.
std::optional<ir::Function> checked_function(const KernelJob &job, const ir::Function &function) {
  if (ir::has_checks(*job.checked) == ir::has_checks(function))
    return ir::clone(function);
  if (!has_structure(*job.checked, *job.gpu, job.structure))
    return std::nullopt;
  ir::Function checked = ir::clone(*job.checked);
  checked.file = function.file;
  run_pipeline(checked, *job.gpu, {}, job.structure);
  return checked;
}

// Puts the host code of `function` into the image. The symbol is the code's, so that two libraries
// that are called the same can be linked into one program.
std::optional<Failure> add_host_code(const ir::Function &function, const std::string &heading,
                                     const CompileOptions &options, KernelJob &job) {
  llvm::LLVMContext context;
  std::optional<ir::Function> found = checked_function(job, function);
  if (!found)
    return std::nullopt;
  ir::Function &checked = *found;
  auto module = optimized_module(checked, *job.gpu, context, job.times);
  if (!module)
    return module.failure();
  std::string identity = options.name + "\n" + function.name + heading + "\n" + text_of(**module);
  job.image.host_symbol = "tritonc_host_" + short_hash(identity);
  Result<std::string> object = job.times.measure(Step::host_code, [&] {
    return host_object(**module, describe(checked, *job.gpu), job.image.host_symbol);
  });
  if (!object)
    return object.failure();
  job.image.host_object = std::move(*object);
  return std::nullopt;
}

std::optional<Failure> build_host_text(const ir::Function &function, KernelJob &job) {
  llvm::LLVMContext context;
  std::optional<ir::Function> found = checked_function(job, function);
  if (!found) { // then the emulator takes the plain structure
    job.structure = {};
    found = checked_function(job, function);
  }
  ir::Function &checked = *found;
  auto module = optimized_module(checked, *job.gpu, context, job.times);
  if (!module)
    return module.failure();
  Result<std::string> text = host_text(**module, describe(checked, *job.gpu), function.name);
  if (!text)
    return text.failure();
  job.stage_output = *text;
  return std::nullopt;
}

// --- One kernel ----------------------------------------------------------------------------------

// The stages from tile IR to LLVM IR or PTX, as first tried.
std::optional<Failure> build_text(const CompileOptions &options, const ir::Function &function,
                                  KernelJob &job) {
  llvm::LLVMContext context;
  auto module = optimized_module(function, *job.gpu, context, job.times);
  if (!module)
    return module.failure();
  if (options.stage == Stage::llvm) {
    job.stage_output = text_of(**module);
    return std::nullopt;
  }
  Result<std::string> ptx = generate_ptx(**module, *job.gpu, options.line_info);
  if (!ptx)
    return ptx.failure();
  job.stage_output = *ptx;
  return std::nullopt;
}

// The forms of a kernel that shall be kept, under a name that is the same in every build.
std::optional<Failure> keep_forms(const CompileOptions &options, const ir::Function &function,
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
      return module.failure();
    job.kept.push_back({stem + ".ll", text_of(**module)});
  }
  return std::nullopt;
}

// The stages from tile IR to an image, or to the stage that was asked for.
std::optional<Remark> build_kernel(Workshop &workshop, const std::string &heading, KernelJob &job) {
  const CompileOptions &options = workshop.options;
  const Gpu &gpu = *job.gpu;
  ir::Function function = ir::clone(*job.function);
  function.file = shown_path(function.file);
  ir::number_origins(function);
  job.times.measure(Step::passes, [&] {
    run_pipeline(function, gpu, observer(options, job, heading), job.structure);
  });
  std::optional<Remark> too_large = check_shared(function, 0, gpu);
  if (too_large && !job.structure.name.empty()) { // what its ring leaves is too little for the rest
    if (options.stage == Stage::library) {
      job.is_left_out = true;
      return std::nullopt;
    }
    job.structure = {};
    return build_kernel(workshop, heading, job);
  }
  if (too_large)
    return too_large;
  if (options.stage == Stage::llvm || options.stage == Stage::ptx)
    return build_text(options, function, job);
  if (options.stage == Stage::host_llvm)
    return build_host_text(function, job);

  std::string tile_ir;
  if (llvm::is_contained(options.keep, Stage::tile_ir))
    tile_ir = ir::print(function);
  Result<MachineCode> *made = machine_code(function, gpu, workshop, job.times);
  if (!made) {
    job.is_left_out = true;
    return std::nullopt;
  }
  Result<MachineCode> &code = *made;
  if (!code)
    return code.failure();
  job.code = &*code;
  if (options.shards) { // what else there is to say, the call that makes the library says
    job.is_left_out = true;
    return std::nullopt;
  }
  if (std::optional<Remark> failure = check_shared(function, code->resources.static_shared, gpu))
    return failure;
  // ptxas only informs that it waits after every wgmma, at half the speed: as bad as no wgmma.
  if (!job.structure.name.empty() && !code->resources.advice.empty()) {
    job.warnings = {
        {{Message::structure_left_out, {function.name, std::string(gpu.name), job.structure.name}},
         origin_of_product(function)}};
    job.is_left_out = true;
  } else if (!job.structure.name.empty() && code->resources.spill_stores) {
    job.is_left_out = true; // its tile is too large after all
  } else {
    job.warnings = warnings_about(function, code->resources, gpu);
  }
  if (options.stage == Stage::cubin)
    job.stage_output = code->cubin;
  if (options.stage == Stage::sass_stats)
    job.stage_output = sass_stats({code->cubin, code->resources}, function.name, gpu);
  if (options.stage != Stage::library || job.is_left_out)
    return std::nullopt;

  job.image = make_image(function, gpu, job.structure, *code);
  if (!options.keep.empty())
    if (std::optional<Failure> failure =
            keep_forms(options, function, heading, tile_ir, *code, job))
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

void run_kernel_job(Workshop &workshop, const std::string &heading, KernelJob &job) {
  try {
    job.failure = build_kernel(workshop, heading, job);
  } catch (const BrokenRule &rule) {
    job.failure = rule.failure;
  } catch (const std::bad_alloc &) {
    job.failure = Failure{Message::out_of_memory, {}};
  } catch (const std::exception &exception) {
    job.failure = Failure{Message::internal_error, {"the back end", exception.what()}};
  }
}

} // namespace tritonc
