// The partials of a loop in a workspace. See loop_partials.h.
//
// Tested by tests/unit/passes/store_loop_partials/ and combine_loop_partials/.

#include "passes/loop_partials.h"

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

int64_t elements_of_partial(const AssociativeLoop &found) {
  int64_t elements = 0;
  for (const AssociativeLoop::Total &total : found.totals)
    elements += total.value->type.elements();
  return elements;
}

// As many as the tiles of all totals may have elements.
int64_t parts_of_iteration(const AssociativeLoop &found) {
  constexpr int64_t max_elements = 4096, max_count = 512;
  const int64_t count = max_elements / elements_of_partial(found);
  return int64_t(std::bit_floor(uint64_t(std::clamp(count, int64_t(1), max_count))));
}

LoopPartials emit_loop_partials(Builder &builder, const AssociativeLoop &found, int blocks_per_sm) {
  auto binary = [&](Opcode code, Value *a, Value *b) { return builder.binary(code, a, b); };
  auto from_host = [&](Value *value, const char *name) {
    Value *result = builder.create(Opcode::host_value_, {value}, {value->type})->result();
    result->name = name;
    return result;
  };
  LoopPartials partials;
  Value *iterations = found.loop->operand(0);
  Value *programs = builder.i64(1);
  for (int axis : {0, 1, 2})
    programs = builder.mul(programs, builder.cast(builder.num_programs(axis), Elem::i64));
  Value *sms = builder.create(Opcode::num_sms_, {}, {Type::scalar(Elem::i32)})->result();
  Value *at_once = builder.cast(builder.mul(sms, builder.i32(blocks_per_sm)), Elem::i64);
  Value *wanted = binary(Opcode::div_, at_once, binary(Opcode::max_, programs, builder.i64(1)));
  Value *wide = builder.cast(iterations, Elem::i64);
  Value *most = binary(Opcode::div_, wide, builder.i64(LoopPartials::min_iterations));
  Value *parts = binary(Opcode::min_, wanted, most);
  parts = binary(Opcode::max_, parts, builder.i64(1));
  Value *count = builder.cast(parts, Elem::i32), *one = builder.i32(1);
  auto div_up = [&](Value *a, Value *b) {
    return binary(Opcode::div_, builder.sub(builder.add(a, b), one), b);
  };
  Value *steps = binary(Opcode::max_, div_up(iterations, count), one);
  count = binary(Opcode::max_, div_up(iterations, steps), one); // so that no part is empty

  partials.elements = elements_of_partial(found);
  int64_t offset = 0;
  for (const AssociativeLoop::Total &total : found.totals) {
    partials.offsets.push_back(offset);
    offset += total.value->type.elements();
  }
  partials.elem = stored_elem(found);
  Value *bytes = builder.mul(builder.cast(count, Elem::i64), programs);
  bytes = builder.mul(bytes, builder.i64(partials.elements * bytes_of(partials.elem)));
  partials.memory =
      builder.create(Opcode::workspace_, {bytes}, {Type::pointer(partials.elem)})->result();
  partials.memory->name = "workspace";
  partials.count = from_host(count, "parts");
  partials.steps = from_host(steps, "part");
  partials.programs = from_host(programs, "programs");
  partials.count_on_host = count;
  return partials;
}

Value *emit_offset(Builder &builder, const LoopPartials &partials, Value *part, Value *program,
                   size_t number) {
  Value *partial = builder.add(builder.mul(part, partials.programs), program);
  Value *start = builder.mul(partial, builder.i64(partials.elements));
  return builder.add(start, builder.i64(partials.offsets[number]));
}

Value *emit_as(Builder &builder, Value *value, Elem elem) {
  return value->type.elem == elem ? value : builder.bitcast(value, elem);
}

Value *emit_program_index(Builder &builder, Value *const ids[3], Value *const programs[3]) {
  auto wide = [&](Value *value) { return builder.cast(value, Elem::i64); };
  Value *index = wide(ids[2]);
  for (int axis : {1, 0}) {
    index = builder.mul(index, wide(programs[axis]));
    index = builder.add(index, wide(ids[axis]));
  }
  return index;
}

} // namespace tritonc
