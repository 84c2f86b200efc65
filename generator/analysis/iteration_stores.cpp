// Finds stores of a loop that change other elements in each iteration. See iteration_stores.h.
//
// Method: the step of the addresses from one iteration to the next is at least the extent of the
// tile. The counter may be that of collapsed loops: then its quotient and its remainder by the
// length of the inner loop are two counters. If addresses have no affine form, they may be those of pixels: element u is in row
// u / length, and row r starts at r * distance. Then u counts.
//
// Tested by tests/unit/analysis/iteration_stores_test.cpp.

#include "analysis/iteration_stores.h"

#include "analysis/affine.h"

#include <algorithm>
#include <cstdlib>

namespace tritonc {

using namespace ir;

namespace {

bool contains(const Poly &poly, const Value *symbol) {
  return std::any_of(poly.terms.begin(), poly.terms.end(), [&](const auto &term) {
    return std::find(term.first.begin(), term.first.end(), symbol) != term.first.end();
  });
}

Poly step_of(const Poly &offset, const Value *counter) {
  return offset.substitute(counter, Poly::symbol(counter) + Poly::constant(1)) - offset;
}

bool are_apart(const Affine &to, const Shape &shape, const Value *counter) {
  const Poly step = step_of(to.offset, counter);
  int64_t extent = 1;     // of a row, in elements
  std::vector<Poly> rows; // from the first row of the tile to the next one after it
  for (size_t d = 0; d < shape.size(); d++) {
    if (shape[d] == 1)
      continue;
    if (std::optional<int64_t> stride = to.strides[d].as_constant())
      extent += std::abs(*stride) * (shape[d] - 1);
    else
      rows.push_back(to.strides[d] * Poly::constant(shape[d]));
  }
  if (std::optional<int64_t> constant = step.as_constant())
    return std::abs(*constant) >= extent;
  return !contains(step, counter) && (rows.empty() || (rows.size() == 1 && step == rows[0]));
}

// The quotient and the remainder of `counter` by one length, which are symbols of the offset. Empty
// if the offset has only one of them.
std::vector<const Value *> parts_of(const Value *counter, const Poly &offset) {
  const Op *quotient = nullptr, *remainder = nullptr;
  for (const auto &[monomial, coefficient] : offset.terms)
    for (const Value *symbol : monomial) {
      const Op *op = symbol->op;
      if (!op || op->operands.empty() || op->operand(0) != counter)
        continue;
      if (op->is(Opcode::udiv_))
        quotient = op;
      if (op->is(Opcode::urem_))
        remainder = op;
    }
  if (!quotient || !remainder || quotient->operand(1) != remainder->operand(1))
    return {};
  return {quotient->result(), remainder->result()};
}

// One of the parts moves along a row, the other from row to row.
bool are_iterations_apart(const Affine &to, const Shape &shape, const Value *counter) {
  const std::vector<const Value *> parts = parts_of(counter, to.offset);
  if (parts.empty())
    return are_apart(to, shape, counter);
  return !contains(to.offset, counter) &&
         step_of(to.offset, parts[0]).as_constant().has_value() !=
             step_of(to.offset, parts[1]).as_constant().has_value() &&
         are_apart(to, shape, parts[0]) && are_apart(to, shape, parts[1]);
}

// --- Pixels. -------------------------------------------------------------------------------------

// The index tile as a polynomial. Its symbols are scalars, and tiles without a polynomial.
Poly poly_of_tile(const Value *value) {
  if (value->type.is_scalar())
    return poly_of(value);
  const Op *op = value->op;
  if (!op || op->has(attr::unsigned_))
    return Poly::symbol(value);
  auto operand = [&](size_t i) { return poly_of_tile(op->operand(i)); };
  switch (op->code) {
  case Opcode::splat_:
    return operand(0);
  case Opcode::cast_: {
    const Elem from = op->operand(0)->type.elem;
    bool is_wider = is_integer(from) && bits_of(from) >= 32 && bits_of(value->type.elem) >= 32;
    return is_wider ? operand(0) : Poly::symbol(value);
  }
  case Opcode::add_:
    return operand(0) + operand(1);
  case Opcode::sub_:
    return operand(0) - operand(1);
  case Opcode::mul_:
    return operand(0) * operand(1);
  default:
    return Poly::symbol(value);
  }
}

// The offset of the pointers from their parameter.
std::optional<Poly> offset_of(const Value *pointers) {
  const Op *op = pointers->op;
  if (op && pointers->type.is_tile() && op->is(Opcode::splat_))
    return offset_of(op->operand(0));
  if (op && pointers->type.is_tile() && op->is(Opcode::addptr_)) {
    std::optional<Poly> start = offset_of(op->operand(0));
    return start ? std::optional(*start + poly_of_tile(op->operand(1))) : std::nullopt;
  }
  std::optional<Affine> scalar = pointers->type.is_scalar() ? affine_of(pointers) : std::nullopt;
  return scalar && scalar->base ? std::optional(scalar->offset) : std::nullopt;
}

// The address range + quotient * `distance` + ..., where the quotient is that of u by a scalar.
bool are_pixels_apart(const Poly &offset, const Shape &shape, const Value *counter) {
  const Value *range = nullptr, *quotient = nullptr;
  Poly index, distance;
  for (const auto &[monomial, coefficient] : offset.terms) {
    Poly scalars = Poly::constant(coefficient);
    const Value *tile = nullptr;
    for (const Value *factor : monomial) {
      if (factor->type.is_scalar())
        scalars = scalars * Poly::symbol(factor);
      else if (tile)
        return false;
      else
        tile = factor;
    }
    if (!tile) {
      index = index + scalars;
    } else if (tile->op && tile->op->is(Opcode::range_) && scalars.is_constant(1) && !range) {
      range = tile;
      index = index + Poly::symbol(tile);
    } else if (tile->op && tile->op->is(Opcode::div_) && (!quotient || quotient == tile)) {
      quotient = tile;
      distance = distance + scalars;
    } else {
      return false;
    }
  }
  if (!range || !quotient || shape.size() != 1)
    return false;
  const Poly u = poly_of_tile(quotient->op->operand(0)), rest = index - u;
  const Poly length = poly_of_tile(quotient->op->operand(1));
  distance = distance + length; // index has u, not u rem length
  std::optional<int64_t> step = step_of(u, counter).as_constant();
  return step && std::abs(*step) >= shape[0] && !contains(rest, range) &&
         !contains(rest, counter) && !contains(length, range) && !contains(length, counter) &&
         !distance.as_constant() && !contains(distance, counter);
}

} // namespace

bool stores_apart(const Op &store, const Value *counter) {
  const Value *to = store.operand(0);
  std::optional<Affine> affine = affine_of(to);
  if (affine && affine->base)
    return are_iterations_apart(*affine, to->type.shape, counter);
  std::optional<Poly> offset = offset_of(to);
  return offset && are_pixels_apart(*offset, to->type.shape, counter);
}

} // namespace tritonc
