// Makes, types, and checks the trees of random kernels. See tree.h.

#include "random_kernels/tree.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tritonc::random {

const char *spelling_of(Op op) {
  static constexpr const char *spellings[] = {
      "",     "+",   "-",     "*",    "/",     "%",     "<<",    ">>",   "&",    "^",   "|",
      "<",    "<=",  ">",     ">=",   "==",    "!=",    "&&",    "||",   "min",  "max", "-",
      "~",    "!",   "abs",   "sqrt", "exp",   "log",   "rsqrt", "exp2", "log2", "sin", "cos",
      "tanh", "erf", "floor", "ceil", "trunc", "round", "xchg",  "cas"};
  return spellings[size_t(op)];
}

int Kernel::add_variable(std::string name, Type type) {
  variables.push_back({std::move(name), std::move(type)});
  return int(variables.size()) - 1;
}

bool is_plain_literal(const Expr &expr) {
  if (expr.is(Expr::Kind::unary) && expr.op == Op::negate)
    return is_plain_literal(expr.operands[0]);
  if (!expr.is(Expr::Kind::literal))
    return false;
  switch (expr.type.scalar) {
  case Scalar::int32:
  case Scalar::uint32:
  case Scalar::int64:
  case Scalar::uint64:
  case Scalar::float_:
  case Scalar::double_:
    return true;
  default:
    return false;
  }
}

// --- Types. --------------------------------------------------------------------------------------

namespace {

using Kind = Expr::Kind;
using MaybeType = std::optional<Type>;

bool is_integer_type(const Type &type) { return !type.pointer && is_integer(type.scalar); }

MaybeType pointer_sum(Op op, const Type &a, const Type &b) {
  bool turned = op == Op::add && is_integer_type(a) && b.pointer;
  const Type &pointer = turned ? b : a, &offset = turned ? a : b;
  std::optional<Shape> shape = broadcast(a.shape, b.shape);
  if ((op != Op::add && op != Op::sub) || !pointer.pointer || !is_integer_type(offset) || !shape)
    return std::nullopt;
  return pointer.with_shape(*shape);
}

MaybeType type_of_binary(Op op, const Type &a, const Type &b) {
  if (a.pointer || b.pointer)
    return pointer_sum(op, a, b);
  std::optional<Shape> shape = broadcast(a.shape, b.shape);
  bool of_integers = op == Op::rem || (op >= Op::shl && op <= Op::bit_or);
  if (!shape || (of_integers && (!is_integer(a.scalar) || !is_integer(b.scalar))))
    return std::nullopt;
  if (is_comparison(op) || is_logical(op))
    return Type{Scalar::bool_, false, *shape};
  if (op == Op::shl || op == Op::shr)
    return Type{promoted(a.scalar), false, *shape};
  bool of_bits = op >= Op::bit_and && op <= Op::bit_or;
  if (of_bits && a.scalar == Scalar::bool_ && b.scalar == Scalar::bool_)
    return Type{Scalar::bool_, false, *shape};
  return Type{common(a.scalar, b.scalar), false, *shape};
}

MaybeType type_of_unary(Op op, const Type &a) {
  if (a.pointer)
    return std::nullopt;
  switch (op) {
  case Op::logical_not:
    return a.with_scalar(Scalar::bool_);
  case Op::bit_not:
    return is_integer(a.scalar) ? MaybeType(a.with_scalar(promoted(a.scalar))) : std::nullopt;
  case Op::negate:
  case Op::abs:
    return a.with_scalar(promoted(a.scalar));
  default: // computed in float for all operands
    return a.with_scalar(a.scalar == Scalar::double_ ? Scalar::double_ : Scalar::float_);
  }
}

MaybeType type_of_load(const Expr &expr) {
  Type pointer = expr.operands[0].type;
  if (!pointer.pointer)
    return std::nullopt;
  if (expr.operands.size() == 2) {
    std::optional<Shape> shape = broadcast(expr.operands[1].type.shape, pointer.shape);
    if (!shape || expr.operands[1].type.pointer)
      return std::nullopt;
    pointer.shape = *shape;
  }
  return Type{pointer.scalar, false, pointer.shape};
}

MaybeType type_of_conditional(const Expr &expr) {
  const Expr &condition = expr.operands[0], &yes = expr.operands[1], &no = expr.operands[2];
  std::optional<Shape> arms = broadcast(yes.type.shape, no.type.shape);
  std::optional<Shape> shape =
      arms ? broadcast(condition.type.shape, *arms) : std::optional<Shape>();
  if (!shape || condition.type.pointer || yes.type.pointer != no.type.pointer)
    return std::nullopt;
  if (yes.type.pointer) {
    Type type = yes.type.with_shape(*shape);
    type.to_const |= no.type.to_const;
    return yes.type.scalar == no.type.scalar ? MaybeType(type) : std::nullopt;
  }
  Scalar scalar = common(yes.type.scalar, no.type.scalar);
  if (is_plain_literal(no) && is_float(yes.type.scalar))
    scalar = yes.type.scalar;
  else if (is_plain_literal(yes) && is_float(no.type.scalar))
    scalar = no.type.scalar;
  else if (yes.type.scalar == Scalar::bool_ && no.type.scalar == Scalar::bool_)
    scalar = Scalar::bool_;
  return Type{scalar, false, *shape};
}

MaybeType type_of_cast(const Expr &expr) {
  const Type &from = expr.operands[0].type;
  Type to = expr.type;
  if (from.pointer || to.pointer)
    return std::nullopt;
  bool bits = expr.is(Kind::bitcast);
  if (bits && (bits_of(from.scalar) != bits_of(to.scalar) || from.scalar == Scalar::bool_ ||
               to.scalar == Scalar::bool_))
    return std::nullopt;
  if (to.shape.empty() && from.elements() != 1)
    to.shape = from.shape;
  if (!fits(from.shape, to.shape) && from.elements() != to.elements())
    return std::nullopt;
  return to;
}

MaybeType type_of_permutation(const Expr &expr) {
  Type type = expr.operands[0].type;
  const Shape from = type.shape;
  if (expr.is(Kind::transpose)) {
    if (from.size() < 2)
      return std::nullopt;
    std::rotate(type.shape.begin(), type.shape.begin() + 1, type.shape.end());
    return type;
  }
  std::vector<int> sorted = expr.axes;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() != from.size() || from.empty())
    return std::nullopt;
  for (size_t d = 0; d < from.size(); d++) {
    if (sorted[d] != int(d))
      return std::nullopt;
    type.shape[d] = from[size_t(expr.axes[d])];
  }
  return type;
}

// The type to which elements are converted before a reduction.
Scalar type_to_reduce(Scalar scalar, Position how) {
  if (asks_truth(how))
    return Scalar::bool_;
  bool chooses = how == Position::max || how == Position::min || how == Position::scan_max ||
                 how == Position::scan_min;
  bool changes = is_small_float(scalar) || (scalar == Scalar::bool_ && !chooses);
  return changes ? promoted(scalar) : scalar;
}

MaybeType type_of_subscript(const Expr &expr) {
  const Type &from = expr.operands[0].type;
  Type to = from.with_shape({});
  size_t named = 0;
  bool reduces = false, asks = false, all_any = true, all_all = true;
  Position first = Position::keep;
  for (Position position : expr.positions) {
    if (position == Position::newaxis) {
      to.shape.push_back(1);
      continue;
    }
    if (named == from.shape.size())
      return std::nullopt;
    if (position == Position::keep || is_scan(position))
      to.shape.push_back(from.shape[named]);
    if (position != Position::keep) {
      if (from.pointer)
        return std::nullopt;
      first = first == Position::keep ? position : first;
      // A reduction that changes the element type must be the only one, except any and all.
      if (std::exchange(reduces, true) && (is_arg(first) || is_arg(position)))
        return std::nullopt;
      all_any &= position == Position::any || position == Position::scan_any;
      all_all &= position == Position::all || position == Position::scan_all;
      asks |= asks_truth(position);
      to.scalar = is_arg(position) ? Scalar::int32 : type_to_reduce(to.scalar, position);
    }
    named++;
  }
  if (asks && !all_any && !all_all)
    return std::nullopt;
  bool good = from.is_tile() && named == from.shape.size() && to.shape.size() <= 5;
  return good ? MaybeType(to) : std::nullopt;
}

// Axes beyond the two of the matmul are batch axes.
MaybeType type_of_dot(const Type &a, const Type &b) {
  if (a.pointer || b.pointer || a.scalar != b.scalar || a.scalar == Scalar::bool_ ||
      a.shape.size() < 2 || b.shape.size() != a.shape.size() || a.shape[1] != b.shape[0])
    return std::nullopt;
  Type type{is_float(a.scalar) && a.scalar != Scalar::double_ ? Scalar::float_ : promoted(a.scalar),
            false, a.shape};
  type.shape[1] = b.shape[1];
  bool fits = std::equal(a.shape.begin() + 2, a.shape.end(), b.shape.begin() + 2);
  return fits ? MaybeType(type) : std::nullopt;
}

// float, unless one operand is double.
MaybeType type_of_fma(const std::vector<Expr> &operands) {
  Type type{Scalar::float_, false, {}};
  for (const Expr &operand : operands) {
    std::optional<Shape> shape = broadcast(type.shape, operand.type.shape);
    if (operand.type.pointer || !shape)
      return std::nullopt;
    type.shape = *shape;
    if (operand.type.scalar == Scalar::double_)
      type.scalar = Scalar::double_;
  }
  return type;
}

// Elements along an axis, at indices that broadcast to the other axes.
MaybeType type_of_gather(const Expr &expr) {
  const Type &from = expr.operands[0].type, &positions = expr.operands[1].type;
  size_t axis = size_t(expr.integer), rank = from.shape.size();
  if (from.pointer || !is_integer_type(positions) || positions.scalar == Scalar::bool_ ||
      axis >= rank || positions.shape.size() > rank)
    return std::nullopt;
  Type type = from;
  size_t missing = rank - positions.shape.size();
  type.shape[axis] = axis < missing ? 1 : positions.shape[axis - missing];
  return fits(positions.shape, type.shape) ? MaybeType(type) : std::nullopt;
}

MaybeType type_of_element(const Expr &expr) {
  Type type = expr.operands[0].type;
  if (type.pointer || !is_integer_type(expr.operands[1].type) || expr.operands[1].type.is_tile() ||
      size_t(expr.integer) >= type.shape.size())
    return std::nullopt;
  type.shape.erase(type.shape.begin() + expr.integer);
  return type;
}

MaybeType type_of_random(const Expr &expr) {
  const Type &seed = expr.operands[0].type, &offset = expr.operands[1].type;
  std::optional<Shape> shape = broadcast(seed.shape, offset.shape);
  if (!is_integer_type(seed) || !is_integer_type(offset) || !shape)
    return std::nullopt;
  return Type{expr.is(Kind::uniform) ? Scalar::float_ : Scalar::uint32, false, *shape};
}

// The type from the types of the operands; nullopt if the language forbids the expression.
MaybeType type_of(const Expr &expr) {
  switch (expr.kind) {
  case Kind::unary:
    return type_of_unary(expr.op, expr.operands[0].type);
  case Kind::binary:
    return type_of_binary(expr.op, expr.operands[0].type, expr.operands[1].type);
  case Kind::load:
    return type_of_load(expr);
  case Kind::conditional:
    return type_of_conditional(expr);
  case Kind::cast:
  case Kind::bitcast:
    return type_of_cast(expr);
  case Kind::transpose:
  case Kind::permute:
    return type_of_permutation(expr);
  case Kind::subscript:
    return type_of_subscript(expr);
  case Kind::dot:
    return type_of_dot(expr.operands[0].type, expr.operands[1].type);
  case Kind::fma:
    return type_of_fma(expr.operands);
  case Kind::gather:
    return type_of_gather(expr);
  case Kind::element:
    return type_of_element(expr);
  case Kind::philox:
  case Kind::uniform:
    return type_of_random(expr);
  default:
    return expr.type;
  }
}

Expr made(Expr expr, std::vector<Expr> operands) {
  expr.operands = std::move(operands);
  if (MaybeType type = type_of(expr))
    expr.type = *type;
  return expr;
}

Expr of_kind(Kind kind) {
  Expr expr;
  expr.kind = kind;
  return expr;
}

template <typename... Exprs> std::vector<Expr> list(Exprs &&...exprs) {
  std::vector<Expr> result;
  (result.push_back(std::move(exprs)), ...);
  return result;
}

} // namespace

// --- Making expressions and statements. ----------------------------------------------------------

Expr literal(Scalar scalar, int64_t value) {
  Expr expr;
  expr.type = {scalar, false, {}};
  expr.integer = value;
  expr.real = double(value);
  return expr;
}

Expr real_literal(Scalar scalar, double value) {
  Expr expr;
  expr.type = {scalar, false, {}};
  expr.real = value;
  return expr;
}

Expr variable(const Kernel &kernel, int index) {
  Expr expr = of_kind(Kind::variable);
  expr.integer = index;
  expr.type = kernel.type_of(index);
  return expr;
}

Expr program_id(int axis) {
  Expr expr = of_kind(Kind::program_id);
  expr.integer = axis;
  return expr;
}

Expr num_programs(int axis) {
  Expr expr = of_kind(Kind::num_programs);
  expr.integer = axis;
  return expr;
}

Expr range(int64_t first, int64_t count) {
  Expr expr = of_kind(Kind::range);
  expr.integer = first;
  expr.type = {Scalar::int32, false, {count}};
  return expr;
}

Expr unary(Op op, Expr a) {
  Expr expr = of_kind(Kind::unary);
  expr.op = op;
  return made(std::move(expr), list(std::move(a)));
}

Expr binary(Op op, Expr a, Expr b) {
  Expr expr = of_kind(Kind::binary);
  expr.op = op;
  return made(std::move(expr), list(std::move(a), std::move(b)));
}

Expr load(Expr pointer) { return made(of_kind(Kind::load), list(std::move(pointer))); }

Expr load(Expr pointer, Expr mask) {
  return made(of_kind(Kind::load), list(std::move(pointer), std::move(mask)));
}

Expr conditional(Expr condition, Expr yes, Expr no) {
  return made(of_kind(Kind::conditional),
              list(std::move(condition), std::move(yes), std::move(no)));
}

Expr cast(Type to, Expr a) {
  Expr expr = of_kind(Kind::cast);
  expr.type = std::move(to);
  return made(std::move(expr), list(std::move(a)));
}

Expr bitcast(Type to, Expr a) {
  Expr expr = of_kind(Kind::bitcast);
  expr.type = std::move(to);
  return made(std::move(expr), list(std::move(a)));
}

Expr transpose(Expr a) { return made(of_kind(Kind::transpose), list(std::move(a))); }

Expr permute(Expr a, std::vector<int> axes) {
  Expr expr = of_kind(Kind::permute);
  expr.axes = std::move(axes);
  return made(std::move(expr), list(std::move(a)));
}

Expr subscript(Expr a, std::vector<Position> positions) {
  Expr expr = of_kind(Kind::subscript);
  expr.positions = std::move(positions);
  return made(std::move(expr), list(std::move(a)));
}

Expr dot(Expr a, Expr b) { return made(of_kind(Kind::dot), list(std::move(a), std::move(b))); }

Expr multiply_add(Expr a, Expr b, Expr c) {
  return made(of_kind(Kind::fma), list(std::move(a), std::move(b), std::move(c)));
}

Expr gather(Expr a, Expr positions, int axis) {
  Expr expr = of_kind(Kind::gather);
  expr.integer = axis;
  return made(std::move(expr), list(std::move(a), std::move(positions)));
}

Expr element(Expr a, Expr position, int axis) {
  Expr expr = of_kind(Kind::element);
  expr.integer = axis;
  return made(std::move(expr), list(std::move(a), std::move(position)));
}

Expr philox(Expr seed, Expr offset, int word) {
  Expr expr = of_kind(Kind::philox);
  expr.integer = word;
  return made(std::move(expr), list(std::move(seed), std::move(offset)));
}

Expr uniform(Expr seed, Expr offset) {
  return made(of_kind(Kind::uniform), list(std::move(seed), std::move(offset)));
}

Expr call(const Kernel &kernel, int function, std::vector<Expr> arguments) {
  Expr expr = of_kind(Kind::call);
  expr.integer = function;
  expr.type = kernel.functions[size_t(function)].result;
  return made(std::move(expr), std::move(arguments));
}

Stmt declare(int variable) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::declare;
  stmt.variable = variable;
  return stmt;
}

Stmt declare(int variable, Expr init) {
  Stmt stmt = declare(variable);
  stmt.value = list(std::move(init));
  return stmt;
}

Stmt assign(int variable, Expr value, Op op) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::assign;
  stmt.variable = variable;
  stmt.op = op;
  stmt.value = list(std::move(value));
  return stmt;
}

Stmt store(Expr pointer, Expr value, Op op) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::store;
  stmt.op = op;
  stmt.value = list(std::move(pointer), std::move(value));
  return stmt;
}

Stmt masked_store(Expr mask, Expr pointer, Expr value, Op op) {
  Stmt stmt = store(std::move(pointer), std::move(value), op);
  stmt.value.push_back(std::move(mask));
  return stmt;
}

Stmt atomic(Op op, std::vector<Expr> operands, bool has_mask) {
  Stmt stmt = jump(Stmt::Kind::atomic);
  stmt.op = op;
  stmt.value = std::move(operands);
  stmt.has_mask = has_mask;
  return stmt;
}

Stmt check(Expr condition) {
  Stmt stmt = jump(Stmt::Kind::check);
  stmt.value = list(std::move(condition));
  return stmt;
}

Stmt branch(Expr condition, std::vector<Stmt> yes, std::vector<Stmt> no) {
  Stmt stmt;
  stmt.kind = Stmt::Kind::branch;
  stmt.value = list(std::move(condition));
  stmt.body = std::move(yes);
  stmt.other = std::move(no);
  return stmt;
}

Stmt jump(Stmt::Kind kind) {
  Stmt stmt;
  stmt.kind = kind;
  return stmt;
}

Stmt block(std::vector<Stmt> body) {
  Stmt stmt;
  stmt.body = std::move(body);
  return stmt;
}

// --- Settling a changed tree. --------------------------------------------------------------------

namespace {

// Checks the rules in every list, with the variables visible there.
class Settler {
public:
  explicit Settler(Kernel &kernel) : kernel_(kernel), visible_(kernel.variables.size(), false) {}

  bool run() {
    for (const Parameter &parameter : kernel_.parameters)
      visible_[size_t(parameter.variable)] = true;
    for (size_t i = 0; i < kernel_.functions.size(); i++)
      if (!function(i))
        return false;
    functions_ = kernel_.functions.size();
    return list(kernel_.body);
  }

private:
  // A function sees its own variables and the earlier functions.
  bool function(size_t number) {
    Function &function = kernel_.functions[number];
    std::vector<bool> outside(visible_.size(), false);
    std::swap(outside, visible_);
    for (int parameter : function.parameters)
      visible_[size_t(parameter)] = true;
    functions_ = number;
    result_ = &function.result;
    bool good = list(function.body) && !function.body.empty() &&
                function.body.back().is(Stmt::Kind::finish);
    result_ = nullptr;
    std::swap(outside, visible_);
    return good;
  }

  // A load in an arm of a `?:` with a tile condition must have at least the condition's shape.
  bool expr(Expr &expr, const std::vector<Shape> &conditions) {
    std::vector<Shape> inner = conditions;
    bool has_arms = expr.is(Kind::conditional) || (expr.is(Kind::binary) && is_logical(expr.op));
    for (size_t i = 0; i < expr.operands.size(); i++) {
      if (has_arms && i == 1)
        inner.push_back(expr.operands[0].type.shape);
      if (!this->expr(expr.operands[i], i ? inner : conditions))
        return false;
    }
    if (expr.is(Kind::variable)) {
      if (!visible_[size_t(expr.integer)])
        return false;
      expr.type = kernel_.type_of(int(expr.integer));
      return true;
    }
    if (expr.is(Kind::call))
      return call(expr);
    MaybeType type = random::type_of(expr);
    if (!type)
      return false;
    expr.type = *type;
    return !expr.is(Kind::load) ||
           std::all_of(conditions.begin(), conditions.end(),
                       [&](const Shape &mask) { return fits(mask, expr.type.shape); });
  }
  bool expr(Expr &e) { return expr(e, {}); }

  bool call(Expr &expr) {
    if (size_t(expr.integer) >= functions_)
      return false;
    const Function &function = kernel_.functions[size_t(expr.integer)];
    expr.type = function.result;
    for (size_t i = 0; i < expr.operands.size(); i++)
      if (!converts(expr.operands[i].type, kernel_.type_of(function.parameters[i])))
        return false;
    return true;
  }

  bool converts(const Type &from, const Type &to) {
    bool drops_const = from.to_const && !to.to_const;
    return from.pointer == to.pointer && (!from.pointer || from.scalar == to.scalar) &&
           from.to_constant == to.to_constant && !drops_const && fits(from.shape, to.shape);
  }

  bool is_condition(Expr &condition) {
    return expr(condition) && !condition.type.is_tile() && !condition.type.pointer;
  }

  bool assignment(Stmt &stmt) {
    if (!visible_[size_t(stmt.variable)])
      return false;
    Type to = kernel_.type_of(stmt.variable);
    if (stmt.is(Stmt::Kind::increment))
      return true;
    if (!expr(stmt.value[0]))
      return false;
    if (stmt.op == Op::none)
      return converts(stmt.value[0].type, to);
    MaybeType sum = type_of_binary(stmt.op, to, stmt.value[0].type);
    return sum && converts(*sum, to);
  }

  bool storing(Stmt &stmt) {
    for (Expr &part : stmt.value)
      if (!expr(part))
        return false;
    Type place = stmt.value[0].type, value = stmt.value[1].type;
    if (!place.pointer || place.to_const || place.to_constant || value.pointer)
      return false;
    place.pointer = false;
    if (stmt.value.size() == 3) {
      std::optional<Shape> shape = broadcast(stmt.value[2].type.shape, place.shape);
      if (!shape || stmt.value[2].type.pointer)
        return false;
      place.shape = *shape;
    }
    if (stmt.op == Op::none)
      return converts(value, place);
    MaybeType sum = type_of_binary(stmt.op, place, value);
    return sum && converts(*sum, place);
  }

  bool atomic(Stmt &stmt) {
    for (Expr &part : stmt.value)
      if (!expr(part))
        return false;
    Type type = stmt.value[0].type;
    if (!type.pointer || type.to_const || type.to_constant)
      return false;
    bool of_bits = stmt.op >= Op::bit_and && stmt.op <= Op::bit_or;
    bool is_small = bits_of(type.scalar) < 32;
    bool has_small_add = type.scalar == Scalar::half || type.scalar == Scalar::bfloat16;
    if ((is_small && (stmt.op != Op::add || !has_small_add)) || (of_bits && is_float(type.scalar)))
      return false;
    for (size_t i = 1; i < stmt.value.size(); i++) {
      std::optional<Shape> shape = broadcast(type.shape, stmt.value[i].type.shape);
      if (!shape || stmt.value[i].type.pointer)
        return false;
      type.shape = *shape;
    }
    type.pointer = false;
    if (stmt.variable < 0)
      return true;
    visible_[size_t(stmt.variable)] = true;
    return converts(type, kernel_.type_of(stmt.variable));
  }

  bool list(std::vector<Stmt> &list) {
    std::vector<bool> outside = visible_;
    bool good = std::all_of(list.begin(), list.end(), [&](Stmt &stmt) { return statement(stmt); });
    visible_ = std::move(outside);
    return good;
  }

  bool loop(Stmt &stmt) {
    std::vector<bool> outside = visible_;
    bool good = stmt.head.empty() || statement(stmt.head[0]);
    good = good && is_condition(stmt.value[0]);
    loops_++;
    good = good && list(stmt.body) && (stmt.head.empty() || statement(stmt.head[1]));
    loops_--;
    visible_ = std::move(outside);
    return good;
  }

  bool statement(Stmt &stmt) {
    switch (stmt.kind) {
    case Stmt::Kind::declare:
      if (!stmt.value.empty() &&
          !(expr(stmt.value[0]) && converts(stmt.value[0].type, kernel_.type_of(stmt.variable))))
        return false;
      visible_[size_t(stmt.variable)] = true;
      return true;
    case Stmt::Kind::assign:
    case Stmt::Kind::increment:
      return assignment(stmt);
    case Stmt::Kind::store:
      return storing(stmt);
    case Stmt::Kind::branch:
      return is_condition(stmt.value[0]) && list(stmt.body) && list(stmt.other);
    case Stmt::Kind::for_loop:
    case Stmt::Kind::while_loop:
    case Stmt::Kind::do_loop:
      return loop(stmt);
    case Stmt::Kind::leave:
    case Stmt::Kind::proceed:
      return loops_ > 0;
    case Stmt::Kind::finish:
      if (!result_)
        return stmt.value.empty();
      return stmt.value.size() == 1 && expr(stmt.value[0]) &&
             converts(stmt.value[0].type, *result_);
    case Stmt::Kind::atomic:
      return atomic(stmt);
    case Stmt::Kind::check:
      return expr(stmt.value[0]) && !stmt.value[0].type.pointer;
    case Stmt::Kind::block:
      return list(stmt.body);
    }
    return false;
  }

  Kernel &kernel_;
  std::vector<bool> visible_;
  size_t functions_ = 0;         // number of callable functions
  const Type *result_ = nullptr; // of the current function
  int loops_ = 0;
};

} // namespace

bool settle(Kernel &kernel) { return Settler(kernel).run(); }

int size_of(const Kernel &kernel) {
  int size = 0;
  for_each_stmt(const_cast<Kernel &>(kernel), [&](Stmt &stmt) {
    size++;
    for (Expr &expr : stmt.value)
      for_each_expr(expr, [&](Expr &) { size++; });
  });
  return size;
}

} // namespace tritonc::random
