// Implements views, loads, stores, and atomics. Checks every access against its buffer.
//
// Tested by tests/interpreter/global_memory_test.cpp.

#include "interpreter/arithmetic.h"
#include "interpreter/machine.h"
#include "interpreter/numbers.h"

namespace tritonc::interpreter {

using namespace ir;

void Machine::view(const Op &op) {
  const Shape &shape = op.result()->type.shape;
  Element start = scalar(op.operand(0));
  for (const Value *operand : op.operands)
    start.poison |= scalar(operand).poison;
  start.integer += scalar(op.operand(1)).integer;
  std::vector<int64_t> strides;
  for (size_t d = 2; d < op.operands.size(); d++)
    strides.push_back(scalar(op.operand(d)).integer);
  std::vector<int64_t> offsets = places(shape, strides);
  define(op, [&](size_t i) {
    Element pointer = start;
    pointer.integer += offsets[i];
    return pointer;
  });
}

// Whether the mask allows the access to element i.
bool Machine::is_on(const Op &op, const Tile *mask, size_t i) {
  if (!mask)
    return true;
  const Element &element = (*mask)[mask->size() == 1 ? 0 : i];
  if (element.poison)
    find(Report::Kind::poison_address, op, int64_t(i), "its mask was never there");
  return !element.poison && element.integer;
}

// The element at `pointer`, element i of the pointers of `op`; null, after a report, if invalid.
Element *Machine::accessed(const Op &op, size_t i, const Element &pointer, const char *verb) {
  Element *element = pointer.poison ? nullptr : memory_.at(pointer);
  if (element && memory_[pointer.buffer].elem == op.operand(0)->type.elem)
    return element;
  report(op, i, verb, pointer);
  return nullptr;
}

// Whether the pointer was cast to a type other than its buffer's type.
bool Machine::is_recast(const Op &op, const Element &pointer) const {
  return !pointer.poison && pointer.recast && pointer.buffer >= 0 &&
         pointer.buffer < memory_.size() &&
         memory_[pointer.buffer].elem != op.operand(0)->type.elem;
}

void Machine::report(const Op &op, size_t i, std::string verb, const Element &pointer) {
  if (pointer.poison)
    return find(Report::Kind::poison_address, op, int64_t(i),
                verb + " where no pointer was ever there");
  if (pointer.buffer < 0 || pointer.buffer >= memory_.size())
    return find(Report::Kind::out_of_bounds, op, int64_t(i),
                verb + " through a pointer to nothing");
  const Buffer &buffer = memory_[pointer.buffer];
  std::string does = verb + " " + buffer.name + "[" + std::to_string(pointer.integer) + "]";
  if (memory_.at(pointer))
    return find(Report::Kind::wrong_type, op, int64_t(i),
                does + ", which is " + name_of(buffer.elem));
  find(Report::Kind::out_of_bounds, op, int64_t(i),
       does + ", which has " + std::to_string(buffer.elements.size()) + " elements");
}

void Machine::load(const Op &op) {
  const Tile &pointers = tile(op.operand(0));
  const Tile *mask = tile_or_null(op.operand_or_null(1));
  const Tile *other = tile_or_null(op.operand_or_null(2));
  define(op, [&](size_t i) {
    if (!is_on(op, mask, i))
      return other ? (*other)[i] : Element::no_value();
    if (is_recast(op, pointers[i]))
      if (std::optional<Element> made = memory_.read_as(op.operand(0)->type.elem, pointers[i]))
        return *made;
    const Element *element = accessed(op, i, pointers[i], "reads");
    return element ? *element : Element::no_value();
  });
}

void Machine::store(const Op &op) {
  const Tile &pointers = tile(op.operand(0)), &values = tile(op.operand(1));
  const Tile *mask = tile_or_null(op.operand_or_null(2));
  for (size_t i = 0; i < values.size(); i++) {
    if (!is_on(op, mask, i))
      continue;
    // A partial may have elements that the second launch does not use.
    if (values[i].poison && !memory_.is_workspace(pointers[i].buffer))
      find(Report::Kind::poison_store, op, int64_t(i), "stores a value that was never there");
    if (is_recast(op, pointers[i]) &&
        memory_.write_as(op.operand(0)->type.elem, pointers[i], values[i]))
      continue;
    if (Element *element = accessed(op, i, pointers[i], "writes"))
      *element = values[i];
  }
}

void Machine::atomic(const Op &op) {
  bool compares = op.is(Opcode::atomic_cas_);
  size_t values = compares ? 2 : 1;
  const Tile &pointers = tile(op.operand(0)), &last = tile(op.operand(values));
  const Tile &first = tile(op.operand(1));
  const Tile *mask = tile_or_null(op.operand_or_null(values + 1));
  Elem elem = op.result()->type.elem;
  std::optional<Opcode> how = combining_op(op.get(attr::op_));
  define(op, [&](size_t i) {
    Element *element = is_on(op, mask, i) ? accessed(op, i, pointers[i], "changes") : nullptr;
    if (!element)
      return Element::no_value();
    Element old = *element;
    bool decides = old.poison || first[i].poison; // operands of the comparison
    if (compares && decides)
      *element = Element::no_value();
    else if (compares)
      *element = bits_of(elem, old) == bits_of(elem, first[i]) ? last[i] : old;
    else
      *element = how ? binary(*how, elem, old, last[i]) : last[i];
    if (element->poison)
      find(Report::Kind::poison_store, op, int64_t(i),
           "changes it to a value that was never there");
    return old;
  });
}

} // namespace tritonc::interpreter
