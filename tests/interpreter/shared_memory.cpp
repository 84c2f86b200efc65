// Implements shared memory and asynchronous copies.
//
// A buffer is an array of stages, each a tile in row-major order. Layouts and addresses have no
// effect here. The buffer is all poison each time its shared_alloc runs.
//
// An async_copy makes its destination in the stage poison. The values land when an async_wait
// covers the copy's group, as late as the hardware may. The time of the read from global memory is
// also open: a value that changes between start and landing becomes poison.
//
// Tested by tests/interpreter/shared_memory_test.cpp.

#include "interpreter/machine.h"
#include "interpreter/numbers.h"

#include <algorithm>

namespace tritonc::interpreter {

using namespace ir;

void Machine::shared_alloc(const Op &op) {
  auto [found, is_new] = allocated_.emplace(&op, int(shared_.size()));
  if (is_new)
    shared_.emplace_back();
  const Type &type = op.result()->type;
  shared_[size_t(found->second)] = {Tile(size_t(type.elements()), Element::no_value()),
                                    type.shape[0]};
  define(op, Element::of_integer(found->second));
}

void Machine::stage_index(const Op &op) {
  Element stage = scalar(op.operand(0));
  if (!stage.poison)
    stage.integer = (stage.integer + op.get(attr::offset_)) % op.get(attr::stages_);
  define(op, stage);
}

// Whether the stage exists; reports it if not.
bool Machine::is_stage(const Op &op, const Element &index, int64_t stages) {
  bool exists = !index.poison && index.integer >= 0 && index.integer < stages;
  if (index.poison)
    find(Report::Kind::poison_address, op, -1, "its stage was never there");
  else if (!exists)
    find(Report::Kind::bad_slot, op, -1,
         "stage " + std::to_string(index.integer) + " of " + std::to_string(stages));
  return exists;
}

// The first element of a stage; null, after a report, if the stage does not exist.
Element *Machine::stage(const Op &op, const Value *buffer, const Value *stage) {
  SharedBuffer &in = shared_[size_t(scalar(buffer).integer)];
  const Element &index = scalar(stage);
  if (!is_stage(op, index, in.stages))
    return nullptr;
  return &in.elements[in.elements.size() / size_t(in.stages) * size_t(index.integer)];
}

// The stage with this first element.
Machine::Place Machine::place_of(const Value *buffer, const Element *first) const {
  int number = int(scalar(buffer).integer);
  return {number, size_t(first - shared_[size_t(number)].elements.data())};
}

void Machine::shared_store(const Op &op) {
  Element *to = stage(op, op.operand(1), op.operand(2));
  if (!to)
    return;
  const Tile &elements = tile(op.operand(0));
  const Shape &buffer = op.operand(1)->type.shape;
  std::vector<int64_t> origin = op.get(attr::origin_);
  std::vector<int64_t> strides = row_major_strides(Shape(buffer.begin() + 1, buffer.end()));
  int64_t first = 0;
  for (size_t d = 0; d < origin.size(); d++)
    first += origin[d] * strides[d];
  std::vector<int64_t> into = places(op.operand(0)->type.shape, strides);
  for (size_t i = 0; i < elements.size(); i++)
    to[first + into[i]] = elements[i];
  unfenced_[running_].insert(place_of(op.operand(1), to));
}

void Machine::shared_load(const Op &op) {
  const Shape &shape = op.result()->type.shape, &buffer = op.operand(0)->type.shape;
  Shape stage_shape(buffer.begin() + 1, buffer.end());
  std::vector<int64_t> perm = op.get(attr::perm_), origin = op.get(attr::origin_);
  std::vector<int64_t> of_slot = row_major_strides(stage_shape), strides;
  int64_t first = 0;
  for (size_t d = 0; d < perm.size(); d++) {
    strides.push_back(of_slot[size_t(perm[d])]);
    first += origin[d] * strides[d];
  }
  std::vector<int64_t> sources = places(shape, strides);
  const Element *from = stage(op, op.operand(0), op.operand(1));
  if (from)
    unfenced_reads_[running_].insert(place_of(op.operand(0), from));
  define(op, [&](size_t i) { return from ? from[first + sources[i]] : Element::no_value(); });
}

void Machine::shared_gather(const Op &op) {
  const Shape &buffer = op.operand(0)->type.shape;
  const Element *from = stage(op, op.operand(0), op.operand(1));
  const Tile &positions = tile(op.operand(2));
  define(op, [&](size_t i) {
    return gathered(op, Shape(buffer.begin() + 1, buffer.end()), from, positions, i);
  });
}

// Calls `visit(i, element)` for each element i of a tile of rows that follow one another in a stage,
// up to the length of a row. `buffer`: the first operand of four: stage, length, first element.
template <typename Visit>
void Machine::for_each_row_element(const Op &op, size_t buffer, const Shape &shape, Visit visit) {
  Element *stage_start = stage(op, op.operand(buffer), op.operand(buffer + 1));
  const Element &length = scalar(op.operand(buffer + 2)), &first = scalar(op.operand(buffer + 3));
  if (length.poison || first.poison)
    return find(Report::Kind::poison_address, op, -1, "the place of its rows was never there");
  const int64_t origin = op.has(attr::origin_) ? op.get(attr::origin_)[1] : 0;
  const int64_t left = length.integer - origin; // in a row
  if (op.has(attr::whole_) && left < shape[1])
    return find(Report::Kind::bad_slot, op, -1, "a row that ends within the tile");
  for (int64_t row = 0; stage_start && row < shape[0]; row++)
    for (int64_t column = 0; column < std::min(shape[1], left); column++) {
      const int64_t at = first.integer + row * length.integer + origin + column;
      if (at < 0 || at >= op.operand(buffer)->type.shape[1])
        return find(Report::Kind::bad_slot, op, -1,
                    "element " + std::to_string(at) + " of a stage");
      visit(size_t(row * shape[1] + column), stage_start[at]);
    }
}

void Machine::shared_load_rows(const Op &op) {
  Tile loaded(size_t(op.result()->type.elements())); // zeros
  for_each_row_element(op, 0, op.result()->type.shape,
                       [&](size_t i, const Element &element) { loaded[i] = element; });
  define(op, [&](size_t i) { return loaded[i]; });
}

void Machine::shared_store_rows(const Op &op) {
  const Tile &elements = tile(op.operand(0));
  for_each_row_element(op, 1, op.operand(0)->type.shape,
                       [&](size_t i, Element &to) { to = elements[i]; });
}

void Machine::async_copy(const Op &op) {
  Element *to = stage(op, op.operand(1), op.operand(2));
  const Element &wanted = scalar(op.operand(3));
  if (wanted.poison)
    find(Report::Kind::poison_address, op, -1, "whether to copy was never there");
  if (!to || wanted.poison)
    return;
  auto [into, first] = place_of(op.operand(1), to);
  const Tile &pointers = tile(op.operand(0));
  const Tile *mask = tile_or_null(op.operand_or_null(4));
  Element zero; // valid for any type
  for (size_t i = 0; i < pointers.size(); i++) {
    Copy copy{into, first + i, zero, Element::no_value()};
    if (wanted.integer && is_on(op, mask, i)) {
      const Element *element = accessed(op, i, pointers[i], "copies");
      copy.value = element ? *element : Element::no_value();
      copy.from = element ? pointers[i] : Element::no_value();
    }
    to[i] = Element::no_value();
    started_.push_back(copy);
  }
}

void Machine::async_commit() {
  groups_.push_back(std::move(started_));
  started_.clear();
}

void Machine::land(const Copy &copy) {
  Element &to = shared_[size_t(copy.into)].elements[copy.at];
  bool changed = !copy.from.poison && !same(*memory_.at(copy.from), copy.value);
  to = changed ? Element::no_value() : copy.value;
  if (copy.to_tf32)
    to.number = copied_to_tf32(to.number);
}

void Machine::async_wait(const Op &op) {
  while (groups_.size() > size_t(op.get(attr::pending_))) {
    for (const Copy &copy : groups_.front()) {
      land(copy);
      const SharedBuffer &into = shared_[size_t(copy.into)];
      unfenced_[running_].insert(
          {copy.into, copy.at - copy.at % (into.elements.size() / size_t(into.stages))});
    }
    groups_.pop_front();
  }
}

} // namespace tritonc::interpreter
