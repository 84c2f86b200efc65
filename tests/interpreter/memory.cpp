// Implements the interpreter's global memory. See memory.h.

#include "interpreter/memory.h"

#include "interpreter/arithmetic.h"
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

int Memory::add_addresses(std::string name, const std::vector<int> &buffers) {
  int added = add_unwritten(std::move(name), Elem::i64, buffers.size());
  for (size_t i = 0; i < buffers.size(); i++) {
    Type pointer = Type::pointer(buffers_[size_t(buffers[i])].elem);
    Element &element = buffers_.back().elements[i];
    element = reinterpret(pointer, Type::scalar(Elem::i64), Element::pointer(buffers[i]));
    element.buffer = buffers[i];
  }
  return added;
}

int Memory::workspace(Elem elem, size_t count) {
  if (workspace_ < 0)
    workspace_ = add_unwritten("workspace", elem, count);
  const Buffer &made = buffers_[size_t(workspace_)];
  return made.elem == elem && made.elements.size() == count ? workspace_ : -1;
}

namespace {

// The bytes of a pointer to `elem` in elements of `buffer`: the first element, the number of
// elements, and the start within the first element if it is only partly covered.
struct Place {
  size_t first, count;
  int shift = 0;
};

std::optional<Place> place_in(const Buffer &buffer, Elem elem, const Element &pointer) {
  int64_t wanted = bytes_of(elem), there = bytes_of(buffer.elem);
  int64_t start = pointer.integer * wanted;
  if (start < 0 || start + wanted > int64_t(buffer.elements.size()) * there || elem == Elem::i1 ||
      buffer.elem == Elem::i1 || (wanted > there && start % there != 0))
    return std::nullopt;
  return Place{size_t(start / there), size_t(std::max<int64_t>(1, wanted / there)),
               int(start % there) * 8};
}

} // namespace

std::optional<Element> Memory::read_as(Elem elem, const Element &pointer) const {
  if (pointer.buffer < 0 || pointer.buffer >= size())
    return std::nullopt;
  const Buffer &buffer = buffers_[size_t(pointer.buffer)];
  std::optional<Place> place = place_in(buffer, elem, pointer);
  if (!place)
    return std::nullopt;
  uint64_t bits = 0;
  for (size_t i = 0; i < place->count; i++) {
    const Element &part = buffer.elements[place->first + i];
    if (part.poison)
      return Element::no_value();
    bits |= bits_of(buffer.elem, part) << (i * size_t(bits_of(buffer.elem)));
  }
  return from_bits(elem, bits >> place->shift);
}

bool Memory::write_as(Elem elem, const Element &pointer, const Element &value) {
  if (pointer.buffer < 0 || pointer.buffer >= size())
    return false;
  Buffer &buffer = buffers_[size_t(pointer.buffer)];
  std::optional<Place> place = place_in(buffer, elem, pointer);
  if (!place)
    return false;
  int part_bits = bits_of(buffer.elem), all_bits = bits_of(elem);
  uint64_t bits = value.poison ? 0 : bits_of(elem, value);
  for (size_t i = 0; i < place->count; i++) {
    Element &part = buffer.elements[place->first + i];
    bool is_whole = all_bits >= part_bits;
    uint64_t mask = is_whole ? ~uint64_t(0) : ((uint64_t(1) << all_bits) - 1) << place->shift;
    uint64_t kept = part.poison || is_whole ? 0 : bits_of(buffer.elem, part) & ~mask;
    uint64_t put = is_whole ? bits >> (i * size_t(part_bits)) : bits << place->shift & mask;
    bool poison = value.poison || (part.poison && !is_whole);
    part = poison ? Element::no_value() : from_bits(buffer.elem, kept | put);
  }
  return true;
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
