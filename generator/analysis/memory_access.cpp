// Computes how wide a memory access may be, from its address. See memory_access.h.
//
// Tested by tests/unit/analysis/memory_access_test.cpp.

#include "analysis/memory_access.h"
#include "analysis/affine.h"

#include <algorithm>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t no_limit = 1 << 20; // larger than any extent

// The largest power of two that divides `n`; no_limit for 0.
int64_t power_of_two_in(int64_t n) { return n ? n & -n : no_limit; }

// The largest power of two v such that `mask` is constant in each aligned group of v adjacent
// elements along `axis`.
int64_t constant_run(const Value *mask, int axis, const Function &fn) {
  if (mask->type.is_scalar())
    return no_limit;
  const Op *op = mask->op;
  if (!op)
    return 1;
  switch (op->code) {
  case Opcode::splat_:
    return no_limit;
  case Opcode::broadcast_:
    return op->operand(0)->type.shape[axis] == 1 ? no_limit
                                                 : constant_run(op->operand(0), axis, fn);
  case Opcode::expand_: {
    int added = int(op->get(attr::axis_));
    if (added == axis)
      return no_limit;
    return constant_run(op->operand(0), axis - (added < axis), fn);
  }
  case Opcode::and_:
  case Opcode::or_:
    return std::min(constant_run(op->operand(0), axis, fn), constant_run(op->operand(1), axis, fn));
  // The limit is a multiple of v, so each group is entirely on or off.
  case Opcode::in_bounds_:
    return power_of_two_in(divisor_of(poly_of(op->operand(size_t(axis))), fn));
  case Opcode::cmp_: {
    // a < b with a = x + i: the mask is constant in groups of v if v divides both x and b. `x + i
    // <= b` and `>` switch just after a multiple, so they do not qualify.
    auto [left, unit] = units_of(op->operand(0));
    std::optional<Affine> a = affine_of(left), b = affine_of(op->operand(1));
    if (!a || !b || a->base || b->base)
      return 1;
    if (unit > 1) { // constant within one unit, and units start at multiples
      bool counts = a->offset.is_zero() && b->uniform();
      for (int d = 0; d < int(a->strides.size()); d++)
        counts &= d == axis ? a->strides[size_t(d)].is_constant(1)
                            : a->strides[size_t(d)].is_zero() || mask->type.shape[size_t(d)] == 1;
      return counts ? power_of_two_in(unit) : 1;
    }
    Poly stride = a->strides[axis] - b->strides[axis];
    if (stride.is_zero())
      return no_limit;
    bool rising = stride.is_constant(1), falling = stride.is_constant(-1);
    std::string_view pred = op->get(attr::pred_);
    bool steps_at_multiples =
        (rising && (pred == "lt" || pred == "ge")) || (falling && (pred == "gt" || pred == "le"));
    if (!steps_at_multiples)
      return 1;
    Affine difference = *a;
    int64_t divisor = divisor_of(a->offset - b->offset, fn);
    for (size_t d = 0; d < difference.strides.size(); d++)
      if (int(d) != axis)
        divisor = std::gcd(divisor, divisor_of(a->strides[d] - b->strides[d], fn));
    return power_of_two_in(divisor);
  }
  default:
    return 1;
  }
}

int base_alignment(const Value *base, const Function &fn) {
  for (const Parameter &parameter : fn.parameters)
    if (parameter.value == base)
      return parameter.aligned_bytes;
  constexpr int allocated_at = 256; // of cuMemAlloc and others, CUDA C++ Programming Guide 5.3.2
  if (base->op && base->op->is(Opcode::workspace_))
    return allocated_at;
  return bytes_of(base->type.elem);
}

} // namespace

std::optional<int> contiguous_axis(const Value *value) {
  const Op *op = value->op;
  if (!op)
    return std::nullopt;
  if (op->is(Opcode::load_))
    return contiguous_axis(op->operand(0));
  if (op->is(Opcode::trans_)) {
    std::optional<int> axis = contiguous_axis(op->operand(0));
    std::vector<int64_t> perm = op->get(attr::perm_);
    if (!axis)
      return std::nullopt;
    return int(std::find(perm.begin(), perm.end(), *axis) - perm.begin());
  }
  if (!value->type.is_view()) {
    bool elementwise = info(op->code).effect == Effect::pure && !op->operands.empty() &&
                       op->operand(0)->type.shape == value->type.shape;
    return elementwise && !op->is(Opcode::dot_) ? contiguous_axis(op->operand(0)) : std::nullopt;
  }
  std::optional<Affine> view = affine_of(value);
  for (int d = value->type.rank(); d-- > 0;)
    if (value->type.shape[d] > 1 && view->strides[d].is_constant(1))
      return d;
  return std::nullopt;
}

const Value *root_of(const Value *pointers) {
  while (pointers->op && !pointers->op->operands.empty() && pointers->op->blocks.empty() &&
         !pointers->op->is(Opcode::select_) && !pointers->op->is(Opcode::workspace_))
    pointers = pointers->op->operand(0);
  bool is_workspace = pointers->op && pointers->op->is(Opcode::workspace_);
  return (pointers->op && !is_workspace) || pointers->block ? nullptr : pointers;
}

const Value *mask_of(const Op &access) {
  return access.operand_or_null(access.is(Opcode::load_)         ? 1
                                : access.is(Opcode::atomic_cas_) ? 3
                                                                 : 2);
}

int vector_elements(const Value *view, const Value *mask, const Function &fn) {
  std::optional<int> axis = view->type.is_view() ? contiguous_axis(view) : std::nullopt;
  if (!axis)
    return 1;
  int bytes = bytes_of(view->type.elem);
  Affine form = *affine_of(view);
  int64_t divisor = std::gcd(divisor_of(form.offset, fn), 16 / bytes);
  for (int d = 0; d < view->type.rank(); d++)
    if (d != *axis && view->type.shape[d] > 1)
      divisor = std::gcd(divisor, divisor_of(form.strides[d], fn));
  int64_t width = std::min<int64_t>(power_of_two_in(divisor), view->type.shape[*axis]);
  width = std::min<int64_t>(
      width, std::max<int64_t>(1, power_of_two_in(base_alignment(form.base, fn)) / bytes));
  if (mask)
    width = std::min(width, constant_run(mask, *axis, fn));
  return int(width);
}

} // namespace tritonc
