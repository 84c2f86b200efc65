// swap_operands: computes the transpose of a matmul, from the transposes of its operands.
//
//     %sum = for_loop %n, %zero {           %sum.t = for_loop %n, %zero.t {
//       (%t, %acc)                            (%t, %acc)
//       %a = load %v : f32[128,32]            %a = load %v : f32[128,32]
//       %b = load %w : f32[32,256]            %b = load %w : f32[32,256]
//       %d = dot %a, %b, %acc                 %b.t = trans %b : f32[256,32]
//       yield %d                    =>        %a.t = trans %a : f32[32,128]
//     }                                       %d = dot %b.t, %a.t, %acc
//     store %x, %sum                          yield %d
//                                           }
//                                           %sum = trans %sum.t
//                                           store %x, %sum
//
// wgmma can read A from registers, in any layout in memory, but B only from shared memory. And it has
// 64 rows, but 8 to 256 columns. The compiler can choose which operand is A, since
// (A B)^T = B^T A^T.
//
// Method:  Transposes are free: the shared_load of an operand permutes its axes, and the store of
//          the accumulator takes its elements from the threads that hold them.
// Needs:   a matmul loop: candidate_schedules has found it for schedule.swap_operands.
// Ensures: the loop carries the transpose of the accumulator, and is still a matmul loop.
// Limits:  nothing happens without schedule.swap_operands.
//
// Tested by tests/unit/passes/swap_operands/ and swap_operands_test.cpp.

#include "passes/swap_operands.h"

#include "analysis/matmul_loop.h"
#include "ir/builder.h"

#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

const std::vector<int64_t> swapped_axes = {1, 0};

// The transpose of `start`. A constant zero stays one, for later passes to recognize.
Value *transposed_start(Builder &builder, Value *start, const Type &type) {
  return is_zero(start) ? builder.filled(type, 0) : builder.trans(start, swapped_axes);
}

} // namespace

void swap_operands(Function &fn, const Schedule &schedule) {
  if (!schedule.swap_operands)
    return;
  std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found;
  assert(matmul && "candidate_schedules has looked");
  Op *dot = matmul->dot, *loop = matmul->loop;
  Value *inside = dot->operands[2], *result = loop->results[matmul->carried];
  Type type = result->type.with_shape({result->type.shape[1], result->type.shape[0]});

  Builder before = Builder::before(fn, loop);
  before.set_location(loop->location);
  Value *&start = loop->operands[1 + matmul->carried];
  start = transposed_start(before, start, type);

  Builder builder = Builder::before(fn, dot);
  builder.set_location(dot->location);
  Value *left = builder.trans(dot->operand(1), swapped_axes);
  Value *right = builder.trans(dot->operand(0), swapped_axes);
  dot->operands = {left, right, inside};
  dot->result()->type = inside->type = type;

  Value *accumulator = fn.new_value(result->type, result->name); // placeholder in all uses
  replace_uses(*fn.body, result, accumulator);
  result->type = type;
  Builder after = Builder::after(fn, loop);
  after.set_location(dot->location);
  Value *transposed = after.trans(result, swapped_axes);
  transposed->name = result->name;
  replace_uses(*fn.body, accumulator, transposed);
}

} // namespace tritonc
