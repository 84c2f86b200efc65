// form_views: replaces the pointer tiles of loads and stores by views, where they are affine.
//
//     %p = addptr ... : ptr<f16>[128,64]           %v = view %A, %offset, %lda, %one
//     %a = load %p                           =>    %a = load %v
//
// A view is one scalar pointer, an offset, and one stride per axis. It takes no registers per
// element. Later passes read from it which axis is contiguous, and how wide an access may be.
//
// Method:  affine_of finds base, offset, and strides of a pointer tile. The pass emits them as
//          scalars before the access.
// Needs:   expand_inductions: pointers that move through a loop are formulas of the counter.
// Ensures: no load or store of an affine pointer tile is left; the remaining pointer tiles are
//          gathers and scatters.
// Limits:  loads and stores only: atomic operations keep their pointers.
//
// Tested by tests/unit/passes/form_views/.

#include "passes/form_views.h"

#include "analysis/affine.h"

namespace tritonc {

using namespace ir;

void form_views(Function &fn) {
  std::vector<Op *> accesses;
  for_each_op(*fn.body, [&](Op &op) {
    bool access = op.is(Opcode::load_) || op.is(Opcode::store_);
    if (access && op.operand(0)->type.is_tile() && op.operand(0)->type.is_pointer())
      accesses.push_back(&op);
  });
  for (Op *access : accesses) {
    std::optional<Affine> affine = affine_of(access->operand(0));
    if (!affine || !affine->base)
      continue;
    const Type &pointers = access->operand(0)->type;
    Builder builder = Builder::before(fn, access);
    builder.set_location(access->location);
    std::vector<Value *> operands = {const_cast<Value *>(affine->base),
                                     emit(builder, affine->offset)};
    for (int d = 0; d < pointers.rank(); d++)
      operands.push_back(pointers.shape[d] == 1 ? builder.i64(0)
                                                : emit(builder, affine->strides[d]));
    Type type = Type::view(pointers.elem, pointers.shape);
    access->operands[0] = builder.create(Opcode::view_, operands, {type})->result();
  }
}

} // namespace tritonc
