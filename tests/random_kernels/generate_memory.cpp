// Generates loads and stores. See generator.h.
//
// Most addresses are formulas as kernel authors write them: an index per axis, the program's part
// of the matrix, a leading dimension. Buffers get their sizes at the end, when all accessed
// elements are known.

#include "random_kernels/generator.h"

#include <algorithm>
#include <numeric>

namespace tritonc::random {
namespace {

constexpr int max_inputs = 6, max_numbers = 8, max_outputs = 8;
constexpr int64_t max_elements = 60'000;

int64_t rounded_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace

// --- Parameters. ---------------------------------------------------------------------------------

// Values that are exact in the type, and small, so that some sums and products stay exact.
Data Generator::draw_data(Scalar scalar) {
  switch (scalar) {
  case Scalar::bool_:
    return {0, 1};
  case Scalar::e4m3:
  case Scalar::e5m2:
    return draw_.pick({Data{-3, 3}, Data{-8, 8}, Data{0, 7}, Data{-1, 1}});
  case Scalar::half:
  case Scalar::bfloat16:
  case Scalar::float_:
  case Scalar::double_:
    if (policy_.may_round && draw_.chance(70)) // up to 4, with all bits of the type
      return scalar == Scalar::bfloat16 ? Data{-127, 127, 5}
             : scalar == Scalar::half   ? Data{-1023, 1023, 8}
                                        : Data{-65535, 65535, 14};
    return draw_.pick({Data{-3, 3}, Data{-8, 8}, Data{0, 7}, Data{-1, 1}, Data{1, 4}});
  default:
    break;
  }
  if (draw_.chance(15) && bits_of(scalar) < 64)
    return {int64_t(least(scalar)), int64_t(largest(scalar))};
  if (draw_.chance(15) && scalar == Scalar::uint64)
    return {INT64_MIN, INT64_MAX};
  if (is_signed(scalar) && draw_.chance(60))
    return draw_.pick({Data{-8, 8}, Data{-100, 100}, Data{-1, 1}});
  return draw_.pick({Data{0, 7}, Data{0, 100}, Data{1, 12}});
}

// The pointer parameter of an input buffer, existing or new.
int Generator::input_of(Scalar scalar) {
  std::vector<int> found;
  int inputs = 0;
  for (const Parameter &parameter : kernel_.parameters) {
    inputs += parameter.role == Parameter::Role::input;
    if (parameter.role == Parameter::Role::input && type(parameter.variable).scalar == scalar)
      found.push_back(parameter.variable);
  }
  if (!found.empty() && (inputs >= max_inputs || draw_.chance(50)))
    return draw_.pick(found);
  Parameter parameter;
  parameter.role = Parameter::Role::input;
  parameter.data = draw_data(scalar);
  parameter.read_only = draw_.chance(50);
  parameter.no_alias = draw_.chance(40);
  const Data &data = parameter.data;
  double unit = double(int64_t(1) << data.fraction_bits);
  Range range{double(data.low) / unit, double(data.high) / unit, data.fraction_bits};
  if (scalar == Scalar::uint64 && data.low < 0)
    range = of_type(scalar);
  return new_parameter("x", {scalar, true, {}, draw_.chance(25)}, parameter,
                       {.range = range, .is_fixed = true, .may_read = true});
}

// A kernel parameter with this value, so that the compiler does not know the value.
Made Generator::bound_parameter(int64_t value, const char *stem) {
  int numbers = 0;
  for (const Parameter &parameter : kernel_.parameters) {
    bool is_number = parameter.role == Parameter::Role::number;
    numbers += is_number;
    if (is_number && parameter.integer == value && draw_.chance(60) &&
        is_signed(type(parameter.variable).scalar) && !is_float(type(parameter.variable).scalar))
      return of(parameter.variable);
  }
  if (numbers >= max_numbers || in_bounds_)
    return number_literal(Scalar::int32, double(value));
  Parameter parameter;
  parameter.integer = value;
  int multiple = draw_.pick({0, 0, 2, 4, 8, 8, 16});
  if (multiple && value % multiple == 0)
    parameter.multiple_of = multiple;
  Scalar scalar = draw_.chance(90) ? Scalar::int32 : Scalar::int64;
  Range range{double(value), double(value)};
  return of(
      new_parameter(stem, {scalar, false, {}}, parameter, {.range = range, .is_fixed = true}));
}

// --- Addresses. ----------------------------------------------------------------------------------

// 0 to extent - 1 in some order, plus an offset by the program's id if a grid axis is given. Inputs
// may repeat indices.
Made Generator::coordinate(int64_t extent, int program_axis, bool is_output) {
  int twist = draw_.chance(policy_.odd_steps) ? int(draw_.between(1, is_output ? 3 : 6)) : 0;
  int64_t key = 1 + (program_axis + 1) + 8 * twist + 64 * extent;
  std::vector<int> known_ones =
      visible([&](const Variable &, const Known &known) { return known.key == key; });
  if (!known_ones.empty() && draw_.chance(70))
    return of(draw_.pick(known_ones));
  Made made{range(0, extent), {0, double(extent - 1)}};
  auto apply = [&](Op op, int64_t by) {
    made = *join(op, std::move(made), number_literal(Scalar::int32, double(by)));
  };
  switch (twist) {
  case 1: // reversed
    made = *join(Op::sub, number_literal(Scalar::int32, double(extent - 1)), std::move(made));
    break;
  case 2:
    apply(Op::bit_xor, extent / 2 + (extent > 4 ? 1 : 0));
    break;
  case 3: // rotated
    apply(Op::add, extent / 2 + 1);
    apply(Op::bit_and, extent - 1);
    break;
  case 4:
    apply(Op::div, 2);
    break;
  case 5:
    apply(Op::rem, std::max<int64_t>(extent / 4, 1));
    break;
  case 6:
    apply(Op::shr, 1);
    break;
  }
  if (made.range.low < 0 || made.range.high > double(extent - 1))
    made.range = {0, double(extent - 1)};
  if (program_axis >= 0) {
    double size = kernel_.grid[size_t(program_axis)];
    Made start = *join(Op::mul, {program_id(program_axis), {0, size - 1}},
                       number_literal(Scalar::int32, double(extent)));
    made = *join(Op::add, std::move(start), std::move(made));
  }
  if (!draw_.chance(70))
    return made;
  Scalar scalar = draw_.chance(92) ? Scalar::int32 : Scalar::int64;
  Range bounds = made.range;
  int variable = declare_value("i", {scalar, false, {extent}}, std::move(made));
  known(variable).is_index = true;
  known(variable).key = key;
  known(variable).range = bounds;
  return of(variable);
}

// A 1-D tile as axis `axis` of `rank` axes.
Made Generator::placed(Made coordinate, size_t axis, size_t rank) {
  if (rank == 1)
    return coordinate;
  std::vector<Position> positions(rank, Position::newaxis);
  positions[axis] = Position::keep;
  // Leading axes may be omitted: broadcast adds them.
  if (axis > 0 && draw_.chance(30))
    positions.erase(positions.begin(), positions.begin() + int64_t(axis));
  if (positions.size() == 1)
    return coordinate;
  return {subscript(std::move(coordinate.expr), positions), coordinate.range};
}

Made Generator::scaled(Made index, int64_t stride) {
  if (stride == 1 && draw_.chance(90))
    return index;
  Made by = stride > 1 && draw_.chance(50) ? bound_parameter(stride, "n")
                                           : number_literal(Scalar::int32, double(stride));
  if (draw_.chance(30))
    return *join(Op::mul, std::move(by), std::move(index));
  return *join(Op::mul, std::move(index), std::move(by));
}

// One address per element; all different for an output.
std::optional<Generator::Access> Generator::formula(Expr base, const Shape &shape, bool is_output) {
  size_t rank = shape.size();
  std::vector<int> program_axis(rank, -1), batches;
  for (int g = 0; g < 3; g++) {
    if (kernel_.grid[size_t(g)] == 1 || (!is_output && draw_.chance(35)))
      continue;
    size_t axis = rank ? draw_.index(rank) : 0;
    if (policy_.whole && is_output && rank == 2 && g < 2 && draw_.chance(85))
      axis = size_t(g); // as in a GEMM
    bool is_free = rank && program_axis[axis] < 0;
    if (is_free && draw_.chance(75))
      program_axis[axis] = g;
    else
      batches.push_back(g);
  }
  // The axes in the order of memory, contiguous axis first.
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (draw_.chance(65))
    std::reverse(order.begin(), order.end()); // row-major
  else if (draw_.chance(40))
    for (size_t i = rank; i > 1; i--)
      std::swap(order[i - 1], order[draw_.index(i)]);

  Access access;
  std::vector<Made> terms;
  int64_t distance = draw_.chance(policy_.odd_steps) ? draw_.between(2, 3) : 1;
  for (size_t axis : order) {
    int64_t size = shape[axis];
    if (program_axis[axis] >= 0)
      size *= kernel_.grid[size_t(program_axis[axis])];
    if (size == 1)
      continue;
    Made index = placed(coordinate(shape[axis], program_axis[axis], is_output), axis, rank);
    access.coordinates.push_back(index);
    terms.push_back(scaled(std::move(index), distance));
    distance *= size;
    if (draw_.chance(policy_.whole ? 8 : 35))
      distance += draw_.pick({1, 3, 8, 16});
    else if (draw_.chance(40))
      distance = rounded_up(distance, draw_.pick({8, 16, 32}));
  }
  for (int g : batches) {
    double size = kernel_.grid[size_t(g)];
    terms.push_back(scaled({program_id(g), {0, size - 1}}, distance));
    distance *= int64_t(size);
  }
  for (const Loop &loop : loops_) {
    if (is_output && !loop.counter)
      return std::nullopt;
    if (!loop.counter || (!is_output && draw_.chance(50)))
      continue;
    if (double(distance) * loop.counter->range.high > largest(Scalar::int32))
      return std::nullopt; // the offset is too large for a literal
    terms.push_back(scaled(*loop.counter, distance));
    distance *= int64_t(loop.counter->range.high) + 1;
  }
  if (distance > max_elements)
    return std::nullopt;
  if (draw_.chance(policy_.whole ? 8 : 25))
    terms.push_back(number_literal(Scalar::int32, double(draw_.pick({1, 4, 16, 64}))));

  // One integer sum, or one pointer addition per term.
  for (size_t i = terms.size(); i > 1; i--)
    if (draw_.chance(50))
      std::swap(terms[i - 1], terms[draw_.index(i)]);
  if (draw_.chance(50) && !terms.empty()) {
    Made sum = terms[0];
    for (size_t i = 1; i < terms.size(); i++)
      sum = *join(Op::add, std::move(sum), std::move(terms[i]));
    terms = {sum};
  }
  access.pointers = std::move(base);
  for (Made &term : terms)
    access.pointers = draw_.chance(92)
                          ? binary(Op::add, std::move(access.pointers), std::move(term.expr))
                          : binary(Op::add, std::move(term.expr), std::move(access.pointers));
  if (access.pointers.type.shape != shape) {
    Expr zeros = cast({Scalar::int32, false, shape}, literal(Scalar::int32, 0));
    access.pointers = binary(Op::add, std::move(access.pointers), std::move(zeros));
  }
  return access;
}

// Addresses from loaded indices.
std::optional<Generator::Access> Generator::gather(Expr base, const Shape &shape, int depth) {
  Made index = number(draw_.pick({Scalar::int32, Scalar::int32, Scalar::uint32, Scalar::int64}),
                      shape, depth);
  if (index.range.low < 0 || index.range.high > 2000) {
    Scalar scalar = index.expr.type.scalar;
    std::optional<Made> some =
        join(Op::bit_and, std::move(index), number_literal(scalar, draw_.pick({15, 63, 255})));
    if (!some)
      return std::nullopt;
    index = std::move(*some);
  }
  Access access{binary(Op::add, std::move(base), std::move(index.expr)), {}};
  return access;
}

// --- Masks. --------------------------------------------------------------------------------------

Made Generator::mask_for(const Access &access, const Shape &shape, int depth) {
  if (access.coordinates.empty() || draw_.chance(15))
    return number(Scalar::bool_, shape, depth);
  auto one = [&] {
    const Made &coordinate = draw_.pick(access.coordinates);
    int64_t size = int64_t(coordinate.range.high) + 1;
    int64_t bound = draw_.chance(80) ? draw_.between(0, size) : draw_.between(-3, size + 3);
    Made limit = draw_.chance(60) ? bound_parameter(bound, "n")
                                  : number_literal(Scalar::int32, double(bound));
    return draw_.chance(85)
               ? *join(Op::lt, coordinate, std::move(limit))
               : *join(draw_.pick({Op::ge, Op::le, Op::ne, Op::gt}), coordinate, std::move(limit));
  };
  Made mask = one();
  if (draw_.chance(40)) {
    Made other = one();
    Op op = draw_.chance(80) ? Op::logical_and : Op::logical_or;
    mask = *join(op, std::move(mask), std::move(other));
  }
  return mask;
}

// --- Loads. --------------------------------------------------------------------------------------

std::optional<Made> Generator::load_number(Scalar scalar, const Shape &shape, int depth) {
  bool may =
      std::all_of(arms_.begin(), arms_.end(), [&](const Shape &a) { return fits(a, shape); });
  if (!may || !afford(3 * elements_of(shape)))
    return std::nullopt;
  nested_loads_++;
  std::optional<Made> loaded = try_load(scalar, shape, depth);
  nested_loads_--;
  return loaded;
}

std::optional<Made> Generator::try_load(Scalar scalar, const Shape &shape, int depth) {
  std::vector<int> pointers = visible([&](const Variable &variable, const Known &known) {
    const Type &type = variable.type;
    return known.may_read && type.pointer && type.scalar == scalar && type.shape == shape;
  });
  if (!pointers.empty() && !shape.empty() && draw_.chance(40)) {
    int pointer = draw_.pick(pointers);
    return loaded_through({of(pointer).expr, {}}, known(pointer).range, shape, depth);
  }
  if (sometimes(policy_.constants))
    return load_constant(scalar, shape, depth);
  int input = input_of(scalar);
  Range range = known(input).range;
  bool is_gather = draw_.chance(policy_.gathers) && depth >= 0;
  std::optional<Access> access = is_gather ? gather(of(input).expr, shape, std::min(depth, 1) - 1)
                                           : formula(of(input).expr, shape, /*is_output=*/false);
  if (!access)
    return std::nullopt;
  if (!shape.empty() && draw_.chance(policy_.pointers)) {
    int variable = declare_value("p", access->pointers.type, {access->pointers, range});
    known(variable).may_read = true;
    access->pointers = of(variable).expr;
  }
  return loaded_through(std::move(*access), range, shape, depth);
}

Made Generator::loaded_through(Access access, Range range, const Shape &shape, int depth) {
  Scalar scalar = access.pointers.type.scalar;
  if (partial_mask_ && type(*partial_mask_).shape == shape && draw_.chance(60))
    return {load(std::move(access.pointers), of(*partial_mask_).expr), range};
  Hint hint = load_hint();
  if (!draw_.chance(policy_.masks)) {
    Made made{load(std::move(access.pointers)), range};
    made.expr.hint = hint;
    return made;
  }
  Made mask =
      draw_.chance(85) ? mask_for(access, shape, depth - 1) : number(Scalar::bool_, {}, depth - 1);
  arms_.push_back(mask.expr.type.shape);
  Made other = draw_.chance(60) ? number_literal(Scalar::int32, 0)
                                : number(scalar, draw_.chance(50) ? Shape() : shape, depth - 1);
  arms_.pop_back();
  if (scalar == Scalar::bool_ || is_integer(scalar) != is_integer(other.expr.type.scalar))
    other = draw_.chance(50) || scalar == Scalar::bool_ ? converted(scalar, std::move(other))
                                                        : std::move(other);
  range = hull(range, other.range);
  Expr loaded = load(std::move(access.pointers));
  loaded.hint = hint;
  Expr made = draw_.chance(85)
                  ? conditional(std::move(mask.expr), std::move(loaded), std::move(other.expr))
                  : conditional(unary(Op::logical_not, std::move(mask.expr)), std::move(other.expr),
                                std::move(loaded));
  return converted(scalar, {std::move(made), range});
}

// A load from constant memory with values in the source.
std::optional<Made> Generator::load_constant(Scalar scalar, const Shape &shape, int depth) {
  std::vector<size_t> found;
  for (size_t i = 0; i < kernel_.parameters.size(); i++)
    if (kernel_.parameters[i].role == Parameter::Role::constant &&
        type(kernel_.parameters[i].variable).scalar == scalar)
      found.push_back(i);
  if (found.empty() || draw_.chance(30)) {
    if (found.size() > 2)
      return std::nullopt;
    Parameter parameter;
    parameter.role = Parameter::Role::constant;
    parameter.data = draw_data(scalar);
    if (scalar == Scalar::uint64 && parameter.data.low < 0)
      parameter.data = {0, 100};
    parameter.count = draw_.pick({1, 3, 4, 7, 16, 33, 64});
    double unit = double(int64_t(1) << parameter.data.fraction_bits);
    Range range{double(parameter.data.low) / unit, double(parameter.data.high) / unit,
                parameter.data.fraction_bits};
    new_parameter("c", {scalar, true, {}, false, true}, parameter,
                  {.range = range, .is_fixed = true});
    kernel_.parameters.back().aligned = 0;
    found = {kernel_.parameters.size() - 1};
  }
  const Parameter table = kernel_.parameters[draw_.pick(found)];
  Made index = any_integer(shape, std::min(depth, 1) - 1);
  int64_t whole = 1; // the largest power of two up to the number of elements
  while (2 * whole <= table.count)
    whole *= 2;
  Scalar own = index.expr.type.scalar;
  index = {binary(Op::bit_and, std::move(index.expr), number_literal(own, double(whole - 1)).expr),
           {0, double(whole - 1)}};
  if (whole < table.count && draw_.chance(50))
    index.expr = binary(Op::add, std::move(index.expr),
                        number_literal(Scalar::int32, double(table.count - whole)).expr);
  Made base = of(table.variable);
  Range range = known(table.variable).range;
  Made address{binary(Op::add, std::move(base.expr), std::move(index.expr)), range};
  if (!shape.empty() && draw_.chance(policy_.pointers)) {
    Type pointers = address.expr.type;
    address = of(declare_value("p", pointers, std::move(address)));
  }
  if (!draw_.chance(policy_.masks))
    return Made{load(std::move(address.expr)), range};
  Made mask = number(Scalar::bool_, shape, depth - 1);
  Expr other = cast({scalar, false, {}}, number_literal(Scalar::int32, 0).expr);
  range = hull(range, {0, 0});
  return converted(
      scalar,
      {conditional(std::move(mask.expr), load(std::move(address.expr)), std::move(other)), range});
}

Hint Generator::load_hint() {
  if (!sometimes(policy_.hints))
    return Hint::none;
  return draw_.pick({Hint::cg, Hint::cs, Hint::no_allocate, Hint::evict_first, Hint::evict_last,
                     Hint::ca, Hint::cv});
}

Hint Generator::store_hint() {
  if (!sometimes(policy_.hints))
    return Hint::none;
  return draw_.pick({Hint::cg, Hint::cs, Hint::no_allocate, Hint::evict_first, Hint::evict_last,
                     Hint::wb, Hint::wt});
}

// Declares a tile of pointers that loops may increment.
void Generator::declare_pointer() {
  if (in_bounds_)
    return;
  Shape shape = draw_shape();
  if (shape.empty() || !afford(elements_of(shape)))
    return;
  int input = input_of(draw_scalar());
  std::optional<Access> access = formula(of(input).expr, shape, /*is_output=*/false);
  if (!access)
    return;
  Range range = known(input).range;
  Type pointers = access->pointers.type;
  int variable = declare_new("p", pointers, {.range = range, .may_read = true});
  emit(declare(variable, std::move(access->pointers)));
}

// --- Stores. -------------------------------------------------------------------------------------

void Generator::store_value(Made value, const Type &type) {
  auto is_written = [](const Parameter &p) { return p.role > Parameter::Role::input; };
  if (std::count_if(kernel_.parameters.begin(), kernel_.parameters.end(), is_written) >=
      max_outputs)
    return;
  // Store as another type, if that is exact.
  Scalar scalar = type.scalar;
  if (Scalar other = draw_scalar(); draw_.chance(25) && is_exact_in(other, value.range))
    scalar = other;
  Parameter parameter;
  parameter.role = Parameter::Role::output;
  parameter.write_only = draw_.chance(25);
  parameter.no_alias = draw_.chance(40);
  int output = new_parameter("y", {scalar, true, {}}, parameter, {.is_fixed = true});
  std::optional<Access> access = formula(of(output).expr, type.shape, /*is_output=*/true);
  if (!access)
    return;
  if (!type.shape.empty() && draw_.chance(policy_.pointers)) {
    int variable = declare_value("q", access->pointers.type, {access->pointers, {}});
    access->pointers = of(variable).expr;
  }
  if (draw_.chance(policy_.masks)) {
    Made mask = mask_for(*access, type.shape, 1);
    Stmt stmt =
        masked_store(std::move(mask.expr), std::move(access->pointers), std::move(value.expr));
    stmt.hint = store_hint();
    return emit(std::move(stmt));
  }
  Stmt stmt = store(std::move(access->pointers), std::move(value.expr));
  stmt.hint = store_hint();
  emit(std::move(stmt));
}

// Loads and a store under one mask: masked-off elements are never used.
void Generator::store_masked() {
  Shape shape = draw_shape();
  if (shape.empty())
    return;
  Made truth = number(Scalar::bool_, shape, 2);
  int mask = declare_value("m", {Scalar::bool_, false, shape}, std::move(truth));
  partial_mask_ = mask;
  Made value = number(draw_scalar(), shape, policy_.depth);
  partial_mask_.reset();
  Type type = value.expr.type;
  Parameter parameter;
  parameter.role = Parameter::Role::output;
  int output = new_parameter("y", {type.scalar, true, {}}, parameter, {.is_fixed = true});
  if (std::optional<Access> access = formula(of(output).expr, shape, /*is_output=*/true))
    emit(masked_store(of(mask).expr, std::move(access->pointers), std::move(value.expr)));
}

// An in-place update by a single program: *p += x. Later statements may read the buffer, too.
void Generator::store_in_place() {
  Scalar scalar = draw_scalar();
  Shape shape = draw_shape();
  if (scalar == Scalar::bool_ || is_small_float(scalar) || !afford(4 * elements_of(shape)))
    return;
  Parameter parameter;
  parameter.role = Parameter::Role::both;
  parameter.data = {0, 5};
  int buffer = new_parameter("z", {scalar, true, {}}, parameter, {.is_fixed = true});
  std::optional<Access> access = formula(of(buffer).expr, shape, /*is_output=*/true);
  if (!access)
    return;
  int pointers = declare_value("q", access->pointers.type, {access->pointers, {}});
  constexpr double most = 30;
  auto change = [&] {
    Made value = clamped(number(scalar, shape, policy_.depth), is_signed(scalar) ? -most : 0, most);
    if (value.range.is_rounded || value.range.fraction_bits)
      value = repeated(number_literal(scalar, 3), shape);
    Op op = is_signed(scalar) ? draw_.pick({Op::add, Op::sub, Op::none})
                              : draw_.pick({Op::add, Op::none});
    if (draw_.chance(40)) {
      Made mask = mask_for(*access, shape, 1);
      return emit(masked_store(std::move(mask.expr), of(pointers).expr, std::move(value.expr), op));
    }
    if (op == Op::none && draw_.chance(50))
      value.expr = binary(Op::max, load(of(pointers).expr), std::move(value.expr));
    emit(store(of(pointers).expr, std::move(value.expr), op));
  };
  if (draw_.chance(30)) { // loads the old value before the store
    int before = declare_new("v", {scalar, false, shape}, {.range = {0, 5}, .is_fixed = true});
    emit(declare(before, load(of(pointers).expr)));
  }
  change();
  known(pointers).may_read = true;
  known(pointers).range = {is_signed(scalar) ? -most : 0, most + 5};
  if (draw_.chance(30)) {
    change();
    known(pointers).range = {is_signed(scalar) ? -2 * most : 0, 2 * most + 5};
  }
}

} // namespace tritonc::random
