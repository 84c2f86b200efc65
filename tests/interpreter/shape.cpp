// Implements constants, ranges, and operations that move or repeat elements.
//
// Tested by tests/interpreter/shape_test.cpp.

#include "interpreter/machine.h"
#include "interpreter/numbers.h"

namespace tritonc::interpreter {

using namespace ir;

std::vector<int64_t> row_major_strides(const Shape &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::vector<int64_t> places(const Shape &shape, const std::vector<int64_t> &strides) {
  std::vector<int64_t> result = {0};
  for (size_t d = 0; d < shape.size(); d++) {
    std::vector<int64_t> outer = std::move(result);
    result.clear();
    for (int64_t place : outer)
      for (int64_t i = 0; i < shape[d]; i++)
        result.push_back(place + i * strides[d]);
  }
  return result;
}

void Machine::constant(const Op &op) {
  Elem elem = op.result()->type.elem;
  define(op, is_float(elem) ? Element::of_number(rounded(elem, op.get(attr::number_)))
                            : Element::of_integer(wrapped(elem, op.get(attr::value_))));
}

void Machine::range(const Op &op) {
  int64_t start = op.get(attr::start_);
  define(op, [&](size_t i) { return Element::of_integer(wrapped(Elem::i32, start + int64_t(i))); });
}

void Machine::inside(const Op &op) {
  const Shape &shape = op.result()->type.shape;
  std::vector<int64_t> strides = row_major_strides(shape);
  define(op, [&](size_t i) {
    Element on = Element::of_integer(1);
    for (size_t d = 0; d < shape.size(); d++) {
      const Element &limit = scalar(op.operand(d));
      on.poison |= limit.poison;
      on.integer &= int64_t(i) / strides[d] % shape[d] < limit.integer;
    }
    return on;
  });
}

void Machine::splat(const Op &op) {
  define(op, Tile(size_t(op.result()->type.elements()), scalar(op.operand(0))));
}

void Machine::broadcast(const Op &op) {
  const Shape &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
  const Tile &elements = tile(op.operand(0));
  std::vector<int64_t> strides = row_major_strides(from);
  for (size_t d = 0; d < from.size(); d++)
    if (from[d] == 1)
      strides[d] = 0;
  std::vector<int64_t> sources = places(to, strides);
  define(op, [&](size_t i) { return elements[size_t(sources[i])]; });
}

void Machine::trans(const Op &op) {
  const Shape &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
  const Tile &elements = tile(op.operand(0));
  std::vector<int64_t> perm = op.get(attr::perm_), of_from = row_major_strides(from), strides;
  for (int64_t axis : perm)
    strides.push_back(of_from[size_t(axis)]);
  std::vector<int64_t> sources = places(to, strides);
  define(op, [&](size_t i) { return elements[size_t(sources[i])]; });
}

void Machine::extract(const Op &op) {
  const Tile &elements = tile(op.operand(0));
  std::vector<int64_t> origin = op.get(attr::origin_);
  std::vector<int64_t> strides = row_major_strides(op.operand(0)->type.shape);
  int64_t first = 0;
  for (size_t d = 0; d < origin.size(); d++)
    first += origin[d] * strides[d];
  std::vector<int64_t> sources = places(op.result()->type.shape, strides);
  define(op, [&](size_t i) { return elements[size_t(first + sources[i])]; });
}

void Machine::funnel_shift(const Op &op) {
  const Tile &first = tile(op.operand(0)), &second = tile(op.operand(1));
  const Element &distance = scalar(op.operand(2));
  const size_t vector = size_t(op.get(attr::vector_));
  define(op, [&](size_t i) {
    const size_t group = i / vector * vector, place = i - group + size_t(distance.integer);
    if (distance.poison || place >= 2 * vector)
      return Element::no_value();
    return place < vector ? first[group + place] : second[group + place - vector];
  });
}

Element gathered(const Op &op, const Shape &shape, const Element *from, const Tile &positions,
                 size_t i) {
  const Element &position = positions[i];
  if (!from || position.poison)
    return Element::no_value();
  size_t axis = size_t(op.get(attr::axis_));
  std::vector<int64_t> at = unflatten(op.result()->type.shape, FlatIndex(i));
  at[axis] = position.integer & (shape[axis] - 1);
  return from[flatten(shape, at)];
}

void Machine::gather(const Op &op) {
  const Tile &from = tile(op.operand(0)), &positions = tile(op.operand(1));
  define(op, [&](size_t i) {
    return gathered(op, op.operand(0)->type.shape, from.data(), positions, i);
  });
}

} // namespace tritonc::interpreter
