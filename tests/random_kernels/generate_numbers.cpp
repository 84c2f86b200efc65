// Generates expressions. See generator.h.

#include "random_kernels/exact.h"
#include "random_kernels/generator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tritonc::random {
namespace {

// Max attempts for a leaf before the generator takes a simple one.
constexpr int max_tries = 6;

Shape without(Shape shape, size_t axis) {
  shape.erase(shape.begin() + int64_t(axis));
  return shape;
}

} // namespace

// --- With ranges. --------------------------------------------------------------------------------

Made Generator::number_literal(Scalar scalar, double value) {
  if (is_float(scalar) && !is_representable(scalar, value)) { // truncate toward zero
    double unit = std::ldexp(1, std::ilogb(value) + 1 - precision_of(scalar));
    value = std::trunc(value / unit) * unit;
  }
  Range range{value, value};
  while (range.fraction_bits < 60 && std::ldexp(value, range.fraction_bits) !=
                                         std::floor(std::ldexp(value, range.fraction_bits)))
    range.fraction_bits++;
  if (is_float(scalar))
    return {real_literal(scalar, value), range};
  if (scalar == Scalar::uint64 && value >= 0x1p63)
    return {literal(scalar, -1), {0x1p64, 0x1p64}};
  return {literal(scalar, int64_t(value)), range};
}

// A binary operator on two operands, if its result is certainly defined.
std::optional<Made> Generator::join(Op op, Made a, Made b) {
  if (a.expr.type.pointer || b.expr.type.pointer)
    return Made{binary(op, std::move(a.expr), std::move(b.expr)), a.range};
  Scalar scalar = op == Op::shl || op == Op::shr ? promoted(a.expr.type.scalar)
                                                 : common(a.expr.type.scalar, b.expr.type.scalar);
  bool is_logic = is_logical(op);
  for (const Made *made : {&a, &b})
    if (!is_logic && !is_exact_in(scalar, made->range) && !policy_.may_round)
      return std::nullopt;
  std::optional<Range> range = range_of(op, scalar, a.range, b.range, policy_.may_round);
  if (!range)
    return std::nullopt;
  return Made{binary(op, std::move(a.expr), std::move(b.expr)), *range};
}

// Limits a value to [low, high] by min and max.
Made Generator::clamped(Made value, double low, double high) {
  Scalar scalar = promoted(value.expr.type.scalar);
  Range range{std::clamp(value.range.low, low, high), std::clamp(value.range.high, low, high),
              value.range.fraction_bits, value.range.is_rounded};
  if (value.range.high > high)
    value.expr = binary(Op::min, std::move(value.expr), number_literal(scalar, high).expr);
  if (value.range.low < low)
    value.expr = binary(Op::max, std::move(value.expr), number_literal(scalar, low).expr);
  return {std::move(value.expr), range};
}

// An exact conversion; integers may be truncated to fewer bits.
Made Generator::converted(Scalar scalar, Made value) {
  if (value.expr.type.scalar == scalar)
    return value;
  Range range = value.range;
  if (scalar == Scalar::bool_) {
    if (range.is_rounded)
      value = {cast({Scalar::bool_, false, value.expr.type.shape}, literal(Scalar::int32, 1)), {}};
    range = {0, 1};
  } else if (is_float(scalar)) {
    double most = std::ldexp(1, precision_of(scalar) - range.fraction_bits);
    if (!is_exact_in(scalar, range) && !policy_.may_round && range.magnitude() > most)
      value = clamped(std::move(value), -std::floor(most), std::floor(most));
    range = value.range;
    range.is_rounded |= !is_exact_in(scalar, range);
  } else {
    if (is_float(value.expr.type.scalar) && !is_exact_in(scalar, {range.low, range.high})) {
      double most = std::min(largest(scalar), 0x1p20);
      value = clamped(std::move(value), is_signed(scalar) ? -most : 0, most);
    }
    range = {std::trunc(value.range.low), std::trunc(value.range.high)};
    if (!is_exact_in(scalar, range))
      range = of_type(scalar);
  }
  Type to{scalar, false, value.expr.type.shape};
  if (value.expr.type.elements() != 1 && draw_.chance(70))
    to.shape = {}; // a scalar target keeps the operand's shape
  return {cast(to, std::move(value.expr)), range};
}

// `value` limited to `range`; the assignment converts the type.
Made Generator::fitted(Scalar scalar, Made value, const Range &range) {
  if (scalar == Scalar::bool_)
    return value.range.is_rounded ? number_literal(Scalar::bool_, 1) : value;
  if (range.contains(value.range))
    return value;
  bool loses_digits = value.range.fraction_bits > range.fraction_bits ||
                      (value.range.is_rounded && !range.is_rounded);
  if (loses_digits)
    return number_literal(is_float(scalar) ? Scalar::float_ : Scalar::int32, range.low);
  if (is_float(value.expr.type.scalar) || range.low != 0 || value.range.low < 0 ||
      range.high > 1e6 || draw_.chance(50)) {
    // The bounds must be exact in the value's own type.
    Scalar own = promoted(value.expr.type.scalar);
    double low = std::max(range.low, is_integer(own) ? least(own) : range.low);
    double high = std::min(range.high, is_integer(own) ? largest(own) : range.high);
    if (is_integer(own) && bits_of(own) == 64)
      high = std::min(high, 0x1p62);
    if (low > high) // no value of the type is in the range
      return number_literal(is_float(scalar) ? Scalar::float_ : Scalar::int32, range.low);
    return clamped(std::move(value), low, high);
  }
  Made most = number_literal(Scalar::int32, range.high + 1);
  Made rest{binary(Op::rem, std::move(value.expr), std::move(most.expr)), range};
  return rest;
}

// Broadcasts the value to `shape`.
Made Generator::repeated(Made value, const Shape &shape) {
  if (value.expr.type.shape == shape)
    return value;
  Type to{value.expr.type.scalar, false, shape};
  return {cast(to, std::move(value.expr)), value.range};
}

// --- Leaves. -------------------------------------------------------------------------------------

Made Generator::literal_of(Scalar scalar) {
  if (scalar == Scalar::bool_)
    return number_literal(scalar, double(draw_.between(0, 1)));
  if (is_integer(scalar) && draw_.chance(10)) {
    double value = draw_.chance(50) ? largest(scalar) : least(scalar);
    if (bits_of(scalar) < 64)
      return number_literal(scalar, value);
  }
  double value = double(draw_.between(is_signed(scalar) ? -9 : 0, 9));
  if (is_float(scalar) && draw_.chance(8))
    value += 0.5;
  return number_literal(scalar, value);
}

// A variable with the type, or with a type that broadcasts or converts to it.
std::optional<Made> Generator::read_variable(Scalar scalar, const Shape &shape) {
  bool takes_all = in_bounds_ || draw_.chance(25);
  std::vector<int> found = visible([&](const Variable &variable, const Known &known) {
    const Type &type = variable.type;
    bool is_dull = known.is_index && !draw_.chance(20);
    return !type.pointer && !is_dull && (takes_all || type.scalar == scalar) &&
           (takes_all ? fits(type.shape, shape) : type.shape == shape);
  });
  if (found.empty())
    return std::nullopt;
  return repeated(converted(scalar, of(draw_.pick(found))), shape);
}

Made Generator::leaf(Scalar scalar, const Shape &shape) {
  if (nested_loads_ < 2 && !in_bounds_ && draw_.chance(policy_.loads))
    if (std::optional<Made> loaded = load_number(scalar, shape, 0))
      return std::move(*loaded);
  if (draw_.chance(70))
    if (std::optional<Made> read = read_variable(scalar, shape))
      return std::move(*read);
  if (draw_.chance(30) && scalar == Scalar::int32 && shape.empty()) {
    int axis = int(draw_.between(0, 2));
    double size = kernel_.grid[size_t(axis)];
    return draw_.chance(75) ? Made{program_id(axis), {0, size - 1}}
                            : Made{num_programs(axis), {size, size}};
  }
  if (draw_.chance(25) && scalar == Scalar::int32 && shape.size() == 1) {
    int64_t first = draw_.chance(70) ? 0 : draw_.between(0, 20);
    return {range(first, shape[0]), {double(first), double(first + shape[0] - 1)}};
  }
  return repeated(literal_of(scalar), shape);
}

// --- Operators. ----------------------------------------------------------------------------------

Made Generator::number(Scalar scalar, const Shape &shape, int depth) {
  bool is_leaf = depth <= 0 || draw_.chance(15) || !afford(elements_of(shape) + 1);
  for (int i = 0; i < max_tries && !is_leaf; i++)
    if (std::optional<Made> made = try_number(scalar, shape, depth - 1))
      return std::move(*made);
  return leaf(scalar, shape);
}

std::optional<Made> Generator::try_number(Scalar scalar, const Shape &shape, int depth) {
  if (scalar == Scalar::bool_ && draw_.chance(80))
    return truth(shape, depth);
  bool is_matmul = scalar == Scalar::float_ && shape.size() == 2 && elements_of(shape) >= 16;
  bool is_other_matmul =
      policy_.other_dots && shape.size() >= 2 && elements_of(shape) >= 16 &&
      (scalar == Scalar::float_ || scalar == Scalar::int32 || scalar == Scalar::double_);
  bool is_small = (is_integer(scalar) && bits_of(scalar) < 32) || is_small_float(scalar);
  switch (draw_.weighted(
      {is_small ? 0 : 50, is_small ? 0 : 12, 10, policy_.moves, policy_.reductions,
       is_small ? 40 : 10, is_small ? 0 : 8, policy_.may_round ? 10 : 1,
       is_matmul ? policy_.dots * 4 : 0, policy_.positions, policy_.random_numbers, policy_.calls,
       is_small ? 0 : policy_.functions, is_other_matmul ? policy_.dots * 4 : 0})) {
  case 0:
    return arithmetic(scalar, shape, depth);
  case 1:
    return one_operand(scalar, shape, depth);
  case 2:
    return choice(scalar, shape, depth);
  case 3:
    return moved(scalar, shape, depth);
  case 4:
    return reduced(scalar, shape, depth);
  case 5:
    return casted(scalar, shape, depth);
  case 6:
    return quotient(scalar, shape, depth);
  case 7:
    return rounded_function(scalar, shape, depth);
  case 8:
    return dot_of(shape, depth);
  case 9:
    return at_positions(scalar, shape, depth);
  case 10:
    return random_number(scalar, shape, depth);
  case 11:
    return called(scalar, shape, depth);
  case 12:
    return function_of_numbers(scalar, shape, depth);
  default:
    return other_dot(scalar, shape, depth);
  }
}

// A shape that broadcasts to `shape`, mostly `shape` itself.
Shape Generator::operand_shape(const Shape &shape) {
  if (draw_.chance(65))
    return shape;
  if (draw_.chance(40))
    return {};
  Shape smaller = shape;
  for (int64_t &extent : smaller)
    if (draw_.chance(40))
      extent = 1;
  while (!smaller.empty() && (smaller[0] == 1 || draw_.chance(30)) && draw_.chance(60))
    smaller.erase(smaller.begin());
  return smaller;
}

// A type whose common type with `scalar` is `scalar`.
Scalar Generator::operand_scalar(Scalar scalar) {
  if (draw_.chance(70))
    return scalar;
  Scalar other = draw_scalar();
  return common(scalar, other) == scalar ? other : scalar;
}

std::optional<Made> Generator::arithmetic(Scalar scalar, const Shape &shape, int depth) {
  std::vector<Op> ops = {Op::add, Op::add, Op::sub, Op::mul, Op::min, Op::max};
  if (is_integer(scalar))
    ops.insert(ops.end(), {Op::bit_and, Op::bit_or, Op::bit_xor, Op::shl, Op::shr});
  Op op = draw_.pick(ops);
  bool is_shift = op == Op::shl || op == Op::shr;
  Made a = number(scalar, shape, depth);
  Made b;
  if (is_shift) {
    int64_t most = draw_.between(0, op == Op::shl ? 6 : bits_of(scalar) - 1);
    b = clamped(number(Scalar::int32, operand_shape(shape), depth), 0, double(most));
  } else {
    Shape shape_of_b = operand_shape(shape);
    b = number(operand_scalar(scalar), shape_of_b, depth);
  }
  if (!is_shift && draw_.chance(40))
    std::swap(a, b);
  std::optional<Made> made = join(op, a, b);
  if (!made && is_integer(scalar)) // with small operands the result is defined
    made = join(op, clamped(a, is_signed(scalar) ? -500 : 0, 500),
                is_shift ? b : clamped(b, is_signed(scalar) ? -500 : 0, 500));
  if (made && made->expr.type.scalar != scalar)
    made = converted(scalar, std::move(*made));
  return made;
}

std::optional<Made> Generator::one_operand(Scalar scalar, const Shape &shape, int depth) {
  Op op = is_integer(scalar) ? draw_.pick({Op::negate, Op::bit_not, Op::abs})
                             : draw_.pick({Op::negate, Op::abs});
  Made a = number(scalar, shape, depth);
  if (a.expr.type.scalar == Scalar::bool_)
    return std::nullopt;
  std::optional<Range> result = range_of(op, promoted(scalar), a.range, policy_.may_round);
  if (!result)
    return std::nullopt;
  return Made{unary(op, std::move(a.expr)), *result};
}

// A division whose divisor cannot be zero: by construction, by its range, or by a `?:`.
std::optional<Made> Generator::quotient(Scalar scalar, const Shape &shape, int depth) {
  Made a = number(scalar, shape, depth);
  if (is_float(scalar)) {
    if (!policy_.may_round || draw_.chance(40)) {
      double divisor = draw_.pick({2.0, 4.0, -2.0, 0.5});
      Range range{-a.range.magnitude() * 2, a.range.magnitude() * 2, a.range.fraction_bits + 2,
                  a.range.is_rounded};
      if (!is_exact_in(scalar, range) && !(policy_.may_round && range.magnitude() < 4096))
        return std::nullopt;
      return Made{binary(Op::div, std::move(a.expr), number_literal(scalar, divisor).expr), range};
    }
    Made b = number(scalar, shape, depth);
    b.expr = binary(Op::add, unary(Op::abs, std::move(b.expr)), real_literal(scalar, 1));
    return Made{binary(Op::div, std::move(a.expr), std::move(b.expr)),
                {-a.range.magnitude(), a.range.magnitude(), 0, true}};
  }
  Op op = draw_.pick({Op::div, Op::rem});
  if (draw_.chance(45))
    return join(op, std::move(a), number_literal(scalar, double(draw_.between(1, 17))));
  if (draw_.chance(50))
    return guarded_quotient(op, scalar, shape, depth);
  Made b = number(scalar, operand_shape(shape), depth);
  return join(op, std::move(a), clamped(std::move(b), 1, double(draw_.between(1, 300))));
}

// b != 0 ? a / b : 7
std::optional<Made> Generator::guarded_quotient(Op op, Scalar scalar, const Shape &shape,
                                                int depth) {
  Shape divisors = operand_shape(shape);
  arms_.push_back(divisors);
  Made a = clamped(number(scalar, shape, depth), is_signed(scalar) ? -1e6 : 0, 1e6);
  Made b = number(scalar, divisors, depth);
  arms_.pop_back();
  double most = std::max(a.range.magnitude(), 7.0);
  Expr condition = binary(Op::ne, b.expr, number_literal(scalar, 0).expr);
  Made other = repeated(number_literal(scalar, 7), shape);
  Expr quotient = binary(op, std::move(a.expr), std::move(b.expr));
  return Made{conditional(std::move(condition), std::move(quotient), std::move(other.expr)),
              {is_signed(scalar) ? -most : 0, most}};
}

std::optional<Made> Generator::choice(Scalar scalar, const Shape &shape, int depth) {
  Shape condition_shape = draw_.chance(25) ? Shape() : operand_shape(shape);
  Made condition = number(Scalar::bool_, condition_shape, depth);
  arms_.push_back(condition.expr.type.shape);
  bool literal_arm = draw_.chance(30);
  Made yes = number(scalar, shape, depth);
  Made no = literal_arm ? literal_of(scalar) : number(scalar, operand_shape(shape), depth);
  arms_.pop_back();
  if (!literal_arm && draw_.chance(50))
    std::swap(yes, no);
  Range range = hull(yes.range, no.range);
  Made made{conditional(std::move(condition.expr), std::move(yes.expr), std::move(no.expr)), range};
  return converted(scalar, std::move(made));
}

std::optional<Made> Generator::truth(const Shape &shape, int depth) {
  switch (draw_.weighted({50, 25, 10, 10, 5, policy_.positions, policy_.random_numbers})) {
  case 0: {
    Scalar scalar = draw_scalar();
    Op op = draw_.pick({Op::lt, Op::le, Op::gt, Op::ge, Op::eq, Op::ne});
    Made a = number(scalar, shape, depth);
    Shape shape_of_b = operand_shape(shape);
    Made b = number(draw_.chance(70) ? scalar : draw_scalar(), shape_of_b, depth);
    return join(op, std::move(a), std::move(b));
  }
  case 1: {
    Made a = number(Scalar::bool_, shape, depth);
    arms_.push_back(a.expr.type.shape);
    Shape shape_of_b = operand_shape(shape);
    Made b = number(draw_.chance(80) ? Scalar::bool_ : draw_scalar(), shape_of_b, depth);
    arms_.pop_back();
    if (b.range.is_rounded)
      return std::nullopt;
    return join(draw_.pick({Op::logical_and, Op::logical_or}), std::move(a), std::move(b));
  }
  case 2: {
    Made a = number(draw_.chance(60) ? Scalar::bool_ : Scalar::int32, shape, depth);
    return Made{unary(Op::logical_not, std::move(a.expr)), {0, 1}};
  }
  case 3: {
    Made a = number(Scalar::bool_, shape, depth), b = number(Scalar::bool_, shape, depth);
    Op op = draw_.pick({Op::bit_and, Op::bit_or, Op::bit_xor});
    return Made{binary(op, std::move(a.expr), std::move(b.expr)), {0, 1}};
  }
  case 4:
    return choice(Scalar::bool_, shape, depth);
  case 5:
    return at_positions(Scalar::bool_, shape, depth);
  default:
    return random_truth(shape, depth);
  }
}

// --- Shapes. -------------------------------------------------------------------------------------

bool Generator::has_tile_arm() const {
  return std::any_of(arms_.begin(), arms_.end(), [](const Shape &arm) { return !arm.empty(); });
}

// Transposes, permutations, new axes, and reshapes.
std::optional<Made> Generator::moved(Scalar scalar, const Shape &shape, int depth) {
  size_t rank = shape.size();
  if (rank == 0)
    return std::nullopt;
  std::optional<int> mask;
  std::swap(mask, partial_mask_);
  bool is_masked = has_tile_arm();
  std::vector<Shape> arms;
  std::swap(arms, arms_);
  int depth_inside = is_masked ? -1 : depth; // inner loads could not be masked
  std::optional<Made> made;
  auto inside = [&](const Shape &of) {
    return depth_inside < 0 ? repeated(literal_of(scalar), of) : number(scalar, of, depth_inside);
  };
  size_t at = draw_.index(rank);
  switch (draw_.weighted({rank > 1 ? 30 : 0, rank > 1 ? 25 : 0, shape[at] == 1 ? 30 : 5, 20})) {
  case 0: {
    Shape from = shape;
    std::rotate(from.rbegin(), from.rbegin() + 1, from.rend());
    Made a = inside(from);
    made = Made{transpose(std::move(a.expr)), a.range};
    break;
  }
  case 1: {
    std::vector<int> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    for (size_t i = rank; i > 1; i--)
      std::swap(axes[i - 1], axes[draw_.index(i)]);
    Shape from(rank);
    for (size_t d = 0; d < rank; d++)
      from[size_t(axes[d])] = shape[d];
    Made a = inside(from);
    made = Made{permute(std::move(a.expr), axes), a.range};
    break;
  }
  case 2: {
    if (shape[at] != 1 || rank == 1)
      break;
    std::vector<Position> positions(rank, Position::keep);
    positions[at] = Position::newaxis;
    Made a = inside(without(shape, at));
    made = Made{subscript(std::move(a.expr), positions), a.range};
    break;
  }
  default: {
    Shape from = shape;
    if (rank > 1 && draw_.chance(50)) { // flattened
      from.erase(from.begin());
      from[0] *= shape[0];
    } else if (shape[at] > 1) {
      from[at] /= 2;
      from.insert(from.begin() + int64_t(at), 2);
    } else {
      from = {elements_of(shape)};
    }
    if (from == shape || from.size() > 5)
      break;
    Made a = inside(from);
    made = Made{cast({scalar, false, shape}, std::move(a.expr)), a.range};
  }
  }
  std::swap(mask, partial_mask_);
  std::swap(arms, arms_);
  return made;
}

std::optional<Made> Generator::reduced(Scalar scalar, const Shape &shape, int depth) {
  if (scalar == Scalar::bool_ || is_small_float(scalar) || has_tile_arm())
    return std::nullopt;
  Shape from = shape;
  std::vector<Position> positions(shape.size(), Position::keep);
  // The same subscript may add a new axis.
  if (size_t at = draw_.index(shape.size() + 1); at < shape.size() && shape[at] == 1) {
    from = without(shape, at);
    positions[at] = Position::newaxis;
  }
  double terms = 1;
  for (int i = draw_.chance(20) ? 2 : 1; i > 0 && from.size() < 4; i--) {
    size_t at = draw_.index(positions.size() + 1);
    size_t axis = at - size_t(std::count(positions.begin(), positions.begin() + int64_t(at),
                                         Position::newaxis));
    int64_t extent = draw_.pick(policy_.extents);
    if (elements_of(from) * extent > 4096)
      extent = draw_.pick({1, 2, 4});
    Position how = draw_.pick({Position::sum, Position::max, Position::min});
    if (!is_signed(scalar))
      how = Position::sum;
    // Subscript positions that are already reduced count as axes.
    from.insert(from.begin() + int64_t(axis), extent);
    positions.insert(positions.begin() + int64_t(at), how);
    if (how == Position::sum)
      terms *= double(extent);
  }
  if (elements_of(from) > 4096 || !afford(elements_of(from) * 2))
    return std::nullopt;
  std::optional<int> mask;
  std::swap(mask, partial_mask_);
  Made a = number(scalar, from, depth);
  std::swap(mask, partial_mask_);
  Range range = a.range;
  range.low = std::min(range.low * terms, range.low);
  range.high = std::max(range.high * terms, range.high);
  if (!is_exact_in(scalar, range)) {
    bool wraps = is_integer(scalar) && (bits_of(scalar) < 32 || !is_signed(scalar));
    if (wraps)
      range = of_type(scalar);
    else if (policy_.may_round && is_float(scalar) && range.magnitude() < 4096)
      range.is_rounded = true;
    else
      return std::nullopt;
  }
  return Made{subscript(std::move(a.expr), positions), range};
}

std::optional<Made> Generator::casted(Scalar scalar, const Shape &shape, int depth) {
  Scalar from = draw_scalar();
  if (is_integer(from) == is_integer(scalar) && bits_of(from) == bits_of(scalar) &&
      from != scalar && from != Scalar::bool_ && scalar != Scalar::bool_ && is_integer(scalar) &&
      draw_.chance(50)) {
    Made a = number(from, shape, depth);
    return Made{bitcast({scalar, false, shape}, std::move(a.expr)), of_type(scalar)};
  }
  // Some bits of a float that is certainly not zero.
  if (scalar == Scalar::int32 && draw_.chance(15) && !policy_.may_round) {
    Made a = converted(Scalar::float_, number(Scalar::int16, shape, depth));
    Expr positive =
        binary(Op::add, unary(Op::abs, std::move(a.expr)), real_literal(Scalar::float_, 1));
    return join(Op::shr, {bitcast({scalar, false, shape}, std::move(positive)), {0, 0x7f800000}},
                number_literal(Scalar::int32, double(draw_.between(16, 24))));
  }
  if (draw_.chance(30)) // a cast of type and shape at once
    return repeated(converted(scalar, number(from, operand_shape(shape), depth)), shape);
  Made made = converted(scalar, number(from, shape, depth));
  if (made.expr.type.shape != shape)
    return std::nullopt;
  return made;
}

std::optional<Made> Generator::rounded_function(Scalar scalar, const Shape &shape, int depth) {
  Scalar computed = scalar == Scalar::double_ ? Scalar::double_ : Scalar::float_;
  if (scalar != computed)
    return std::nullopt;
  Made a = number(scalar, shape, depth);
  if (!policy_.may_round) { // the square root of a square
    double most = std::ldexp(1, precision_of(scalar) / 2 - 1);
    if (a.range.fraction_bits || a.range.magnitude() > most)
      return std::nullopt;
    Expr square = binary(Op::mul, a.expr, a.expr);
    return Made{unary(Op::sqrt, std::move(square)), {0, a.range.magnitude()}};
  }
  Op op = draw_.pick({Op::sqrt, Op::exp, Op::log});
  if (op == Op::exp) {
    a = clamped(std::move(a), -4, 4);
    return Made{unary(op, std::move(a.expr)), {0, 55, 0, true}};
  }
  Expr positive = binary(Op::add, unary(Op::abs, std::move(a.expr)), real_literal(scalar, 1));
  return Made{unary(op, std::move(positive)), {0, a.range.magnitude() + 1, 0, true}};
}

// --- Dots. ---------------------------------------------------------------------------------------

// A tile with magnitudes up to `most`, as an operand of a dot.
Made Generator::factor(Scalar scalar, const Shape &shape, double most, int depth) {
  bool is_transposed = draw_.chance(25);
  Shape made_shape = is_transposed ? Shape{shape[1], shape[0]} : shape;
  Made made = number(scalar, made_shape, depth);
  if (made.range.magnitude() > most || (made.range.fraction_bits && !policy_.may_round))
    made = made.range.fraction_bits && !policy_.may_round ? repeated(literal_of(scalar), made_shape)
                                                          : clamped(std::move(made), -most, most);
  if (made.range.fraction_bits && !policy_.may_round)
    made = repeated(number_literal(scalar, 1), made_shape);
  if (is_transposed)
    made.expr = transpose(std::move(made.expr));
  return made;
}

std::optional<Made> Generator::dot_of(const Shape &shape, int depth) {
  int64_t depth_of_dot = draw_.pick({4, 8, 16, 16, 32});
  if (has_tile_arm() || !afford(elements_of(shape) * depth_of_dot / 8))
    return std::nullopt;
  Scalar scalar = draw_.pick({Scalar::half, Scalar::half, Scalar::bfloat16, Scalar::float_});
  std::optional<int> mask;
  std::swap(mask, partial_mask_);
  double most = scalar == Scalar::bfloat16 || kernel_.tf32 ? 16 : 64;
  Made a = factor(scalar, {shape[0], depth_of_dot}, most, depth);
  Made b = factor(scalar, {depth_of_dot, shape[1]}, most, depth);
  std::swap(mask, partial_mask_);
  double magnitude = a.range.magnitude() * b.range.magnitude() * double(depth_of_dot);
  Range range{-magnitude, magnitude, a.range.fraction_bits + b.range.fraction_bits,
              a.range.is_rounded || b.range.is_rounded};
  if (!is_exact_in(Scalar::float_, range)) {
    if (!policy_.may_round || magnitude > 1e6)
      return std::nullopt;
    range.is_rounded = true;
  }
  Made made{dot(std::move(a.expr), std::move(b.expr)), range};
  if (draw_.chance(40)) {
    Made sum = number(Scalar::float_, shape, depth);
    if (std::optional<Made> added = join(Op::add, made, sum))
      return added;
  }
  return made;
}

// Dots of other types, and batched dots.
std::optional<Made> Generator::other_dot(Scalar scalar, const Shape &shape, int depth) {
  Shape left = shape, right = shape;
  left[1] = right[0] = draw_.pick({4, 8, 16, 16, 32});
  if (has_tile_arm() || elements_of(left) > 4096 || elements_of(right) > 4096 ||
      !afford(elements_of(shape) * left[1] / 8))
    return std::nullopt;
  Scalar factors =
      scalar == Scalar::double_ ? scalar
      : scalar == Scalar::int32
          ? draw_.pick({Scalar::int8, Scalar::int8, Scalar::uint8, Scalar::int16, Scalar::int32})
          : draw_.pick(
                {Scalar::e4m3, Scalar::e5m2, Scalar::half, Scalar::bfloat16, Scalar::float_});
  std::optional<int> mask;
  std::swap(mask, partial_mask_);
  double most = is_integer(factors) ? 100 : is_small_float(factors) ? 8 : 16;
  auto factor = [&](const Shape &of) {
    Made made = number(factors, of, depth);
    if (made.range.fraction_bits || made.range.is_rounded)
      made = repeated(number_literal(factors, 1), of);
    return converted(factors, clamped(std::move(made), is_signed(factors) ? -most : 0, most));
  };
  Made a = factor(left), b = factor(right);
  std::swap(mask, partial_mask_);
  double magnitude = most * most * double(left[1]);
  Range range{is_signed(factors) ? -magnitude : 0, magnitude};
  Made made{dot(std::move(a.expr), std::move(b.expr)), range};
  if (draw_.chance(40))
    if (std::optional<Made> added = join(Op::add, made, number(scalar, shape, depth)))
      return converted(scalar, std::move(*added));
  return converted(scalar, std::move(made));
}

// --- Values for assignments. ---------------------------------------------------------------------

Made Generator::convertible(const Type &to, int depth) {
  Scalar scalar = draw_.chance(70) ? to.scalar : draw_scalar();
  Shape shape = draw_.chance(85) ? to.shape : operand_shape(to.shape);
  Made made = number(scalar, shape, depth);
  // An implicit conversion, if it is certainly exact.
  bool is_kept = is_exact_in(to.scalar, made.range) || to.scalar == made.expr.type.scalar ||
                 (is_integer(to.scalar) && is_integer(made.expr.type.scalar));
  if (!is_kept)
    made = converted(to.scalar, std::move(made));
  if (is_integer(to.scalar) && !is_exact_in(to.scalar, made.range))
    made.range = of_type(to.scalar);
  if (to.scalar == Scalar::bool_)
    made.range = {0, 1};
  return made;
}

} // namespace tritonc::random
