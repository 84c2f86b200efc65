// Implements constant memory: bytes that a kernel cannot change.
//
// Tested by tests/interpreter/constant_memory_test.cpp.

#include "interpreter/machine.h"
#include "interpreter/numbers.h"

#include <cstring>

namespace tritonc::interpreter {

using namespace ir;

std::vector<uint8_t> initial_constants(const Function &fn) {
  std::vector<uint8_t> bytes(size_t(fn.constant_bytes()), 0);
  for (const ConstantMemory &part : fn.constant_memory) {
    size_t size = size_t(bytes_of(part.elem)), at = size_t(part.offset);
    auto put = [&](const Element &element) {
      uint64_t bits = bits_of(part.elem, element);
      std::memcpy(bytes.data() + at, &bits, size);
      at += size;
    };
    for (int64_t value : part.values)
      put(Element::of_integer(wrapped(part.elem, value)));
    for (double number : part.floats)
      put(Element::of_number(rounded(part.elem, number)));
  }
  return bytes;
}

// The offset is taken modulo the power-of-two size of the block.
void Machine::constant_load(const Op &op) {
  if (constants_.empty())
    constants_ = launch_.constants.empty() ? initial_constants(fn_) : launch_.constants;
  const Tile &offsets = tile(op.operand(0));
  Elem elem = op.result()->type.elem;
  size_t size = size_t(bytes_of(elem));
  define(op, [&](size_t i) {
    if (offsets[i].poison)
      return Element::no_value();
    uint64_t at = uint64_t(offsets[i].integer) & (constants_.size() - size);
    uint64_t bits = 0;
    std::memcpy(&bits, constants_.data() + at, size);
    return elem == Elem::i1 ? Element::of_integer(bits != 0) : from_bits(elem, bits);
  });
}

} // namespace tritonc::interpreter
