// Checks gathers and element indices of tiles. See checker.h.
//
//     x[:, gather(i)]    result[m, n] is x[m, i[m, n]]: i has the shape of the result
//     x[2, n]            one element; x[2, :] is a row
//
// Tested by tests/unit/language/checker_test.cpp and tests/diagnostics/diagnostics_test.cpp.

#include "language/checker.h"
#include "language/constant.h"

#include <algorithm>

namespace tritonc::ast {

void Checker::check_gather(Expr &expr) {
  using Where = Subscript::Kind;
  const Expr &tile = *expr.operands[0];
  const Extents &shape = tile.type.shape;
  size_t axis = expr.subscripts.size();
  for (size_t d = 0; d < expr.subscripts.size(); d++) {
    const Subscript &subscript = expr.subscripts[d];
    bool is_first = subscript.kind == Where::gather && axis == expr.subscripts.size();
    if (is_first) {
      axis = d;
    } else if (subscript.kind != Where::keep) {
      report(Message::gather_mixed, subscript.at, {}, {expr.range});
      return report(Message::gather_alone, subscript.at);
    }
  }
  if (expr.subscripts.size() != shape.size()) {
    report(Message::subscript_axes, expr.at,
           {std::to_string(expr.subscripts.size()), std::to_string(shape.size()), name_of(shape)},
           {tile.range});
    return note_shape(tile);
  }
  ExprPtr &indices = expr.operands[expr.subscripts[axis].operand];
  if (!indices->type.is_integer() || indices->type.is_bool())
    return report(Message::bad_operand, expr.subscripts[axis].at,
                  {"gather", name_of(indices->type)}, {indices->range});
  Extents along = indices->type.shape, others = shape;
  along.insert(along.begin(), shape.size() - std::min(shape.size(), along.size()), 1);
  others[axis] = along[axis];
  if (along.size() > shape.size() || broadcast(along, others) != others) {
    report(Message::gather_shape, expr.subscripts[axis].at,
           {std::to_string(axis), name_of(shape), name_of(indices->type.shape)},
           {tile.range, indices->range});
    report(Message::index_shape, expr.subscripts[axis].at);
    note_shape(tile);
    return note_shape(*indices);
  }
  expr.type = tile.type.with_shape(others);
  wrap(indices, indices->type.with_shape(others));
}

// Reports an unknown word in a subscript as an unknown reduction: `x[mean]`.
void Checker::find_unknown_reductions(Expr &expr) {
  for (const Subscript &subscript : expr.subscripts) {
    if (subscript.kind != Subscript::Kind::index)
      continue;
    Expr &word = *expr.operands[subscript.operand];
    if (!word.is(Expr::Kind::name) || find(word.text) || max_similar(word.text, false))
      continue;
    if (!undeclared_.insert(word.text).second)
      continue;
    std::vector<Edit> edits;
    if (word.text == "sum")
      edits = {Edit::replace(word.at, "+")};
    report(Message::undeclared, word.at, {word.text}, {}, std::move(edits));
    report(Message::known_reductions, word.at);
  }
}

bool Checker::check_indices(Expr &expr) {
  const Expr &tile = *expr.operands[0];
  size_t axis = 0;
  for (Subscript &subscript : expr.subscripts) {
    if (subscript.kind == Subscript::Kind::newaxis)
      continue;
    size_t own = axis++;
    if (subscript.kind != Subscript::Kind::index || own >= tile.type.shape.size())
      continue;
    ExprPtr &index = expr.operands[subscript.operand];
    if (index->type.is_tile() && index->type.is_integer()) {
      report(Message::tile_to_scalar, subscript.at, {name_of(index->type.shape)}, {index->range});
      report(Message::write_gather, subscript.at);
      return false;
    }
    if (!index->type.is_integer()) {
      report(Message::bad_operand, subscript.at, {"[]", name_of(index->type)}, {index->range});
      return false;
    }
    std::optional<int64_t> known = constant_integer(*index);
    if (known && (*known < 0 || *known >= tile.type.shape[own])) {
      report(Message::index_out_of_range, subscript.at,
             {std::to_string(*known), std::to_string(tile.type.shape[own])}, {index->range});
      return false;
    }
    subscript.is_checked = !known;
    if (index->type.is_bool())
      wrap(index, Type::of(Scalar::int32));
  }
  return true;
}

} // namespace tritonc::ast
