// Global memory of the interpreter. See memory.h.

#include "interpreter/memory.h"
#include "interpreter/numbers.h"

#include <bit>

namespace tritonc::interpreter {

using namespace ir;

bool same(const Element &a, const Element &b) {
  if (a.poison || b.poison)
    return a.poison == b.poison;
  return a.integer == b.integer && a.buffer == b.buffer &&
         std::bit_cast<uint64_t>(a.number) == std::bit_cast<uint64_t>(b.number);
}

int Memory::add_unwritten(std::string name, Elem elem, size_t count) {
  buffers_.push_back({std::move(name), elem, Tile(count, Element::no_value())});
  return size() - 1;
}

int Memory::add(std::string name, Elem elem, const std::vector<double> &values) {
  int buffer = add_unwritten(std::move(name), elem, values.size());
  for (size_t i = 0; i < values.size(); i++)
    buffers_.back().elements[i] = is_float(elem)
                                      ? Element::of_number(rounded(elem, values[i]))
                                      : Element::of_integer(wrapped(elem, int64_t(values[i])));
  return buffer;
}

int Memory::scratch(Elem elem, size_t count) {
  if (scratch_ < 0)
    scratch_ = add_unwritten("scratch", elem, count);
  const Buffer &made = buffers_[size_t(scratch_)];
  return made.elem == elem && made.elements.size() == count ? scratch_ : -1;
}

Element *Memory::at(const Element &pointer) {
  if (pointer.buffer < 0 || pointer.buffer >= size() || pointer.integer < 0)
    return nullptr;
  Tile &elements = buffers_[size_t(pointer.buffer)].elements;
  return size_t(pointer.integer) < elements.size() ? &elements[size_t(pointer.integer)] : nullptr;
}

std::string difference(const Memory &expected, const Memory &found) {
  for (int b = 0; b < expected.size(); b++)
    for (size_t i = 0; i < expected[b].elements.size(); i++) {
      const Element &was = expected[b].elements[i], &is = found[b].elements[i];
      if (!same(was, is))
        return expected[b].name + "[" + std::to_string(i) + "] is " +
               text_of(expected[b].elem, is) + ", not " + text_of(expected[b].elem, was);
    }
  return "";
}

} // namespace tritonc::interpreter
