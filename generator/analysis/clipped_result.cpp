// Finds where the result of a matmul is used. See clipped_result.h.
//
//     %a = load %pa, row < M : f16[64,64]
//     %sum = dot %a, %b, %acc
//     ...
//     store %pc, %sum, row < M and column < N       a row of A from M on may be anything
//
// Tested by tests/unit/analysis/clipped_result_test.cpp.

#include "analysis/clipped_result.h"

#include <algorithm>
#include <set>

namespace tritonc {

using namespace ir;

namespace {

// The bounds of a mask along an axis. Nothing: the mask is not a conjunction of bounds.
std::optional<std::vector<Poly>> bounds_along(const Value *mask, int rank, int axis) {
  std::vector<Poly> found;
  if (!mask)
    return found;
  std::optional<std::vector<Bound>> bounds = bounds_of(mask, rank);
  if (!bounds)
    return std::nullopt;
  for (const Bound &bound : *bounds)
    if (bound.axis == axis)
      found.push_back(bound.before);
  return found;
}

} // namespace

bool is_clipped_to_operand(Function &fn, const MatmulLoop &matmul, int number) {
  const LoadedOperand &operand = matmul.operands[number];
  const Value *sum = matmul.loop->results[matmul.carried];
  const Shape &shape = sum->type.shape;
  const auto of_load = bounds_along(operand.load->operand_or_null(1), int(shape.size()),
                                    int(operand.perm[size_t(number)]));
  if (!of_load)
    return false;
  auto is_off = [&](const Op &store, const Value *stored) {
    const std::optional<int> columns = axis_of_columns(stored, shape, sum);
    if (store.operand(1) != stored || !columns)
      return false;
    const auto of_store = bounds_along(store.operand_or_null(2), int(shape.size()),
                                       number == 1 ? *columns : 1 - *columns);
    return of_store && std::all_of(of_load->begin(), of_load->end(), [&](const Poly &bound) {
             return std::find(of_store->begin(), of_store->end(), bound) != of_store->end();
           });
  };
  const Users users(*fn.body);
  std::vector<const Value *> next = {sum};
  std::set<const Value *> seen;
  while (!next.empty()) {
    const Value *value = next.back();
    next.pop_back();
    if (!seen.insert(value).second)
      continue;
    for (const Op *user : users.of(value)) {
      if (user->is(Opcode::store_) || user->is(Opcode::atomic_)) {
        if (!is_off(*user, value))
          return false;
      } else if (is_elementwise(*user) || user->is(Opcode::trans_)) {
        next.insert(next.end(), user->results.begin(), user->results.end());
      } else {
        return false;
      }
    }
  }
  return true;
}

} // namespace tritonc
