// What a program of the interpreter reads and writes: elements, and buffers of them in global
// memory.
//
// A buffer has exactly the elements it was made with, so that the first one past its end is
// noticed. An element that nobody gave a value is poison, as is everything computed from one.

#pragma once

#include "ir/types.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tritonc::interpreter {

/// One element of a tile or of memory. Which fields mean something follows from its type.
struct Element {
  int64_t integer = 0; // an integer, sign-extended; of a pointer: which element of its buffer
  double number = 0;   // a floating-point number, one that its type can hold
  int buffer = -1;     // of a pointer: which buffer; -1: none
  bool poison = false; // there is no value
  bool recast =
      false; // a pointer that was bits, or a pointer to another type: it may be to what it says

  static Element of_integer(int64_t value) { return {value, 0, -1, false}; }
  static Element of_number(double value) { return {0, value, -1, false}; }
  static Element pointer(int buffer, int64_t offset = 0) { return {offset, 0, buffer, false}; }
  static Element no_value() { return {0, 0, -1, true}; }
};

/// The same value, or both poison. Numbers are compared by their bits: -0 is not 0, NaN is NaN.
bool same(const Element &a, const Element &b);

/// The elements of a tile in row-major order; a scalar is a tile of one.
using Tile = std::vector<Element>;

struct Buffer {
  std::string name;
  ir::Elem elem;
  Tile elements;
};

class Memory {
public:
  /// A buffer of `count` elements without a value. The result is its number.
  int add_unwritten(std::string name, ir::Elem elem, size_t count);
  /// A buffer with these values, each rounded or wrapped to `elem`.
  int add(std::string name, ir::Elem elem, const std::vector<double> &values);

  int size() const { return int(buffers_.size()); }
  Buffer &operator[](int buffer) { return buffers_[size_t(buffer)]; }
  const Buffer &operator[](int buffer) const { return buffers_[size_t(buffer)]; }

  /// Workspace of a launch, or of two that share the work: a buffer after all others, made by
  /// whoever asks first; -1 if it was made with another number of elements, or of another type.
  int workspace(ir::Elem elem, size_t count);

  /// The element of a type at a pointer to such, made of the bytes of what is there; nothing if
  /// that is not inside of a buffer.
  std::optional<Element> read_as(ir::Elem elem, const Element &pointer) const;
  /// The same the other way round: whether it was there to be written.
  bool write_as(ir::Elem elem, const Element &pointer, const Element &value);

  /// What a pointer points to; null if that is not inside of a buffer.
  Element *at(const Element &pointer);

private:
  std::vector<Buffer> buffers_;
  int workspace_ = -1; // none yet
};

/// The first element in which the buffers differ, in words; empty if there is none.
std::string difference(const Memory &expected, const Memory &found);

} // namespace tritonc::interpreter
