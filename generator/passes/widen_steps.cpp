// widen_steps: take more of K in one step of a product.
//
//     for_loop %n, %sum {                          %w = (%n + 3) / 4
//       (%t, %acc)                                 for_loop %w, %sum {
//       %v = view %A, pm*128*lda + t*16, lda, 1      (%t, %acc)
//       %a = load %v : f16[128,16]            =>     %v = view %A, pm*128*lda + t*64, lda, 1
//       ...                                          %a = load %v, k index < n*16 - t*64 :
//       f16[128,64] %d = dot %a, %b, %acc                        ...
//
// How much of K the source takes at a time says nothing about the GPU: a step should be as long as
// a row of shared memory that the copy engine and the tensor cores like best, 128 bytes. The last
// step may reach further than the source's loop; there the mask lets both factors be zero, which
// adds nothing, not even where an infinity is near.
//
// Needs:   form_views; structures_for has looked whether the loads move on along K, step by step.
// Ensures: the K extent of the product is structure.step, or what it was if that is more; in a
//          specialised structure both factors are masked where the source's loop ends, so that a
//          tensor map of them is none if it makes no trips.
//
// Tested by tests/passes/widen_steps_test.cpp.

#include "passes/widen_steps.h"

#include "analysis/product_loop.h"
#include "ir/builder.h"

#include <algorithm>
#include <cassert>

namespace tritonc {

using namespace ir;

namespace {

struct State {
  Function &fn;
  ProductLoop product;
  int64_t times; // steps of the source in one

  Value *counter() { return product.loop->blocks[0]->arguments[0]; }
  Poly widened(const Poly &poly) {
    return poly.substitute(counter(), Poly::symbol(counter()) * Poly::constant(times));
  }

  // The factor again, `times` as long along its K axis (axis 1 of the first, 0 of the second).
  Value *widen(Builder &builder, const LoadedFactor &factor, int k_of_factor, const Poly &k_end) {
    Op *load = factor.load;
    int k = int(factor.perm[size_t(k_of_factor)]);
    builder.set_location(load->location);
    Affine form = *affine_of(load->operand(0));
    Shape shape = load->result()->type.shape;
    shape[size_t(k)] *= times;
    std::vector<Value *> operands = {const_cast<Value *>(form.base),
                                     emit(builder, widened(form.offset))};
    for (const Poly &stride : form.strides)
      operands.push_back(emit(builder, stride));
    Elem elem = load->result()->type.elem;
    Value *view = builder.create(Opcode::view_, operands, {Type::view(elem, shape)})->result();

    std::vector<Bound> bounds;
    if (const Value *mask = load->operand_or_null(1))
      bounds = *bounds_of(mask, int(shape.size()));
    for (Bound &bound : bounds)
      bound.before = widened(bound.before);
    bounds.push_back({k, Poly::symbol(counter()) * Poly::constant(shape[size_t(k)]) - k_end});
    Value *mask = emit_mask(builder, shape, bounds);
    Value *zero = builder.filled(Type::tile(elem, shape), 0);
    Value *tile = builder.load(view, mask, zero);
    keep_hint(*tile->op, *load);
    tile->name = load->result()->name;
    std::vector<int64_t> identity(factor.perm.size());
    for (size_t d = 0; d < identity.size(); d++)
      identity[d] = int64_t(d);
    return factor.perm == identity ? tile : builder.trans(tile, factor.perm);
  }

  void run() {
    Op *loop = product.loop;
    Builder before = Builder::before(fn, loop);
    before.set_location(loop->location);
    Value *trips = loop->operand(0);
    int64_t step = product.dot->operand(0)->type.shape[1];
    Poly k_end = Poly::symbol(trips) * Poly::constant(step);
    Value *fewer =
        before.binary(Opcode::div_, before.add(trips, before.i32(times - 1)), before.i32(times));
    loop->operands[0] = fewer;

    Builder builder = Builder::before(fn, product.dot);
    Value *a = widen(builder, product.factors[0], 1, k_end);
    Value *b = widen(builder, product.factors[1], 0, k_end);
    product.dot->operands[0] = a;
    product.dot->operands[1] = b;
  }
};

} // namespace

void widen_steps(Function &fn, const Structure &structure) {
  if (!structure.step)
    return;
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  assert(product && "structures_for has looked");
  int64_t step = product->dot->operand(0)->type.shape[1];
  if (!structure.specialized && structure.step <= step) // there is nothing to mask
    return;
  State{fn, *product, std::max<int64_t>(structure.step / step, 1)}.run();
}

} // namespace tritonc
