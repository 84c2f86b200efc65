// set_k_tile: gives the matmul the K tile of the schedule, shorter or longer than the source's.
//
//     for_loop %n, %sum {                            %w = (%n + 3) / 4
//       (%t, %acc)                                   for_loop %w, %sum {
//       %v = view %A, %t * 16, %lda, 1         =>      (%t, %acc)
//       %a = load %v : f16[128,16]                     %v = view %A, %t * 64, %lda, 1
//       %d = dot %a, %b, %acc                          %a = load %v, k < n * 16 : f16[128,64]
//       yield %d                                       %d = dot %a, %b, %acc
//     }                                                yield %d
//                                                    }
//
// The K tile of the source does not depend on the GPU. For TMA and the tensor cores the best K tile
// is a row of shared memory, 128 bytes. Without tensor cores an iteration is unrolled along K, and
// a long iteration does not fit in the instruction cache.
//
// Method:  Shorter: the new K tile divides the K tile of the source, so there are more iterations.
//          Longer: the last iteration may reach past the end of the source's loop. There a mask
//          makes both operands zero, so they add zero. One would not be enough: zero times infinity
//          is NaN.
// Needs:   form_views; candidate_schedules has checked that the loads advance along K.
// Ensures: the K extent of the dot is schedule.k_tile. In a warp-specialized kernel both operands
//          are masked at the end of the source's loop, so their tensor maps are empty if the loop
//          has no iterations.
// Limits:  without schedule.k_tile or without a matmul loop, nothing happens. A shorter K tile
//          requires has_free_steps (matmul_loop.h); otherwise the kernel keeps that of the source.
//
// Tested by tests/unit/passes/set_k_tile/ and set_k_tile_test.cpp.

#include "passes/set_k_tile.h"

#include "analysis/matmul_loop.h"
#include "ir/builder.h"
#include "passes/remove_dead_code.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// Common to Shorten and Lengthen.
struct State {
  Function &fn;
  MatmulLoop matmul;
  int64_t k_tile; // of the source, so far

  Value *counter() { return matmul.loop->blocks[0]->arguments[0]; }

  // A new load of `operand` with `extent` elements along its axis `k`. `offset` and `bounds` are
  // those of the new view; no bounds: no mask.
  Value *reload(Builder &builder, const LoadedOperand &operand, int k, int64_t extent,
                const Affine &form, const Poly &offset, const std::vector<Bound> &bounds) {
    const Op &load = *operand.load;
    builder.set_location(load.location);
    Shape shape = load.result()->type.shape;
    shape[size_t(k)] = extent;
    std::vector<Value *> operands = {const_cast<Value *>(form.base), emit(builder, offset)};
    for (const Poly &stride : form.strides)
      operands.push_back(emit(builder, stride));
    Elem elem = load.result()->type.elem;
    Value *view = builder.create(Opcode::view_, operands, {Type::view(elem, shape)})->result();
    Value *tile;
    if (bounds.empty()) {
      tile = builder.load(view);
    } else {
      Value *mask = emit_mask(builder, shape, bounds);
      tile = builder.load(view, mask, builder.filled(Type::tile(elem, shape), 0));
    }
    keep_cache_hint(*tile->op, load);
    tile->name = load.result()->name;
    bool is_transposed = operand.perm[0] > operand.perm[1];
    return is_transposed ? builder.trans(tile, operand.perm) : tile;
  }

  std::vector<Bound> bounds_of_load(const LoadedOperand &operand) {
    const Value *mask = operand.load->operand_or_null(1);
    return mask ? *bounds_of(mask, int(operand.perm.size())) : std::vector<Bound>();
  }

  // The K axis of the loaded tile: axis 1 of A, axis 0 of B, before a transpose.
  int k_axis(int number) { return int(matmul.operands[number].perm[number == 0 ? 1 : 0]); }
};

struct Shorten : State {
  int64_t shorter;

  // `poly` grows by k_tile * `stride` per iteration; the result grows by shorter * `stride`.
  Poly shortened(const Poly &poly, const Poly &stride) {
    return poly.substitute(counter(), Poly::constant(0)) +
           Poly::symbol(counter()) * stride * Poly::constant(shorter);
  }

  Value *operand(Builder &builder, int number) {
    const LoadedOperand &operand = matmul.operands[number];
    const int k = k_axis(number);
    Affine form = *affine_of(operand.load->operand(0));
    std::vector<Bound> bounds = bounds_of_load(operand);
    for (Bound &bound : bounds)
      if (bound.axis == k)
        bound.before = shortened(bound.before, Poly::constant(1));
    return reload(builder, operand, k, shorter, form,
                  shortened(form.offset, form.strides[size_t(k)]), bounds);
  }

  void run() {
    Op *loop = matmul.loop;
    Builder before = Builder::before(fn, loop);
    before.set_location(loop->location);
    loop->operands[0] = before.mul(loop->operand(0), before.i32(k_tile / shorter));
    Builder builder = Builder::before(fn, matmul.dot);
    Value *a = operand(builder, 0), *b = operand(builder, 1);
    matmul.dot->operands = {a, b, matmul.dot->operand(2)};
    remove_dead_code(fn); // the old loads would read past the end: there are more iterations now
  }
};

struct Lengthen : State {
  int64_t times; // iterations of the source per new iteration

  Poly lengthened(const Poly &poly) {
    return poly.substitute(counter(), Poly::symbol(counter()) * Poly::constant(times));
  }

  Value *operand(Builder &builder, int number, const Poly &k_end) {
    const LoadedOperand &operand = matmul.operands[number];
    const int k = k_axis(number);
    const int64_t extent = k_tile * times;
    Affine form = *affine_of(operand.load->operand(0));
    std::vector<Bound> bounds = bounds_of_load(operand);
    for (Bound &bound : bounds)
      bound.before = lengthened(bound.before);
    bounds.push_back({k, Poly::symbol(counter()) * Poly::constant(extent) - k_end});
    return reload(builder, operand, k, extent, form, lengthened(form.offset), bounds);
  }

  void run() {
    Op *loop = matmul.loop;
    Builder before = Builder::before(fn, loop);
    before.set_location(loop->location);
    Value *iterations = loop->operand(0);
    Poly k_end = Poly::symbol(iterations) * Poly::constant(k_tile);
    Value *divisor = before.i32(times);
    Value *rounding = before.i32(times - 1);
    loop->operands[0] = before.binary(Opcode::div_, before.add(iterations, rounding), divisor);

    Builder builder = Builder::before(fn, matmul.dot);
    Value *a = operand(builder, 0, k_end), *b = operand(builder, 1, k_end);
    matmul.dot->operands = {a, b, matmul.dot->operand(2)};
  }
};

State state_of(Function &fn, const MatmulLoop &matmul) {
  return {fn, matmul, matmul.dot->operand(0)->type.shape[1]};
}

} // namespace

void set_k_tile(Function &fn, const Schedule &schedule) {
  std::optional<MatmulLoop> matmul = find_matmul_loop(fn).found;
  if (!schedule.k_tile || !matmul)
    return;
  State before = state_of(fn, *matmul);
  if (schedule.k_tile < before.k_tile && has_free_steps(fn)) {
    Shorten{before, schedule.k_tile}.run();
    matmul = find_matmul_loop(fn).found;
  }
  State state = state_of(fn, *matmul);
  if (!schedule.is_warp_specialized() && schedule.k_tile <= state.k_tile)
    return; // nothing to mask
  Lengthen{state, std::max<int64_t>(schedule.k_tile / state.k_tile, 1)}.run();
}

} // namespace tritonc
