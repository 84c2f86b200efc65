// Implements partial sums that a block leaves to another block, and their signals (stream-K).
//
// Blocks run one after another, in the order of their indices, so a signal is there when a block waits
// for it. A partial is stored in row-major order: only its layout on a GPU differs.
//
// Tested by tests/interpreter/partials_test.cpp.

#include "interpreter/arithmetic.h"
#include "interpreter/machine.h"

namespace tritonc::interpreter {

using namespace ir;

void Machine::store_partial(const Op &op) {
  Element pointer = scalar(op.operand(0));
  for (const Element &value : Tile(tile(op.operand(1)))) {
    if (Element *element = accessed(op, 0, pointer, "writes"))
      *element = value;
    pointer.integer++;
  }
}

void Machine::add_partial(const Op &op) {
  const Element first = scalar(op.operand(0));
  const Tile &sums = tile(op.operand(1));
  define(op, [&](size_t i) {
    Element pointer = first;
    pointer.integer += int64_t(i);
    const Element *element = accessed(op, i, pointer, "reads");
    return element ? binary(Opcode::add_, op.result()->type.elem, sums[i], *element)
                   : Element::no_value();
  });
}

void Machine::give_signal(const Op &op) {
  not_by_one_thread(op);
  const Element &place = scalar(op.operand(0));
  if (accessed(op, 0, place, "signals at") &&
      !memory_.signals.insert({place.buffer, place.integer}).second)
    find(Report::Kind::deadlock, op, -1, "no block has waited for the last signal there");
}

void Machine::wait_signal(const Op &op) {
  not_by_one_thread(op);
  const Element &place = scalar(op.operand(0));
  if (accessed(op, 0, place, "waits at") && !memory_.signals.erase({place.buffer, place.integer}))
    find(Report::Kind::deadlock, op, -1, "no block before this one has given the signal");
}

} // namespace tritonc::interpreter
