// Implements tensor maps, and loads and stores of tiles through them.
//
// A map is stored as a tile: the pointer to the tensor's first element, then the sizes, then the
// strides. This file checks the driver's rules for maps (cuTensorMapEncodeTiled of the CUDA driver
// API). Buffers of global memory count as aligned.
//
// Tested by tests/interpreter/maps_test.cpp.

#include "interpreter/machine.h"
#include "interpreter/numbers.h"

namespace tritonc::interpreter {

using namespace ir;

size_t contiguous_axis(const Op &map) {
  size_t rank = size_t(map.result()->type.rank()), axis = rank - 1;
  for (size_t d = 0; d < rank; d++)
    if (constant_of(map.operand(2 + rank + d)) == 1)
      axis = d;
  return axis;
}

namespace {

// The reason why the driver refuses a map; "" if it accepts it.
std::string refusal(const Op &op, const Tile &map) {
  const Type &type = op.result()->type;
  size_t rank = size_t(type.rank()), contiguous = contiguous_axis(op);
  int64_t bytes = bytes_of(type.elem), swizzle = op.get(attr::swizzle_);
  int64_t row = type.shape[contiguous] * bytes;
  if (map[0].integer * bytes % 16 != 0)
    return "the tensor starts at byte " + std::to_string(map[0].integer * bytes) +
           ", not a multiple of 16";
  for (size_t d = 0; d < rank; d++) {
    std::string axis = " of axis " + std::to_string(d);
    int64_t size = map[1 + d].integer, stride = map[1 + rank + d].integer;
    if (size < 1 || size > int64_t(1) << 32)
      return "the size" + axis + " is " + std::to_string(size);
    if (d == contiguous && stride != 1)
      return "the stride" + axis + " is not 1";
    if (d != contiguous && (stride < 0 || stride * bytes % 16 != 0 || stride > int64_t(1) << 36))
      return "the stride" + axis + " is " + std::to_string(stride * bytes) + " bytes";
    if (type.shape[d] > 256)
      return "the box has " + std::to_string(type.shape[d]) + " elements along axis " +
             std::to_string(d);
  }
  if (row % 16 != 0 || (swizzle && row > swizzle))
    return "the box has rows of " + std::to_string(row) + " bytes" +
           (swizzle ? ", swizzled over " + std::to_string(swizzle) : "");
  return "";
}

} // namespace

void Machine::tensor_map(const Op &op) {
  const Value *base = op.operand(0);
  Tile map = {scalar(base)};
  if (base->op || base->block) {
    find(Report::Kind::not_on_host, op, -1, "its base is not a parameter");
    map[0].poison = true;
  }
  Element offset = on_host(op, op.operand(1));
  map[0].integer += offset.integer;
  map[0].poison |= offset.poison;
  for (size_t i = 2; i < op.operands.size(); i++)
    map.push_back(on_host(op, op.operand(i)));
  bool is_poison = false;
  for (const Element &element : map)
    is_poison |= element.poison;
  if (is_poison) {
    find(Report::Kind::poison_address, op, -1, "made of a value that was never there");
    map.assign(map.size(), Element::no_value());
  } else if (std::string why = refusal(op, map); !why.empty()) {
    find(Report::Kind::not_launched, op, -1, why);
  }
  define(op, std::move(map));
}

std::vector<std::optional<Element>> Machine::mapped(const Op &op, Shape shape, size_t first) {
  const Tile &map = tile(op.operand(0));
  shape.insert(shape.begin(), op.operand(0)->type.shape.size() - shape.size(), 1);
  std::vector<int64_t> start;
  bool is_poison = map[0].poison;
  for (size_t d = 0; d < shape.size(); d++) {
    const Element &coordinate = scalar(op.operand(first + d));
    start.push_back(coordinate.integer);
    is_poison |= coordinate.poison;
  }
  std::vector<std::optional<Element>> pointers;
  for (int64_t i = 0; i < element_count(shape); i++) {
    std::vector<int64_t> at = unflatten(shape, FlatIndex(i));
    Element pointer = is_poison ? Element::no_value() : map[0];
    bool is_inside = true;
    for (size_t d = 0; d < shape.size(); d++) {
      int64_t coordinate = start[d] + at[d];
      is_inside &= coordinate >= 0 && coordinate < map[1 + d].integer;
      pointer.integer += coordinate * map[1 + shape.size() + d].integer;
    }
    pointers.push_back(is_inside || is_poison ? std::optional(pointer) : std::nullopt);
  }
  return pointers;
}

bool Machine::is_predicated_off(const Op &op, Shape shape, size_t first, size_t i) {
  if (!op.has(attr::predicated_))
    return false;
  shape.insert(shape.begin(), op.operand(0)->type.shape.size() - shape.size(), 1);
  const auto axis = size_t(op.get(attr::predicated_));
  const int64_t at =
      scalar(op.operand(first + axis)).integer + unflatten(shape, FlatIndex(i))[axis];
  return at >= scalar(op.operands.back()).integer;
}

void Machine::check_box(const Op &op, size_t first, bool is_written) {
  const Type &map = op.operand(0)->type;
  size_t contiguous = contiguous_axis(*op.operand(0)->op);
  for (size_t d = 0; d < map.shape.size(); d++) {
    int64_t start = scalar(op.operand(first + d)).integer;
    std::string begins =
        "the box begins at " + std::to_string(start) + " of axis " + std::to_string(d);
    if (is_written && start < 0)
      find(Report::Kind::bad_box, op, -1, begins);
    if (d == contiguous && start * bytes_of(map.elem) % 16 != 0)
      find(Report::Kind::bad_box, op, -1, begins + ", not at a multiple of 16 bytes");
  }
  // TMA would write all 16 bytes of the chunk in which a row of the tensor ends.
  int64_t size = tile(op.operand(0))[1 + contiguous].integer;
  int64_t left = size - scalar(op.operand(first + contiguous)).integer;
  const Shape &buffer = op.operand(1)->type.shape; // of the last axes of the map
  int64_t extent = buffer[buffer.size() - map.shape.size() + contiguous];
  if (is_written && left > 0 && left < extent && size * bytes_of(map.elem) % 16 != 0)
    find(Report::Kind::bad_box, op, -1,
         "after rows of " + std::to_string(size * bytes_of(map.elem)) +
             " bytes, up to a multiple of 16 would be written too");
}

void Machine::tma_load(const Op &op) {
  std::vector<std::optional<Element>> pointers = mapped(op, op.result()->type.shape, 1);
  bool to_tf32 = op.operand(0)->op->has(attr::tf32_);
  define(op, [&](size_t i) {
    if (is_predicated_off(op, op.result()->type.shape, 1, i))
      return Element::no_value();
    if (!pointers[i])
      return Element();
    const Element *element = accessed(op, i, *pointers[i], "reads");
    Element value = element ? *element : Element::no_value();
    if (to_tf32)
      value.number = copied_to_tf32(value.number);
    return value;
  });
}

void Machine::tma_store(const Op &op) {
  const Tile &values = tile(op.operand(1));
  std::vector<std::optional<Element>> pointers = mapped(op, op.operand(1)->type.shape, 2);
  for (size_t i = 0; i < values.size(); i++) {
    Element *element = pointers[i] ? accessed(op, i, *pointers[i], "writes") : nullptr;
    if (!element)
      continue;
    if (values[i].poison)
      find(Report::Kind::poison_store, op, int64_t(i), "stores a value that was never there");
    *element = values[i];
  }
}

} // namespace tritonc::interpreter
