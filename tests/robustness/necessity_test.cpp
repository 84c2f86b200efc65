// Tests that compiled kernels need all their synchronization, and that the emulator notices if some
// is missing.
//
// The test removes each synchronizing call from a kernel's optimized LLVM IR, one at a time:
// barriers, commits, waits, fences, and all others in target_ops.def that the compiler uses. It
// also makes a wait leave one more group pending. The rest becomes host code and runs on the
// emulator. The emulator must object: with a report, or with results that differ from the full
// kernel's. If it does not, either a pass inserts needless synchronization, or the emulator misses
// an error; both are bugs. `exceptions` lists the calls that are needless for a good reason. The
// test omits kernels with locks.
//
// Loops run many more iterations than a circular buffer has stages, so the kernel rewrites each
// stage several times. Buffers used after a loop reuse the memory of the circular buffer, where
// only one stage is still being read. With that many iterations, or with one fewer, it is the first
// stage.
//
// The ordinary run tries a part of the variants, and a part of the calls of each
// (support/sample.h).
//
//     test_necessity              # a part, by the seed of the day
//     test_necessity --no-skip    # all calls of all variants with tiles up to 64

#include "backend/host_object.h"
#include "backend/target_ops.h"
#include "ir/schedule.h"
#include "lower/host_kernel.h"
#include "passes/pipeline.h"
#include "support/host_code.h"
#include "support/sample.h"
#include "support/schedules.h"
#include "support/tile_memory.h"
#include "test_kernels/test_kernels.h"
#include "translate/translate.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <vector>

using namespace tritonc;
using namespace tritonc::test;
using emulator::Async;
using emulator::Order;

namespace {

constexpr const char *gpus[] = {"75", "80", "90a"};

// Twice around a circular buffer of four stages, and one more; and fewer, so that circular buffers
// of all sizes end with each of their stages.
constexpr int steps[] = {9, 8, 7};

constexpr int max_steps = 1'000'000; // per thread; the longest loops here make a few thousand

struct Mode {
  Order order;
  Async async;
};
constexpr Mode early = {Order::forward, Async::early}, late = {Order::reversed, Async::late},
               at_random = {Order::random, Async::random};

// An error shows in one of these modes, and almost always in the first. A missing barrier shows for
// any landing time; other missing synchronization shows only if copies land late.
std::vector<Mode> modes_for(TargetOp op) {
  if (target_op_info(op).effect == TargetEffect::Barrier)
    return {early, late, at_random};
  return {late, at_random, early};
}

// ---- removing calls ----

// Whether the operation only synchronizes: threads wait, arrive, or order accesses.
bool synchronizes(const TargetOpInfo &info) {
  auto takes = [&](TargetType::Kind kind) {
    return std::any_of(info.operands.begin(), info.operands.end(),
                       [&](TargetType type) { return type.kind == kind; });
  };
  switch (info.effect) {
  case TargetEffect::Barrier:
  case TargetEffect::Wait:
  case TargetEffect::Mbarrier:
  case TargetEffect::Fence:
    return info.op != TargetOp::launch_dependents &&    // only starts other kernels earlier
           info.op != TargetOp::mbarrier_complete_tx && // stands for a copy
           info.op != TargetOp::sched_barrier;          // only ptxas looks at it
  case TargetEffect::AsyncCopy: // commits; a copy itself has a global address, or stores a word
    return !takes(TargetType::ptr) && !takes(TargetType::gptr) &&
           info.op != TargetOp::store_async_cluster;
  case TargetEffect::Warpgroup: // fences, commits, waits; not wgmma, not setmaxnreg
    return !takes(TargetType::i64) && info.op != TargetOp::setmaxnreg_inc &&
           info.op != TargetOp::setmaxnreg_dec;
  default:
    return false;
  }
}

// The index of the operand with a wait's number of pending groups; nullopt if `info` is no such
// wait.
std::optional<unsigned> groups_left(const TargetOpInfo &info) {
  switch (info.op) {
  case TargetOp::cp_async_wait:
  case TargetOp::bulk_wait:
  case TargetOp::bulk_wait_read:
    return 0;
  case TargetOp::wgmma_wait_f32:
  case TargetOp::wgmma_wait_s32:
    return 1;
  default:
    return std::nullopt;
  }
}

enum class How { left_out, waits_for_less };

struct Change {
  size_t call; // index among the synchronizing calls of the module
  How how;
  TargetOp op;
  unsigned line; // of the source; 0 = unknown

  // "cp_async_wait, one group less"
  std::string kind() const {
    return target_op_info(op).name.str() + (how == How::left_out ? "" : ", one group less");
  }
  std::string text() const {
    std::string what = target_op_info(op).name.str();
    return (how == How::left_out ? what + " left out" : what + " for one group less") + ", line " +
           std::to_string(line);
  }
};

struct Call {
  llvm::CallInst *call;
  TargetOp op;
};

// In the order of the IR, which is the same in a clone of the module.
std::vector<Call> synchronizing_calls(llvm::Module &module) {
  std::vector<Call> calls;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (!call || !call->getCalledFunction())
        continue;
      std::optional<TargetOp> op = target_op_named(call->getCalledFunction()->getName());
      if (op && synchronizes(target_op_info(*op)))
        calls.push_back({call, *op});
    }
  return calls;
}

std::vector<Change> changes_of(llvm::Module &module) {
  std::vector<Change> changes;
  std::vector<Call> calls = synchronizing_calls(module);
  for (size_t i = 0; i < calls.size(); i++) {
    const llvm::DebugLoc &at = calls[i].call->getDebugLoc();
    unsigned line = at ? at.getLine() : 0;
    changes.push_back({i, How::left_out, calls[i].op, line});
    if (groups_left(target_op_info(calls[i].op)))
      changes.push_back({i, How::waits_for_less, calls[i].op, line});
  }
  return changes;
}

void leave_out(llvm::CallInst *call) {
  // A removed wait for registers returns its operand; a removed test returns "done".
  if (!call->getType()->isVoidTy()) {
    llvm::Value *instead = llvm::ConstantInt::get(llvm::Type::getInt32Ty(call->getContext()), 1);
    if (call->arg_size() > 0 && call->getArgOperand(call->arg_size() - 1)->getType()->isVectorTy())
      instead = call->getArgOperand(call->arg_size() - 1);
    call->replaceAllUsesWith(instead);
  }
  call->eraseFromParent();
}

void apply(llvm::Module &module, const Change &change) {
  Call at = synchronizing_calls(module)[change.call];
  if (change.how == How::left_out)
    return leave_out(at.call);
  unsigned operand = *groups_left(target_op_info(at.op));
  auto *groups = llvm::cast<llvm::ConstantInt>(at.call->getArgOperand(operand));
  at.call->setArgOperand(operand,
                         llvm::ConstantInt::get(groups->getType(), groups->getZExtValue() + 1));
}

// ---- exceptions ----

struct Exception {
  const char *file; // null = any
  const char *gpu;  // null = any
  TargetOp op;
  How how;
  const char *code; // the first words of its source line
  const char *why;
  bool of_some = false;           // some of several such calls on the line are needed
  const char *schedule = nullptr; // a regular expression; null = any
};

// A wgmma reads operand A in registers until a wait. In SSA form, the values of these registers
// cannot change, so only ptxas knows which wait lets it reuse the registers.
const char *const registers_in_use = "until then the registers are those of the slice before";
const char *const sliced = "tests/test_kernels/gpu/tf32_matmul.tc";
const char *const sliced_line = "sum += USE_A @ USE_B;";

// Open questions: insert_barriers compares whole stages and assumes that any stage may be the last
// one read. It is unknown which iterations or threads would need these barriers.
const char *const unexplained = "not explained yet";

// insert_barriers compares whole stages, not the parts that each warp reads.
const char *const overwritten_by_reader =
    "the sums of columns are stored where the warp that has them, and no other, read its tile's "
    "first row, before it shuffled";

// insert_barriers compares whole stages. The sums of split-K are stored where A was. 32 sums take as
// many bytes as a row of A's panels.
const char *const rows_of_own_warp =
    "a warp stores its rows of sums over the rows of A it has read";

// The same, with A in registers.
const char *const read_before_wgmma =
    "all warps have read A before the last wgmma, which they start together";

// insert_barriers does not look at which threads exchange elements.
const char *const within_warps = "a warp reads only what it has stored itself";

// Two parameters, or two loaded pointers, may alias element by element, but do not in this test.
const char *const same_memory = "only pointers to the same memory need it";

// insert_barriers does not look at what becomes of a loaded value.
const char *const has_a_copy = "several threads have an element and load it, but only the thread "
                               "that stores it uses its value";

// stage_epilogue waits for each result by itself.
const char *const waited_before = "the wait before the copy of D has waited for all stores";

// issue_wgmma_async fences each tile by itself.
const char *const fenced_again = "the fence behind the tile of B covers the tile of A, too";

// The compiler does not know that the two halves of a head do not overlap.
const char *const other_half = "the elements of a pair belong to one thread, also in place";

const char *const after_empty_loop =
    "needed only after a loop without an iteration; others have a barrier after the read of Q";

const std::vector<Exception> exceptions = {
    {sliced, "90a", TargetOp::wgmma_commit, How::left_out, sliced_line, registers_in_use, true},
    {sliced, "90a", TargetOp::wgmma_wait_f32, How::left_out, sliced_line, registers_in_use, true},
    {sliced, "90a", TargetOp::wgmma_wait_f32, How::waits_for_less, sliced_line, registers_in_use,
     true},
    {sliced, "90a", TargetOp::warp_sync, How::left_out, sliced_line,
     "needed only after a loop of one iteration; longer loops have one after all fetches", true},
    {sliced, "90a", TargetOp::barrier_sync, How::left_out, "for (int k = ", read_before_wgmma, true,
     "64x64x128 warp-specialized, split-K 4"},
    {nullptr, "90a", TargetOp::barrier_sync, How::left_out, "for (int k = ", rows_of_own_warp, true,
     "64x32x[0-9]+ warp-specialized, split-K 4"},
    {"tests/test_kernels/column_result.tc", "80", TargetOp::barrier, How::left_out,
     "*pc = sum > limit ? sum : 0;", unexplained, true},
    {"tests/test_kernels/column_result.tc", "90a", TargetOp::barrier_sync, How::left_out,
     "*pc = sum > limit ? sum : 0;", unexplained, true},
    {"tests/test_kernels/gpu/fused_result.tc", "90a", TargetOp::barrier_sync, How::left_out,
     "*?(inside) pc = result;", unexplained, true},
    {"tests/test_kernels/residual_matmul.tc", "90a", TargetOp::barrier_sync, How::left_out,
     "*?(inside)(C + at) = max(sum, 0) + d;", unexplained, true},
    {"tests/test_kernels/residual_matmul.tc", "90a", TargetOp::bulk_wait_read, How::left_out,
     "*?(inside)(H + at) = sum;", waited_before, true},
    {"tests/test_kernels/residual_matmul.tc", "90a", TargetOp::bulk_wait_read, How::waits_for_less,
     "*?(inside)(H + at) = sum;", waited_before, true},
    {"tests/test_kernels/residual_matmul.tc", "90a", TargetOp::barrier_sync, How::left_out,
     "*?(inside)(H + at) = sum;", waited_before, true},
    {"tests/test_kernels/residual_matmul.tc", "90a", TargetOp::bulk_commit, How::left_out,
     "*?(inside)(H + at) = sum;", waited_before, true},
    {"tests/test_kernels/gpu/masked_matmul.tc", "80", TargetOp::barrier, How::left_out,
     "*?(rm[:, newaxis] < M && rn[newaxis, :]", unexplained, true},
    {"tests/test_kernels/checked_matmul.tc", "90a", TargetOp::fence_proxy_async, How::left_out,
     "sum += a @ *pb;", fenced_again, true},
    {"tests/test_kernels/short_guard.tc", "90a", TargetOp::fence_proxy_async, How::left_out,
     "sum += a @ b;", fenced_again, true},
    {"tests/test_kernels/image_pixels.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(inside)(y + (image * ldy + i % S)) =", within_warps, true},
    {"kernels/matmul_batched.tc", "80", TargetOp::barrier, How::left_out,
     "*?(rm[:, newaxis] < M && rn[newaxis, :]", unexplained, true},
    {"kernels/matmul_masked.tc", "80", TargetOp::barrier, How::left_out,
     "*?(rm[:, newaxis] < M && rn[newaxis, :]", unexplained, true},
    {"kernels/attention.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(rm[:, newaxis] < M)po = weighted *", after_empty_loop, true},
    {"tests/test_kernels/biased_attention.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(rm[:, newaxis] < M)po = weighted *", after_empty_loop, true},
    {"kernels/embedding.tc", nullptr, TargetOp::barrier, How::left_out, "*?(m < M && n < N)(y +",
     same_memory, true},
    {"kernels/embedding_backward_sorted.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(counts)total += sum[+, :];", has_a_copy, true},
    {"kernels/embedding_backward_sorted.tc", nullptr, TargetOp::barrier, How::left_out,
     "sum += (float[TM, TN])(inside ?", unexplained, true},
    {"kernels/embedding_backward_sorted.tc", nullptr, TargetOp::barrier, How::left_out,
     "bool counts[TN] = id >= 0", unexplained, true},
    {"kernels/embedding_backward_sorted.tc", nullptr, TargetOp::barrier, How::left_out,
     "float *total[TN] = dtable +", unexplained, true},
    {"kernels/adam_tensors.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(inside)(m + i) = mean;", same_memory, true},
    {"kernels/adam_tensors.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(inside)(v + i) = square;", same_memory, true},
    {"kernels/adam_tensors.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(inside)(p + i) = parameter -", same_memory, true},
    {"tests/test_kernels/gpu/convert.tc", nullptr, TargetOp::barrier, How::left_out, "*?(on)(of_",
     same_memory, true},
    {"tests/test_kernels/gpu/convert.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(on)(sum + i) =", same_memory, true},
    {"tests/test_kernels/gpu/convert.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(on)(whole + i) =", same_memory, true},
    {"kernels/matmul_fused.tc", "90a", TargetOp::barrier_sync, How::left_out,
     "*?(inside)pc = result;", unexplained, true},
    {"kernels/moments.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(q < Q)(VARIANCE + p * yp + q) =", same_memory, true},
    {"kernels/rope.tc", nullptr, TargetOp::barrier, How::left_out, "*?(inside)(py + d[newaxis, :]",
     other_half, true},
    {"kernels/layer_norm_backward_weights.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(n < N)(dgain + n) = gains[+, :];", overwritten_by_reader, true},
    {"kernels/layer_norm_backward_weights.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(n < N)(dbias + n) = biases[+, :];", overwritten_by_reader, true},
    {"kernels/rms_norm_backward_weights.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(n < N)(dgain + n) = gains[+, :];", overwritten_by_reader, true},
    {"kernels/batch_norm_backward.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(c < C)(dbias + c) = by_bias;", same_memory, true},
    {"kernels/batch_norm_training.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(c < C)(mean + c) = center;", same_memory, true},
    {"kernels/batch_norm_training.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(c < C)(running_mean + c) = (1 - momentum) *", same_memory, true},
    {"kernels/batch_norm_training.tc", nullptr, TargetOp::barrier, How::left_out,
     "*?(c < C)(running_variance + c) =", same_memory, true},
};

// The line of a source file without its indentation; "" for line 0.
std::string source_line(const std::string &file, unsigned line) {
  std::ifstream stream(TRITONC_TESTS_DIR "/../" + file);
  std::string text;
  for (unsigned i = 0; i < line; i++)
    std::getline(stream, text);
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

const Exception *exception_for(const std::string &file, const std::string &gpu,
                               const std::string &schedule, const Change &change) {
  const std::string code = source_line(file, change.line);
  auto matches = [&](const Exception &exception) {
    return (!exception.file || exception.file == file) &&
           (!exception.gpu || exception.gpu == gpu) && exception.op == change.op &&
           exception.how == change.how && code.starts_with(exception.code) &&
           (!exception.schedule || std::regex_match(schedule, std::regex(exception.schedule)));
  };
  auto found = std::find_if(exceptions.begin(), exceptions.end(), matches);
  return found == exceptions.end() ? nullptr : &*found;
}

// ---- running ----

struct Outcome {
  std::string reports;
  interpreter::Memory memory; // empty after a report
};

Outcome emulate(const abi::host_code &code, const ir::Function &fn, const Run &run,
                const Mode &mode) {
  TileMemory memory(run.memory);
  emulator::Options options;
  options.order = mode.order;
  options.async = mode.async;
  options.seed = 1;
  options.workers = 1;
  options.max_steps = max_steps;
  options.print = [](std::string_view) {};
  emulator::Result result =
      emulator::launch(code, *memory.launch(code, fn, run.launch), options, memory.memory());
  Outcome outcome;
  for (const emulator::Report &report : result.reports)
    outcome.reports += report.text + "\n";
  if (result.ok())
    outcome.memory = memory.read();
  return outcome;
}

struct Count {
  int calls = 0, objected = 0, explained = 0, only_later = 0; // only_later: not in the first mode
  int of_some = 0; // explained calls for which the emulator objects to a similar call

  void add(const Count &other) {
    calls += other.calls;
    objected += other.objected;
    explained += other.explained;
    only_later += other.only_later;
    of_some += other.of_some;
  }
};

struct Totals {
  std::map<std::string, Count> counts; // by operation and change
  Count shipped;                       // kernels in kernels/, without the test kernels
  int kernels = 0;

  Count sum() const {
    Count sum;
    for (const auto &[name, count] : counts)
      sum.add(count);
    return sum;
  }
};

// The same in messages and for the sample.
std::string name_of(const TestKernel &test_kernel, const Variant &variant, const std::string &gpu,
                    const Schedule &schedule) {
  return test_kernel.file + " [" + variant.text + "] for sm_" + gpu + " " + text_of(schedule);
}

// One variant of one kernel, compiled for one GPU in one schedule.
struct Trial {
  const TestKernel &test_kernel;
  const Variant &variant;
  const std::string gpu;
  const ir::Function &fn;
  const Sample &sample;
  Totals &totals;
  Schedule schedule = {};
  struct Case {
    Run run;
    interpreter::Memory expected = {};
  };
  std::vector<Case> cases = {};

  std::string name() const { return name_of(test_kernel, variant, gpu, schedule); }

  // Long runs with one program: the other programs do the same.
  void choose_runs() {
    std::mt19937 random(1);
    // Source iterations per iteration of the schedule.
    int wide = 1;
    if (schedule.k_tile)
      wide = std::max(int(schedule.k_tile) / variant.number("TK"), 1);
    if (partitions_of(fn).empty()) {
      for (int count : steps) {
        cases.push_back({test_kernel.runs_of(variant, random, {count * wide}).back()});
        cases.back().run.launch.grid = {1, 1, 1};
      }
      return;
    }
    // Specialized: at least two programs per block, more for two consumer groups, and more
    // iterations than the longest circular buffer has stages, for each block of a cluster.
    constexpr int long_steps = 9;
    int blocks = int(schedule.split_k);
    Run run = test_kernel.runs_of(variant, random, {long_steps * blocks * wide}).back();
    if (schedule.consumer_groups == 1)
      run.launch.grid = {2, 2, 1};
    run.launch.num_sms = 1;
    cases.push_back({run});
  }

  // Index of the first mode that shows an error, over all runs; -1 = none.
  int objecting_mode(const LinkedHostCode &code, const std::vector<Mode> &modes) {
    int number = 0;
    for (const auto &[run, expected] : cases)
      for (const Mode &mode : modes) {
        Outcome outcome = emulate(*code, fn, run, mode);
        if (!outcome.reports.empty() || !interpreter::difference(expected, outcome.memory).empty())
          return number;
        number++;
      }
    return -1;
  }

  void check_whole(const LinkedHostCode &code) {
    for (auto &[run, expected] : cases) {
      expected = emulate(*code, fn, run, early).memory;
      for (const Mode &mode : {early, late, at_random}) {
        Outcome outcome = emulate(*code, fn, run, mode);
        REQUIRE_MESSAGE(outcome.reports.empty(), name(), ":\n", outcome.reports);
        REQUIRE(interpreter::difference(expected, outcome.memory) == "");
      }
    }
  }

  void try_change(const llvm::Module &whole, const HostKernel &kernel, const Change &change) {
    std::unique_ptr<llvm::Module> module = llvm::CloneModule(whole);
    apply(*module, change);
    int mode = objecting_mode(host_code_of(*module, kernel), modes_for(change.op));
    const Exception *exception = exception_for(test_kernel.file, gpu, text_of(schedule), change);
    Count &count = totals.counts[change.kind()];
    count.calls++;
    if (mode > 0)
      MESSAGE("LATER ", name(), ": ", change.text(), ", call ", change.call);
    count.objected += mode >= 0;
    count.only_later += mode > 0;
    count.explained += mode < 0 && exception;
    count.of_some += mode < 0 && exception && exception->of_some;
    if (test_kernel.file.starts_with("kernels/"))
      totals.shipped.add({.calls = 1, .objected = mode >= 0, .explained = mode < 0 && exception});
    if (mode < 0)
      CHECK_MESSAGE(exception, "nothing is wrong with ", name(), ": ", change.text(), ", call ",
                    change.call);
    else
      CHECK_MESSAGE((!exception || exception->of_some), "an exception for nothing: ", name(), ": ",
                    change.text());
  }

  void try_all() {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = optimized(fn, *find_gpu(gpu), context);
    std::vector<Change> changes = changes_of(*module);
    if (changes.empty())
      return;
    choose_runs();
    HostKernel kernel = describe(fn, *find_gpu(gpu));
    check_whole(host_code_of(*module, kernel));
    totals.kernels++;
    std::set<size_t> chosen = chosen_of(changes);
    for (size_t i = 0; i < changes.size(); i++)
      if (chosen.contains(i) || !totals.counts.contains(changes[i].kind()))
        try_change(*module, kernel, changes[i]);
  }

  // The sample, of each kernel at least one. try_all adds the first change of each kind.
  std::set<size_t> chosen_of(const std::vector<Change> &changes) const {
    std::vector<std::string> names;
    for (const Change &change : changes)
      names.push_back(name() + ": " + change.text() + ", call " + std::to_string(change.call));
    std::vector<size_t> some = sample.some_of(names);
    return {some.begin(), some.end()};
  }
};

// ---- variants ----

// A kernel's use of shared memory and synchronization, without its arithmetic. Two variants with
// the same skeleton need only one test.
std::string skeleton(const ir::Function &fn) {
  std::string text, last;
  ir::for_each_op(*fn.body, [&](const ir::Op &op) {
    std::string line = std::string(ir::info(op.code).name);
    switch (op.code) {
    case ir::Opcode::shared_alloc_:
      line += " " + std::to_string(op.result()->type.shape[0]) + " of " +
              std::to_string(ir::bytes_of(op.result()->type.elem));
      break;
    case ir::Opcode::async_wait_:
    case ir::Opcode::wgmma_wait_:
    case ir::Opcode::tma_store_wait_:
      line += " " + std::to_string(op.get(ir::attr::pending_));
      break;
    case ir::Opcode::for_loop_:
    case ir::Opcode::while_loop_:
    case ir::Opcode::if_else_:
    case ir::Opcode::yield_:
    case ir::Opcode::shared_load_:
    case ir::Opcode::shared_store_:
    case ir::Opcode::async_copy_:
    case ir::Opcode::async_commit_:
    case ir::Opcode::barrier_:
    case ir::Opcode::warp_specialize_:
    case ir::Opcode::mbarriers_:
    case ir::Opcode::mbarrier_wait_:
    case ir::Opcode::mbarrier_arrive_:
    case ir::Opcode::tma_load_async_:
    case ir::Opcode::tma_store_async_:
    case ir::Opcode::proxy_fence_:
    case ir::Opcode::wgmma_ss_:
    case ir::Opcode::wgmma_rs_:
    case ir::Opcode::cluster_barrier_:
    case ir::Opcode::cluster_load_reduce_:
    case ir::Opcode::cluster_arrive_:
    case ir::Opcode::cluster_wait_:
    case ir::Opcode::cluster_send_:
    case ir::Opcode::cluster_receive_:
      break;
    default:
      return;
    }
    if (line != last)
      text += line + "\n";
    last = line;
  });
  return text;
}

void set(Variant &variant, const std::string &name, const std::string &value) {
  for (Define &define : variant.defines)
    if (define.name == name) {
      define.value = value;
      variant.text += ", but " + name + "=" + value;
    }
}

// Makes K tiles so large that a circular buffer has only two or three stages.
Variant deep(Variant variant) {
  set(variant, "TM", "64");
  set(variant, "TN", "64");
  set(variant, "TK", variant.type() == ir::Elem::f32 ? "64" : "128");
  return variant;
}

ir::Function translated(const TestKernel &test_kernel, const Variant &variant) {
  FrontEndResult source = translate_source(input_of(test_kernel, variant));
  REQUIRE(source.errors == 0);
  return std::move(source.checked.at(0));
}

ir::Function compiled(const TestKernel &test_kernel, const Variant &variant, const char *gpu,
                      const Schedule &schedule) {
  ir::Function fn = translated(test_kernel, variant);
  run_pipeline(fn, *find_gpu(gpu), {}, schedule);
  return fn;
}

// ---- the sweep ----

// One variant for one GPU in one schedule. Items of a family that have the same skeleton need only
// one test, of the first of them.
struct Item {
  std::string family;
  const TestKernel *test_kernel;
  Variant variant;
  const char *gpu;
  Schedule schedule = {};

  std::string name() const { return name_of(*test_kernel, variant, gpu, schedule); }
};

std::vector<Item> for_all_gpus(const std::string &family, const TestKernel &test_kernel,
                               const Variant &variant) {
  std::vector<Item> items;
  for (const char *gpu : gpus)
    items.push_back({family, &test_kernel, variant, gpu});
  return items;
}

// Warp-specialized schedules: for the variant's own tile, for the last schedule with TMA loads, and
// for the last one with loads by threads. Larger tiles synchronize alike. Also for consumer groups
// with several rounds, and for schedules in which all warps have the same role.
std::vector<Item> specialized(const std::string &family, const TestKernel &test_kernel,
                              const Variant &variant) {
  std::vector<Item> items;
  std::vector<Schedule> schedules =
      test::complete_schedules_for(translated(test_kernel, variant), *find_gpu("90a"));
  schedules.pop_back(); // the baseline
  for (const Schedule &schedule : schedules) {
    bool is_own = std::all_of(schedule.coarsening.begin(), schedule.coarsening.end(),
                              [](int64_t times) { return times == 1; });
    const Schedule *next = &schedule == &schedules.back() ? nullptr : &schedule + 1;
    bool is_least = !next || next->is_warp_specialized() != schedule.is_warp_specialized() ||
                    (!schedule.producer_warps && next->producer_warps);
    int64_t programs = 1;
    for (int64_t times : schedule.coarsening)
      programs *= times;
    bool is_of_consumer_groups = schedule.consumer_groups > 1 && programs <= 2;
    if (!schedule.is_warp_specialized() ||
        (schedule.consumer_groups > 1 ? is_of_consumer_groups : is_own || is_least))
      items.push_back({family, &test_kernel, variant, "90a", schedule});
  }
  return items;
}

// All items, in lists with different rules for the sample.
struct Items {
  std::map<std::string, std::vector<Item>> baseline; // by file
  std::vector<Item> deep, specialized;
};

// With all variants, the families are small. Otherwise all variants of a kernel are a family, and
// so are all deep and all specialized items.
Items all_items(bool all_variants) {
  Items items;
  auto append = [](std::vector<Item> &to, std::vector<Item> &&from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
  };
  for (const TestKernel &test_kernel : test_kernels()) {
    if (test_kernel.locks) // in the emulator, locks order nothing
      continue;
    const std::string &file = test_kernel.file;
    for (const Variant &variant : variants_of(test_kernel, all_variants))
      append(items.baseline[file],
             for_all_gpus(all_variants ? variant.text : file, test_kernel, variant));
    if (!test_kernel.steps.empty())
      for (const Variant &variant : variants_of(test_kernel, false))
        append(items.deep, for_all_gpus(all_variants ? file : "", test_kernel, deep(variant)));
    for (const Variant &variant : variants_to_specialize(test_kernel))
      append(items.specialized, specialized(all_variants ? file : "", test_kernel, variant));
  }
  return items;
}

std::vector<std::string> names_of(const std::vector<Item> &items) {
  std::vector<std::string> names;
  for (const Item &item : items)
    names.push_back(item.name());
  return names;
}

class Sweep {
public:
  Sweep(const Sample &items, const Sample &calls) : items_(items), calls_(calls) {}

  // At least one of these items.
  void try_some_of(const std::vector<Item> &items) {
    for (size_t i : items_.some_of(names_of(items)))
      try_item(items, i);
  }

  // Goes on after the sample until each of these changes occurred.
  void try_until(const std::vector<Item> &items, const std::vector<std::string> &changes) {
    auto is_missing = [&](const std::string &change) { return !totals.counts.contains(change); };
    std::vector<std::string> names = names_of(items);
    for (size_t i : items_.order(names))
      if (items_.takes(names[i]) || std::any_of(changes.begin(), changes.end(), is_missing))
        try_item(items, i);
  }

  Totals totals;

private:
  // Tries the first item of the family with the same skeleton instead, once. So the sample tries
  // nothing else than the whole sweep.
  void try_item(const std::vector<Item> &items, size_t number) {
    const std::string &text = skeleton_of(items[number]);
    if (text.empty())
      return;
    auto is_same = [&](const Item &item) {
      return item.family == items[number].family && skeleton_of(item) == text;
    };
    const Item &item = *std::find_if(items.begin(), items.end(), is_same);
    if (!done_.insert(&item).second)
      return;
    ir::Function fn = compiled(*item.test_kernel, item.variant, item.gpu, item.schedule);
    Trial{*item.test_kernel, item.variant, item.gpu, fn, calls_, totals, item.schedule}.try_all();
  }

  // Empty if the compiler omits this schedule.
  const std::string &skeleton_of(const Item &item) {
    auto [at, is_new] = skeletons_.try_emplace(&item);
    if (is_new) {
      ir::Function fn = compiled(*item.test_kernel, item.variant, item.gpu, item.schedule);
      if (item.schedule.is_baseline() || fn.shared_bytes <= find_gpu(item.gpu)->max_shared_bytes)
        at->second = "skeleton\n" + skeleton(fn);
    }
    return at->second;
  }

  const Sample &items_, &calls_;
  std::map<const Item *, std::string> skeletons_;
  std::set<const Item *> done_;
};

Totals try_all(bool all_variants, const std::vector<std::string> &changes) {
  Sample sample = sample_of_this_run("necessity, variants", 4);
  Sample calls = sample_of_this_run("necessity, calls", 10);
  Items items = all_items(all_variants);
  Sweep sweep(sample, calls);
  for (const auto &[file, of_file] : items.baseline)
    sweep.try_some_of(of_file);
  sweep.try_some_of(items.deep);
  sweep.try_until(items.specialized, changes);
  Totals &totals = sweep.totals;
  Count sum = totals.sum();
  for (const auto &[name, count] : totals.counts)
    MESSAGE(name, ": ", count.calls, ", objected to ", count.objected, " (", count.only_later,
            " not in the first mode), explained ", count.explained);
  MESSAGE(totals.kernels, " kernels, ", sum.calls, " changes, objected to ", sum.objected,
          ", explained ", sum.explained, "; in kernels/ ", totals.shipped.calls, ", objected to ",
          totals.shipped.objected, ", explained ", totals.shipped.explained);
  return totals;
}

void check(const Totals &totals) {
  Count sum = totals.sum();
  CHECK(sum.objected + sum.explained == sum.calls);
  CHECK(totals.shipped.objected + totals.shipped.explained == totals.shipped.calls);
}

} // namespace

// Of each kernel at least one variant for one GPU, and of this at least one call.
TEST_CASE("necessity: every kernel needs each synchronizing call") {
  const std::vector<std::string> changes = {
      "barrier",           "cp_async_commit", "cp_async_wait",  "cp_async_wait, one group less",
      "mbarrier_wait",     "mbarrier_arrive", "barrier_sync",   "wgmma_wait_f32",
      "fence_proxy_async", "bulk_commit",     "bulk_wait_read", "warp_sync",
      "cluster_arrive",    "cluster_wait"};
  Totals totals = try_all(false, changes);
  check(totals);
  for (const std::string &change : changes)
    CHECK_MESSAGE(totals.counts[change].calls > 0, change);
}

TEST_CASE("necessity: every variant needs each synchronizing call" * doctest::skip()) {
  Totals totals = try_all(true, {});
  check(totals);
  Count sum = totals.sum();
  CHECK(sum.objected * 100 >= (sum.calls - sum.of_some) * 99);
}

TEST_CASE("necessity: finds a duplicated call needless") {
  const TestKernel &test_kernel = test_kernels()[0];
  Variant variant = variants_of(test_kernel, false)[0];
  ir::Function fn = compiled(test_kernel, variant, "80", {});
  Totals totals;
  Sample all("duplicated calls", 100, "");
  Trial trial{test_kernel, variant, "80", fn, all, totals};
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = optimized(fn, *find_gpu("80"), context);
  HostKernel kernel = describe(fn, *find_gpu("80"));
  trial.choose_runs();
  trial.check_whole(host_code_of(*module, kernel));
  int tried = 0;
  for (const Change &change : changes_of(*module)) {
    if (change.how != How::left_out || change.op == TargetOp::cp_async_commit)
      continue; // a second commit changes the count of groups
    std::unique_ptr<llvm::Module> twice = llvm::CloneModule(*module);
    llvm::CallInst *call = synchronizing_calls(*twice)[change.call].call;
    call->clone()->insertBefore(call->getIterator());
    apply(*twice, change);
    CAPTURE(change.text());
    CHECK(trial.objecting_mode(host_code_of(*twice, kernel), {early, late, at_random}) == -1);
    tried++;
  }
  CHECK(tried > 2);
}

TEST_CASE("synchronizes: the synchronizing operations") {
  std::set<std::string> not_by_effect;
  for (const TargetOpInfo &info : all_target_ops()) {
    bool copies = info.effect == TargetEffect::AsyncCopy;
    if (synchronizes(info) && (copies || info.effect == TargetEffect::Warpgroup))
      not_by_effect.insert(info.name.str());
    if (groups_left(info)) {
      CHECK(synchronizes(info));
      CHECK(info.operands.at(*groups_left(info)).kind == TargetType::imm);
    }
  }
  CHECK(not_by_effect == std::set<std::string>{"cp_async_commit", "cp_async_mbarrier_arrive",
                                               "bulk_commit", "wgmma_fence", "wgmma_commit",
                                               "wgmma_wait_f32", "wgmma_wait_s32"});
  CHECK_FALSE(synchronizes(target_op_info(TargetOp::cp_async_16)));
  CHECK_FALSE(synchronizes(target_op_info(TargetOp::ldmatrix_x4)));
  CHECK_FALSE(synchronizes(target_op_info(TargetOp::shfl_bfly)));
}
