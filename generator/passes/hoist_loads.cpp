// hoist_loads: issues loads before the reductions that they need not wait for.
//
//     %x = load %v                       %x = load %v
//     %s = reduce %x                     %w = view %y, %at, %one
//     %w = view %y, %at, %one      =>    %z = load %w
//     %z = load %w                       %s = reduce %x
//     %d = sub %z, %s                    %d = sub %z, %s
//
// A reduction waits for its tile and then for other threads, by shuffles and barriers. ptxas moves
// no load across them. So a kernel with several loops over a row waited for memory once per loop.
//
// Method:  Operations with an effect, such as stores, divide a block into parts. In each part, a
//          load that needs no reduction of the part moves before the first one, with the
//          computation of its address and mask, as far as there are registers for the loaded tiles.
//          What all programs load, such as weights, is in the caches: the wait is short, and more
//          threads hide it, too. So these loads move only if an SM has registers for many threads.
// Needs:   layouts (assign_layouts). unroll_loops and stage_repeated_loads before, which decide
//          what is loaded once.
// Ensures: no load crosses an operation with an effect.
// Limits:  changes no kernel with a matmul: its schedule loads ahead.
//
// Tested by tests/unit/passes/hoist_loads/.

#include "passes/hoist_loads.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "target/cost_tables.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// Registers for addresses, counters, comparisons, and values from before the block.
constexpr int other_registers = 32;
// A load takes time in proportion to its part. Longer parts would make the time grow as n * n.
constexpr ptrdiff_t max_operations_of_part = 2000;

using OpSet = std::set<const Op *>;

bool waits(const Op &op) { return op.is(Opcode::reduce_) || op.is(Opcode::scan_); }

bool multiplies(const Op &op) {
  return op.is(Opcode::dot_) || op.is(Opcode::wgmma_ss_) || op.is(Opcode::wgmma_rs_);
}

bool may_cross(const Op &op) {
  const Effect effect = info(op.code).effect;
  return effect == Effect::pure || effect == Effect::host || is_unordered_load(op);
}

// The registers of a thread for loaded tiles: for all, and if a tile is one that all programs load.
struct Limits {
  int all, with_cached;
};

class Hoisting {
public:
  Hoisting(Block &block, const Limits &limits) : ops_(block.ops), limits_(limits) {}

  void run() {
    for (ptrdiff_t at = 0; at < ptrdiff_t(ops_.size()); at++) {
      const Op &op = *ops_[size_t(at)];
      if (!may_cross(op) || (first_ >= 0 && at - first_ > max_operations_of_part))
        first_ = -1;
      if (waits(op) && first_ < 0)
        first_ = at;
      if (!is_unordered_load(op) || !op.result()->type.is_tile())
        continue;
      registers_ += registers_per_thread(op.result()->type);
      if (first_ >= 0 && registers_ <= (differs_.is_cached(op) ? limits_.with_cached : limits_.all))
        hoist(at);
    }
  }

private:
  std::vector<Op *> &ops_;
  const Limits limits_;
  DiffersByProgram differs_;
  int registers_ = 0;    // of the loaded tiles up to now
  ptrdiff_t first_ = -1; // the first reduction of the part; -1: none

  // Moves the load at `at` before the first reduction, unless it needs a reduction or a load that
  // stays.
  void hoist(ptrdiff_t at) {
    OpSet moved = {ops_[size_t(at)]}, needed;
    for (ptrdiff_t i = at; i >= first_; i--) {
      const Op *op = ops_[size_t(i)];
      if (i < at && !needed.count(op))
        continue;
      if (i < at && (waits(*op) || op->is(Opcode::load_)))
        return;
      moved.insert(op);
      for (const Value *operand : op->operands)
        needed.insert(operand->op);
    }
    const auto begin = ops_.begin() + first_;
    first_ = std::stable_partition(begin, ops_.begin() + at + 1,
                                   [&](const Op *op) { return moved.count(op); }) -
             ops_.begin();
  }
};

} // namespace

void hoist_loads(Function &fn, const Gpu &gpu) {
  std::vector<Block *> blocks = {fn.body};
  bool has_matmul = false, has_reduction = false;
  for_each_op(*fn.body, [&](Op &op) {
    has_matmul |= multiplies(op);
    has_reduction |= waits(op);
    blocks.insert(blocks.end(), op.blocks.begin(), op.blocks.end());
  });
  if (has_matmul || !has_reduction)
    return;
  const int of_thread =
      std::min(gpu.max_registers_per_thread, gpu.registers_per_block / fn.threads());
  const int of_many =
      std::min(of_thread, gpu.registers_per_block / gpu.costs->elementwise.threads_with_weights);
  for (Block *block : blocks)
    Hoisting(*block, {of_thread - other_registers, of_many - other_registers}).run();
}

} // namespace tritonc
