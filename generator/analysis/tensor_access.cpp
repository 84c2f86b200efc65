// Describes a memory access as a box of a tensor, for TMA. See tensor_access.h.
//
// Tested by tests/unit/analysis/tensor_access_test.cpp.

#include "analysis/tensor_access.h"
#include "analysis/launch_config.h"

#include <algorithm>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

bool host_knows(const Value *symbol) { return host_expression(symbol).has_value(); }

} // namespace

bool host_knows(const Poly &poly) {
  return std::all_of(poly.terms.begin(), poly.terms.end(), [](const auto &term) {
    return std::all_of(term.first.begin(), term.first.end(),
                       [](const Value *symbol) { return host_knows(symbol); });
  });
}

namespace {

Poly single(const Poly::Monomial &monomial, int64_t coefficient) {
  Poly poly;
  poly.terms[monomial] = coefficient;
  return poly;
}

// `term` divided by `stride`; nullopt: a remainder is left.
std::optional<Poly> quotient(Poly::Monomial monomial, int64_t coefficient, const Poly &stride) {
  if (stride.terms.size() != 1)
    return std::nullopt;
  const auto &[symbols, operand] = *stride.terms.begin();
  for (const Value *symbol : symbols) {
    auto found = std::find(monomial.begin(), monomial.end(), symbol);
    if (found == monomial.end())
      return std::nullopt;
    monomial.erase(found);
  }
  if (coefficient % operand != 0)
    return std::nullopt;
  return single(monomial, coefficient / operand);
}

// --- Masks ---------------------------------------------------------------------------------------

// Appends the bounds of a mask. `axes[d]`: the axis of the tile that axis d of `mask` is.
bool collect_bounds(const Value *mask, const std::vector<int> &axes, std::vector<Bound> &bounds) {
  const Op *op = mask->op;
  if (!op)
    return false;
  if (std::optional<int64_t> constant = constant_of(mask); constant && *constant)
    return true;
  switch (op->code) {
  case Opcode::and_:
    return collect_bounds(op->operand(0), axes, bounds) &&
           collect_bounds(op->operand(1), axes, bounds);
  case Opcode::broadcast_:
    return collect_bounds(op->operand(0), axes, bounds);
  case Opcode::expand_: {
    std::vector<int> inner = axes;
    inner.erase(inner.begin() + op->get(attr::axis_));
    return collect_bounds(op->operand(0), inner, bounds);
  }
  case Opcode::trans_: {
    std::vector<int> inner(axes.size());
    std::vector<int64_t> perm = op->get(attr::perm_);
    for (size_t d = 0; d < perm.size(); d++)
      inner[size_t(perm[d])] = axes[d];
    return collect_bounds(op->operand(0), inner, bounds);
  }
  case Opcode::cmp_:
    break;
  default:
    return false;
  }

  std::string_view pred = op->get(attr::pred_);
  auto [left, unit] = pred == "lt" ? units_of(op->operand(0)) : Units{op->operand(0), 1};
  std::optional<Affine> a = affine_of(left), b = affine_of(op->operand(1));
  bool swapped = pred == "gt" || pred == "ge";
  if (!a || !b || a->base || b->base || !(swapped || pred == "lt" || pred == "le"))
    return false;
  if (swapped)
    std::swap(a, b);
  if (unit > 1 && (!b->uniform() || !a->offset.is_zero()))
    return false;
  Bound bound{-1, a->offset - b->offset * Poly::constant(unit)};
  if (pred == "le" || pred == "ge")
    bound.before = bound.before - Poly::constant(1);
  for (size_t d = 0; d < axes.size(); d++) {
    if (mask->type.shape[d] == 1)
      continue;
    Poly stride = a->strides[d] - b->strides[d];
    if (stride.is_zero())
      continue;
    if (!stride.is_constant(1) || bound.axis >= 0)
      return false;
    bound.axis = axes[d];
  }
  if (bound.axis < 0)
    return false;
  const bool is_known = std::any_of(bounds.begin(), bounds.end(), [&](const Bound &other) {
    return other.axis == bound.axis && other.before == bound.before;
  });
  if (!is_known)
    bounds.push_back(std::move(bound));
  return true;
}

// --- Where a tensor ends without a mask ----------------------------------------------------------

bool is_quotient(const Op &op) { return op.is(Opcode::div_) || op.is(Opcode::udiv_); }
bool is_remainder(const Op &op) { return op.is(Opcode::rem_) || op.is(Opcode::urem_); }

// The value itself, seen through conversions; null if it is computed.
const Value *sole_symbol(const Value *scalar) {
  const Poly poly = poly_of(scalar);
  const bool is_sole = poly.terms.size() == 1 && poly.terms.begin()->first.size() == 1 &&
                       poly.terms.begin()->second == 1;
  return is_sole ? poly.terms.begin()->first[0] : nullptr;
}

bool counts(const Value *symbol) {
  if (const Op *op = symbol->op) {
    if (is_quotient(*op) || is_remainder(*op)) {
      const Value *divided = sole_symbol(op->operand(0));
      return divided && counts(divided) && host_knows(op->operand(1));
    }
    return op->is(Opcode::program_id_) || op->is(Opcode::block_id_);
  }
  return symbol->block && symbol->index == 0 && symbol->block->parent->is(Opcode::for_loop_) &&
         host_knows(symbol->block->parent->operand(0));
}

TensorExtent touched(const Poly &coordinate, int64_t extent) {
  TensorExtent result;
  result.touched = extent;
  for (const auto &[monomial, coefficient] : coordinate.terms) {
    if (monomial.size() != 1 || coefficient < 0 || !counts(monomial[0])) {
      result.known = false;
      return result;
    }
    result.repeated.push_back({monomial[0], coefficient});
  }
  return result;
}

// --- Outer axes ----------------------------------------------------------------------------------

// Whether a mask lets the coordinate along `axis` have this term: each bound on the axis counts
// from the start of the tensor, so it has the term, too.
bool fits_bounds(const Poly &term, int axis, const std::vector<Bound> &bounds) {
  const auto &[monomial, coefficient] = *term.terms.begin();
  return std::all_of(bounds.begin(), bounds.end(), [&](const Bound &bound) {
    auto found = bound.before.terms.find(monomial);
    return bound.axis != axis ||
           (found != bound.before.terms.end() && found->second == coefficient);
  });
}

// Adds a term of the offset as an outer axis, or to the outer axis with its stride. Returns false
// if it is not a counter times a stride that TMA can have.
bool add_outer(TensorAccess &access, const Poly::Monomial &monomial, int64_t coefficient,
               int64_t bytes_of_element) {
  constexpr int64_t chunk_bytes = 16;
  Poly::Monomial known, counter;
  for (const Value *symbol : monomial)
    (host_knows(symbol) ? known : counter).push_back(symbol);
  if (counter.size() != 1 || !counts(counter[0]) || coefficient < 0)
    return false;
  const Poly stride = single(known, coefficient);
  if (known.empty() && coefficient * bytes_of_element % chunk_bytes != 0)
    return false;
  auto axis = std::find_if(access.outer.begin(), access.outer.end(),
                           [&](const OuterAxis &other) { return other.stride == stride; });
  if (axis == access.outer.end())
    axis = access.outer.insert(axis, OuterAxis{stride, {}, {}});
  axis->coordinate = axis->coordinate + Poly::symbol(counter[0]);
  axis->extent = touched(axis->coordinate, 1);
  return access.outer.size() + access.strides.size() <= max_tensor_axes;
}

// `end` in the largest unit that divides it for all values of its symbols: a power of two, at most
// `extent`. One comparison of unit indices serves many elements at once.
std::pair<Poly, int64_t> in_units(Poly end, int64_t extent) {
  int64_t common = extent;
  for (const auto &[monomial, coefficient] : end.terms)
    common = std::gcd(common, coefficient % common);
  int64_t unit = common & -common;
  for (auto &[monomial, coefficient] : end.terms)
    coefficient /= unit;
  return {std::move(end), unit};
}

} // namespace

std::optional<std::vector<Bound>> bounds_of(const Value *mask, int rank) {
  std::vector<Bound> bounds;
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (mask->type.is_scalar() || !collect_bounds(mask, axes, bounds))
    return std::nullopt;
  return bounds;
}

Value *emit_mask(Builder &builder, const Shape &shape, const std::vector<Bound> &bounds) {
  Value *mask = nullptr;
  for (const Bound &bound : bounds) {
    int64_t extent = shape[size_t(bound.axis)];
    auto [end, unit] = in_units(Poly() - bound.before, extent);
    Value *index = builder.range(0, extent);
    if (unit > 1)
      index = builder.binary(Opcode::udiv_, index, builder.splat(builder.i32(unit), {extent}));
    index = builder.cast(index, Elem::i64);
    Value *inside = builder.cmp("lt", index, builder.splat(emit(builder, end), {extent}));
    for (int axis = 0; axis < int(shape.size()); axis++)
      if (axis != bound.axis)
        inside = builder.expand(inside, axis);
    inside = builder.broadcast(inside, shape);
    mask = mask ? builder.binary(Opcode::and_, mask, inside) : inside;
  }
  return mask;
}

std::vector<Value *> emit_limits(Builder &builder, const Shape &shape,
                                 const std::vector<Bound> &bounds) {
  std::vector<Value *> limits(shape.size(), nullptr);
  for (const Bound &bound : bounds) {
    Value *&limit = limits[size_t(bound.axis)];
    Value *end = emit(builder, Poly() - bound.before);
    limit = limit ? builder.binary(Opcode::min_, limit, end) : end;
  }
  for (size_t d = 0; d < shape.size(); d++)
    if (!limits[d])
      limits[d] = builder.i64(shape[d]);
  return limits;
}

TensorAccessResult tensor_access(const Value *pointers, const Value *mask) {
  std::optional<Affine> form = affine_of(pointers);
  if (!form || pointers->type.is_scalar())
    return {std::nullopt, NoTensor::not_affine};
  if (!form->base || form->base->op || form->base->block)
    return {std::nullopt, NoTensor::not_a_parameter};

  const Shape &shape = pointers->type.shape;
  TensorAccess access;
  access.base = form->base;
  access.strides = form->strides;
  access.coordinates.resize(shape.size());
  access.contiguous = -1;
  for (size_t d = 0; d < shape.size(); d++) {
    if (form->strides[d].is_constant(1) && shape[d] > 1)
      access.contiguous = int(d);
    if (form->strides[d].is_zero() || !host_knows(form->strides[d]))
      return {std::nullopt, NoTensor::strange_stride};
  }
  if (access.contiguous < 0)
    return {std::nullopt, NoTensor::no_contiguous};

  std::optional<std::vector<Bound>> bounds = std::vector<Bound>();
  if (mask)
    bounds = bounds_of(mask, int(shape.size()));

  for (const auto &[monomial, coefficient] : form->offset.terms) {
    Poly term = single(monomial, coefficient);
    if (host_knows(term)) {
      access.offset = access.offset + term;
      continue;
    }
    // A term that is no multiple of a stride must be small, because a coordinate is an i32.
    bool is_large = monomial.size() > 1;
    int axis = is_large ? -1 : access.contiguous;
    for (size_t d = 0; d < shape.size(); d++)
      if (int(d) != access.contiguous)
        if (std::optional<Poly> part = quotient(monomial, coefficient, access.strides[d])) {
          axis = int(d);
          term = *part;
          break;
        }
    if (axis < 0 || (bounds && !fits_bounds(term, axis, *bounds))) {
      if (!add_outer(access, monomial, coefficient, bytes_of(pointers->type.elem)))
        return {std::nullopt, axis < 0 ? NoTensor::strange_offset : NoTensor::strange_mask};
      continue;
    }
    // The coordinate must not be negative, because the tensor starts where the host puts it.
    if (term.terms.begin()->second < 0)
      return {std::nullopt, NoTensor::strange_offset};
    access.coordinates[size_t(axis)] = access.coordinates[size_t(axis)] + term;
  }
  if (!bounds)
    return {std::nullopt, NoTensor::strange_mask};
  for (size_t d = 0; d < shape.size(); d++) {
    TensorExtent extent;
    for (const Bound &bound : *bounds)
      if (bound.axis == int(d))
        extent.bounds.push_back(access.coordinates[d] - bound.before);
    if (!std::all_of(extent.bounds.begin(), extent.bounds.end(),
                     [](const Poly &bound) { return host_knows(bound); }))
      return {std::nullopt, NoTensor::strange_mask};
    access.extents.push_back(extent.bounds.empty() ? touched(access.coordinates[d], shape[d])
                                                   : std::move(extent));
  }
  return {std::move(access), NoTensor::not_affine};
}

bool starts_at_chunks(const TensorAccess &access, Elem elem, const Function &fn) {
  constexpr int64_t chunk_bytes = 16;
  const Poly &coordinate = access.coordinates[size_t(access.contiguous)];
  return divisor_of(coordinate, fn) % (chunk_bytes / bytes_of(elem)) == 0;
}

namespace {

struct Emitter {
  Function &fn;
  Builder builder;
  Copies copies = {};

  // Returns the value, recomputed at the top of the function.
  const Value *at_top(const Value *symbol) {
    return clone_computation(builder, const_cast<Value *>(symbol), fn.body, copies);
  }

  Value *emit_at_top(const Poly &poly) {
    Poly moved;
    for (const auto &[monomial, coefficient] : poly.terms) {
      Poly term = Poly::constant(coefficient);
      for (const Value *symbol : monomial)
        term = term * Poly::symbol(at_top(symbol));
      moved = moved + term;
    }
    return emit(builder, moved);
  }

  Value *wide_at_top(const Value *symbol) { return emit_at_top(Poly::symbol(symbol)); }

  // Number of values that a counter takes, from 0 on. For a negative divisor, whose quotients are
  // negative, it is not positive: then the launch cannot use the map.
  Value *repetitions(const Value *counter) {
    const Op *op = counter->op;
    if (!op)
      return wide_at_top(counter->block->parent->operand(0));
    if (is_quotient(*op) || is_remainder(*op)) {
      Value *divided = repetitions(sole_symbol(op->operand(0)));
      Value *divisor = wide_at_top(op->operand(1));
      if (is_remainder(*op))
        return builder.binary(Opcode::min_, divided, divisor);
      Value *last = builder.binary(Opcode::div_, builder.sub(divided, builder.i64(1)), divisor);
      return builder.add(last, builder.i64(1));
    }
    size_t axis = size_t(op->get(attr::axis_));
    if (op->is(Opcode::block_id_))
      for (const Op *launch : fn.body->ops)
        if (launch->is(Opcode::launch_blocks_))
          return wide_at_top(launch->operand(axis));
    return builder.cast(builder.num_programs(int(axis)), Elem::i64);
  }

  Value *emit_extent(const TensorExtent &extent) {
    constexpr int64_t max_extent = int64_t(1) << 31; // coordinates are i32
    if (!extent.known)
      return builder.i64(max_extent);
    Value *smallest = nullptr;
    for (const Poly &bound : extent.bounds) {
      Value *end = emit_at_top(bound);
      smallest = smallest ? builder.binary(Opcode::min_, smallest, end) : end;
    }
    if (smallest)
      return smallest;
    Value *sum = builder.i64(extent.touched);
    for (const TensorExtent::Repeated &repeated : extent.repeated) {
      Value *times = repetitions(repeated.counter);
      times = builder.sub(times, builder.i64(1));
      sum = builder.add(sum, builder.mul(times, builder.i64(repeated.step)));
    }
    return sum;
  }
};

} // namespace

Value *emit_tensor_map(Function &fn, size_t position, const TensorAccess &access, Elem elem,
                       Shape box, int swizzle_bytes) {
  Emitter emitter{fn, Builder(fn, fn.body, position)};
  std::vector<Value *> operands = {const_cast<Value *>(access.base),
                                   emitter.emit_at_top(access.offset)};
  for (const OuterAxis &axis : access.outer)
    operands.push_back(emitter.emit_extent(axis.extent));
  for (const TensorExtent &extent : access.extents)
    operands.push_back(emitter.emit_extent(extent));
  for (const OuterAxis &axis : access.outer)
    operands.push_back(emitter.emit_at_top(axis.stride));
  for (const Poly &stride : access.strides)
    operands.push_back(emitter.emit_at_top(stride));
  box.insert(box.begin(), access.outer.size(), 1);
  Op *map =
      emitter.builder.create(Opcode::tensor_map_, operands, {Type::map(elem, std::move(box))});
  map->set(attr::swizzle_, int64_t(swizzle_bytes));
  map->result()->name = access.base->name;
  return map->result();
}

} // namespace tritonc
