// Translates operations that tile IR has no single operation for: batched matmuls, gathers with
// checks, and argmin and argmax. See translator.h.
//
// Tested by tests/unit/translate/translate_expression_test.cpp.

#include "translate/translator.h"

namespace tritonc {

namespace {

// Moves `index` to the next one in row-major order; returns false after the last.
bool advance(Extents &index, const Extents &extents) {
  for (size_t d = extents.size(); d-- > 0;) {
    if (++index[d] < extents[d])
      return true;
    index[d] = 0;
  }
  return false;
}

} // namespace

// The index along `axis` of each element.
ir::Value *Translator::indices_along(int axis, const Extents &shape) {
  ir::Value *index = build_->range(0, shape[size_t(axis)]);
  for (int d = 0; d < int(shape.size()); d++)
    if (d != axis)
      index = build_->expand(index, d);
  return repeat_to(index, shape);
}

// The first index along `axis` of the element that a reduction by `how`, min or max, returns. If no
// element equals it, as with NaNs, the last index, so the result is always a valid index.
ir::Value *Translator::index_of_best(ir::Value *tile, int axis, const std::string &how) {
  const Extents shape = tile->type.shape;
  ir::Value *best = build_->reduce(tile, axis, how);
  best = repeat_to(best->type.is_tile() ? build_->expand(best, axis) : best, shape);
  ir::Value *index = indices_along(axis, shape);
  ir::Value *last = build_->filled(index->type, double(shape[size_t(axis)] - 1));
  ir::Value *found = build_->select(build_->cmp("eq", tile, best), index, last);
  return build_->reduce(found, axis, "min");
}

// --- Elements at indices. ------------------------------------------------------------------------

// Applies the `gather` and index subscripts to the tile. An index selects one index for the
// whole tile and removes the axis.
ir::Value *Translator::elements_at(const ast::Expr &expr, ir::Value *tile) {
  using Where = ast::Subscript::Kind;
  int axis = 0;
  for (const ast::Subscript &subscript : expr.subscripts) {
    bool is_index = subscript.kind == Where::index;
    if (is_index || subscript.kind == Where::gather) {
      ir::Value *indices = value(*expr.operands[subscript.operand]);
      set_location(subscript.at);
      if (subscript.is_checked)
        check_index(subscript, indices, tile->type.shape[size_t(axis)], expr);
      Extents shape = tile->type.shape;
      shape[size_t(axis)] = 1;
      tile = build_->gather(tile, axis, is_index ? repeat_to(indices, shape) : indices);
      shape.erase(shape.begin() + axis);
      if (is_index)
        tile = shape.empty() ? build_->reduce(tile, 0, "add") : build_->reshape(tile, shape);
    }
    axis += !is_index && subscript.kind != Where::newaxis;
  }
  return tile;
}

// Emits an assertion, for host code, that the indices are inside the axis. Under a condition only
// the indices count for which it holds. If a mask does not broadcast to the indices, this is
// unknown, so there is no assertion.
void Translator::check_index(const ast::Subscript &subscript, ir::Value *indices, int64_t extent,
                             const ast::Expr &expr) {
  bool reads_unsigned = is_unsigned(expr.operands[subscript.operand]->type.scalar);
  ir::Value *wide = indices->type.elem == ir::Elem::i64
                        ? indices
                        : build_->cast(indices, ir::Elem::i64, reads_unsigned);
  ir::Value *inside = build_->cmp("ult", wide, build_->filled(wide->type, double(extent)));
  for (const Mask &mask : masks_) {
    const Extents &shape = indices->type.shape;
    if (broadcast(mask.value->type.shape, shape) != shape)
      return;
    ir::Value *on = repeat_to(mask.value, shape);
    inside = build_->select(on, inside, build_->filled(inside->type, 1));
  }
  bool gathers = subscript.kind == ast::Subscript::Kind::gather;
  build_->create(ir::Opcode::assert_, {inside})
      ->set(ir::attr::text_, std::string(gathers ? "`gather` index" : "index") +
                                 " out of range for an axis of extent " + std::to_string(extent));
}

// --- Batched matmuls. ----------------------------------------------------------------------------

// Computes `a @ b` for each batch index, one after another: extracts the matrices of the operands
// and the accumulator, and inserts their product into the result.
ir::Value *Translator::batched_matmul(const ast::Expr &expr, ir::Value *a, ir::Value *b,
                                      ir::Value *accumulator) {
  const Extents &shape = expr.type.shape;
  const Extents batch(shape.begin() + 2, shape.end());
  Extents index(batch.size(), 0);
  ir::Value *result = accumulator;
  do {
    auto matrix = [&](ir::Value *tile) {
      return matrix_of(tile, in_batch(tile->type.shape, index));
    };
    ir::Value *added = matrix(accumulator), *right = matrix(b), *left = matrix(a);
    ir::Value *product = dot(expr, left, right, added);
    for (size_t d = 2; d < shape.size(); d++)
      product = build_->expand(product, int(d));
    product = repeat_to(product, shape);
    ir::Value *chosen = in_batch(shape, index);
    result = chosen ? build_->select(chosen, product, result) : product;
  } while (advance(index, batch));
  return result;
}

// Whether an element is at `index` along the batch axes; null: all elements are.
ir::Value *Translator::in_batch(const Extents &shape, const Extents &index) {
  ir::Value *chosen = nullptr;
  for (size_t d = 2; d < shape.size(); d++) {
    if (shape[d] == 1)
      continue;
    ir::Value *along = indices_along(int(d), shape);
    ir::Value *here = build_->cmp("eq", along, build_->filled(along->type, double(index[d - 2])));
    chosen = chosen ? build_->binary(ir::Opcode::and_, chosen, here) : here;
  }
  return chosen;
}

// The matrix of the `chosen` elements, one batch index (null: there is only one). Sums integers in
// which all other elements are zero, so every bit is preserved.
ir::Value *Translator::matrix_of(ir::Value *tile, ir::Value *chosen) {
  const ir::Type type = tile->type;
  if (!chosen)
    return build_->reshape(tile, {type.shape[0], type.shape[1]});
  ir::Elem integer = ir::integer_like(type.elem);
  if (type.elem != integer)
    tile = build_->bitcast(tile, integer);
  tile = build_->select(chosen, tile, build_->filled(tile->type, 0));
  while (tile->type.shape.size() > 2)
    tile = build_->reduce(tile, tile->type.rank() - 1, "add");
  return type.elem == integer ? tile : build_->bitcast(tile, type.elem);
}

} // namespace tritonc
