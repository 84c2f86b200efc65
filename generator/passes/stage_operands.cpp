// stage_operands: take the operands of dots through shared memory.
//
//     %a = load %v : f16[128,64]              %a = load %v
//     ...                                     %s = shared_alloc : shared<f16>[1,128,64]
//     %d = dot %a, %b, %c               =>    shared_store %a, %s, %zero
//                                             ...
//                                             %a1 = shared_load %s, %zero {perm = [0,1]}
//                                             %d = dot %a1, %b1, %c
//
// Every element of an operand is needed by many threads, so it is fetched from global memory once
// and from shared memory many times. A transposition on the way to the dot costs nothing here: the
// buffer keeps the order of memory, {perm} reads it the other way round. But where threads multiply
// vectors of neighbours ({vector} of the dot), those are side by side in the buffer, whatever the
// order of memory. The buffer's layout is swizzled so that reading it makes no bank conflicts; for
// wgmma it is one that the tensor cores can read. What comes from a ring already, see
// specialize_warps, stays.
//
// Needs:   choose_dots.
// Ensures: the factors of every dot are results of shared_load.
//
// Tested by tests/passes/stage_operands_test.cpp.

#include "passes/stage_operands.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "ir/builder.h"

#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

// A dot's factor as another value seen through transpositions.
struct Source {
  Value *value;
  std::vector<int64_t> perm;
};

Source source_of(Value *factor) {
  Source source{factor, std::vector<int64_t>(factor->type.rank())};
  std::iota(source.perm.begin(), source.perm.end(), 0);
  while (source.value->op && source.value->op->is(Opcode::trans_)) {
    std::vector<int64_t> inner = source.value->op->list("perm");
    for (int64_t &axis : source.perm)
      axis = inner[axis];
    source.value = source.value->op->operand(0);
  }
  return source;
}

struct State {
  Function &fn;
  std::map<Value *, Value *> buffers; // of values stored where they are defined

  Value *buffer_for(Builder &builder, Value *value, const Op &dot, std::optional<int> wanted) {
    Shape shape = value->type.shape;
    int last = int(shape.size()) - 1, bytes = bytes_of(value->type.elem);
    int contiguous = wanted ? *wanted : contiguous_axis(value).value_or(last);
    LinearLayout layout = dot.text("instruction") == "wgmma"
                              ? panel_layout(shape, contiguous, bytes)
                              : swizzled_layout(shape, contiguous, bytes);
    shape.insert(shape.begin(), 1);
    Type type = Type::shared(value->type.elem, shape).with_layout(std::move(layout));
    return builder.create(Opcode::shared_alloc_, {}, {type})->result();
  }

  // The axis of what is stored along which the dot multiplies vectors.
  static std::optional<int> vector_axis(const Op &dot, int operand, const Source &source) {
    std::vector<int64_t> vector = dot.list("vector");
    if (vector.empty() || vector[size_t(operand)] == 1)
      return std::nullopt;
    return int(source.perm[size_t(operand)]);
  }

  // A value that an operation defines is stored right there, once for all its uses; what a loop
  // carries, just before the dot.
  Value *stored(Value *value, Op *dot, std::optional<int> contiguous) {
    if (auto found = buffers.find(value); found != buffers.end())
      return found->second;
    bool at_definition = value->op && value->op->blocks.empty();
    Builder builder = at_definition ? Builder::after(fn, value->op) : Builder::before(fn, dot);
    builder.set_location(dot->location);
    Value *buffer = buffer_for(builder, value, *dot, contiguous);
    builder.create(Opcode::shared_store_, {value, buffer, builder.i32(0)});
    if (at_definition)
      buffers[value] = buffer;
    return buffer;
  }

  void stage(Op *dot, int operand) {
    Source source = source_of(dot->operand(operand));
    if (source.value->op && source.value->op->is(Opcode::shared_load_))
      return;
    Value *buffer = stored(source.value, dot, vector_axis(*dot, operand, source));
    Builder builder = Builder::before(fn, dot);
    builder.set_location(dot->location);
    Type type = dot->operand(operand)->type;
    Op *load = builder.create(Opcode::shared_load_, {buffer, builder.i32(0)}, {type});
    load->set("perm", source.perm);
    load->set("origin", std::vector<int64_t>(type.rank(), 0));
    dot->operands[operand] = load->result();
  }
};

} // namespace

void stage_operands(Function &fn) {
  std::vector<Op *> dots;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::dot_))
      dots.push_back(&op);
  });
  State state{fn, {}};
  for (Op *dot : dots)
    for (int operand : {0, 1})
      state.stage(dot, operand);
}

} // namespace tritonc
