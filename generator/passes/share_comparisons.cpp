// share_comparisons: compares and divides once for adjacent elements whose results are equal.
//
//     %m = cmp %i, %n {pred = "lt"}     =>     %m = cmp %i, %n {axis = 0, pred = "lt", vector = 8}
//
// (%i counts from 0, %n is a multiple of 8.) A thread that loads 8 elements at once needs one
// comparison for its mask, not 8. Likewise, a quotient or a shift to the right is computed once for
// the elements with equal results, and so is all that follows from it: LLVM keeps one of equal
// operations on the same values.
//
// Method:  Axis info has the runs of equal results. Operands that are equal along an axis need no
//          mark: the code has the same comparison for each element, and LLVM keeps one of them.
// Needs:   nothing.
// Ensures: nothing that other passes need.
// Limits:  one axis, that with the longest runs.
//
// Tested by tests/unit/passes/share_comparisons/.

#include "passes/share_comparisons.h"

#include "analysis/axis_info.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// The length of the runs of equal results along `axis`; 1: none, or operands with the same runs.
int64_t run_along(AxisInfos &infos, const Op &op, int axis) {
  const int64_t extent = op.result()->type.shape[size_t(axis)];
  const int64_t run = std::min(infos.of(op.result(), axis).constancy, extent);
  const int64_t of_operands =
      std::min(infos.of(op.operand(0), axis).constancy, infos.of(op.operand(1), axis).constancy);
  return run > of_operands ? run : 1;
}

// Whether adjacent results of `op` may be equal although its operands are not.
bool may_merge(const Op &op) {
  switch (op.code) {
  case Opcode::cmp_:
  case Opcode::div_:
  case Opcode::udiv_:
  case Opcode::shr_:
  case Opcode::ushr_:
    return op.result()->type.is_tile();
  default:
    return false;
  }
}

} // namespace

void share_comparisons(Function &fn) {
  AxisInfos infos(fn);
  for_each_op(*fn.body, [&](Op &op) {
    if (!may_merge(op))
      return;
    int64_t longest = 1;
    for (int axis = 0; axis < op.result()->type.rank(); axis++) {
      const int64_t run = run_along(infos, op, axis);
      if (run <= longest)
        continue;
      longest = run;
      op.set(attr::axis_, int64_t(axis));
      op.set(attr::vector_, run);
    }
  });
}

} // namespace tritonc
