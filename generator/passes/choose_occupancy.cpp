// choose_occupancy: decides how many blocks one SM runs at once.
//
//     func @f(...) warps 8 shared 65536   =>   func @f(...) warps 8 shared 65536 blocks_per_sm 2
//
// The threads of an SM share its registers. Without a hint ptxas guesses how many threads there
// will be. For some tiles the guess is too high, and a few bytes spill. So the compiler passes the
// number of blocks to ptxas (`.minnctapersm`), which then uses the whole share. Two blocks hide
// each other's latencies well. More than four blocks cost more in registers than they gain.
//
// Without a hint ptxas also saves registers where several loads of 16 bytes should be under way at
// the same time: it moves each load of a loop to its use, so that an iteration waits for one after
// the other. For narrow loads a hint does not help; group_loads keeps them together.
//
// Method:  Chooses the largest number, from 1 to 4, that fits shared memory, threads, and an
//          estimate of the registers per thread. The estimate adds the accumulators, the operands
//          that are live at once (at most as many registers as the accumulators), and 16 registers
//          for addresses. The layouts of the dots give the numbers. A thread that needs more than
//          its 255 registers spills, and the compiler reports it.
//
//          A warp-specialized kernel has the blocks_per_sm of its schedule. The second launch of
//          split-K has one block per SM. A kernel without a dot whose loops have several loads of 16
//          bytes at once has up to 1024 threads per SM: as many as have registers for all loads of an
//          iteration. With wgmma in other schedules, ptxas decides.
// Needs:   split_dots_along_k and assign_layouts, which decide which values are live at once;
//          allocate_shared.
// Ensures: fn.blocks_per_sm is set for kernels with a dot, warp-specialized kernels, the second
//          launch of split-K, and loops with several loads. ptxas decides for all other kernels.
// Limits:  the estimate counts the accumulators of all dots as if they were live at the same time.
//
// Tested by tests/unit/passes/choose_occupancy/ and choose_occupancy_test.cpp.

#include "passes/choose_occupancy.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

constexpr int max_programs = 4;
constexpr int threads_per_sm = 1024; // minimum over all GPUs
constexpr int registers_for_addresses = 16;

// Registers of a thread. Dots that accumulate into each other count once as `accumulators`. `operands` are
// those of the largest dot, twice, because the next operands are loaded during the arithmetic.
struct Need {
  int accumulators = 0, operands = 0;
};

Need need_of(Function &fn) {
  Need need;
  for_each_op(*fn.body, [&](Op &op) {
    if (!op.is(Opcode::dot_))
      return;
    const Op *before = op.operand(2)->op;
    if (!before || !before->is(Opcode::dot_))
      need.accumulators += registers_per_thread(op.result()->type);
    need.operands = std::max(need.operands, 2 * (registers_per_thread(op.operand(0)->type) +
                                                 registers_per_thread(op.operand(1)->type)));
  });
  return need;
}

// wgmma cannot spill its accumulators: with a share of the registers that is too small, ptxas fails.
bool has_wgmma(Function &fn) {
  bool found = false;
  for_each_op(*fn.body,
              [&](const Op &op) { found |= op.is(Opcode::wgmma_ss_) || op.is(Opcode::wgmma_rs_); });
  return found;
}

bool is_wide(const Op &load) {
  const int bytes = bytes_of(load.result()->type.elem);
  return load.has(attr::vector_) && load.get(attr::vector_) * bytes == widest_access_bytes;
}

// The registers for the loads of an iteration: the maximum of all loops with several loads. 0: there
// are none, or some are narrow.
int registers_for_wide_loads(Function &fn) {
  int most = 0;
  bool are_wide = true;
  for_each_op(*fn.body, [&](Op &loop) {
    if (!loop.is(Opcode::for_loop_))
      return;
    int registers = 0, loads = 0;
    for (const Op *op : loop.blocks[0]->ops)
      if (op->is(Opcode::load_) && op->result()->type.is_tile()) {
        registers += registers_per_thread(op->result()->type);
        loads++;
        are_wide &= is_wide(*op);
      }
    if (loads > 1)
      most = std::max(most, registers);
  });
  return are_wide ? most : 0;
}

} // namespace

int blocks_by_registers(int accumulators, int operands, int warps, const Gpu &gpu) {
  const int wanted = accumulators + std::min(operands, accumulators) + registers_for_addresses;
  const int registers = std::min(gpu.max_registers_per_thread, wanted);
  return std::clamp(gpu.registers_per_block / (32 * warps * registers), 1, max_programs);
}

void choose_occupancy(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  if (schedule.is_warp_specialized()) {
    fn.blocks_per_sm = schedule.blocks_per_sm; // its circular buffer is sized for this
    return;
  }
  if (schedule.work == Schedule::Work::reduction) {
    fn.blocks_per_sm = 1; // with more, ptxas saves registers, and loads wait for each other
    return;
  }
  Need need = need_of(fn);
  if (!need.accumulators) {
    if (has_wgmma(fn))
      return;
    if (const int loads = registers_for_wide_loads(fn)) {
      const int threads = gpu.registers_per_block / (loads + registers_for_addresses);
      fn.blocks_per_sm = std::max(1, std::min(threads, threads_per_sm) / fn.threads());
    }
    return;
  }
  int by_registers = blocks_by_registers(need.accumulators, need.operands, fn.warps, gpu);
  int by_shared = fn.shared_bytes ? gpu.max_shared_bytes / fn.shared_bytes : max_programs;
  int by_threads = threads_per_sm / (32 * fn.warps);
  fn.blocks_per_sm = std::max(1, std::min({by_registers, by_shared, by_threads}));
}

} // namespace tritonc
