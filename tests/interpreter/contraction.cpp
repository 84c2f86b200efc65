// dot and reduce: operations that combine elements along an axis, in the order of that axis.
//
// A product is computed in double, where those of two numbers of at most 24 digits are exact, and
// every sum is rounded to the type of the result. Tensor cores add in other orders and widths, so
// only sums without rounding (small integers) are the same bit by bit.
//
// Tested by tests/interpreter/contraction_test.cpp.

#include "interpreter/arithmetic.h"
#include "interpreter/machine.h"
#include "interpreter/numbers.h"

namespace tritonc::interpreter {

using namespace ir;

namespace {

// The factors of a dot as it uses them.
Tile factor(const Op &op, const Tile &elements) {
  Tile result = elements;
  if (op.text("precision") == "tf32")
    for (Element &element : result)
      element.number = rounded_to_tf32(element.number);
  return result;
}

// Row m of $0 times column n of $1, plus $2.
struct Product {
  const Tile &a, &b;
  int64_t columns, depth;
  Elem elem;

  Element operator()(int64_t m, int64_t n, Element sum) const {
    for (int64_t k = 0; k < depth; k++) {
      const Element &x = a[size_t(m * depth + k)], &y = b[size_t(k * columns + n)];
      sum.poison |= x.poison || y.poison;
      if (is_float(elem))
        sum.number = rounded(elem, sum.number + x.number * y.number);
      else
        sum.integer = wrapped(
            elem, int64_t(uint64_t(sum.integer) + uint64_t(x.integer) * uint64_t(y.integer)));
    }
    return sum.poison ? Element::no_value() : sum;
  }
};

} // namespace

void Machine::dot(const Op &op) {
  Tile a = factor(op, tile(op.operand(0))), b = factor(op, tile(op.operand(1)));
  const Tile &c = tile(op.operand(2));
  const Type &type = op.result()->type;
  int64_t columns = type.shape[1];
  Product product{a, b, columns, op.operand(0)->type.shape[1], type.elem};
  define(op, [&](size_t i) { return product(int64_t(i) / columns, int64_t(i) % columns, c[i]); });
}

void Machine::reduce(const Op &op) {
  const Shape &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
  const Tile &elements = tile(op.operand(0));
  Elem elem = op.result()->type.elem;
  size_t axis = size_t(op.integer("axis"));
  std::string_view how = op.text("op");
  Opcode code = how == "add" ? Opcode::add_ : how == "min" ? Opcode::min_ : Opcode::max_;
  define(op, [&](size_t i) {
    std::vector<int64_t> at = unflatten(to, FlatIndex(i));
    at.insert(at.begin() + int64_t(axis), 0);
    Element result = elements[flatten(from, at)];
    for (at[axis] = 1; at[axis] < from[axis]; at[axis]++)
      result = binary(code, elem, result, elements[flatten(from, at)]);
    return result;
  });
}

} // namespace tritonc::interpreter
