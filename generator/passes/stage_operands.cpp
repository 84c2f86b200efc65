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
//
//          wgmma also reads A from registers. So an A that the loop computes stays there: the
//          accumulator of one wgmma has the layout of A of another. Loads that an operand of wgmma
//          is computed from, element by element, go through shared memory before the computation:
//
//              %x = load %v : f16[128,64]           %x = load %v
//              %a = mul %x, %y                      shared_store %x, %s, %zero
//              %d = dot %a, %b, %c           =>     %x1 = shared_load %s, %zero {perm = [0,1]}
//                                                   %a = mul %x1, %y
//                                                   %d = dot %a, %b1, %c
//
//          Then pipeline_loops can copy them ahead, and A has its layout from the start.
// Needs:   select_mma.
// Ensures: the operands of every dot are results of shared_load, but for computed A of wgmma.
// Limits:  nothing happens to operands that are shared_loads already (specialize_warps).
//
// Tested by tests/unit/passes/stage_operands/.

#include "passes/stage_operands.h"

#include "analysis/layouts.h"
#include "analysis/memory_access.h"
#include "ir/builder.h"

#include <algorithm>
#include <numeric>
#include <set>

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

bool is_by_wgmma(const Op &dot) { return dot.get(attr::instruction_) == "wgmma"; }

struct State {
  Function &fn;
  // Of values that are stored right after their definition; wgmma reads other buffers than warps.
  std::map<std::pair<Value *, bool>, Value *> buffers = {};
  std::set<const Op *> staged = {}; // loads that an operand is computed from
  std::set<std::pair<const Op *, const Block *>> followed =
      {}; // computations of operands, in a block

  Value *buffer_for(Builder &builder, Value *value, const Op &dot, std::optional<int> wanted) {
    Shape shape = value->type.shape;
    int last = int(shape.size()) - 1, bytes = bytes_of(value->type.elem);
    int contiguous = wanted ? *wanted : contiguous_axis(value, fn).value_or(last);
    LinearLayout layout = is_by_wgmma(dot) ? panel_layout(shape, contiguous, bytes)
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
    if (auto found = buffers.find({value, is_by_wgmma(*dot)}); found != buffers.end())
      return found->second;
    bool at_definition = value->op && value->op->blocks.empty();
    Builder builder = at_definition ? Builder::after(fn, value->op) : Builder::before(fn, dot);
    builder.set_location(dot->location);
    Value *buffer = buffer_for(builder, value, *dot, contiguous);
    builder.create(Opcode::shared_store_, {value, buffer, builder.i32(0)});
    if (at_definition)
      buffers[{value, is_by_wgmma(*dot)}] = buffer;
    return buffer;
  }

  // Whether the block of `dot` computes `value` from tiles.
  static bool is_computed(const Value *value, const Op &dot) {
    return value->op && value->op->parent == dot.parent && value->op->blocks.empty() &&
           info(value->op->code).effect == Effect::pure;
  }

  // Sends the loads that `value` is computed from, element by element, through shared memory.
  void stage_loads_of(Value *value, const Op &dot) {
    Op *op = value->op;
    if (!is_computed(value, dot) || op->is(Opcode::dot_) ||
        !followed.insert({op, dot.parent}).second)
      return;
    for (Value *operand : op->operands) {
      if (operand->type.shape != value->type.shape || !operand->op)
        continue;
      Op *load = operand->op;
      bool is_staged = load->is(Opcode::load_) && load->parent == dot.parent &&
                       load->operand(0)->type.is_view() && staged.insert(load).second;
      if (is_staged)
        stage_load(load);
      stage_loads_of(operand, dot);
    }
  }

  void stage_load(Op *load) {
    Value *loaded = load->result(), *value = fn.new_value(loaded->type); // for the users
    replace_uses(*fn.body, loaded, value);
    Builder builder = Builder::after(fn, load);
    builder.set_location(load->location);
    Shape shape = loaded->type.shape;
    int contiguous = contiguous_axis(loaded, fn).value_or(loaded->type.rank() - 1);
    LinearLayout layout = swizzled_layout(shape, contiguous, bytes_of(loaded->type.elem));
    shape.insert(shape.begin(), 1);
    Type type = Type::shared(loaded->type.elem, shape).with_layout(std::move(layout));
    Value *buffer = builder.create(Opcode::shared_alloc_, {}, {type})->result();
    builder.create(Opcode::shared_store_, {loaded, buffer, builder.i32(0)});
    Source source = source_of(loaded);
    replace_uses(*fn.body, value, read(builder, buffer, loaded->type, source.perm));
  }

  static Value *read(Builder &builder, Value *buffer, const Type &type,
                     const std::vector<int64_t> &perm) {
    Op *load = builder.create(Opcode::shared_load_, {buffer, builder.i32(0)}, {type});
    load->set(attr::perm_, perm);
    load->set(attr::origin_, std::vector<int64_t>(type.rank(), 0));
    return load->result();
  }

  void stage(Op *dot, int operand) {
    Source source = source_of(dot->operand(operand));
    if (source.value->op && source.value->op->is(Opcode::shared_load_))
      return;
    if (is_by_wgmma(*dot))
      stage_loads_of(source.value, *dot);
    bool is_in_order = std::is_sorted(source.perm.begin(), source.perm.end());
    if (operand == 0 && is_by_wgmma(*dot) && is_in_order && is_computed(source.value, *dot))
      return;
    Value *buffer = stored(source.value, dot, vector_axis(*dot, operand, source));
    Builder builder = Builder::before(fn, dot);
    builder.set_location(dot->location);
    dot->operands[operand] = read(builder, buffer, dot->operand(operand)->type, source.perm);
  }
};

} // namespace

void stage_operands(Function &fn) {
  std::vector<Op *> dots;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::dot_))
      dots.push_back(&op);
  });
  State state{fn};
  for (Op *dot : dots)
    for (int operand : {0, 1})
      state.stage(dot, operand);
}

} // namespace tritonc
