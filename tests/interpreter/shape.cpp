// Constants, ranges, and operations that move or repeat elements.
//
// Tested by tests/interpreter/shape_test.cpp.

#include "interpreter/machine.h"
#include "interpreter/numbers.h"

namespace tritonc::interpreter {

using namespace ir;

void Machine::constant(const Op &op) {
  Elem elem = op.result()->type.elem;
  define(op, is_float(elem) ? Element::of_number(rounded(elem, op.number("number")))
                            : Element::of_integer(wrapped(elem, op.integer("value"))));
}

void Machine::range(const Op &op) {
  int64_t start = op.integer("start");
  define(op, [&](size_t i) { return Element::of_integer(wrapped(Elem::i32, start + int64_t(i))); });
}

void Machine::splat(const Op &op) {
  define(op, Tile(size_t(op.result()->type.elements()), scalar(op.operand(0))));
}

void Machine::broadcast(const Op &op) {
  const Shape &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
  const Tile &elements = tile(op.operand(0));
  define(op, [&](size_t i) {
    std::vector<int64_t> at = unflatten(to, FlatIndex(i));
    for (size_t d = 0; d < at.size(); d++)
      if (from[d] == 1)
        at[d] = 0;
    return elements[flatten(from, at)];
  });
}

void Machine::trans(const Op &op) {
  const Shape &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
  const Tile &elements = tile(op.operand(0));
  std::vector<int64_t> perm = op.list("perm");
  define(op, [&](size_t i) {
    std::vector<int64_t> at = unflatten(to, FlatIndex(i)), source(at.size());
    for (size_t d = 0; d < at.size(); d++)
      source[size_t(perm[d])] = at[d];
    return elements[flatten(from, source)];
  });
}

} // namespace tritonc::interpreter
