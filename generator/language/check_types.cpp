// Checks types: extents, conversions and shapes. See checker.h.
//
// Tested by tests/unit/language/checker_test.cpp and tests/diagnostics/diagnostics_test.cpp.

#include "language/checker.h"
#include "language/constant.h"

#include <algorithm>

namespace tritonc::ast {
namespace {

using Kind = Expr::Kind;

// The name under conversions, unary operators and loads that keep its shape; null if none.
const Expr *name_in(const Expr &expr) {
  if (expr.is(Kind::name))
    return &expr;
  bool keeps_shape = expr.is(Kind::convert) || expr.is(Kind::unary) || expr.is(Kind::deref);
  if (!keeps_shape || expr.type.shape != expr.operands[0]->type.shape)
    return nullptr;
  return name_in(*expr.operands[0]);
}

} // namespace

// Computes the shape and returns the type; an error type after an error.
Type Checker::complete(TypeName &type_name, const std::string &what) {
  bool is_good = check_extents(type_name);
  if (type_name.type.is_void()) {
    report(Message::void_value, type_name.range.begin, {what}, {type_name.range});
    is_good = false;
  }
  if (!is_good)
    type_name.type = Type();
  return type_name.type;
}

bool Checker::check_extents(TypeName &type_name) {
  if (type_name.extents.empty())
    return !type_name.type.is_error();
  Extents shape;
  for (ExprPtr &extent : type_name.extents)
    if (!check_extent(extent, shape))
      return false;
  Location at = type_name.extents[0]->at;
  if (shape.size() > size_t(max_axes)) {
    report(Message::too_many_axes, at, {std::to_string(shape.size())});
    report(Message::at_most_axes, at, {std::to_string(max_axes)});
    return false;
  }
  int64_t count = element_count(shape);
  if (count > max_elements) {
    report(Message::tile_too_large, at, {std::to_string(count)},
           {{type_name.extents.front()->range.begin, type_name.extents.back()->range.end}});
    report(Message::at_most_elements, at, {std::to_string(max_elements)});
    return false;
  }
  type_name.type.shape = std::move(shape);
  return !type_name.type.is_error();
}

bool Checker::check_extent(ExprPtr &extent, Extents &shape) {
  if (extent->is(Kind::name) && !find(extent->text)) {
    report_undeclared(*extent, /*is_extent=*/true);
    return false;
  }
  check_expr(extent);
  if (extent->type.is_error())
    return false;
  std::optional<int64_t> value = constant_integer(*extent);
  if (!value) {
    report(Message::extent_not_constant, extent->at, {}, {extent->range});
    report(Message::constant_extent, extent->at);
    return false;
  }
  bool is_good = *value > 0 && is_power_of_two(*value);
  if (!is_good && !is_news(*extent))
    return false;
  if (*value <= 0) {
    report(Message::extent_not_positive, extent->at, {std::to_string(*value)}, {extent->range});
    return false;
  }
  if (!is_power_of_two(*value)) {
    report(Message::extent_not_power, extent->at, {std::to_string(*value)}, {extent->range});
    bad_extent_ = *value;
    if (*value < max_elements)
      report(Message::next_power, extent->at, {std::to_string(next_power_of_two(*value))});
    return false;
  }
  shape.push_back(*value);
  return true;
}

// Whether this wrong number is not yet reported. A macro can use the same number in many places.
bool Checker::is_news(const Expr &extent) {
  return bad_extents_.insert(diagnostics_.spelling(extent.at).id).second;
}

// Converts `expr` for an assignment to a target of type `to`.
bool Checker::convert(ExprPtr &expr, const Type &to, Location at) {
  if (expr->type.is_error() || to.is_error()) {
    expr->type = Type();
    return false;
  }
  if (expr->type.is_pointer() && !expr->type.to_constant && to.is_bool())
    to_bool(expr); // whether the pointer is not null
  if (!can_convert_elements(*expr, to, at))
    return false;
  std::optional<Extents> shape = broadcast(expr->type.shape, to.shape);
  if (shape != to.shape) {
    if (to.is_tile()) {
      report(Message::cannot_broadcast, at, {name_of(expr->type.shape), name_of(to.shape)},
             {expr->range});
      note_shape(*expr);
      if (!note_range(*expr, to.shape, /*is_target=*/true))
        note_insert_axis(*expr, to.shape);
    } else {
      report(Message::tile_to_scalar, at, {name_of(expr->type.shape)}, {expr->range});
      report(Message::reduce_it, at);
    }
    return false;
  }
  narrow_arms(*expr, to.scalar);
  wrap(expr, to);
  return true;
}

bool Checker::can_convert_elements(const Expr &expr, const Type &to, Location at) {
  const Type &from = expr.type;
  if (from.is_number() && to.is_number())
    return true;
  if (to.is_pointer() && !to.to_constant && is_null(expr))
    return true;
  bool is_same = from.scalar == to.scalar || from.scalar == Scalar::void_ ||
                 to.scalar == Scalar::void_; // `void *` matches any type
  if (from.is_pointer() && to.is_pointer() && from.to_constant != to.to_constant) {
    report(Message::no_conversion, at, {name_of(from), name_of(to)}, {expr.range});
    report(Message::keeps_constant, at);
    return false;
  }
  if (from.is_pointer() && to.is_pointer() && is_same) {
    if (from.to_const && !to.to_const) {
      report(Message::drops_const, at, {name_of(from)}, {expr.range});
      report(Message::keep_const, at);
      return false;
    }
    return true;
  }
  report(Message::no_conversion, at, {name_of(from), name_of(to)}, {expr.range});
  if (from.is_pointer() && to.is_number())
    report(Message::load_it, at);
  return false;
}

// Converts a value to bool: zero becomes false.
bool Checker::to_bool(ExprPtr &expr) {
  if (expr->type.is_error())
    return false;
  if (expr->type.is_pointer() && !expr->type.to_constant) {
    wrap(expr, expr->type.with_scalar(Scalar::bool_));
    return true;
  }
  return convert(expr, expr->type.with_scalar(Scalar::bool_), expr->at);
}

// Whether the expression is the constant 0, which is also the null pointer.
bool Checker::is_null(const Expr &expr) {
  return expr.type.is_integer() && constant_integer(expr) == 0;
}

void Checker::wrap(ExprPtr &expr, Type to) {
  if (expr->type == to)
    return;
  auto made = std::make_unique<Expr>();
  made->kind = Kind::convert;
  made->at = expr->at;
  made->range = expr->range;
  made->type = std::move(to);
  made->operands.push_back(std::move(expr));
  expr = std::move(made);
}

std::optional<Extents> Checker::common_shape(const Expr &a, const Expr &b, const std::string &what,
                                             Location at) {
  std::optional<Extents> shape = broadcast(a.type.shape, b.type.shape);
  if (shape)
    return shape;
  report(Message::shapes_differ, at, {what, name_of(a.type.shape), name_of(b.type.shape)},
         {a.range, b.range});
  note_shape(a);
  note_shape(b);
  if (note_range(a, b.type.shape, /*is_target=*/false) ||
      note_range(b, a.type.shape, /*is_target=*/false))
    return std::nullopt;
  bool a_is_narrow = a.type.shape.size() < b.type.shape.size();
  note_insert_axis(a_is_narrow ? a : b, a_is_narrow ? b.type.shape : a.type.shape);
  if (a.type.shape.size() == 1 && b.type.shape.size() == 1)
    report(Message::all_pairs, at, {name_of(Extents{a.type.shape[0], b.type.shape[0]})});
  return std::nullopt;
}

void Checker::note_shape(const Expr &expr) {
  const Expr *name = name_in(expr);
  if (name && name->variable && name->type.is_tile())
    report(Message::shape_comes_from, name->variable->at, {name->text, name_of(name->type.shape)});
}

// Suggests `[:, newaxis]` if a one-axis tile matches the first of two axes: the user probably meant
// a column.
void Checker::note_insert_axis(const Expr &narrow, const Extents &wide) {
  const Expr *name = narrow.is(Kind::deref) ? nullptr : name_in(narrow);
  if (name && narrow.type.shape.size() == 1 && wide.size() == 2 && narrow.type.shape[0] == wide[0])
    report(Message::insert_axis, narrow.at, {"1", name->text + "[:, newaxis]"}, {},
           {Edit::insert_behind(name->at, "[:, newaxis]")});
}

namespace {

// Looks through conversions that the checker inserted. A named constant is such a conversion, too,
// but has a text.
const Expr &unconverted(const Expr &expr) {
  bool is_inserted = expr.is(Kind::convert) && expr.text.empty();
  return is_inserted ? unconverted(*expr.operands[0]) : expr;
}

// Whether parentheses enclose a range or a binary operator.
bool is_enclosed(const Expr &expr) {
  return expr.range.begin.id != expr.operands[0]->range.begin.id;
}

// The range at the start of a chain of operators without parentheses, such as `a ... b / c * d`;
// null if there is none.
const Expr *leading_range(const Expr &expr) {
  const Expr &inner = unconverted(expr);
  if ((!inner.is(Kind::range) && !inner.is(Kind::binary)) || is_enclosed(inner))
    return nullptr;
  return inner.is(Kind::range) ? &inner : leading_range(*inner.operands[0]);
}

ExprPtr literal(int64_t value) {
  auto made = std::make_unique<Expr>();
  made->kind = Kind::integer;
  made->type = Type::of(Scalar::int64);
  made->integer = uint64_t(value);
  return made;
}

// The value of `b / c` in the chain `a ... b / c`; nullopt if it is not constant.
std::optional<int64_t> end_of(const Expr &chain) {
  const Expr &inner = unconverted(chain);
  if (inner.is(Kind::range))
    return constant_integer(*inner.operands[1]);
  bool is_arithmetic = !is_comparison(inner.op) && inner.op != Operator::logical_and &&
                       inner.op != Operator::logical_or;
  std::optional<int64_t> left = end_of(*inner.operands[0]);
  std::optional<int64_t> right = constant_integer(unconverted(*inner.operands[1]));
  if (!is_arithmetic || !left || !right)
    return std::nullopt;
  Expr made;
  made.kind = Kind::binary;
  made.op = inner.op;
  made.type = Type::of(Scalar::int64);
  made.operands.push_back(literal(*left));
  made.operands.push_back(literal(*right));
  return constant_integer(made);
}

// The length of the range of a chain if `...` did not bind tighter than the operators; nullopt if
// such a range does not exist.
std::optional<int64_t> length_of(const Expr &chain, const Expr &range) {
  std::optional<int64_t> first = constant_integer(*range.operands[0]), end = end_of(chain);
  if (!first || !end || *end <= *first)
    return std::nullopt;
  uint64_t length = uint64_t(*end) - uint64_t(*first);
  bool exists = length <= uint64_t(max_elements) && is_power_of_two(int64_t(length));
  return exists ? std::optional(int64_t(length)) : std::nullopt;
}

} // namespace

// Suggests `0 ... (D / 2)` for `0 ... D / 2` in `expr` if the shape then fits `other`, the shape of
// the other operand or of the target. Returns whether it does.
bool Checker::note_range(const Expr &expr, const Extents &other, bool is_target) {
  const Expr *chain = nullptr, *range = nullptr;
  for_each_expr(expr, [&](const Expr &e) {
    const Expr *start = !chain && e.is(Kind::binary) ? leading_range(*e.operands[0]) : nullptr;
    std::optional<int64_t> length = start ? length_of(e, *start) : std::nullopt;
    if (!length || start->type.shape.empty())
      return;
    Extents shape = expr.type.shape;
    std::replace(shape.begin(), shape.end(), start->type.shape[0], *length);
    std::optional<Extents> both = broadcast(shape, other);
    if (!both || (is_target && *both != other))
      return;
    chain = &e;
    range = start;
  });
  return chain && note_range_end(*chain, *range);
}

// Suggests `0 ... (96 / 3)` for `0 ... 96 / 3`, whose range is an error.
void Checker::note_failed_range(const Expr &expr) {
  const Expr &range = *expr.operands[0];
  if (range.is(Kind::range) && !is_enclosed(range) && length_of(expr, range))
    note_range_end(expr, range);
}

// Suggests parentheses around the operators after a range.
bool Checker::note_range_end(const Expr &chain, const Expr &range) {
  Range first = range.operands[0]->range;
  Range last = {range.operands[1]->range.begin, chain.operands[1]->range.end};
  std::string begin = diagnostics_.text_at(first), end = diagnostics_.text_at(last);
  // Inside a macro, the user sees only the name of the macro.
  if (diagnostics_.token_at(range.at) != "..." || begin.empty() || end.empty())
    return false;
  // An edit needs a place in the file: for a macro of one word, its use.
  auto use_of = [&](Location at) {
    Location use = diagnostics_.at(diagnostics_.line_column(at), diagnostics_.file_of(at));
    return diagnostics_.token_at(use) == diagnostics_.text_at({at, at}) ? use : at;
  };
  report(
      Message::range_binds_tighter, chain.at, {spelling_of(chain.op), begin + " ... (" + end + ")"},
      {},
      {Edit::insert_before(use_of(last.begin), "("), Edit::insert_behind(use_of(last.end), ")")});
  return true;
}

// Suggests to transpose an operand of a matmul if the shapes then match.
void Checker::note_turn(const Expr &a, const Expr &b) {
  const Extents &left = a.type.shape, &right = b.type.shape;
  bool turns_right = left[1] == right[1];
  const Expr &factor = turns_right ? b : a;
  bool is_load = factor.is(Kind::deref) && factor.operands.size() == 1 &&
                 factor.operands[0]->is(Kind::name) && factor.text.empty();
  if ((!turns_right && left[0] != right[0]) || (!factor.is(Kind::name) && !is_load) ||
      left.size() != 2)
    return;
  Extents turned = {factor.type.shape[1], factor.type.shape[0]};
  std::string text = is_load ? "*" + factor.operands[0]->text : factor.text;
  report(Message::transpose_operand, factor.at, {text, name_of(turned)}, {},
         {Edit::insert_before(factor.range.begin, "^")});
}

// Suggests a load if the user wrote pointers in place of numbers.
void Checker::note_load(const Expr &a, const Expr *b) {
  std::vector<Edit> edits;
  const Expr *pointer = nullptr;
  bool all_names = true;
  for (const Expr *expr : {&a, b}) {
    if (!expr || !expr->type.is_pointer())
      continue;
    pointer = pointer ? pointer : expr;
    all_names &= expr->is(Kind::name);
    edits.push_back(Edit::insert_before(expr->at, "*"));
  }
  if (!pointer || pointer->type.scalar == Scalar::void_)
    return;
  report(Message::load_it, pointer->at, {}, {}, all_names ? std::move(edits) : std::vector<Edit>());
}

} // namespace tritonc::ast
