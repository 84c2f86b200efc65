// Translates expressions. See translator.h.
//
// Tested by tests/unit/translate/translate_expression_test.cpp.

#include "translate/translator.h"

#include "language/constant.h"

#include <algorithm>
#include <utility>

namespace tritonc {

using ast::Operator;
using Kind = ast::Expr::Kind;

namespace {

// The condition before it is repeated to the result's shape. The masks of loads use this one.
const ast::Expr &without_repeat(const ast::Expr &condition) {
  bool only_repeats = condition.is(Kind::convert) && condition.operands[0]->type.is_bool();
  return only_repeats ? without_repeat(*condition.operands[0]) : condition;
}

// Returns whether the value of an assignment refers to the old value of its target.
bool has_current(const ast::Expr &expr) {
  if (expr.is(Kind::current))
    return true;
  if (expr.is(Kind::assign) || expr.is(Kind::given)) // these have their own `current`
    return has_current(*expr.operands[0]);
  return std::any_of(expr.operands.begin(), expr.operands.end(),
                     [](const ast::ExprPtr &operand) { return has_current(*operand); });
}

ir::Opcode opcode_of(Operator op, bool is_unsigned) {
  using ir::Opcode;
  switch (op) {
  case Operator::add:
    return Opcode::add_;
  case Operator::subtract:
    return Opcode::sub_;
  case Operator::multiply:
    return Opcode::mul_;
  case Operator::divide:
    return is_unsigned ? Opcode::udiv_ : Opcode::div_;
  case Operator::remainder:
    return is_unsigned ? Opcode::urem_ : Opcode::rem_;
  case Operator::shift_left:
    return Opcode::shl_;
  case Operator::shift_right:
    return is_unsigned ? Opcode::ushr_ : Opcode::shr_;
  case Operator::bit_and:
  case Operator::logical_and:
    return Opcode::and_;
  case Operator::bit_xor:
    return Opcode::xor_;
  default:
    return Opcode::or_;
  }
}

std::string predicate_of(Operator op, bool is_unsigned) {
  std::string prefix = is_unsigned ? "u" : "";
  switch (op) {
  case Operator::less:
    return prefix + "lt";
  case Operator::less_equal:
    return prefix + "le";
  case Operator::greater:
    return prefix + "gt";
  case Operator::greater_equal:
    return prefix + "ge";
  case Operator::equal:
    return "eq";
  default:
    return "ne";
  }
}

} // namespace

ir::Value *Translator::value(const ast::Expr &expr) {
  if (!expr.type.is_tile() && expr.type.is_number())
    if (ir::Value *known = constant(expr, expr.type))
      return known;
  switch (expr.kind) {
  case Kind::name:
    return read(expr);
  case Kind::current:
    return current_.back();
  case Kind::unary:
    return unary(expr);
  case Kind::transpose: {
    std::vector<int64_t> axes;
    for (size_t axis = 0; axis < expr.type.shape.size(); axis++)
      axes.push_back(int64_t((axis + 1) % expr.type.shape.size()));
    return build_->trans(value(*expr.operands[0]), axes);
  }
  case Kind::deref:
    return load(expr);
  case Kind::binary:
    return binary(expr);
  case Kind::matmul:
    return matmul(expr, build_->filled(type_of(expr.type), 0));
  case Kind::range:
    return build_->range(int64_t(expr.integer), expr.type.shape[0]);
  case Kind::conditional:
    return conditional(expr);
  case Kind::given: {
    current_.push_back(value(*expr.operands[0]));
    ir::Value *result = value(*expr.operands[1]);
    current_.pop_back();
    return result;
  }
  case Kind::assign:
    return assign(expr);
  case Kind::atomic:
    return atomic(expr);
  case Kind::barrier:
    build_->create(ir::Opcode::barrier_, {});
    return nullptr;
  case Kind::inlined:
    return inlined(expr);
  case Kind::convert:
    return convert(expr);
  case Kind::cast:
  case Kind::bitcast:
    return cast(expr);
  case Kind::subscript:
    return subscript(expr);
  case Kind::comma:
    value(*expr.operands[0]);
    return value(*expr.operands[1]);
  default:
    return call(expr);
  }
}

// The expression as a constant of another scalar type; null: not a constant.
ir::Value *Translator::constant(const ast::Expr &expr, const Type &type) {
  ir::Type scalar = ir::Type::scalar(elem_of(type.scalar));
  if (std::optional<int64_t> integer = ast::constant_integer(expr)) {
    bool is_unsigned_64 = expr.type.scalar == Scalar::uint64 && *integer < 0;
    if (type.is_float())
      return is_unsigned_64 ? nullptr : build_->constant(scalar, *integer);
    if (type.is_bool())
      return build_->constant(scalar, *integer != 0);
    int unused = 64 - bits_of(type.scalar); // truncates to the type's bits, as a signed integer
    return build_->constant(scalar, int64_t(uint64_t(*integer) << unused) >> unused);
  }
  std::optional<double> real = ast::constant_real(expr);
  if (!real || !type.is_float())
    return nullptr;
  return build_->constant_number(scalar, type.scalar == Scalar::float_ ? float(*real) : *real);
}

ir::Value *Translator::read(const ast::Expr &expr) {
  const ast::Variable &variable = *expr.variable;
  if (variable.constant_memory >= 0)
    return build_->constant(ir::Type::scalar(ir::Elem::i32),
                            constant_offsets_.at(variable.constant_memory));
  ir::Value *value = values_.at(variable.index);
  if (!value || is_unassigned_here(value))
    warn_unassigned(variable, expr.at);
  return value ? value : known(nullptr, type_of(variable.type));
}

// Returns whether `value` is the start value of a loop variable that is unassigned before the loop,
// and every iteration reads it, including the first. A read under a condition may be correct.
bool Translator::is_unassigned_here(ir::Value *value) const {
  auto found = unassigned_.find(value);
  return found != unassigned_.end() && build_->block() == found->second && masks_.empty() &&
         arms_ == 0;
}

void Translator::warn_unassigned(const ast::Variable &variable, Location at) {
  if (!warned_.insert(&variable).second)
    return;
  if (variable.type.is_pointer())
    return diagnostics_.report(Message::pointer_unassigned, at, {variable.name});
  diagnostics_.report(Message::read_unassigned, at, {variable.name});
  std::string declared = variable.name;
  if (variable.type.is_tile())
    declared += tritonc::name_of(variable.type.shape);
  diagnostics_.report(Message::start_value, variable.at, {declared});
}

// --- Operators. ----------------------------------------------------------------------------------

ir::Value *Translator::negation(ir::Value *condition) {
  return build_->binary(ir::Opcode::xor_, condition, build_->filled(condition->type, 1));
}

ir::Value *Translator::unary(const ast::Expr &expr) {
  ir::Value *operand = value(*expr.operands[0]);
  switch (expr.op) {
  case Operator::minus: {
    ir::Value *result = build_->unary(ir::Opcode::neg_, operand);
    return is_unsigned(expr.type.scalar) ? wrapping(result) : result;
  }
  case Operator::bit_not:
    return build_->binary(ir::Opcode::xor_, operand, build_->filled(operand->type, -1));
  case Operator::logical_not:
    return negation(operand);
  default:
    return operand;
  }
}

ir::Value *Translator::binary(const ast::Expr &expr) {
  if (expr.type.is_pointer())
    return pointer_sum(expr);
  if (expr.op == Operator::logical_and || expr.op == Operator::logical_or)
    return logical(expr);
  if (expr.op == Operator::subtract && expr.operands[0]->type.is_pointer())
    return pointer_difference(expr);
  const ast::Expr &a = *expr.operands[0], &b = *expr.operands[1];
  // `c + a @ b` accumulates onto c.
  if (expr.op == Operator::add && (a.is(Kind::matmul) || b.is(Kind::matmul))) {
    bool b_is_matmul = b.is(Kind::matmul);
    ir::Value *accumulator = value(b_is_matmul ? a : b);
    return matmul(b_is_matmul ? b : a, accumulator);
  }
  ir::Value *left = value(a), *right = value(b);
  bool without_sign = is_unsigned(a.type.scalar) || a.type.is_pointer();
  if (is_comparison(expr.op))
    return build_->cmp(predicate_of(expr.op, without_sign), left, right);
  ir::Value *result = build_->binary(opcode_of(expr.op, without_sign), left, right);
  return without_sign ? wrapping(result) : result;
}

// Marks the operation of `result` as modulo a power of two, like unsigned types.
ir::Value *Translator::wrapping(ir::Value *result) {
  switch (result->op->code) {
  case ir::Opcode::add_:
  case ir::Opcode::sub_:
  case ir::Opcode::mul_:
  case ir::Opcode::neg_:
    result->op->set(ir::attr::unsigned_);
    return result;
  default: // other operations cannot overflow
    return result;
  }
}

namespace {

// The log2 of the bytes of an element, which are a power of two.
int logarithm_of_size(Scalar scalar) {
  int size = 0;
  while (8 << size < bits_of(scalar))
    size++;
  return size;
}

} // namespace

// Pointers to constant memory are offsets in bytes. 32 bits are enough: larger offsets are out of
// bounds.
ir::Value *Translator::constant_sum(const ast::Expr &expr) {
  ir::Value *pointer = value(*expr.operands[0]), *count = value(*expr.operands[1]);
  count = convert_elements(count, expr.operands[1]->type.scalar, Scalar::int32);
  int size = logarithm_of_size(expr.type.scalar);
  if (size > 0)
    count = wrapping(
        build_->binary(ir::Opcode::mul_, count, build_->filled(count->type, int64_t(1) << size)));
  ir::Opcode opcode = expr.op == Operator::subtract ? ir::Opcode::sub_ : ir::Opcode::add_;
  return wrapping(build_->binary(opcode, pointer, count));
}

ir::Value *Translator::pointer_sum(const ast::Expr &expr) {
  if (expr.type.to_constant)
    return constant_sum(expr);
  ir::Value *pointer = value(*expr.operands[0]), *offset = value(*expr.operands[1]);
  if (expr.op == Operator::subtract)
    offset = build_->unary(ir::Opcode::neg_, offset);
  return build_->addptr(pointer, offset);
}

// The elements between two pointers. Element sizes are powers of two.
ir::Value *Translator::pointer_difference(const ast::Expr &expr) {
  auto address = [&](const ast::Expr &pointer) {
    return pointer.type.to_constant
               ? convert_elements(value(pointer), Scalar::int32, expr.type.scalar)
               : convert_pointers(value(pointer), pointer.type, expr.type);
  };
  ir::Value *left = address(*expr.operands[0]), *right = address(*expr.operands[1]);
  ir::Value *bytes = build_->binary(ir::Opcode::sub_, left, right);
  int size = logarithm_of_size(expr.operands[0]->type.scalar);
  return build_->binary(ir::Opcode::shr_, bytes, build_->filled(bytes->type, size));
}

// Evaluates the right operand only where the left operand does not decide the result.
ir::Value *Translator::logical(const ast::Expr &expr) {
  const ast::Expr &a = *expr.operands[0], &b = *expr.operands[1];
  bool is_and = expr.op == Operator::logical_and;
  // A constant operand decides, or only the other operand counts.
  auto known = [](const ast::Expr &operand) {
    const ast::Expr &scalar = without_repeat(operand);
    return scalar.type.is_tile() ? std::nullopt : ast::constant_integer(scalar);
  };
  if (std::optional<int64_t> of_a = known(a))
    return repeat_to(value(without_repeat((*of_a != 0) == is_and ? b : a)), expr.type.shape);
  if (std::optional<int64_t> of_b = known(b); of_b && (*of_b != 0) == is_and)
    return repeat_to(value(without_repeat(a)), expr.type.shape);
  ir::Value *left = value(without_repeat(a));
  InArm in_arm(arms_);
  bool may_do_both = !has_effects(b) && !has_loads(b);
  // In an arm with masked loads, a masked-off left operand must not decide a branch.
  if (!expr.type.is_tile() && !may_do_both && masks_.empty()) {
    auto right = [&] { return value(b); };
    auto decided = [&] { return left; };
    return is_and ? choose(left, right, decided) : choose(left, decided, right);
  }
  ir::Value *right =
      may_do_both ? value(b) : masked(is_and ? left : negation(left), /*gives_zero=*/true, b);
  return build_->binary(opcode_of(expr.op, true), repeat_to(left, expr.type.shape), right);
}

ir::Value *Translator::matmul(const ast::Expr &expr, ir::Value *accumulator) {
  ir::Value *a = value(*expr.operands[0]), *b = value(*expr.operands[1]);
  set_location(expr.at);
  return expr.type.shape.size() > 2 ? batched_matmul(expr, a, b, accumulator)
                                    : dot(expr, a, b, accumulator);
}

// Makes the dot of the matrices that `expr` multiplies.
ir::Value *Translator::dot(const ast::Expr &expr, ir::Value *a, ir::Value *b,
                           ir::Value *accumulator) {
  ir::Value *result = build_->dot(a, b, accumulator);
  Scalar scalar = expr.operands[0]->type.scalar;
  bool is_tf32 = source_.uses_tf32 && scalar == Scalar::float_;
  result->op->set(ir::attr::precision_, std::string(is_tf32 ? "tf32" : "exact"));
  if (is_unsigned(scalar))
    result->op->set(ir::attr::unsigned_);
  return result;
}

ir::Value *Translator::conditional(const ast::Expr &expr) {
  const ast::Expr &condition = *expr.operands[0], &yes = *expr.operands[1], &no = *expr.operands[2];
  if (std::optional<int64_t> known = ast::constant_integer(condition))
    return value(*known ? yes : no);
  ir::Value *chooses = value(without_repeat(condition));
  InArm in_arm(arms_);
  if (has_effects(yes) || has_effects(no))
    return choose(chooses, [&] { return value(yes); }, [&] { return value(no); });
  bool yes_loads = has_loads(yes), no_loads = has_loads(no);
  ir::Value *opposite = no_loads ? negation(chooses) : nullptr;
  auto arm = [&](const ast::Expr &arm, bool loads, ir::Value *mask) {
    return loads ? masked(mask, /*gives_zero=*/false, arm) : value(arm);
  };
  // An arm that is only a load takes the other arm's value where it is masked off.
  if (yes.is(Kind::deref)) {
    ir::Value *other = arm(no, no_loads, opposite);
    masks_.push_back({chooses, false});
    ir::Value *result = load(yes, other);
    masks_.pop_back();
    return result;
  }
  ir::Value *first = arm(yes, yes_loads, chooses);
  if (no.is(Kind::deref)) {
    masks_.push_back({opposite, false});
    ir::Value *result = load(no, first);
    masks_.pop_back();
    return result;
  }
  ir::Value *second = arm(no, no_loads, opposite);
  if (condition.type.is_tile())
    chooses = repeat_to(chooses, expr.type.shape);
  return build_->select(chooses, first, second);
}

// --- Conversions. --------------------------------------------------------------------------------

ir::Value *Translator::convert(const ast::Expr &expr) {
  const ast::Expr &operand = *expr.operands[0];
  ir::Value *converted =
      operand.type.is_tile() || !expr.type.is_number() ? nullptr : constant(operand, expr.type);
  if (!converted) {
    converted = value(operand);
    if (expr.type.is_pointer() || operand.type.is_pointer())
      converted = convert_pointers(converted, operand.type, expr.type);
    else
      converted = convert_elements(converted, operand.type.scalar, expr.type.scalar);
  }
  return repeat_to(converted, expr.type.shape);
}

// Converts a pointer to another pointer type, to or from a 64-bit integer, or to bool (not null).
ir::Value *Translator::convert_pointers(ir::Value *value, const Type &from, const Type &to) {
  if (to.to_constant)
    return value;
  if (from.is_integer())
    value = convert_elements(value, from.scalar, Scalar::int64);
  ir::Type wanted = type_of((to.is_bool() ? from : to).with_shape(value->type.shape));
  if (value->type != wanted)
    value = build_->create(ir::Opcode::bitcast_, {value}, {wanted})->result();
  if (!to.is_bool())
    return value;
  ir::Value *zero = build_->filled(ir::Type::tile(ir::Elem::i64, value->type.shape), 0);
  return build_->cmp("ne", value, build_->create(ir::Opcode::bitcast_, {zero}, {wanted})->result());
}

ir::Value *Translator::convert_elements(ir::Value *value, Scalar from, Scalar to) {
  if (to == Scalar::bool_ && from != Scalar::bool_) {
    if (is_small_float(from)) // small floats have no arithmetic
      value = build_->cast(value, elem_of(promoted(from)));
    return build_->cmp("ne", value, build_->filled(value->type, 0));
  }
  if (elem_of(from) == elem_of(to)) // signed and unsigned integers have the same bits
    return value;
  bool reads_unsigned = is_integer(from) ? is_unsigned(from) : is_unsigned(to);
  return build_->cast(value, elem_of(to), reads_unsigned);
}

ir::Value *Translator::repeat_to(ir::Value *value, const Extents &shape) {
  if (value->type.shape == shape)
    return value;
  if (value->type.is_scalar())
    return build_->splat(value, shape);
  while (value->type.shape.size() < shape.size())
    value = build_->expand(value, 0);
  return value->type.shape == shape ? value : build_->broadcast(value, shape);
}

// A cast also makes a tile of one element a scalar, and reshapes in row-major order.
ir::Value *Translator::cast(const ast::Expr &expr) {
  const ast::Expr &operand = *expr.operands[0];
  ir::Value *made = value(operand);
  if (expr.is(Kind::bitcast)) {
    if (elem_of(operand.type.scalar) != elem_of(expr.type.scalar))
      made = build_->bitcast(made, elem_of(expr.type.scalar));
  } else if (expr.type.is_pointer() || operand.type.is_pointer()) {
    made = convert_pointers(made, operand.type, expr.type);
  } else {
    made = convert_elements(made, operand.type.scalar, expr.type.scalar);
  }
  const Extents &from = operand.type.shape, &to = expr.type.shape;
  if (broadcast(from, to) == to)
    return repeat_to(made, to);
  if (!to.empty())
    return build_->reshape(made, to);
  if (from.size() > 1)
    made = build_->reshape(made, {1});
  return build_->reduce(made, 0, "add");
}

// --- Assignments and memory. ---------------------------------------------------------------------

ir::Value *Translator::assign(const ast::Expr &expr) {
  const ast::Expr &target = *expr.operands[0], &source = *expr.operands[1];
  bool is_store = target.is(Kind::deref);
  Access place = is_store ? access(target) : Access();
  ir::Value *old = nullptr;
  if (expr.is_postfix || has_current(source))
    old = is_store ? load(place, nullptr) : read(target);
  current_.push_back(old);
  ir::Value *made = value(source);
  current_.pop_back();
  if (is_store) {
    set_location(expr.at);
    ir::Op *store = build_->store(place.pointers, made, place.mask);
    if (!place.hint.empty())
      store->set(ir::attr::cache_, place.hint);
  } else {
    if (made->name.empty())
      made->name = target.variable->name;
    values_[target.variable->index] = made;
  }
  return expr.is_postfix ? old : made;
}

Translator::Access Translator::access(const ast::Expr &deref) {
  Access access;
  access.type = &deref.operands[0]->type;
  access.pointers = value(*deref.operands[0]);
  if (deref.operands.size() == 2)
    access.mask = value(*deref.operands[1]);
  // `__ca` and `__wb` are the default, so they need no hint.
  if (!deref.text.empty() && deref.text != "__ca" && deref.text != "__wb")
    access.hint = deref.text.substr(2);
  return access;
}

// A scalar atomic operation needs barriers around it: see ops.def.
ir::Value *Translator::atomic(const ast::Expr &expr) {
  std::vector<ir::Value *> operands;
  for (const ast::ExprPtr &operand : expr.operands)
    operands.push_back(value(*operand));
  set_location(expr.at);
  bool is_step = !expr.type.is_tile();
  if (is_step)
    build_->create(ir::Opcode::barrier_, {});
  bool compares = expr.text == "cas";
  ir::Op *op = build_->create(compares ? ir::Opcode::atomic_cas_ : ir::Opcode::atomic_, operands,
                              {type_of(expr.type)});
  bool has_sign = expr.text == "min" || expr.text == "max";
  std::string prefix = has_sign && is_unsigned(expr.type.scalar) ? "u" : "";
  if (!compares)
    op->set(ir::attr::op_, prefix + expr.text);
  if (is_step)
    build_->create(ir::Opcode::barrier_, {});
  return op->result();
}

// A load with the masks of the arms around it.
ir::Value *Translator::load(const ast::Expr &deref, ir::Value *other) {
  Access access = this->access(deref);
  bool gives_zero = false;
  for (const Mask &mask : masks_) {
    access.mask = both(access.mask, mask.value, deref.type.shape);
    gives_zero |= mask.gives_zero;
  }
  set_location(deref.at);
  if (!other && gives_zero)
    other = build_->filled(type_of(deref.type), 0);
  return load(access, other);
}

ir::Value *Translator::load(const Access &access, ir::Value *other) {
  if (access.type->to_constant) { // constant loads are always valid
    ir::Value *loaded = build_->constant_load(access.pointers, elem_of(access.type->scalar));
    return access.mask && other ? build_->select(access.mask, loaded, other) : loaded;
  }
  ir::Value *loaded = build_->load(access.pointers, access.mask, access.mask ? other : nullptr);
  if (!access.hint.empty() && access.hint != "wt")
    loaded->op->set(ir::attr::cache_, access.hint);
  return loaded;
}

// The conjunction of two masks of a load of that shape; a scalar mask stays a scalar if possible.
ir::Value *Translator::both(ir::Value *a, ir::Value *b, const Extents &shape) {
  if (b->type.is_tile())
    b = repeat_to(b, shape);
  if (!a)
    return b;
  if (a->type.shape != b->type.shape) {
    a = repeat_to(a, shape);
    b = repeat_to(b, shape);
  }
  return a == b ? a : build_->binary(ir::Opcode::and_, a, b);
}

ir::Value *Translator::masked(ir::Value *mask, bool gives_zero, const ast::Expr &arm) {
  masks_.push_back({mask, gives_zero});
  ir::Value *result = value(arm);
  masks_.pop_back();
  return result;
}

// --- Subscripts and calls. -----------------------------------------------------------------------

ir::Value *Translator::subscript(const ast::Expr &expr) {
  using Where = ast::Subscript::Kind;
  ir::Value *made = value(*expr.operands[0]);
  if (expr.subscripts[0].kind == Where::axis) {
    std::vector<int64_t> axes;
    for (const ast::Subscript &subscript : expr.subscripts)
      axes.push_back(*ast::constant_integer(*subscript.axis));
    return build_->trans(made, axes);
  }
  // First removes axes, then adds axes, so the rank never exceeds the limit.
  made = reduced(expr, elements_at(expr, made));
  int axis = 0;
  for (const ast::Subscript &subscript : expr.subscripts) {
    if (subscript.kind == Where::newaxis)
      made = made->type.is_scalar() ? build_->splat(made, {1}) : build_->expand(made, axis);
    axis += subscript.keeps() || subscript.kind == Where::newaxis;
  }
  return made;
}

namespace {

// The {op} of a reduction.
std::string combining(ast::Subscript::Kind kind, Scalar scalar) {
  using Where = ast::Subscript::Kind;
  bool is_bool = scalar == Scalar::bool_;
  std::string prefix = is_unsigned(scalar) ? "u" : "";
  switch (kind) {
  case Where::sum:
    return "add";
  case Where::prod:
    return "mul";
  case Where::any:
    return "or";
  case Where::all:
    return "and";
  case Where::max:
  case Where::argmax:
    return is_bool ? "or" : prefix + "max";
  default:
    return is_bool ? "and" : prefix + "min";
  }
}

} // namespace

// Applies the reductions and scans of the subscripts. Sums and products of 16-bit floats are
// computed in float and rounded once, at the end.
ir::Value *Translator::reduced(const ast::Expr &expr, ir::Value *tile) {
  using Where = ast::Subscript::Kind;
  Scalar scalar = expr.operands[0]->type.scalar;
  bool accumulates = std::any_of(
      expr.subscripts.begin(), expr.subscripts.end(), [](const ast::Subscript &subscript) {
        return subscript.kind == Where::sum || subscript.kind == Where::prod;
      });
  bool widens = accumulates && is_float(scalar) && bits_of(scalar) == 16;
  if (widens)
    tile = build_->cast(tile, ir::Elem::f32);
  int axis = 0;
  for (const ast::Subscript &subscript : expr.subscripts) {
    if (subscript.scans)
      tile = build_->scan(tile, axis, combining(subscript.kind, scalar));
    axis += subscript.keeps();
    if (!subscript.reduces())
      continue;
    std::string how = combining(subscript.kind, scalar);
    bool finds = subscript.kind == Where::argmax || subscript.kind == Where::argmin;
    tile = finds ? index_of_best(tile, axis, how) : build_->reduce(tile, axis, how);
  }
  return widens ? build_->cast(tile, elem_of(scalar)) : tile;
}

// Translates the body of the function with the arguments as parameters. Returns null for void.
ir::Value *Translator::inlined(const ast::Expr &expr) {
  const ast::Function &callee = *expr.function;
  std::vector<ir::Value *> arguments;
  for (const ast::ExprPtr &operand : expr.operands)
    arguments.push_back(value(*operand));
  Location call = frame_.call ? frame_.call : expr.at;
  Frame caller = std::exchange(frame_, {.call = call});
  ir::Value *result = nullptr;
  scope([&] {
    for (size_t i = 0; i < arguments.size(); i++)
      values_[callee.parameters[i].variable->index] = arguments[i];
    bool is_early = returns_early(*callee.body), has_result = !expr.type.is_void();
    frame_.result = new_flag(is_early && has_result ? known(nullptr, type_of(expr.type)) : nullptr);
    if (reads_flag(callee.body->body, &Jumps::returns))
      frame_.alive = new_flag(build_->constant(ir::Type::scalar(ir::Elem::i1), 1));
    list(callee.body->body);
    result = values_.at(frame_.result);
  });
  frame_ = std::move(caller);
  set_location(expr.at);
  return result;
}

namespace {

// Functions have the names of their operations.
ir::Opcode function_named(const std::string &name) {
  using ir::Opcode;
  for (Opcode code :
       {Opcode::abs_, Opcode::exp_, Opcode::log_, Opcode::sqrt_, Opcode::rsqrt_, Opcode::exp2_,
        Opcode::log2_, Opcode::sin_, Opcode::cos_, Opcode::tanh_, Opcode::erf_, Opcode::floor_,
        Opcode::ceil_, Opcode::round_, Opcode::trunc_, Opcode::pow_})
    if (ir::info(code).name == name)
      return code;
  return Opcode::fma_;
}

} // namespace

ir::Value *Translator::call(const ast::Expr &expr) {
  const std::string &name = expr.text;
  if (name == "get_program_id")
    return build_->program_id(int(expr.integer));
  if (name == "get_num_programs")
    return build_->num_programs(int(expr.integer));
  if (name == "philox" || name == "random_uniform")
    return random(expr);
  ir::Value *first = value(*expr.operands[0]);
  if (name == "min" || name == "max") {
    bool is_min = name == "min", without_sign = is_unsigned(expr.type.scalar);
    ir::Opcode opcode = without_sign ? (is_min ? ir::Opcode::umin_ : ir::Opcode::umax_)
                                     : (is_min ? ir::Opcode::min_ : ir::Opcode::max_);
    return build_->binary(opcode, first, value(*expr.operands[1]));
  }
  if (name == "abs" && is_unsigned(expr.type.scalar))
    return first;
  std::vector<ir::Value *> operands = {first};
  for (size_t i = 1; i < expr.operands.size(); i++)
    operands.push_back(value(*expr.operands[i]));
  return build_->create(function_named(name), operands, {first->type})->result();
}

} // namespace tritonc
