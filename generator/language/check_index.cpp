// Checks gathers and element indices of tiles. See checker.h.
//
//     x[:, gather(i)]    result[m, n] is x[m, i[m, n]]: i has the shape of the result
//     x[2, n]            one element; x[2, :] is a row
//     x[0:32]            an error: tiles have no slices
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

namespace {

// Whether the subscript keeps all axes except the axis of the slice. A `gather` requires that.
bool is_only_slice(const Expr &expr, const Subscript &slice) {
  return expr.subscripts.size() == expr.operands[0]->type.shape.size() &&
         std::all_of(expr.subscripts.begin(), expr.subscripts.end(), [&](const Subscript &one) {
           return &one == &slice || one.kind == Subscript::Kind::keep;
         });
}

// The `gather` that takes the elements in `range` along an axis before `after` other axes.
std::string gather_of(const std::string &range, size_t after) {
  if (after == 0)
    return "gather(" + range + ")";
  std::string axes = ":";
  for (size_t i = 0; i < after; i++)
    axes += ", newaxis";
  return "gather((" + range + ")[" + axes + "])";
}

} // namespace

// Reports `x[0:32]`.
void Checker::check_slice(Expr &expr, const Subscript &slice) {
  const Expr &tile = *expr.operands[0];
  std::optional<std::string> range = range_text(slice);
  if (!tile.type.is_tile()) {
    report(Message::subscript_of_scalar, expr.at, {name_of(tile.type)}, {tile.range});
    if (tile.type.is_pointer() && range)
      report(Message::load_range, expr.at, {operand_text(tile), *range});
    else if (tile.type.is_pointer())
      report(Message::write_deref, expr.at);
    return;
  }
  std::string text = diagnostics_.text_at(slice.axis->range);
  report(Message::no_slices, slice.at, {text}, {tile.range});
  if (!range || !is_only_slice(expr, slice))
    return report(Message::gather_range, slice.at);
  std::string gather = gather_of(*range, size_t(&expr.subscripts.back() - &slice));
  report(Message::write_slice, slice.at, {gather, text}, {},
         {Edit::replace(slice.axis->range, gather)});
}

// The range of the positions in a slice; nullopt unless the language has this range.
std::optional<std::string> Checker::range_text(const Subscript &slice) {
  Expr &range = *slice.axis;
  if (!range.is(Expr::Kind::range))
    return std::nullopt;
  std::optional<int64_t> ends[2];
  for (size_t i : {0, 1}) {
    check_expr(range.operands[i]);
    ends[i] = constant_integer(*range.operands[i]);
  }
  if (!ends[0] || !ends[1] || *ends[0] < 0 || *ends[1] <= *ends[0] ||
      !is_power_of_two(*ends[1] - *ends[0]))
    return std::nullopt;
  bool has_first = range.operands[0]->at.id != range.at.id; // see Parser::slice
  return (has_first ? operand_text(*range.operands[0]) : "0") + " ... " +
         operand_text(*range.operands[1]);
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
