// Implements wgmma: asynchronous matmuls with operands in shared memory, or with A in registers.
//
// A wgmma reads its operands at any time between its start and the wgmma_wait that covers it.
// Elements of the operands' stages that change in between become poison. The result is poison, with
// two exceptions: one later wgmma may accumulate to it, and a wgmma_wait returns its value.
//
// Tested by tests/interpreter/wgmma_test.cpp.

#include "interpreter/machine.h"

namespace tritonc::interpreter {

using namespace ir;

namespace {

// The location of operand `number` of a wgmma: a buffer, the permutation of its axes, and the first
// element along K. Null buffer = in registers.
struct Source {
  const Value *buffer;
  std::vector<int64_t> perm;
  int64_t first_k = 0;
};

Source source_of(const Op &op, size_t number) {
  if (op.is(Opcode::wgmma_rs_))
    return number == 0 ? Source{nullptr, {}}
                       : Source{op.operand(1), op.get(attr::perm_), op.get(attr::origin_)[0]};
  std::vector<int64_t> perms = op.get(attr::perms_);
  return {op.operand(2 * number), {perms[2 * number], perms[2 * number + 1]}};
}

} // namespace

// The current contents of an operand's stage, with permuted axes.
Tile Machine::matmul_operand_of(const Product &product, size_t number) const {
  Source source = source_of(*product.op, number);
  if (!source.buffer)
    return product.factors[number];
  Shape stage_shape(source.buffer->type.shape.begin() + 1, source.buffer->type.shape.end()), shape;
  std::vector<int64_t> of_slot = row_major_strides(stage_shape), strides;
  for (int64_t axis : source.perm) {
    shape.push_back(stage_shape[size_t(axis)]);
    strides.push_back(of_slot[size_t(axis)]);
  }
  if (product.op->is(Opcode::wgmma_rs_))
    shape[0] = product.op->operand(0)->type.shape[1];
  const Tile &elements = shared_[size_t(scalar(source.buffer).integer)].elements;
  size_t first = product.stages[number] + size_t(source.first_k * strides[0]);
  Tile factor;
  for (int64_t place : places(shape, strides))
    factor.push_back(elements[first + size_t(place)]);
  return factor;
}

// The accumulator of a wgmma or the operand of a wgmma_wait; a pending value may be taken only
// once.
Machine::Held Machine::taken(const Held &sum) {
  if (sum.product < 0)
    return sum;
  const Product &product = products_[size_t(sum.product)];
  if (product.is_taken)
    return {sum.elements};
  return size_t(sum.product) < finished_ ? Held{product.result} : sum;
}

// Makes the wgmma of `op`. The accumulator is operand `sum`; a condition may follow it.
Machine::Product Machine::new_product(const Op &op, size_t sum) {
  Product product{&op, taken(values_.at(op.operand(sum)))};
  if (const Value *condition = op.operand_or_null(sum + 1)) {
    const Element &adds = scalar(condition);
    Element start = adds.poison ? Element::no_value() : Element::of_number(0);
    if (adds.poison || !adds.integer)
      product.sum = {Tile(size_t(op.result()->type.elements()), start)};
  }
  define(op, Tile(size_t(op.result()->type.elements()), Element::no_value()));
  return product;
}

// Operand `number` is in a stage. Returns false, after a report, if the stage does not exist.
bool Machine::fetch(Product &product, size_t number, const Value *buffer, const Value *stage) {
  const Element *first = this->stage(*product.op, buffer, stage);
  if (!first)
    return false;
  Place place = place_of(buffer, first);
  if (is_unfenced(place))
    find(Report::Kind::not_fenced, *product.op, -1, "no proxy_fence since a factor was written");
  product.stages[number] = place.second;
  product.factors[number] = matmul_operand_of(product, number);
  return true;
}

void Machine::start(Product &&product, size_t sum) {
  if (int before = values_.at(product.op->operand(sum)).product; before >= 0)
    products_[size_t(before)].is_taken = true;
  values_[product.op->result()].product = int(products_.size());
  products_.push_back(std::move(product));
}

void Machine::wgmma_ss(const Op &op) {
  not_by_one_thread(op);
  constexpr size_t sum = 4;
  Product product = new_product(op, sum);
  if (fetch(product, 0, op.operand(0), op.operand(1)) &&
      fetch(product, 1, op.operand(2), op.operand(3)))
    start(std::move(product), sum);
}

void Machine::wgmma_rs(const Op &op) {
  not_by_one_thread(op);
  constexpr size_t sum = 3;
  Product product = new_product(op, sum);
  product.factors[0] = tile(op.operand(0));
  if (fetch(product, 1, op.operand(1), op.operand(2)))
    start(std::move(product), sum);
}

void Machine::finish(Product &product) {
  for (size_t number : {0, 1}) {
    Tile &factor = product.factors[number];
    Tile now = matmul_operand_of(product, number);
    for (size_t i = 0; i < factor.size(); i++)
      if (!same(factor[i], now[i]))
        factor[i] = Element::no_value();
  }
  if (product.sum.product >= 0)
    product.sum.elements = products_[size_t(product.sum.product)].result;
  const Type &type = product.op->result()->type;
  size_t depth = product.factors[0].size() / size_t(type.shape[0]);
  product.result = matmul_of(type, depth, operand_kind(*product.op), product.factors[0],
                             product.factors[1], product.sum.elements);
  product.factors = {};
}

void Machine::wgmma_wait(const Op &op) {
  not_by_one_thread(op);
  while (products_.size() - finished_ > size_t(op.get(attr::pending_)))
    finish(products_[finished_++]);
  values_[op.result()] = taken(values_.at(op.operand(0)));
}

} // namespace tritonc::interpreter
