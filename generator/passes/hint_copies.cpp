// hint_copies: let the L2 cache give up first what is read only once.
//
//     %x = block_id {axis = 0}                 %n = num_blocks along axis 1
//     ...                                =>    %p = host_value normal, or first to go if %n <= 4
//     %a = map_load %m, %x * 128, %k           %a = map_load %m, %x * 128, %k, %p
//
// A tile that depends on one axis of the grid is read by all programs along the others. If these
// are few, they run at the same time, and nobody comes for it again: of a product with few rows,
// that is true of the whole other factor, which would push all else out of the cache.
//
// The host chooses the policy, since only it knows the grid; unless the source has
// (`*?(__evict_last)p`).
//
// Needs:   use_tensor_maps; ids are still those of the grid, so before persist_programs.
// Ensures: nothing but the policies changes.
//
// Tested by tests/passes/hint_copies_test.cpp.

#include "passes/hint_copies.h"

#include "ir/builder.h"
#include "target/cache_policies.h"

namespace tritonc {

using namespace ir;

namespace {

using namespace cache_policy;

constexpr int64_t few_readers = 4;

// The axes of the grid that `value` depends on.
void add_axes(const Value *value, std::set<int64_t> &axes) {
  const Op *op = value->op;
  if (!op)
    return;
  if (op->is(Opcode::program_id_) || op->is(Opcode::block_id_))
    axes.insert(op->integer("axis"));
  for (const Value *operand : op->operands)
    add_axes(operand, axes);
}

// How many programs read what depends on `axes` only.
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

// The policy that the source asks for by its {cache}; nothing if it leaves that to us.
std::optional<int64_t> wanted_policy(const Op &load) {
  if (load.text("cache") == "evict_first")
    return evict_first;
  if (load.text("cache") == "evict_last")
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
    add_axes(load->operand(i), axes);
  Op *map = load->operand(0)->op;
  // Behind both what it is made from and the map, for all maps to be in one place.
  bool is_launch_later = launch && fn.body->position_of(launch) > fn.body->position_of(map);
  Builder builder = Builder::after(fn, is_launch_later ? launch : map);
  builder.set_location(load->location);
  Value *above = builder.sub(builder.i64(few_readers + 1), readers(builder, launch, axes));
  Value *is_few = builder.binary(Opcode::min_, builder.i64(1), above);
  is_few = builder.binary(Opcode::max_, builder.i64(0), is_few);
  Value *change = builder.mul(is_few, builder.i64(evict_first - evict_normal));
  Value *policy = builder.add(builder.i64(evict_normal), change);
  Op *handed = builder.create(Opcode::host_value_, {policy}, {policy->type});
  handed->result()->name = "policy";
  load->operands.push_back(handed->result());
}

} // namespace

void hint_copies(Function &fn) {
  std::vector<Op *> loads;
  Op *launch = nullptr;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::map_load_))
      loads.push_back(&op);
    if (op.is(Opcode::launch_blocks_))
      launch = &op;
  });
  for (Op *load : loads)
    hint(fn, load, launch);
}

} // namespace tritonc
