// Generates expressions along an axis (gather, scans, argmax), math functions, and random numbers.
// See generator.h.

#include "random_kernels/generator.h"

#include <cmath>

namespace tritonc::random {

Made Generator::any_integer(const Shape &shape, int depth) {
  Scalar scalar = draw_.pick({Scalar::int32, Scalar::int32, Scalar::uint32, Scalar::int64,
                              Scalar::uint64, Scalar::int16, Scalar::uint8});
  Made made = number(scalar, shape, depth);
  if (made.expr.type.scalar == Scalar::bool_)
    made = converted(scalar, std::move(made));
  return made;
}

// --- Along an axis. ------------------------------------------------------------------------------

std::optional<Made> Generator::at_positions(Scalar scalar, const Shape &shape, int depth) {
  if (has_tile_arm())
    return std::nullopt;
  std::optional<int> mask;
  std::swap(mask, partial_mask_);
  std::optional<Made> made;
  switch (draw_.weighted({30, 10, 30, 30})) {
  case 0:
    made = gathered(scalar, shape, depth);
    break;
  case 1:
    made = single_element(scalar, shape, depth);
    break;
  case 2:
    made = along_axis(scalar, shape,
                      draw_.pick({Position::prod, Position::any, Position::all, Position::argmax,
                                  Position::argmin, Position::max, Position::sum}),
                      depth);
    break;
  default:
    made = along_axis(
        scalar, shape,
        draw_.pick({Position::scan_sum, Position::scan_sum, Position::scan_max, Position::scan_min,
                    Position::scan_prod, Position::scan_any, Position::scan_all}),
        depth);
  }
  std::swap(mask, partial_mask_);
  return made;
}

// Integers from 0 to extent - 1.
Made Generator::position(const Shape &shape, int64_t extent, int depth) {
  if (shape.size() == 1 && shape[0] == extent && draw_.chance(25)) {
    Made made{range(0, extent), {0, double(extent - 1)}};
    if (draw_.chance(50)) // reversed
      made.expr = binary(Op::sub, number_literal(Scalar::int32, double(extent - 1)).expr,
                         std::move(made.expr));
    return made;
  }
  Made made = any_integer(shape, depth);
  Scalar own = promoted(made.expr.type.scalar);
  made.expr =
      binary(Op::bit_and, std::move(made.expr), number_literal(own, double(extent - 1)).expr);
  return {std::move(made.expr), {0, double(extent - 1)}};
}

std::optional<Made> Generator::gathered(Scalar scalar, const Shape &shape, int depth) {
  if (shape.empty())
    return std::nullopt;
  size_t axis = draw_.index(shape.size());
  Shape from = shape, positions = shape;
  from[axis] = draw_.pick(policy_.extents);
  for (size_t d = 0; d < shape.size(); d++)
    if (d != axis && draw_.chance(30))
      positions[d] = 1;
  size_t front = 0; // leading axes of extent 1 may be omitted
  while (front < axis && positions[front] == 1 && draw_.chance(50))
    front++;
  positions.erase(positions.begin(), positions.begin() + int64_t(front));
  if (elements_of(from) > 4096 || !afford(elements_of(from) + elements_of(shape)))
    return std::nullopt;
  Made a = number(scalar, from, depth);
  Made at = position(positions, from[axis], depth - 1);
  return Made{random::gather(std::move(a.expr), std::move(at.expr), int(axis)), a.range};
}

std::optional<Made> Generator::single_element(Scalar scalar, const Shape &shape, int depth) {
  if (shape.size() >= 4)
    return std::nullopt;
  size_t axis = draw_.index(shape.size() + 1);
  Shape from = shape;
  from.insert(from.begin() + int64_t(axis), draw_.pick(policy_.extents));
  if (elements_of(from) > 4096 || !afford(elements_of(from)))
    return std::nullopt;
  Made a = number(scalar, from, depth);
  Made at = draw_.chance(50)
                ? number_literal(Scalar::int32, double(draw_.between(0, from[axis] - 1)))
                : position({}, from[axis], depth - 1);
  return Made{element(std::move(a.expr), std::move(at.expr), int(axis)), a.range};
}

std::optional<Made> Generator::along_axis(Scalar scalar, const Shape &shape, Position how,
                                          int depth) {
  Shape from = shape;
  std::vector<Position> positions(shape.size(), Position::keep);
  if (is_scan(how) && shape.empty())
    return std::nullopt;
  size_t axis = draw_.index(shape.size() + (is_scan(how) ? 0 : 1));
  if (is_scan(how)) {
    positions[axis] = how;
  } else {
    if (shape.size() >= 4)
      return std::nullopt;
    from.insert(from.begin() + int64_t(axis), draw_.pick(policy_.extents));
    positions.insert(positions.begin() + int64_t(axis), how);
  }
  if (elements_of(from) > 4096 || !afford(3 * elements_of(from)))
    return std::nullopt;
  double extent = double(from[axis]);
  bool is_truth = asks_truth(how);
  if (is_truth && draw_.chance(30)) // over all remaining axes
    for (Position &position : positions)
      if (position == Position::keep && is_scan(how))
        position = how;
  Scalar element = is_truth || is_arg(how) ? draw_scalar() : scalar;
  Made a = number(element, from, depth);
  if (a.range.is_rounded && (is_truth || is_arg(how)))
    return std::nullopt;
  Range range = a.range;
  switch (how) {
  case Position::any:
  case Position::all:
  case Position::scan_any:
  case Position::scan_all:
    range = {0, 1};
    break;
  case Position::argmax:
  case Position::argmin:
    range = {0, extent - 1};
    break;
  case Position::sum:
  case Position::scan_sum:
    range.low = std::min(range.low * extent, range.low);
    range.high = std::max(range.high * extent, range.high);
    break;
  case Position::prod:
  case Position::scan_prod: {
    if (range.fraction_bits || range.is_rounded)
      return std::nullopt;
    if (range.magnitude() > 1 && std::pow(range.magnitude(), extent) > 1000) {
      double low = is_signed(a.expr.type.scalar) ? -1 : 0;
      a = clamped(std::move(a), low, 1);
      if (a.expr.type.scalar != element)
        a = converted(element, std::move(a));
    }
    double most = std::pow(std::max(a.range.magnitude(), 1.0), extent);
    range = {a.range.low < 0 ? -most : 0, most};
    break;
  }
  default: // max or min
    break;
  }
  Made made{subscript(std::move(a.expr), positions), range};
  Scalar result = made.expr.type.scalar;
  if (!is_exact_in(result, range) && !range.is_rounded) {
    bool wraps = is_integer(result) && (bits_of(result) < 32 || !is_signed(result));
    if (!wraps)
      return std::nullopt;
    made.range = of_type(result);
  }
  return converted(scalar, std::move(made));
}

// --- Math functions. -----------------------------------------------------------------------------

std::optional<Made> Generator::function_of_numbers(Scalar scalar, const Shape &shape, int depth) {
  if (scalar != Scalar::float_ && scalar != Scalar::double_)
    return std::nullopt;
  Made a = number(scalar, shape, depth);
  if (draw_.chance(40)) {
    Made b = number(scalar, operand_shape(shape), depth);
    Made c = number(scalar, operand_shape(shape), depth);
    std::optional<Range> product = range_of(Op::mul, scalar, a.range, b.range, policy_.may_round);
    std::optional<Range> sum =
        product ? range_of(Op::add, scalar, *product, c.range, policy_.may_round) : product;
    if (!sum)
      return std::nullopt;
    return Made{multiply_add(std::move(a.expr), std::move(b.expr), std::move(c.expr)), *sum};
  }
  if (policy_.may_round && draw_.chance(70)) {
    Op op = draw_.pick({Op::sin, Op::cos, Op::tanh, Op::erf, Op::exp2, Op::log2, Op::rsqrt});
    if (op == Op::exp2)
      a = clamped(std::move(a), -4, 4);
    if (op == Op::log2 || op == Op::rsqrt)
      a = {binary(Op::add, unary(Op::abs, std::move(a.expr)), real_literal(scalar, 1)), {}};
    return Made{unary(op, std::move(a.expr)), {-20, 20, 0, true}};
  }
  Op op = draw_.pick({Op::floor, Op::ceil, Op::trunc, Op::round});
  if (a.range.is_rounded)
    return std::nullopt;
  if (draw_.chance(60)) { // adds a fraction to round
    Range range{a.range.low / 4, a.range.high / 4, a.range.fraction_bits + 2};
    if (!is_exact_in(scalar, range))
      return std::nullopt;
    a = {binary(Op::div, std::move(a.expr), real_literal(scalar, 4)), range};
  }
  return Made{unary(op, std::move(a.expr)), {std::floor(a.range.low), std::ceil(a.range.high)}};
}

// --- Random numbers. -----------------------------------------------------------------------------

std::optional<Made> Generator::random_number(Scalar scalar, const Shape &shape, int depth) {
  if (is_float(scalar) || scalar == Scalar::bool_ || !afford(20 * elements_of(shape)))
    return std::nullopt;
  bool is_tile_seed = draw_.chance(20);
  Made seed = any_integer(is_tile_seed ? operand_shape(shape) : Shape(), depth - 1);
  Made offset = any_integer(shape, depth - 1);
  if (is_tile_seed && draw_.chance(50))
    std::swap(seed, offset);
  Made words{philox(std::move(seed.expr), std::move(offset.expr), int(draw_.between(-1, 3))),
             of_type(Scalar::uint32)};
  if (draw_.chance(40))
    words = *join(Op::rem, std::move(words),
                  number_literal(Scalar::uint32, double(draw_.between(1, 100))));
  return converted(scalar, std::move(words));
}

// Compares two uniform values, or one with a bound. They have too many digits for other uses.
std::optional<Made> Generator::random_truth(const Shape &shape, int depth) {
  if (!afford(20 * elements_of(shape)))
    return std::nullopt;
  auto one = [&] {
    Made seed = any_integer({}, depth - 1), offset = any_integer(shape, depth - 1);
    return uniform(std::move(seed.expr), std::move(offset.expr));
  };
  Op op = draw_.pick({Op::lt, Op::le, Op::gt, Op::ge});
  Expr first = one();
  Expr second =
      draw_.chance(70) ? real_literal(Scalar::float_, draw_.pick({0.125, 0.25, 0.5, 0.75})) : one();
  return Made{binary(op, std::move(first), std::move(second)), {0, 1}};
}

} // namespace tritonc::random
