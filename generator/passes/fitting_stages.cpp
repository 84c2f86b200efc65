// How many stages of operands fit in shared memory. See fitting_stages.h.
//
// Tested by tests/unit/passes/specialize_warps_test.cpp.

#include "passes/fitting_stages.h"

#include "analysis/matmul_loop.h"

#include <algorithm>
#include <map>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// Stages of a loop whose dots stay in flight, and of another one, in which a dot is done before the next
// iteration starts.
constexpr int64_t max_stages_in_flight = 8, max_stages = 4;

int64_t bytes_of_tile(const Op &load) {
  return load.result()->type.elements() * bytes_of(load.result()->type.elem);
}

// Bytes of shared memory beside the operands: the staging buffers of each stored tile (stage_epilogue), a
// piece of a tile that threads load for the epilogue, the mbarriers, and 1 KiB that the system reserves.
// Threads bring a loaded piece into the layout of the accumulator through shared memory. If threads
// store, too, their pieces take turns in the place of the staging buffers.
int64_t bytes_of_epilogue(Function &fn, const std::vector<OperandLoad> &loads,
                          const Schedule &schedule) {
  constexpr int64_t row_bytes = 128, small_things = 2 << 10;
  std::set<Shape> accumulators;
  for_each_op(*fn.body, [&](const Op &op) {
    if (op.is(Opcode::dot_))
      accumulators.insert(op.result()->type.shape);
  });
  int64_t stored_rows = 0, loaded_bytes = 0;
  bool is_staged = !schedule.producer_warps && loads[0].load->is(Opcode::load_); // maybe
  for_each_op(*fn.body, [&](const Op &op) {
    is_staged |= op.is(Opcode::tma_store_);
    for (const Shape &accumulator : accumulators) {
      if ((op.is(Opcode::store_) || op.is(Opcode::tma_store_)) &&
          axis_of_columns(op.operand(1), accumulator)) {
        stored_rows += accumulator[0];
        break;
      }
      if (op.is(Opcode::load_) && op.result()->type.shape == accumulator)
        loaded_bytes = std::max(loaded_bytes, accumulator[0] * bytes_of(op.result()->type.elem));
    }
  });
  int64_t bytes = schedule.consumer_groups * schedule.epilogue_stages * row_bytes * stored_rows;
  if (is_staged) // a result of 16-bit elements has the longest pieces
    bytes += schedule.consumer_groups * row_bytes / 2 * loaded_bytes;
  return bytes + small_things;
}

} // namespace

int64_t fitting_stages(Function &fn, const std::vector<OperandLoad> &loads, const Gpu &gpu,
                       const Schedule &schedule) {
  // A tensor map may have several loads.
  std::map<const Value *, int64_t> in_mainloop, once;
  for (const OperandLoad &load : loads) {
    const Value *from = schedule.producer_warps ? load.load->result() : load.load->operand(0);
    (is_in_mainloop(load) ? in_mainloop : once)[from] = bytes_of_tile(*load.load);
  }
  int64_t of_stage = 0, others = bytes_of_epilogue(fn, loads, schedule);
  for (const auto &[from, bytes] : in_mainloop)
    of_stage += bytes;
  for (const auto &[from, bytes] : once)
    if (!in_mainloop.count(from))
      others += bytes;
  const int64_t share = gpu.max_shared_bytes / schedule.blocks_per_sm;
  const int64_t most = keeps_dots_in_flight(fn) ? max_stages_in_flight : max_stages;
  return of_stage ? std::min((share - others) / of_stage, most) : 0;
}

} // namespace tritonc
