// narrow_steps: let a step of a product take less of K than the source's.
//
//     for_loop %n, %sum {                          for_loop %n * 4, %sum {
//       (%t, %acc)                                   (%u, %acc)
//       %v = view %A, %t * 64, %lda, 1               %v = view %A, %u * 16, %lda, 1
//       %a = load %v : f32[128,64]             =>    %a = load %v : f32[128,16]
//       %d = dot %a, %b, %acc                        %d = dot %a, %b, %acc
//       yield %d                                     yield %d
//     }                                            }
//
// A step is repeated in the text for each of its columns. Of an fma that is a hundred instructions
// and more, and a long step's no longer fit the instruction cache.
//
// Needs:   form_views.
// Ensures: the product's step is what the structure says, if that is less than the source's.
// Limits:  what product_loop.h calls free steps; otherwise nothing happens.
//
// Tested by tests/passes/narrow_steps_test.cpp.

#include "passes/narrow_steps.h"

#include "analysis/product_loop.h"
#include "ir/builder.h"
#include "passes/remove_dead_code.h"

namespace tritonc {

using namespace ir;

namespace {

struct State {
  Function &fn;
  ProductLoop product;
  int64_t own, step; // columns of a step, in the source and now

  Value *counter() { return product.loop->blocks[0]->arguments[0]; }

  // What grows by `own` times `stride` in each trip now does by `step` times.
  Poly narrowed(const Poly &poly, const Poly &stride) {
    return poly.substitute(counter(), Poly::constant(0)) +
           Poly::symbol(counter()) * stride * Poly::constant(step);
  }

  // The factor again, `step` long along its K axis (axis 1 of the first, 0 of the second).
  Value *narrow(Builder &builder, const LoadedFactor &factor, int k_of_factor) {
    Op *load = factor.load;
    int k = int(factor.perm[size_t(k_of_factor)]);
    builder.set_location(load->location);
    Affine form = *affine_of(load->operand(0));
    Shape shape = load->result()->type.shape;
    shape[size_t(k)] = step;
    std::vector<Value *> operands = {const_cast<Value *>(form.base),
                                     emit(builder, narrowed(form.offset, form.strides[size_t(k)]))};
    for (const Poly &stride : form.strides)
      operands.push_back(emit(builder, stride));
    Elem elem = load->result()->type.elem;
    Value *view = builder.create(Opcode::view_, operands, {Type::view(elem, shape)})->result();
    Value *tile;
    if (const Value *mask = load->operand_or_null(1)) {
      std::vector<Bound> bounds = *bounds_of(mask, int(shape.size()));
      for (Bound &bound : bounds)
        if (bound.axis == k)
          bound.before = narrowed(bound.before, Poly::constant(1));
      Value *on = emit_mask(builder, shape, bounds);
      tile = builder.load(view, on, builder.filled(Type::tile(elem, shape), 0));
    } else {
      tile = builder.load(view);
    }
    keep_hint(*tile->op, *load);
    tile->name = load->result()->name;
    bool is_straight = factor.perm[0] < factor.perm[1];
    return is_straight ? tile : builder.trans(tile, factor.perm);
  }

  void run() {
    Op *loop = product.loop;
    Builder before = Builder::before(fn, loop);
    before.set_location(loop->location);
    loop->operands[0] = before.mul(loop->operand(0), before.i32(own / step));
    Builder builder = Builder::before(fn, product.dot);
    Value *a = narrow(builder, product.factors[0], 1);
    Value *b = narrow(builder, product.factors[1], 0);
    product.dot->operands[0] = a;
    product.dot->operands[1] = b;
    remove_dead_code(fn); // there are more trips than the old loads have elements for
  }
};

} // namespace

void narrow_steps(Function &fn, const Structure &structure) {
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  if (!structure.step || !product || !has_free_steps(fn))
    return;
  int64_t own = product->dot->operand(0)->type.shape[1];
  if (structure.step < own)
    State{fn, *product, own, structure.step}.run();
}

} // namespace tritonc
