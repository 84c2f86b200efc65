// split_dots_along_k: cuts dots along K into slices that fit in registers.
//
//     %a = shared_load %s, %z : f16[128,64]        %a0 = shared_load %s, %z {origin = [0,0]}
//     %b = shared_load %r, %z : f16[64,128]        %b0 = shared_load %r, %z {origin = [0,0]}
//     %d = dot %a, %b, %c                     =>   %a1 = shared_load %s, %z {origin = [0,16]}
//                                                  %b1 = shared_load %r, %z {origin = [16,0]}
//                                                  %d0 = dot %a0, %b0, %c
//                                                  %a2 = ...
//                                                  %b2 = ...
//                                                  %d1 = dot %a1, %b1, %d0
//                                                  ...
//
// (slices of A are f16[128,16], slices of B f16[16,128]). The fragments of the next slice are
// loaded before the dot of the current slice, which hides their latency.
//
// Method:  On tensor cores a slice is one instruction deep. With fma a slice is one column of K if
//          vectors of both operands go across K; otherwise four columns, a vector along K.
//
//          Beside a producer warp, threads have 168 registers: of nine warps, three share the
//          registers of a quarter of an SM. Two slices do not fit, so each slice is loaded just
//          before its dot, and other warps hide its latency. If A is transposed by its load, the
//          slice of B is loaded first: in this order ptxas (13.0.88) finds registers for all.
// Needs:   stage_operands.
// Ensures: the K extent of every dot is at most that of a slice.
// Limits:  nothing happens to a dot of one slice. A dot whose operands need more than the GPU's
//          shared memory stays whole: such a kernel cannot run, and it could have a hundred
//          thousand slices.
//
// Tested by tests/unit/passes/split_dots_along_k/.

#include "passes/split_dots_along_k.h"

#include "analysis/layouts.h"
#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

int64_t slice_extent(const Op &dot) {
  DotInstruction instruction = dot_instruction(dot);
  int64_t k = dot.operand(0)->type.shape[1];
  if (instruction.tensor_core)
    return std::min<int64_t>(k, instruction.k);
  std::vector<int64_t> vector = dot.get(attr::thread_tile_);
  bool across = vector[0] > 1 && vector[1] > 1;
  return std::min<int64_t>(k, across ? 1 : 4);
}

// The part of `whole`, a shared_load, that starts at `k` along `axis`.
Value *slice(Builder &builder, const Op &whole, int axis, int64_t k, int64_t extent) {
  Type type = whole.result()->type;
  type.shape[axis] = extent;
  Op *load = builder.create(Opcode::shared_load_, whole.operands, {type});
  load->attributes = whole.attributes;
  std::vector<int64_t> origin = whole.get(attr::origin_);
  origin[axis] += k;
  load->set(attr::origin_, std::move(origin));
  return load->result();
}

// Whether A, which `load` loads, is contiguous along K in its buffer.
bool lies_along_k(const Op &load) {
  return has_neighbors(load.operand(0)->type, int(load.get(attr::perm_)[1]));
}

// The bytes of both operands: one stage of each circular buffer.
int64_t bytes_of_operands(const Op &a, const Op &b) {
  std::set<const Value *> buffers = {a.operand(0), b.operand(0)};
  int64_t bytes = 0;
  for (const Value *buffer : buffers)
    bytes += buffer->type.elements() / buffer->type.shape[0] * bytes_of(buffer->type.elem);
  return bytes;
}

void slice_dot(Function &fn, Op *dot, const Gpu &gpu, bool ahead) {
  int64_t extent = slice_extent(*dot), whole = dot->operand(0)->type.shape[1];
  if (extent == whole)
    return;
  const Op &a = *dot->operand(0)->op, &b = *dot->operand(1)->op;
  if (bytes_of_operands(a, b) > gpu.max_shared_bytes)
    return;
  Builder builder = Builder::before(fn, dot);
  builder.set_location(dot->location);
  const bool left_first = ahead || lies_along_k(a);
  std::vector<std::pair<Value *, Value *>> operands;
  auto fetch = [&](int64_t k) {
    if (k >= whole)
      return;
    Value *left = left_first ? slice(builder, a, 1, k, extent) : nullptr;
    Value *right = slice(builder, b, 0, k, extent);
    operands.emplace_back(left ? left : slice(builder, a, 1, k, extent), right);
  };
  if (ahead)
    fetch(0);
  Value *accumulator = dot->operand(2);
  for (int64_t k = 0; k < whole; k += extent) {
    fetch(ahead ? k + extent : k);
    auto [left, right] = operands[k / extent];
    Op *part = builder.create(Opcode::dot_, {left, right, accumulator}, {dot->result()->type});
    part->attributes = dot->attributes;
    accumulator = part->result();
  }
  accumulator->name = dot->result()->name;
  replace_uses(*fn.body, dot->result(), accumulator);
  erase(dot);
}

} // namespace

void split_dots_along_k(Function &fn, const Gpu &gpu, const Schedule &schedule) {
  std::vector<Op *> dots;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::dot_))
      dots.push_back(&op);
  });
  for (Op *dot : dots)
    slice_dot(fn, dot, gpu, !schedule.is_warp_specialized());
}

} // namespace tritonc
