// Types of tile IR values.
//
// A type is a scalar or a tile of one of these kinds:
// - value: integers, floats or booleans
// - pointer: pointers to elements
// - view: the affine form of a pointer tile (a base and one stride per axis); never in registers
// - shared: a buffer in shared memory
// - map: a tensor map, the descriptor of a tensor for TMA
// - channel: passes stages of buffers from one partition of a block's warps to another
//
// Integer types have no sign; operations do. The layout of a tile says where each element is. It is
// empty until a pass assigns it.

#pragma once

#include "ir/linear_layout.h"

#include <memory>
#include <string>

namespace tritonc::ir {

enum class Elem : uint8_t { i1, i8, i16, i32, i64, f16, bf16, f32, f64, e4m3, e5m2 };

/// Size in bits; i1 has 1.
int bits_of(Elem elem);
int bytes_of(Elem elem); // in memory; i1 has 1
bool is_float(Elem elem);
inline bool is_integer(Elem elem) { return !is_float(elem); }
Elem integer_like(Elem elem); // the integer type of the same size in memory
const char *name_of(Elem elem);
std::optional<Elem> elem_named(std::string_view name);

/// Axes of a tile; a buffer in shared memory also has an axis for its stages.
inline constexpr int max_rank = 5;

struct Type {
  enum class Kind : uint8_t { value, pointer, view, shared, map, channel };

  Kind kind = Kind::value;
  Elem elem = Elem::i32;
  Shape shape; // empty: scalar. shared, channel: axis 0 is the stage. map: box of one copy
  std::shared_ptr<const LinearLayout> layout; // null: not assigned, or a scalar

  bool is_tile() const { return !shape.empty(); }
  bool is_scalar() const { return shape.empty(); }
  bool is_pointer() const { return kind == Kind::pointer; }
  bool is_view() const { return kind == Kind::view; }
  bool is_shared() const { return kind == Kind::shared; }
  bool is_map() const { return kind == Kind::map; }
  bool is_channel() const { return kind == Kind::channel; }
  bool is_number() const { return kind == Kind::value; }
  int rank() const { return int(shape.size()); }
  int64_t elements() const { return element_count(shape); }

  /// Same kind, element type, shape and layout.
  bool operator==(const Type &other) const;
  /// Like ==, but layouts may differ.
  bool same_but_layout(const Type &other) const {
    return kind == other.kind && elem == other.elem && shape == other.shape;
  }

  Type with_shape(Shape s) const { return {kind, elem, std::move(s), nullptr}; }
  Type with_elem(Elem e) const { return {kind, e, shape, layout}; }
  Type with_layout(LinearLayout l) const {
    return {kind, elem, shape, std::make_shared<const LinearLayout>(std::move(l))};
  }
  Type with_layout(std::shared_ptr<const LinearLayout> l) const { return {kind, elem, shape, l}; }

  static Type scalar(Elem elem) { return {Kind::value, elem, {}, nullptr}; }
  static Type tile(Elem elem, Shape shape) {
    return {Kind::value, elem, std::move(shape), nullptr};
  }
  static Type pointer(Elem elem, Shape shape = {}) {
    return {Kind::pointer, elem, std::move(shape), nullptr};
  }
  static Type view(Elem elem, Shape shape) { return {Kind::view, elem, std::move(shape), nullptr}; }
  static Type shared(Elem elem, Shape shape) {
    return {Kind::shared, elem, std::move(shape), nullptr};
  }
  static Type map(Elem elem, Shape box) { return {Kind::map, elem, std::move(box), nullptr}; }
  static Type channel(int64_t stages) { return {Kind::channel, Elem::i32, {stages}, nullptr}; }
};

/// Prints a type without its layout: `f32`, `f16[128,64]`, `ptr<f16>[64]`, `view<f16>[128,64]`,
/// `shared<f16>[2,128,64]`, `map<f16>[64,64]`, `channel[4]`.
std::string text_of(const Type &type);

} // namespace tritonc::ir
