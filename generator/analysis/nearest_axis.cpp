// Estimates which axis of a tile of pointers is nearest in memory. See nearest_axis.h.
//
// Method: The distance of adjacent elements is `number` times `factors` unknown numbers. A value
//         with an affine form has the distance of its largest term. Any other value has the distance
//         that follows from its operands. A quotient changes seldom if its divisor is larger than
//         the distance: then its distance is 0. A remainder has the distance of its dividend.
//
// Tested by tests/unit/analysis/nearest_axis_test.cpp.

#include "analysis/nearest_axis.h"

#include "analysis/affine.h"

#include <algorithm>
#include <limits>

namespace tritonc {

using namespace ir;

namespace {

// Of adjacent elements; of a factor, its size.
struct Distance {
  int64_t factors = 0, number = 0;

  auto operator<=>(const Distance &) const = default;
  bool is_zero() const { return number == 0; }
};

constexpr Distance unknown = {std::numeric_limits<int32_t>::max(), 1};
constexpr int max_depth = 500; // of nested operations; deeper ones are unknown

Distance product(const Distance &a, const Distance &b) {
  constexpr int64_t limit = std::numeric_limits<int32_t>::max();
  if (a.is_zero() || b.is_zero())
    return {};
  return {std::min(a.factors + b.factors, limit), std::min(a.number * b.number, limit)};
}

Distance size_of(const Poly &poly) {
  Distance largest;
  for (const auto &[monomial, coefficient] : poly.terms)
    largest = std::max(
        largest, product({int64_t(monomial.size()), 1}, {0, std::max(coefficient, -coefficient)}));
  return largest;
}

class Distances {
public:
  Distance of(const Value *value, int axis) {
    if (value->type.is_scalar())
      return {};
    if (auto found = known_.find({value, axis}); found != known_.end())
      return found->second;
    if (depth_ == max_depth)
      return unknown;
    depth_++;
    Distance result = computed(value, axis);
    depth_--;
    return known_[{value, axis}] = result;
  }

private:
  Distance computed(const Value *value, int axis) {
    if (value->type.shape[size_t(axis)] == 1)
      return {};
    if (const std::optional<Affine> &form = forms_.affine(value))
      return size_of(form->strides[size_t(axis)]);
    return value->op ? of_operation(*value->op, axis) : unknown;
  }

  Distance of_operation(const Op &op, int axis) {
    switch (op.code) {
    case Opcode::expand_:
      return of(op.operand(0), axis - (op.get(attr::axis_) < axis));
    case Opcode::broadcast_:
      return of(op.operand(0), axis);
    case Opcode::trans_:
      return of(op.operand(0), int(op.get(attr::perm_)[size_t(axis)]));
    case Opcode::mul_:
      return of_product(op, axis);
    case Opcode::div_:
    case Opcode::udiv_:
      return of_quotient(op, axis);
    case Opcode::rem_:
    case Opcode::urem_:
      return of(op.operand(0), axis);
    default:
      break;
    }
    if (!is_elementwise(op))
      return unknown;
    Distance farthest;
    for (size_t i = op.is(Opcode::select_); i < op.operands.size(); i++)
      farthest = std::max(farthest, of(op.operand(i), axis));
    return farthest;
  }

  Distance of_product(const Op &op, int axis) {
    const Distance a = of(op.operand(0), axis), b = of(op.operand(1), axis);
    if (!a.is_zero() && !b.is_zero())
      return unknown;
    return a.is_zero() ? product(size(op.operand(0)), b) : product(a, size(op.operand(1)));
  }

  Distance of_quotient(const Op &op, int axis) {
    const Distance dividend = of(op.operand(0), axis), divisor = size(op.operand(1));
    if (dividend < divisor)
      return {};
    return {dividend.factors - divisor.factors,
            std::max<int64_t>(dividend.number / std::max<int64_t>(divisor.number, 1), 1)};
  }

  // The size of a factor or a divisor.
  Distance size(const Value *value) {
    const Value *scalar = scalar_of(value);
    return scalar->type.is_scalar() ? size_of(forms_.poly(scalar)) : Distance{1, 1};
  }

  AffineForms forms_;
  std::map<std::pair<const Value *, int>, Distance> known_;
  int depth_ = 0;
};

} // namespace

std::optional<int> nearest_axis(const Value *pointers) {
  std::optional<int> nearest;
  Distance shortest = unknown;
  Distances distances;
  for (int axis = 0; axis < pointers->type.rank(); axis++) {
    const Distance distance = distances.of(pointers, axis);
    if (distance.is_zero())
      continue; // all elements are the same
    if (distance == shortest)
      nearest = std::nullopt;
    else if (distance < shortest)
      nearest = axis;
    shortest = std::min(shortest, distance);
  }
  return nearest;
}

} // namespace tritonc
