// slice_dots: cut dots along K into slices that fit the registers.
//
//     %a = shared_load %s, %z : f16[128,64]        %a0 = shared_load %s, %z {origin = [0,0]} :
//     f16[128,16] %b = shared_load %r, %z : f16[64,128]        %b0 = shared_load %r, %z {origin =
//     [0,0]} : f16[16,128] %d = dot %a, %b, %c                     =>   %a1 = shared_load %s, %z
//     {origin = [0,16]}
//                                                  %b1 = ...
//                                                  %d0 = dot %a0, %b0, %c
//                                                  %a2 = ...
//                                                  %d1 = dot %a1, %b1, %d0
//                                                  ...
//
// A slice is one instruction deep on tensor cores and four columns otherwise. The fragments of the
// next slice are loaded before the arithmetic of the present one, so that it hides their latency.
//
// Needs:   stage_operands.
// Ensures: the K extent of every dot is at most that of a slice.
//
// Tested by tests/passes/slice_dots_test.cpp.

#include "passes/slice_dots.h"

#include "analysis/layouts.h"
#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

int64_t slice_extent(const Op &dot) {
  DotInstruction instruction = dot_instruction(dot);
  int64_t k = dot.operand(0)->type.shape[1];
  return std::min<int64_t>(k, instruction.tensor_core ? instruction.k : 4);
}

// The part of `whole`, a shared_load, that starts at `k` along `axis`.
Value *slice(Builder &builder, const Op &whole, int axis, int64_t k, int64_t extent) {
  Type type = whole.result()->type;
  type.shape[axis] = extent;
  Op *load = builder.create(Opcode::shared_load_, whole.operands, {type});
  load->attributes = whole.attributes;
  std::vector<int64_t> origin = whole.list("origin");
  origin[axis] += k;
  load->set("origin", std::move(origin));
  return load->result();
}

void slice_dot(Function &fn, Op *dot) {
  int64_t extent = slice_extent(*dot), whole = dot->operand(0)->type.shape[1];
  if (extent == whole)
    return;
  const Op &a = *dot->operand(0)->op, &b = *dot->operand(1)->op;
  Builder builder = Builder::before(fn, dot);
  builder.set_location(dot->location);
  std::vector<std::pair<Value *, Value *>> factors;
  auto fetch = [&](int64_t k) {
    if (k >= whole)
      return;
    Value *left = slice(builder, a, 1, k, extent);
    factors.emplace_back(left, slice(builder, b, 0, k, extent));
  };
  fetch(0);
  Value *sum = dot->operand(2);
  for (int64_t k = 0; k < whole; k += extent) {
    fetch(k + extent);
    auto [left, right] = factors[k / extent];
    Op *part = builder.create(Opcode::dot_, {left, right, sum}, {dot->result()->type});
    part->attributes = dot->attributes;
    sum = part->result();
  }
  sum->name = dot->result()->name;
  replace_uses(*fn.body, dot->result(), sum);
  erase(dot);
}

} // namespace

void slice_dots(Function &fn) {
  std::vector<Op *> dots;
  for_each_op(*fn.body, [&](Op &op) {
    if (op.is(Opcode::dot_))
      dots.push_back(&op);
  });
  for (Op *dot : dots)
    slice_dot(fn, dot);
}

} // namespace tritonc
