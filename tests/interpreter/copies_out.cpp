// Implements TMA copies from shared memory to a tensor.
//
// A tma_store_async reads its stage at any time between its start and the tma_store_wait that
// covers it. Elements that change in between are reported and become poison. It writes to the
// tensor at any time until the program ends. Until then these elements are poison, also after other
// writes to them. TMA sees threads' writes to a stage only after a proxy_fence.
//
// Tested by tests/interpreter/copies_out_test.cpp.

#include "interpreter/machine.h"

namespace tritonc::interpreter {

using namespace ir;

void Machine::tma_store_async(const Op &op) {
  not_by_one_thread(op);
  const Element *from = stage(op, op.operand(1), op.operand(2));
  if (!from)
    return;
  check_box(op, 3, true);
  auto [buffer, first] = place_of(op.operand(1), from);
  if (is_unfenced({buffer, first}))
    find(Report::Kind::not_fenced, op, -1, "no proxy_fence since its stage was written");
  const Type &type = op.operand(1)->type;
  std::vector<std::optional<Element>> pointers =
      mapped(op, Shape(type.shape.begin() + 1, type.shape.end()), 3);
  CopyOut copy{&op, buffer, {}};
  for (size_t i = 0; i < pointers.size(); i++) {
    Element *to = pointers[i] ? accessed(op, i, *pointers[i], "writes") : nullptr;
    if (!to)
      continue;
    if (from[i].poison)
      find(Report::Kind::poison_store, op, int64_t(i), "stores a value that was never there");
    *to = Element::no_value();
    copy.elements.push_back({first + i, from[i], *pointers[i]});
  }
  copies_out_.push_back(std::move(copy));
}

// Reads the source of the oldest copy, as late as possible.
void Machine::read_oldest() {
  CopyOut copy = std::move(copies_out_.front());
  copies_out_.pop_front();
  for (OneOut &element : copy.elements) {
    if (same(shared_[size_t(copy.buffer)].elements[element.at], element.value))
      continue;
    find(Report::Kind::poison_store, *copy.op, -1, "what it copies changes before it is read");
    element.value = Element::no_value();
  }
  read_out_.push_back(std::move(copy));
}

void Machine::tma_store_wait(const Op &op) {
  not_by_one_thread(op);
  while (copies_out_.size() > size_t(op.get(attr::pending_)))
    read_oldest();
}

void Machine::proxy_fence(const Op &op) {
  not_by_one_thread(op);
  unfenced_[running_].clear();
  unfenced_reads_[running_].clear();
}

// Writes all destinations at the end of the program.
void Machine::land_copies_out() {
  while (!copies_out_.empty())
    read_oldest();
  for (const CopyOut &copy : read_out_)
    for (const OneOut &element : copy.elements) {
      Element &to = *memory_.at(element.to);
      to = to.poison ? element.value : Element::no_value();
    }
}

} // namespace tritonc::interpreter
