// set_l2_eviction: lets the L2 cache evict first what only few programs read.
//
//     %x = block_id {axis = 0}                 %n = num_blocks along axis 1
//     ...                                =>    %p = host_value evict_first if %n <= 4, else normal
//     %a = tma_load %m, %x * 128, %k           %a = tma_load %m, %x * 128, %k, %p
//
// All programs along an axis of the grid read the same tile if its coordinates do not depend on
// that axis. If there are at most 4 such programs, they run at the same time, and no later program
// reads the tile again. In a matmul with few rows, that is true of all of B, which would evict
// everything else from the cache.
//
// Method:  The host computes the policy, since only the host knows the size of the grid. If the
//          source asks for a policy (`*?(__evict_last)p`), that is used.
// Needs:   lower_to_tma; runs before make_persistent, while ids are those of the grid.
// Ensures: every tma_load without {multicast} has a policy; nothing else changes.
// Limits:  tma_load only: nothing happens to other loads. A tile with {multicast} has many readers.
//
// Tested by tests/unit/passes/set_l2_eviction/ and set_l2_eviction_test.cpp.

#include "passes/set_l2_eviction.h"

#include "analysis/grid_axes.h"
#include "ir/builder.h"
#include "target/cache_policies.h"

namespace tritonc {

using namespace ir;

namespace {

using namespace cache_policy;

constexpr int64_t few_readers = 4;

// The number of programs that read a tile whose coordinates depend on `axes` only.
Value *readers(Builder &builder, const Op *launch, const std::set<int64_t> &axes) {
  Value *product = builder.i64(1);
  for (int axis = 0; axis < 3; axis++) {
    if (axes.count(axis))
      continue;
    Value *count = launch ? launch->operand(size_t(axis)) : builder.num_programs(axis);
    product = builder.mul(product, builder.cast(count, Elem::i64));
  }
  return product;
}

// The policy that the source asks for by {cache}; nothing: the host chooses.
std::optional<int64_t> wanted_policy(const Op &load) {
  if (load.get(attr::cache_) == "evict_first")
    return evict_first;
  if (load.get(attr::cache_) == "evict_last")
    return evict_last;
  return std::nullopt;
}

void hint(Function &fn, Op *load, Op *launch) {
  if (std::optional<int64_t> wanted = wanted_policy(*load)) {
    Builder builder = Builder::before(fn, load);
    builder.set_location(load->location);
    load->operands.push_back(builder.i64(*wanted));
    return;
  }
  std::set<int64_t> axes;
  for (size_t i = 1; i < load->operands.size(); i++)
    axes.merge(grid_axes_of(load->operand(i)));
  Op *map = load->operand(0)->op;
  // After the launch_blocks, since its operands give the grid, and after the map, so that all maps
  // stay together.
  bool is_launch_later = launch && fn.body->position_of(launch) > fn.body->position_of(map);
  Builder builder = Builder::after(fn, is_launch_later ? launch : map);
  builder.set_location(load->location);
  Value *count = readers(builder, launch, axes);
  Value *above = builder.sub(builder.i64(few_readers + 1), count);
  Value *is_few = builder.binary(Opcode::min_, builder.i64(1), above);
  is_few = builder.binary(Opcode::max_, builder.i64(0), is_few);
  Value *change = builder.mul(is_few, builder.i64(evict_first - evict_normal));
  Value *policy = builder.add(builder.i64(evict_normal), change);
  Op *handed = builder.create(Opcode::host_value_, {policy}, {policy->type});
  handed->result()->name = "policy";
  load->operands.push_back(handed->result());
}

} // namespace

void set_l2_eviction(Function &fn) {
  std::vector<Op *> loads;
  Op *launch = nullptr;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::tma_load_) && !op.has(attr::multicast_))
      loads.push_back(&op);
    if (op.is(Opcode::launch_blocks_))
      launch = &op;
  });
  for (Op *load : loads)
    hint(fn, load, launch);
}

} // namespace tritonc
