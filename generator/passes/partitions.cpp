// What the passes that divide a block into producer and consumer partitions share. See partitions.h.
//
// Tested by tests/unit/passes/specialize_warps/.

#include "passes/partitions.h"

#include "analysis/launch_config.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

DeviceOps take_device_ops(Function &fn) {
  std::set<const Op *> of_host;
  for (const Op *op : fn.body->ops)
    if (is_hidden(*op) || op->is(Opcode::launch_blocks_))
      add_with_operands(op, of_host);
  DeviceOps device;
  std::vector<Op *> ops = std::move(fn.body->ops);
  fn.body->ops.clear();
  for (Op *op : ops)
    (of_host.count(op) ? fn.body->ops : device.ops).push_back(op);
  device.end = device.ops.back();
  device.ops.pop_back();
  for (const Op *op : fn.body->ops)
    for (Value *result : op->results)
      device.copies_of_host_ops[result] = result;
  return device;
}

void move_to(Block &block, const std::vector<Op *> &ops) {
  for (Op *op : ops) {
    op->parent = &block;
    block.ops.push_back(op);
  }
}

void prefetch_maps(Builder &builder, const Function &fn) {
  const std::vector<Op *> ops = fn.body->ops;
  for (const Op *op : ops)
    if (op->is(Opcode::tensor_map_))
      builder.create(Opcode::tma_prefetch_, {op->results[0]});
}

namespace {

// Registers per thread. Consumer warps need many; a thread that only starts TMA copies needs few.
// The producers must release as many registers as the consumers take, or no warp gets any. Three
// warpgroups start with 168 registers per thread, four with 128. Blocks with other numbers of warps
// have enough and move none.
struct Registers {
  int consumer_warps, producer_warps; // 0 producer warps: TMA
  int64_t of_consumer, of_producer;
};
constexpr Registers divisions[] = {{8, 0, 232, 40}, {8, 4, 176, 152}, {8, 8, 104, 152}};

} // namespace

void set_registers(Op &specialize, int consumer_warps, int producer_warps) {
  for (const Registers &division : divisions)
    if (division.consumer_warps == consumer_warps && division.producer_warps == producer_warps)
      specialize.set(attr::registers_,
                     std::vector<int64_t>{division.of_consumer, division.of_producer});
}

ThreadRegisters registers_beside_one_thread(int consumer_warps, int blocks_per_sm, const Gpu &gpu) {
  constexpr int64_t unit = 8, of_producer = 24, max_value = 240; // of a consumer
  const int threads = 32 * (consumer_warps + warps_of_warpgroup);
  const int64_t at_start = gpu.registers_per_block / blocks_per_sm / threads / unit * unit;
  // The consumers take no more than the producers release: setmaxnreg would wait forever.
  const int64_t released = warps_of_warpgroup * (at_start - of_producer);
  return {std::min(at_start + released / consumer_warps / unit * unit, max_value), of_producer,
          at_start};
}

} // namespace tritonc
