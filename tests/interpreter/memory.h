// The interpreter's global memory: elements, and buffers of elements.
//
// A buffer has exactly its elements, so the interpreter finds an access past its end. An unwritten
// element is poison, and so is every value computed from it.

#pragma once

#include "ir/types.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tritonc::interpreter {

/// One element of a tile or of memory. Its type determines which fields are valid.
struct Element {
  int64_t integer = 0; // an integer, sign-extended; of a pointer: index in its buffer
  double number = 0;   // a floating-point value, exact in its type
  int buffer = -1;     // of a pointer, or an address in memory: buffer index; -1 = none
  bool poison = false; // no value
  bool recast = false; // a pointer cast from an integer or from another pointer type

  static Element of_integer(int64_t value) { return {value, 0, -1, false}; }
  static Element of_number(double value) { return {0, value, -1, false}; }
  static Element pointer(int buffer, int64_t offset = 0) { return {offset, 0, buffer, false}; }
  static Element no_value() { return {0, 0, -1, true}; }
};

/// Same value, or both poison. Compares floats by their bits: -0 differs from 0, NaN equals NaN.
bool same(const Element &a, const Element &b);

/// The elements of a tile in row-major order; a scalar is a tile of one element.
using Tile = std::vector<Element>;

struct Buffer {
  std::string name;
  ir::Elem elem;
  Tile elements;
};

class Memory {
public:
  /// Adds a buffer of `count` unwritten elements. Returns its index.
  int add_unwritten(std::string name, ir::Elem elem, size_t count);
  /// Adds a buffer with these values, each rounded or wrapped to `elem`. Returns its index.
  int add(std::string name, ir::Elem elem, const std::vector<double> &values);
  /// Adds a buffer with the addresses of buffers, as i64. Returns its index.
  int add_addresses(std::string name, const std::vector<int> &buffers);

  int size() const { return int(buffers_.size()); }
  Buffer &operator[](int buffer) { return buffers_[size_t(buffer)]; }
  const Buffer &operator[](int buffer) const { return buffers_[size_t(buffer)]; }

  /// Workspace of a launch, or of two launches that share the work: a buffer after all others. The
  /// first call makes it. Returns -1 if its number or type of elements differs.
  int workspace(ir::Elem elem, size_t count);
  bool is_workspace(int64_t buffer) const { return workspace_ >= 0 && buffer == workspace_; }

  /// Reads an element of type `elem` from the bytes at `pointer`. Returns nullopt if it is not
  /// inside a buffer.
  std::optional<Element> read_as(ir::Elem elem, const Element &pointer) const;
  /// Writes an element of type `elem`. Returns false if it is not inside a buffer.
  bool write_as(ir::Elem elem, const Element &pointer, const Element &value);

  /// The element at a pointer; null if it is not inside a buffer.
  Element *at(const Element &pointer);

  /// The signals that no block has taken back: buffer and element.
  std::set<std::pair<int, int64_t>> signals;

private:
  std::vector<Buffer> buffers_;
  int workspace_ = -1; // -1 = not made yet
};

/// Describes the first difference between the buffers; "" = none.
std::string difference(const Memory &expected, const Memory &found);

} // namespace tritonc::interpreter
