// Implements dot, reduce, and scan: operations that combine elements along an axis. dot and reduce
// combine in the order of the axis.
//
// Products are computed in double, which is exact for operands of at most 24 bits. Each sum is
// rounded to the type of the result; for f64, product and sum are rounded once together. Tensor
// cores add in other orders and widths, so only exact sums (small integers) match bit for bit.
//
// Tested by tests/interpreter/contraction_test.cpp.

#include "interpreter/arithmetic.h"
#include "interpreter/machine.h"
#include "interpreter/numbers.h"

#include <cmath>

namespace tritonc::interpreter {

using namespace ir;

namespace {

// An operand of a dot after conversion, and its rows or columns with poison.
struct Factor {
  std::vector<uint64_t> integers;
  std::vector<double> numbers;
  std::vector<char> poison_in_row, poison_in_column;

  Factor(const OperandKind &kind, const Tile &elements, size_t rows, size_t columns)
      : poison_in_row(rows), poison_in_column(columns) {
    for (const Element &element : elements) {
      size_t i = integers.size();
      integers.push_back(kind.is_unsigned ? as_unsigned(kind.elem, element.integer)
                                          : uint64_t(element.integer));
      numbers.push_back(kind.is_tf32 ? rounded_to_tf32(element.number) : element.number);
      poison_in_row[i / poison_in_column.size()] |= element.poison;
      poison_in_column[i % poison_in_column.size()] |= element.poison;
    }
  }
};

// Adds x * y[i] to each of `sums`, rounded by `round`.
template <typename T, typename Round>
void add_products(std::vector<T> &sums, T x, const T *y, Round round) {
  for (size_t n = 0; n < sums.size(); n++)
    sums[n] = round(sums[n] + x * y[n]);
}

void add_products(Elem elem, std::vector<double> &sums, double x, const double *y) {
  if (elem == Elem::f32) // a fast path for the usual case
    return add_products(sums, x, y, [](double sum) { return double(float(sum)); });
  if (elem == Elem::f64) {
    for (size_t n = 0; n < sums.size(); n++)
      sums[n] = std::fma(x, y[n], sums[n]);
    return;
  }
  add_products(sums, x, y, [&](double sum) { return rounded(elem, sum); });
}

void add_products(Elem elem, std::vector<uint64_t> &sums, uint64_t x, const uint64_t *y) {
  add_products(sums, x, y, [&](uint64_t sum) { return uint64_t(wrapped(elem, int64_t(sum))); });
}

} // namespace

OperandKind operand_kind(const Op &product) {
  return {product.operand(0)->type.elem, product.get(attr::precision_) == "tf32",
          product.has(attr::unsigned_)};
}

Tile matmul_of(const Type &type, size_t depth, const OperandKind &kind, const Tile &a_elements,
               const Tile &b_elements, const Tile &c) {
  size_t rows = size_t(type.shape[0]), columns = size_t(type.shape[1]);
  Factor a(kind, a_elements, rows, depth), b(kind, b_elements, depth, columns);
  std::vector<double> numbers(columns);
  std::vector<uint64_t> integers(columns);
  Tile result;
  result.reserve(c.size());
  for (size_t i = 0; i < c.size(); i++) {
    size_t m = i / columns, n = i % columns;
    if (n == 0) { // the whole row at once
      for (size_t j = 0; j < columns; j++) {
        numbers[j] = c[i + j].number;
        integers[j] = uint64_t(c[i + j].integer);
      }
      for (size_t k = 0; k < depth; k++)
        if (is_float(type.elem))
          add_products(type.elem, numbers, a.numbers[m * depth + k], &b.numbers[k * columns]);
        else
          add_products(type.elem, integers, a.integers[m * depth + k], &b.integers[k * columns]);
    }
    if (c[i].poison || a.poison_in_row[m] || b.poison_in_column[n])
      result.push_back(Element::no_value());
    else
      result.push_back(is_float(type.elem) ? Element::of_number(numbers[n])
                                           : Element::of_integer(int64_t(integers[n])));
  }
  return result;
}

void Machine::dot(const Op &op) {
  define(op, matmul_of(op.result()->type, size_t(op.operand(0)->type.shape[1]), operand_kind(op),
                       tile(op.operand(0)), tile(op.operand(1)), tile(op.operand(2))));
}

void Machine::reduce(const Op &op) {
  const Shape &from = op.operand(0)->type.shape, &to = op.result()->type.shape;
  const Tile &elements = tile(op.operand(0));
  Elem elem = op.result()->type.elem;
  size_t axis = size_t(op.get(attr::axis_));
  Opcode code = *combining_op(op.get(attr::op_));
  define(op, [&](size_t i) {
    std::vector<int64_t> at = unflatten(to, FlatIndex(i));
    at.insert(at.begin() + int64_t(axis), 0);
    Element result = elements[flatten(from, at)];
    for (at[axis] = 1; at[axis] < from[axis]; at[axis]++)
      result = binary(code, elem, result, elements[flatten(from, at)]);
    return result;
  });
}

// For each bit of the index, from the lowest: an element whose bit is set adds the last element of
// the half before it. This is the order of a balanced tree.
void Machine::scan(const Op &op) {
  const Shape &shape = op.result()->type.shape;
  Tile elements = tile(op.operand(0));
  Elem elem = op.result()->type.elem;
  size_t axis = size_t(op.get(attr::axis_));
  Opcode code = *combining_op(op.get(attr::op_));
  for (int64_t bit = 1; bit < shape[axis]; bit *= 2)
    for (size_t i = 0; i < elements.size(); i++) { // in place: reads only elements without the bit
      std::vector<int64_t> at = unflatten(shape, FlatIndex(i));
      if (!(at[axis] & bit))
        continue;
      at[axis] = (at[axis] - bit) | (bit - 1);
      elements[i] = binary(code, elem, elements[flatten(shape, at)], elements[i]);
    }
  define(op, std::move(elements));
}

} // namespace tritonc::interpreter
