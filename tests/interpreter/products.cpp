// Products of tiles in shared memory, which run in the background.
//
// A product reads its factors at any time between its start and the product_wait that covers it:
// what changes in their slots in the meantime becomes poison. Its value is poison to everybody,
// except that the next product may add to it, once, and that a product_wait gives it back when it
// is done.
//
// Tested by tests/interpreter/products_test.cpp.

#include "interpreter/machine.h"

namespace tritonc::interpreter {

using namespace ir;

// What is in a factor's slot now, with the axes that the product sees.
Tile Machine::factor_of(const Product &product, size_t number) const {
  const Value *buffer = product.op->operand(2 * number);
  Shape slot_shape(buffer->type.shape.begin() + 1, buffer->type.shape.end()), shape;
  std::vector<int64_t> perms = product.op->list("perms"), of_slot = row_major_strides(slot_shape);
  std::vector<int64_t> strides;
  for (size_t d = 0; d < 2; d++) {
    size_t axis = size_t(perms[2 * number + d]);
    shape.push_back(slot_shape[axis]);
    strides.push_back(of_slot[axis]);
  }
  const Tile &elements = shared_[size_t(scalar(buffer).integer)].elements;
  Tile factor;
  for (int64_t place : places(shape, strides))
    factor.push_back(elements[product.slots[number] + size_t(place)]);
  return factor;
}

// What a product starts from, or a product_wait gives back: of a value under way there is one.
Machine::Held Machine::taken(const Held &sum) {
  if (sum.product < 0)
    return sum;
  const Product &product = products_[size_t(sum.product)];
  if (product.is_taken)
    return {sum.elements};
  return size_t(sum.product) < finished_ ? Held{product.result} : sum;
}

void Machine::shared_product(const Op &op) {
  not_by_helper(op);
  Product product{&op, {}, {}, taken(values_.at(op.operand(4)))};
  if (const Value *condition = op.operand_or_null(5)) {
    const Element &adds = scalar(condition);
    Element start = adds.poison ? Element::no_value() : Element::of_number(0);
    if (adds.poison || !adds.integer)
      product.sum = {Tile(size_t(op.result()->type.elements()), start)};
  }
  define(op, Tile(size_t(op.result()->type.elements()), Element::no_value()));
  for (size_t number : {0, 1}) {
    const Value *buffer = op.operand(2 * number);
    const Element *first = slot(op, buffer, op.operand(2 * number + 1));
    if (!first)
      return;
    Place place = place_of(buffer, first);
    if (is_unfenced(place))
      find(Finding::Kind::not_fenced, op, -1, "no proxy_fence since a factor was written");
    product.slots[number] = place.second;
    product.factors[number] = factor_of(product, number);
  }
  if (int before = values_.at(op.operand(4)).product; before >= 0)
    products_[size_t(before)].is_taken = true;
  values_[op.result()].product = int(products_.size());
  products_.push_back(std::move(product));
}

void Machine::finish(Product &product) {
  for (size_t number : {0, 1}) {
    Tile &factor = product.factors[number];
    Tile now = factor_of(product, number);
    for (size_t i = 0; i < factor.size(); i++)
      if (!same(factor[i], now[i]))
        factor[i] = Element::no_value();
  }
  if (product.sum.product >= 0)
    product.sum.elements = products_[size_t(product.sum.product)].result;
  const Type &type = product.op->result()->type;
  size_t depth = product.factors[0].size() / size_t(type.shape[0]);
  product.result = product_of(type, depth, product.op->text("precision") == "tf32",
                              product.factors[0], product.factors[1], product.sum.elements);
  product.factors = {};
}

void Machine::product_wait(const Op &op) {
  not_by_helper(op);
  while (products_.size() - finished_ > size_t(op.integer("pending")))
    finish(products_[finished_++]);
  values_[op.result()] = taken(values_.at(op.operand(0)));
}

} // namespace tritonc::interpreter
