// Checks memory accesses, subscripts, casts and calls. See checker.h.
//
// Tested by tests/unit/language/checker_test.cpp and tests/diagnostics/diagnostics_test.cpp.

#include "language/checker.h"
#include "language/constant.h"
#include "language/foreign_words.h"

#include <algorithm>

namespace tritonc::ast {
namespace {

using Kind = Expr::Kind;

} // namespace

void Checker::check_deref(Expr &expr, bool is_store) {
  for (ExprPtr &operand : expr.operands)
    check_expr(operand);
  if (has_error_operand(expr))
    return;
  ExprPtr &pointer = expr.operands[0];
  if (!pointer->type.is_pointer())
    return report(Message::deref_of_scalar, expr.at, {name_of(pointer->type)}, {pointer->range});
  if (pointer->type.scalar == Scalar::void_)
    return report(Message::bad_operand, expr.at, {"*", name_of(pointer->type)}, {pointer->range});
  if (expr.operands.size() == 2) {
    ExprPtr &mask = expr.operands[1];
    if (!to_bool(mask))
      return;
    std::optional<Extents> shape = common_shape(*mask, *pointer, "*?", expr.at);
    if (!shape)
      return;
    wrap(pointer, pointer->type.with_shape(*shape));
    if (mask->type.is_tile())
      wrap(mask, mask->type.with_shape(*shape));
  }
  if (cache_hint(expr.text) && pointer->type.to_constant)
    report(Message::cache_hint_elsewhere, expr.at, {expr.text, "global memory"}, {expr.range});
  else if (const CacheHint *hint = cache_hint(expr.text))
    if (is_store ? !hint->of_stores : !hint->of_loads)
      report(Message::cache_hint_elsewhere, expr.at, {expr.text, is_store ? "loads" : "stores"},
             {expr.range});
  expr.type = pointer->type.pointee();
  if (!is_store)
    fit_to_conditions(expr);
}

// The enclosing conditions mask a load in an arm, so each condition must broadcast to the load's
// shape. If the load is the whole arm, the load broadcasts to the condition's shape instead.
void Checker::fit_to_conditions(Expr &expr) {
  for (const Expr *condition : conditions_) {
    const Extents &mask = condition->type.shape;
    std::optional<Extents> shape = broadcast(mask, expr.type.shape);
    if (shape == expr.type.shape)
      continue;
    if (shape && arm_ == &expr && condition == conditions_.back() && expr.operands.size() == 1) {
      wrap(expr.operands[0], expr.operands[0]->type.with_shape(*shape));
      expr.type.shape = *shape;
      continue;
    }
    report(Message::load_mask_shape, expr.at, {name_of(expr.type.shape), name_of(mask)},
           {expr.range, condition->range});
    report(Message::load_before, expr.at);
    expr.type = Type();
    return;
  }
}

void Checker::check_assign(Expr &expr) {
  ExprPtr &target = expr.operands[0], &value = expr.operands[1];
  const Variable *variable = target->is(Kind::name) ? find(target->text) : nullptr;
  if (variable && variable->is_const) {
    report(Message::assign_to_const, expr.at, {variable->name}, {target->range});
    return report(Message::declared_here, variable->at, {variable->name});
  }
  if (target->is(Kind::deref))
    check_deref(*target, /*is_store=*/true);
  else
    check_expr(target);
  current_.push_back(target->type);
  check_expr(value);
  current_.pop_back();
  if (!target->type.is_error() && !target->is(Kind::deref) && !target->is(Kind::name)) {
    report(Message::not_assignable, target->at, {}, {target->range});
    return note_not_assignable(*target);
  }
  if (target->is(Kind::deref) && !target->type.is_error())
    forbid_store(*target->operands[0], expr.at, target->range);
  if (target->is(Kind::name) && target->type.is_pointer() && value->type.is_number() &&
      !is_null(*value)) {
    report(Message::no_conversion, expr.at, {name_of(value->type), name_of(target->type)},
           {value->range});
    return report(Message::store_it, target->at, {target->text}, {},
                  {Edit::insert_before(target->at, "*")});
  }
  if (!convert(value, target->type, expr.at))
    return;
  expr.type = target->type;
}

// Adds a note for `x[3] = 1`, which cannot change a tile, and for pointer sums without `*`.
void Checker::note_not_assignable(const Expr &target) {
  if (target.is(Kind::subscript))
    return report(Message::change_by_condition, target.at);
  bool is_sum =
      target.is(Kind::binary) && (target.type.is_pointer() || target.operands[0]->is(Kind::deref));
  bool is_converted_sum = target.is(Kind::binary) && target.operands[0]->is(Kind::convert) &&
                          target.operands[0]->operands[0]->is(Kind::deref);
  if (is_sum || is_converted_sum)
    report(Message::write_store, target.at);
}

// Reports a store or an atomic operation through pointers to const or to constant memory.
void Checker::forbid_store(const Expr &pointer, Location at, const Range &mark) {
  if (pointer.type.to_constant) {
    report(Message::store_to_constant, at, {}, {mark});
    report(Message::host_fills_constant, at);
  } else if (pointer.type.to_const) {
    report(Message::store_to_const, at, {}, {mark});
  }
}

namespace {

// The edits that turn `p[i]` into `*(p + i)`; empty unless the subscript is one index.
std::vector<Edit> as_dereference(const Expr &expr) {
  if (expr.subscripts.size() != 1 || expr.subscripts[0].kind != Subscript::Kind::index)
    return {};
  const Expr &index = *expr.operands[1];
  bool is_tight = index.is(Kind::name) || index.is(Kind::integer) || index.is(Kind::call);
  return {Edit::insert_before(expr.range.begin, "*("),
          Edit::replace(expr.at, is_tight ? " + " : " + ("),
          Edit::replace(expr.range.end, is_tight ? ")" : "))")};
}

} // namespace

void Checker::check_subscript(Expr &expr) {
  using Where = Subscript::Kind;
  for (const Subscript &subscript : expr.subscripts)
    if (subscript.kind == Where::slice)
      return check_slice(expr, subscript);
  if (!expr.operands[0]->type.is_tile()) {
    const Expr &tile = *expr.operands[0];
    report(Message::subscript_of_scalar, expr.at, {name_of(tile.type)}, {tile.range},
           tile.type.is_pointer() ? as_dereference(expr) : std::vector<Edit>());
    if (tile.type.is_pointer())
      report(Message::write_deref, expr.at);
    return;
  }
  auto has = [&](Where kind) {
    return std::any_of(expr.subscripts.begin(), expr.subscripts.end(),
                       [&](const Subscript &subscript) { return subscript.kind == kind; });
  };
  if (has(Where::gather))
    return check_gather(expr);
  if (has(Where::axis))
    return check_permutation(expr);
  if (!check_indices(expr) || !can_reduce(expr) || !convert_to_reduce(expr))
    return;
  const Expr &tile = *expr.operands[0];
  size_t rank = tile.type.shape.size(), named = 0;
  Type type = tile.type.with_shape({});
  for (const Subscript &subscript : expr.subscripts) {
    if (subscript.kind == Where::newaxis)
      type.shape.push_back(1);
    else if ((subscript.kind == Where::keep || subscript.scans) && named < rank)
      type.shape.push_back(tile.type.shape[named]);
    named += subscript.kind != Where::newaxis;
  }
  if (named != rank) {
    report(Message::subscript_axes, expr.at,
           {std::to_string(named), std::to_string(rank), name_of(tile.type.shape)}, {tile.range});
    report(Message::name_axes, expr.at);
    return note_shape(tile);
  }
  if (type.shape.size() > size_t(max_axes)) {
    report(Message::too_many_axes, expr.at, {std::to_string(type.shape.size())});
    return report(Message::at_most_axes, expr.at, {std::to_string(max_axes)});
  }
  if (has(Where::argmax) || has(Where::argmin))
    type.scalar = Scalar::int32;
  expr.type = type;
}

// Reductions and scans of one subscript run one after the other, on elements of one type. So argmax
// and argmin, whose results have another type, must be the only reduction. any and all combine only
// with themselves.
bool Checker::can_reduce(const Expr &expr) {
  using Where = Subscript::Kind;
  const Expr &tile = *expr.operands[0];
  const Subscript *first = nullptr;
  for (const Subscript &subscript : expr.subscripts) {
    if (!subscript.combines())
      continue;
    if (!tile.type.is_number()) {
      report(Message::bad_operand, subscript.at, {"reduction", name_of(tile.type)}, {tile.range});
      return false;
    }
    if (!first)
      first = &subscript;
    bool is_mixed =
        first != &subscript &&
        (std::max(first->kind, subscript.kind) >= Where::argmax ||
         (std::max(first->kind, subscript.kind) >= Where::any && first->kind != subscript.kind));
    if (!is_mixed)
      continue;
    report(Message::reductions_mixed, subscript.at, {}, {expr.range});
    report(Message::reduce_in_turn, subscript.at);
    return false;
  }
  return true;
}

// Converts the tile for its reductions: any and all need bools; other reductions except max and min
// take bools as integers; 8-bit floats become float.
bool Checker::convert_to_reduce(Expr &expr) {
  using Where = Subscript::Kind;
  ExprPtr &tile = expr.operands[0];
  for (const Subscript &subscript : expr.subscripts) {
    bool asks_truth = subscript.kind == Where::any || subscript.kind == Where::all;
    if (asks_truth && !to_bool(tile))
      return false;
    bool chooses = subscript.kind == Where::max || subscript.kind == Where::min;
    const Type &type = tile->type;
    if (!subscript.combines() || asks_truth)
      continue;
    if (is_small_float(type.scalar) || (type.is_bool() && !chooses))
      wrap(tile, type.with_scalar(promoted(type.scalar)));
  }
  return true;
}

// `x[^1, ^0]`: axis d of the result is axis p[d] of x.
void Checker::check_permutation(Expr &expr) {
  const Expr &tile = *expr.operands[0];
  size_t rank = tile.type.shape.size();
  std::vector<bool> seen(rank, false);
  Type type = tile.type.with_shape({});
  for (Subscript &subscript : expr.subscripts) {
    if (subscript.kind != Subscript::Kind::axis) {
      report(Message::subscript_mixed, subscript.at, {}, {expr.range});
      return report(Message::permute_alone, subscript.at);
    }
    check_expr(subscript.axis);
    if (subscript.axis->type.is_error())
      return;
    std::optional<int64_t> axis = constant_integer(*subscript.axis);
    if (!axis || *axis < 0 || *axis >= int64_t(rank) || seen[size_t(*axis)])
      return report(Message::bad_permutation, subscript.at, {std::to_string(rank - 1)},
                    {expr.range});
    seen[size_t(*axis)] = true;
    type.shape.push_back(tile.type.shape[size_t(*axis)]);
  }
  if (type.shape.size() != rank)
    return report(Message::bad_permutation, expr.at, {std::to_string(rank - 1)}, {expr.range});
  expr.type = type;
}

void Checker::check_range(Expr &expr) {
  std::optional<int64_t> first = constant_integer(*expr.operands[0]);
  std::optional<int64_t> last = constant_integer(*expr.operands[1]);
  if (!first || !last) {
    report(Message::range_not_constant, expr.at, {}, {expr.operands[first ? 1 : 0]->range});
    return report(Message::move_range, expr.at);
  }
  if (*last <= *first)
    return report(Message::range_empty, expr.at, {std::to_string(*first), std::to_string(*last)},
                  {expr.range});
  uint64_t distance = uint64_t(*last) - uint64_t(*first); // may not fit into an int64_t
  if (distance > uint64_t(max_elements)) {
    report(Message::tile_too_large, expr.at, {std::to_string(distance)}, {expr.range});
    return report(Message::at_most_elements, expr.at, {std::to_string(max_elements)});
  }
  int64_t count = int64_t(distance);
  if (!is_power_of_two(count)) {
    if (count == bad_extent_ || !is_news(*expr.operands[1])) // already reported for the tile
      return;
    report(Message::range_not_power, expr.at, {std::to_string(count)}, {expr.range});
    return report(Message::next_power, expr.at, {std::to_string(next_power_of_two(count))});
  }
  expr.integer = uint64_t(*first);
  expr.type = Type::of(Scalar::int32).with_shape({count});
}

// The shape of a cast: the target's shape if the value can be broadcast or reshaped to it.
std::optional<Extents> Checker::cast_shape(const Expr &expr, const Extents &from,
                                           const Extents &to) {
  if (to.empty()) // converts only the elements; a tile of one element becomes a scalar
    return element_count(from) == 1 ? to : from;
  if (broadcast(from, to) == to || element_count(from) == element_count(to))
    return to;
  report(Message::cast_element_count, expr.at,
         {name_of(from), std::to_string(element_count(from)), name_of(to),
          std::to_string(element_count(to))},
         {expr.range});
  return std::nullopt;
}

void Checker::check_cast(Expr &expr) {
  const Expr &value = *expr.operands[0];
  Type to = expr.type_name.type;
  if (!to.is_void() || to.is_pointer())
    to = complete(expr.type_name, "value");
  if (to.is_error())
    return;
  if (value.type.is_pointer() && to.is_pointer() && value.type.to_constant != to.to_constant) {
    report(Message::no_conversion, expr.at, {name_of(value.type), name_of(to)}, {value.range});
    return report(Message::keeps_constant, expr.at);
  }
  bool of_constants = value.type.to_constant || to.to_constant; // not generic addresses
  auto is_address = [&](const Type &type) {                     // pointers and 64-bit integers
    return type.is_pointer() || (!of_constants && type.is_integer() && bits_of(type.scalar) == 64);
  };
  bool fits = (value.type.is_number() && to.is_number()) ||
              (is_address(value.type) && is_address(to)) ||
              (!of_constants && to.is_pointer() && is_null(value)) ||
              (!of_constants && value.type.is_pointer() && to.is_bool());
  if (!fits)
    return report(Message::no_conversion, expr.at, {name_of(value.type), name_of(to)},
                  {value.range});
  if (std::optional<Extents> shape = cast_shape(expr, value.type.shape, to.shape))
    expr.type = to.with_shape(*shape);
}

void Checker::check_bitcast(Expr &expr) {
  const Expr &value = *expr.operands[0];
  Type to = complete(expr.type_name, "value");
  if (to.is_error())
    return;
  if (!value.type.is_number() || !to.is_number() || to.is_bool() || value.type.is_bool())
    return report(Message::bad_operands, expr.at, {"bitcast", name_of(value.type), name_of(to)},
                  {value.range});
  if (bits_of(value.type.scalar) != bits_of(to.scalar))
    return report(Message::bitcast_size, expr.at,
                  {name_of(value.type.scalar), std::to_string(bits_of(value.type.scalar)),
                   name_of(to.scalar), std::to_string(bits_of(to.scalar))},
                  {value.range});
  if (std::optional<Extents> shape = cast_shape(expr, value.type.shape, to.shape))
    expr.type = to.with_shape(*shape);
}

void Checker::check_size_of(ExprPtr &expr) {
  Type type;
  if (expr->operands.empty()) {
    type = complete(expr->type_name, "value");
  } else {
    check_expr(expr->operands[0]);
    type = expr->operands[0]->type;
  }
  if (type.is_error())
    return;
  int64_t bytes = type.is_pointer() ? 8 : bits_of(type.scalar) / 8;
  expr->kind = Kind::integer;
  expr->integer = uint64_t(bytes * element_count(type.shape));
  expr->operands.clear();
  expr->type = Type::of(Scalar::uint64);
}

void Checker::check_call(ExprPtr &expr) {
  if (const Function *function = function_named(expr->text))
    return check_inlined(*expr, *function);
  if (expr->text == "select") {
    if (!has_arguments(*expr, 3))
      return;
    expr->kind = Kind::conditional;
    return check_conditional(*expr);
  }
  // The arguments may be Python's `mask=...`.
  if (other_way(expr->text, in_pragma_) && !find(expr->text))
    return report_undeclared(*expr, /*is_extent=*/false);
  for (ExprPtr &operand : expr->operands)
    check_expr(operand);
  if (has_error_operand(*expr))
    return;
  const std::string &name = expr->text;
  if (name == "get_program_id" || name == "get_num_programs")
    return check_program_call(*expr);
  if (name == "min" || name == "max" || (name == "cdiv" && in_pragma_))
    return check_min_max(*expr);
  if (check_math_call(*expr) || check_random_call(*expr))
    return;
  if (std::optional<std::string> operation = atomic_operation(name))
    return check_atomic(*expr, *operation);
  if (name == "__debug_barrier") {
    if (!has_arguments(*expr, 0))
      return;
    expr->kind = Kind::barrier;
    expr->type = Type::of(Scalar::void_);
    return;
  }
  if (name == "calloc") {
    report(Message::calloc_elsewhere, expr->at, {}, {expr->range});
    return report(Message::declare_outside, expr->at);
  }
  if (const Variable *variable = find(name)) {
    report(Message::not_a_function, expr->at, {name});
    return report(Message::declared_here, variable->at, {name});
  }
  report_undeclared(*expr, /*is_extent=*/false);
}

bool Checker::has_arguments(const Expr &expr, size_t count) {
  if (expr.operands.size() == count)
    return true;
  std::string wanted = count == 0   ? "no arguments"
                       : count == 1 ? "one argument"
                                    : std::to_string(count) + " arguments";
  report(Message::argument_count, expr.at,
         {expr.text, wanted, std::to_string(expr.operands.size())}, {expr.range});
  return false;
}

void Checker::check_program_call(Expr &expr) {
  if (!has_arguments(expr, 1))
    return;
  std::optional<int64_t> axis = constant_integer(*expr.operands[0]);
  if (!axis || *axis < 0 || *axis > 2) {
    report(Message::bad_axis, expr.at, {axis ? std::to_string(*axis) : "not a constant"},
           {expr.operands[0]->range});
    report(Message::axis_range, expr.at);
    return;
  }
  expr.integer = uint64_t(*axis);
  expr.type = Type::of(Scalar::int32);
}

namespace {

struct MathFunction {
  const char *name; // an `f` may follow
  size_t arguments;
};

constexpr MathFunction math_functions[] = {
    {"exp", 1}, {"log", 1},   {"sqrt", 1},  {"exp2", 1}, {"log2", 1},  {"rsqrt", 1},
    {"sin", 1}, {"cos", 1},   {"tanh", 1},  {"erf", 1},  {"floor", 1}, {"ceil", 1},
    {"abs", 1}, {"round", 1}, {"trunc", 1}, {"fma", 3},  {"pow", 2},   {"fabs", 1},
};

} // namespace

const std::vector<std::string_view> &language_functions() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all = {"get_program_id",
                                         "get_num_programs",
                                         "min",
                                         "max",
                                         "select",
                                         "philox",
                                         "random_uniform",
                                         "__debug_barrier",
                                         "bitcast",
                                         "assert",
                                         "print",
                                         "gather",
                                         "scan"};
    for (const MathFunction &row : math_functions)
      all.push_back(row.name);
    for (const char *atomic : {"atomic_add", "atomic_min", "atomic_max", "atomic_and", "atomic_or",
                               "atomic_xor", "atomic_xchg", "atomic_cas"})
      all.push_back(atomic);
    return all;
  }();
  return names;
}

// Checks a call of a math function; returns false for other functions. Math functions compute in
// double for double operands, else in float. abs and fabs keep the promoted operand type.
bool Checker::check_math_call(Expr &expr) {
  auto found = std::find_if(
      std::begin(math_functions), std::end(math_functions), [&](const MathFunction &row) {
        return expr.text == row.name ||
               (expr.text == std::string(row.name) + "f" && expr.text != "absf");
      });
  if (found == std::end(math_functions))
    return false;
  if (!has_arguments(expr, found->arguments)) {
    if (found->name == std::string("ceil") && expr.operands.size() == 2)
      note_ceiling_division(expr);
    return true;
  }
  Type type;
  for (ExprPtr &operand : expr.operands) {
    if (!operand->type.is_number()) {
      report(Message::bad_operand, expr.at, {expr.text, name_of(operand->type)}, {operand->range});
      note_load(*operand);
      return true;
    }
    Scalar scalar = promoted(operand->type.scalar);
    if (operand == expr.operands[0]) {
      type = operand->type.with_scalar(scalar);
      continue;
    }
    for (const ExprPtr *before = &expr.operands[0]; before != &operand; before++)
      if (!common_shape(**before, *operand, expr.text, expr.at))
        return true;
    type = Type::of(common(type.scalar, scalar))
               .with_shape(*broadcast(type.shape, operand->type.shape)); // every pair was checked
  }
  bool is_abs = found->name == std::string("abs") || found->name == std::string("fabs");
  if (!is_abs && type.scalar != Scalar::double_)
    type.scalar = Scalar::float_;
  expr.type = type;
  expr.text = is_abs ? "abs" : found->name;
  for (ExprPtr &operand : expr.operands)
    wrap(operand, type);
  return true;
}

void Checker::check_min_max(Expr &expr) {
  if (!has_arguments(expr, 2)) {
    if (expr.operands.size() == 1 && expr.operands[0]->type.is_tile())
      report(Message::write_reduction, expr.at);
    return;
  }
  ExprPtr &a = expr.operands[0], &b = expr.operands[1];
  if (!a->type.is_number() || !b->type.is_number()) {
    report(Message::bad_operands, expr.at, {expr.text, name_of(a->type), name_of(b->type)},
           {a->range, b->range});
    return note_load(*a, b.get());
  }
  std::optional<Extents> shape = common_shape(*a, *b, expr.text, expr.at);
  if (!shape)
    return;
  Scalar scalar = common(a->type.scalar, b->type.scalar);
  if (scalar == Scalar::double_)
    warn_double(*a, *b);
  expr.type = Type::of(scalar).with_shape(*shape);
  wrap(a, expr.type);
  wrap(b, expr.type);
}

} // namespace tritonc::ast
