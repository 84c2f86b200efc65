// The partials of a loop in a workspace. See loop_partials.h.
//
// Tested by tests/unit/passes/store_loop_partials_test.cpp and combine_loop_partials_test.cpp.

#include "passes/loop_partials.h"

#include "analysis/launch_config.h"
#include "passes/select_mma.h"

#include <algorithm>
#include <bit>

namespace tritonc {

using namespace ir;

namespace {

Elem stored_elem(const AssociativeLoop &found) {
  const Elem first = found.totals[0].value->type.elem;
  bool is_same = std::all_of(
      found.totals.begin(), found.totals.end(),
      [&](const AssociativeLoop::Total &total) { return total.value->type.elem == first; });
  return is_same ? first : integer_like(first);
}

} // namespace

// Small totals lie beside one another, so that all threads have elements. Of larger totals, a
// thread loads elements of several parts at once, and of the next ones (prefetch_loads): each time it
// has 96 registers.
PartsOfIteration parts_of_iteration(const AssociativeLoop &found) {
  constexpr int64_t registers = 96;
  int64_t elements = 0, largest = 0;
  for (const AssociativeLoop::Total &total : found.totals) {
    elements += total.value->type.elements();
    largest = std::max(largest, total.value->type.elements());
  }
  const int64_t threads = 32 * warps_for_tile(largest);
  if (elements >= LoopPartials::min_elements)
    return {.in_turn = std::clamp<int64_t>(registers * threads / elements, 1, 8)};
  constexpr int64_t max_elements = 4096, max_count = 512;
  const int64_t count = std::min(max_elements / elements, max_count);
  return {.beside = int64_t(std::bit_floor(uint64_t(count)))};
}

LoopPartials emit_loop_partials(Builder &builder, const AssociativeLoop &found,
                                const std::vector<Value *> &blocks,
                                const std::vector<int64_t> &times, int blocks_per_sm) {
  auto binary = [&](Opcode code, Value *a, Value *b) { return builder.binary(code, a, b); };
  auto from_host = [&](Value *value, const char *name) {
    Value *result = builder.create(Opcode::host_value_, {value}, {value->type})->result();
    result->name = name;
    return result;
  };
  LoopPartials partials;
  Value *iterations = emit_host_bound(builder, found.loop->operand(0));
  Value *all = builder.i64(1);
  for (Value *along_axis : blocks)
    all = builder.mul(all, builder.cast(along_axis, Elem::i64));
  Value *sms = builder.create(Opcode::num_sms_, {}, {Type::scalar(Elem::i32)})->result();
  Value *at_once = builder.cast(builder.mul(sms, builder.i32(blocks_per_sm)), Elem::i64);
  Value *wanted = binary(Opcode::div_, at_once, binary(Opcode::max_, all, builder.i64(1)));
  Value *min_steps = builder.i64(LoopPartials::min_iterations);
  Value *most = binary(Opcode::div_, builder.cast(iterations, Elem::i64), min_steps);
  wanted = binary(Opcode::min_, wanted, most);
  wanted = builder.cast(binary(Opcode::max_, wanted, builder.i64(1)), Elem::i32);
  Value *one = builder.i32(1), *before_last = builder.sub(iterations, one);
  auto div_up = [&](Value *by) { return builder.add(binary(Opcode::div_, before_last, by), one); };
  Value *steps = binary(Opcode::max_, div_up(wanted), one);
  Value *count = binary(Opcode::max_, div_up(steps), one);

  for (const AssociativeLoop::Total &total : found.totals) {
    const Shape &shape = total.value->type.shape;
    std::vector<int64_t> strides(shape.size());
    int64_t elements = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      strides[d] = elements;
      elements *= shape[d] * (times.empty() ? 1 : times[d]);
    }
    partials.starts.push_back(partials.elements);
    partials.strides.push_back(std::move(strides));
    partials.elements += elements;
  }
  partials.elem = stored_elem(found);
  Value *bytes = builder.mul(builder.cast(count, Elem::i64), all);
  bytes = builder.mul(bytes, builder.i64(partials.elements * bytes_of(partials.elem)));
  partials.memory =
      builder.create(Opcode::workspace_, {bytes}, {Type::pointer(partials.elem)})->result();
  partials.memory->name = "workspace";
  partials.count = from_host(count, "parts");
  partials.steps = from_host(steps, "part");
  partials.blocks = from_host(all, "blocks");
  for (size_t axis : {0, 1})
    partials.extents[axis] = from_host(blocks[axis], "extent");
  partials.count_on_host = count;
  return partials;
}

Value *emit_total(Builder &builder, const LoopPartials &partials, size_t number, Value *index,
                  Value *within, const Type &type, int64_t parts) {
  Value *offset = builder.mul(index, builder.i64(partials.elements));
  offset = builder.add(offset, builder.i64(partials.starts[number]));
  if (within)
    offset = builder.add(offset, within);
  if (type.is_scalar() && parts == 1)
    return builder.addptr(partials.memory, offset);
  std::vector<Value *> operands = {partials.memory, offset};
  Shape shape = type.shape;
  if (parts > 1) {
    shape.insert(shape.begin(), parts);
    operands.push_back(builder.mul(partials.blocks, builder.i64(partials.elements)));
  }
  for (int64_t stride : partials.strides[number])
    operands.push_back(builder.i64(stride));
  return builder.create(Opcode::view_, operands, {Type::view(partials.elem, shape)})->result();
}

Value *emit_as(Builder &builder, Value *value, Elem elem) {
  return value->type.elem == elem ? value : builder.bitcast(value, elem);
}

Value *emit_block_index(Builder &builder, const LoopPartials &partials, Value *const ids[3]) {
  auto wide = [&](Value *value) { return builder.cast(value, Elem::i64); };
  Value *index = wide(ids[2]);
  for (int axis : {1, 0}) {
    index = builder.mul(index, wide(partials.extents[axis]));
    index = builder.add(index, wide(ids[axis]));
  }
  return index;
}

} // namespace tritonc
