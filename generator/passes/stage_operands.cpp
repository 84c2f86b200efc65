// stage_operands: sends the operands of dots through shared memory.
//
//     %a = load %v : f16[128,64]              %a = load %v
//     ...                                     %s = shared_alloc : shared<f16>[1,128,64]
//     %d = dot %a, %b, %c               =>    shared_store %a, %s, %zero
//                                             ...
//                                             %a1 = shared_load %s, %zero {perm = [0,1]}
//                                             %d = dot %a1, %b1, %c
//
// Many threads need each element of an operand. So it is read from global memory once, and from
// shared memory many times.
//
// Method:  The buffer has the order of global memory, and {perm} of the shared_load does the
//          transposes between load and dot, at no cost. With fma, threads multiply vectors
//          ({thread_tile} of the dot). Then the buffer is contiguous along these vectors, whatever
//          the order of global memory.
//
//          The buffer is swizzled so that reading it has no bank conflicts. For wgmma it has a
//          layout that the tensor cores can read.
// Needs:   select_mma.
// Ensures: the operands of every dot are results of shared_load.
// Limits:  nothing happens to operands that are shared_loads already (specialize_warps).
//
// Tested by tests/unit/passes/stage_operands/.

#include "passes/stage_operands.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "ir/builder.h"

#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

// An operand of a dot: `value`, transposed by `perm`.
struct Source {
  Value *value;
  std::vector<int64_t> perm;
};

Source source_of(Value *operand) {
  Source source{operand, std::vector<int64_t>(operand->type.rank())};
  std::iota(source.perm.begin(), source.perm.end(), 0);
  while (source.value->op && source.value->op->is(Opcode::trans_)) {
    std::vector<int64_t> inner = source.value->op->get(attr::perm_);
    for (int64_t &axis : source.perm)
      axis = inner[axis];
    source.value = source.value->op->operand(0);
  }
  return source;
}

struct State {
  Function &fn;
  std::map<Value *, Value *> buffers; // of values that are stored right after their definition

  Value *buffer_for(Builder &builder, Value *value, const Op &dot, std::optional<int> wanted) {
    Shape shape = value->type.shape;
    int last = int(shape.size()) - 1, bytes = bytes_of(value->type.elem);
    int contiguous = wanted ? *wanted : contiguous_axis(value, fn).value_or(last);
    LinearLayout layout = dot.get(attr::instruction_) == "wgmma"
                              ? panel_layout(shape, contiguous, bytes)
                              : swizzled_layout(shape, contiguous, bytes);
    shape.insert(shape.begin(), 1);
    Type type = Type::shared(value->type.elem, shape).with_layout(std::move(layout));
    return builder.create(Opcode::shared_alloc_, {}, {type})->result();
  }

  // The axis of the buffer along which the dot multiplies vectors; nothing: no vectors.
  static std::optional<int> vector_axis(const Op &dot, int operand, const Source &source) {
    std::vector<int64_t> vector = dot.get(attr::thread_tile_);
    if (vector.empty() || vector[size_t(operand)] == 1)
      return std::nullopt;
    return int(source.perm[size_t(operand)]);
  }

  // The result of an operation is stored right after it, once for all uses. A carried value of a
  // loop is stored just before the dot.
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
    load->set(attr::perm_, source.perm);
    load->set(attr::origin_, std::vector<int64_t>(type.rank(), 0));
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
