// swap_factors: compute the transpose of a product, from its factors' transposes.
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
// An instruction treats its factors differently: wgmma takes the one on the left from registers,
// however it lies in memory, and the one on the right only from shared memory. Which is which can
// be chosen, as (A B)^T = B^T A^T. Transposing costs nothing by itself: a factor is read the other
// way round, and the sum's elements lie where they lie and are stored from there.
//
// Needs:   a structure that is swapped, for which structures_for has found the product's loop.
// Ensures: the transpose of the product's sum is carried by its loop; it still is the product loop.
//
// Tested by tests/passes/swap_factors_test.cpp.

#include "passes/swap_factors.h"

#include "analysis/product_loop.h"
#include "ir/builder.h"

#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

const std::vector<int64_t> other_way_round = {1, 0};

// `start` the other way round; zeros stay such, that others recognise them.
Value *transposed_start(Builder &builder, Value *start, const Type &type) {
  return is_zero(start) ? builder.filled(type, 0) : builder.trans(start, other_way_round);
}

} // namespace

void swap_factors(Function &fn, const Structure &structure) {
  if (!structure.swapped)
    return;
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  assert(product && "structures_for has looked");
  Op *dot = product->dot, *loop = product->loop;
  Value *inside = dot->operands[2], *behind = loop->results[product->carried];
  Type type = behind->type.with_shape({behind->type.shape[1], behind->type.shape[0]});

  Builder before = Builder::before(fn, loop);
  before.set_location(loop->location);
  Value *&start = loop->operands[1 + product->carried];
  start = transposed_start(before, start, type);

  Builder builder = Builder::before(fn, dot);
  builder.set_location(dot->location);
  Value *left = builder.trans(dot->operand(1), other_way_round);
  Value *right = builder.trans(dot->operand(0), other_way_round);
  dot->operands = {left, right, inside};
  dot->result()->type = inside->type = type;

  Value *sum = fn.new_value(behind->type, behind->name); // what others use
  replace_uses(*fn.body, behind, sum);
  behind->type = type;
  Builder after = Builder::after(fn, loop);
  after.set_location(dot->location);
  Value *transposed = after.trans(behind, other_way_round);
  transposed->name = behind->name;
  replace_uses(*fn.body, sum, transposed);
}

} // namespace tritonc
