// Generates row kernels: each program reduces the rows of a matrix. See generator.h.
//
// A program has one row or several. A loop over the tiles of the row computes totals: sums, minima,
// maxima, bitwise operations; the place of an extreme element; or the sum of exponentials below the
// max so far. A last loop may change each element with these totals, and store it, as softmax and
// layer norm do.
//
// Styles: tiles of one or two axes; rows along either axis of the matrix; incremented or recomputed
// addresses; masks by the length of the row, by a length for each row, by the number of rows.

#include "random_kernels/generator.h"

#include <algorithm>
#include <cmath>

namespace tritonc::random {
namespace {

enum class Style { counted_up, counted_down, counted_tiles, counted_while };

constexpr int max_results = 5; // stored after the loops

// Whether a sum may overflow: modulo 2^bits.
bool wraps(Scalar scalar) {
  return is_integer(scalar) && (bits_of(scalar) < 32 || !is_signed(scalar));
}

bool is_bitwise(Op op) { return op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor; }

// The reduction by a total's operation.
Position reduction_by(Op op) {
  return op == Op::add ? Position::sum : op == Op::max ? Position::max : Position::min;
}

Range range_of_data(Scalar scalar, const Data &data) {
  if (scalar == Scalar::uint64 && data.low < 0)
    return of_type(scalar);
  double unit = double(int64_t(1) << data.fraction_bits);
  return {double(data.low) / unit, double(data.high) / unit, data.fraction_bits};
}

} // namespace

// A matrix, by rows.
struct Generator::RowView {
  int base = -1; // the parameter
  Range range;   // of the elements
  Made line_stride, place_stride;
  Expr start;         // pointers to the first tile
  bool moves = false; // each iteration increments the pointers
  int pointers = -1;  // index of a variable, if `moves`
  Expr now;           // pointers in this iteration of the current loop
  int pass = 0;       // this loop
};

// A total that a loop computes.
struct Generator::RowTotal {
  Op op = Op::add;
  Scalar scalar = Scalar::int32;
  int variable = -1;
  Range range;
  bool is_infinite = false; // some elements may be infinite
};

// The greatest or the smallest element of each place of the tile, and where it is in the row.
struct Generator::RowSearch {
  bool is_max = true;
  bool is_first = true;      // of equal elements
  bool is_offset = false;    // `place` is the offset of the tile
  int best = -1, place = -1; // variables
  int other = -1;            // a variable: another value at the place; -1 = none
};

// The greatest element of each place of the tile, and the sum of exponentials below it: variables.
struct Generator::RowExponentials {
  int key = -1, sum = -1;
  Op exp = Op::exp; // or exp2
};

// The rows of a program.
struct Generator::Row {
  Shape tile;
  int across = -1;                    // the axis of the tile with several rows; -1 = one row
  int64_t rows = 1;                   // of the tile
  int64_t step = 0;                   // elements of a row per tile
  int64_t length = 0, iterations = 0; // elements of a row, and its tiles
  int64_t lines = 0;                  // rows of all programs
  Made program, line;                 // indices: of the program, of each row
  Made line_in_tile, place;           // indices that broadcast to the tile: row, element in the row
  Made end;                           // the length
  std::optional<Made> limit;          // a length for each row
  std::optional<Made> exists;         // whether a row exists
  std::optional<Made> label;          // for each row: an element, or none
  std::optional<int> weights;         // a parameter: a factor per place
  std::vector<Made> operands;         // for each row
  std::vector<Made> results;
  RowView x;

  // The current loop.
  int pass = 0;
  bool stores = false;
  std::vector<Stmt> before;      // statements before the loop
  std::vector<RowView *> moving; // pointers to increment
  Made counter, offset;          // offset: elements of the row before the tile
  std::optional<Made> inside;    // the mask
  Made element;
  bool is_partial = false; // the element is undefined where the mask is off
  std::vector<RowTotal> totals;
  std::optional<RowSearch> search;
  std::optional<RowExponentials> exponentials;

  bool is_per_row(const Shape &shape) const {
    return across < 0 ? shape.empty() : shape == Shape{rows};
  }
};

// --- Rows. ---------------------------------------------------------------------------------------

void Generator::choose_row(Row &row, bool has_one_loop) {
  switch (draw_.weighted({55, 15, 20, 10})) {
  case 0:
    row.tile = {draw_.pick({8, 16, 32, 32, 64, 64, 128, 256})};
    break;
  case 1:
    row.tile = {draw_.pick({2, 4, 8}), draw_.pick({8, 16, 32})};
    break;
  case 2:
    row.tile = {draw_.pick({2, 4, 8}), draw_.pick({8, 16, 32, 64})};
    row.across = 0;
    break;
  default:
    row.tile = {draw_.pick({8, 16, 32, 64}), draw_.pick({2, 4, 8})};
    row.across = 1;
  }
  if (row.across >= 0)
    row.rows = row.tile[size_t(row.across)];
  row.step = elements_of(row.tile) / row.rows;
  int64_t tiles = draw_.pick({0, 1, 1, 1, 2, 2, 3}), elements = elements_of(row.tile);
  if (draw_.chance(has_one_loop ? 60 : 12)) { // a loop that blocks share
    tiles = draw_.between(8, 24);
    kernel_.grid[0] = std::min(kernel_.grid[0], int(draw_.between(1, 6)));
  } else if (elements >= 64 && draw_.chance(40)) { // more programs than a block runs at a time
    kernel_.grid[0] = int(std::min<int64_t>(draw_.between(2048, 4400) / elements + 1, 36));
    kernel_.grid[1] = 1;
  }
  while (!afford(8 * elements_of(row.tile) * std::max<int64_t>(tiles, 1)))
    if (tiles > 1 && (tiles <= 8 || kernel_.grid[0] == 1))
      tiles--;
    else
      kernel_.grid[0]--;
  bool is_ragged = tiles > 0 && draw_.chance(60);
  row.iterations = tiles;
  row.length = tiles * row.step - (is_ragged ? draw_.between(1, row.step - 1) : 0);
  row.lines = row.rows * kernel_.grid[0] * kernel_.grid[1];
}

// The indices of the program's rows.
void Generator::number_rows(Row &row) {
  int64_t columns = kernel_.grid[0], planes = kernel_.grid[1];
  Made id{program_id(0), {0, double(columns - 1)}};
  if (draw_.chance(6))
    id = *join(Op::sub, number_literal(Scalar::int32, double(columns - 1)), std::move(id));
  if (planes > 1) {
    bool is_inner = draw_.chance(40); // axis 1 has the adjacent rows
    Made other{program_id(1), {0, double(planes - 1)}};
    if (is_inner)
      std::swap(id, other);
    int64_t count = is_inner ? planes : columns;
    Made programs{num_programs(is_inner ? 1 : 0), {double(count), double(count)}};
    if (draw_.chance(70))
      programs = bound_parameter(count, "n");
    other = *join(Op::mul, std::move(other), std::move(programs));
    id = *join(Op::add, std::move(other), std::move(id));
  }
  row.program = index_of_row(std::move(id), draw_.chance(65) ? Scalar::int32 : Scalar::int64);
  row.line = row.line_in_tile = row.program;
  if (row.across >= 0) {
    Made first = *join(Op::mul, row.program, number_literal(Scalar::int32, double(row.rows)));
    Made number{range(0, row.rows), {0, double(row.rows - 1)}};
    row.line = index_of_row(*join(Op::add, std::move(first), std::move(number)), Scalar::int32);
    row.line_in_tile = in_tile(row, row.line);
  }
}

// The indices of a tile's elements in their row.
void Generator::number_places(Row &row) {
  auto count = [&](size_t axis) {
    return Made{range(0, row.tile[axis]), {0, double(row.tile[axis] - 1)}};
  };
  if (row.tile.size() == 1) {
    row.place = count(0);
  } else if (row.across >= 0) {
    size_t along = size_t(1 - row.across);
    Made index = index_of_row(count(along), Scalar::int32);
    row.place = placed(std::move(index), along, 2);
  } else {
    Made first = placed(count(0), 0, 2);
    first = *join(Op::mul, std::move(first), number_literal(Scalar::int32, double(row.tile[1])));
    Made second = placed(count(1), 1, 2);
    row.place = *join(Op::add, std::move(first), std::move(second));
  }
  row.place = index_of_row(std::move(row.place), Scalar::int32);
}

// The index, mostly as a variable.
Made Generator::index_of_row(Made index, Scalar scalar) {
  if (draw_.chance(25))
    return index;
  Range range = index.range;
  Shape shape = index.expr.type.shape;
  int variable = declare_value("i", {scalar, false, shape}, std::move(index));
  known(variable).is_index = true;
  return {of(variable).expr, range};
}

// A value for each row, in a shape that broadcasts to the tile.
Made Generator::in_tile(const Row &row, Made value) {
  return value.expr.type.shape.empty() ? value : placed(std::move(value), size_t(row.across), 2);
}

// Loads an element for each row.
Made Generator::loaded_for_rows(const Row &row, int input) {
  Range range = known(input).range;
  Scalar scalar = type(input).scalar;
  Expr pointers = binary(Op::add, of(input).expr, row.line.expr);
  Shape shape = pointers.type.shape;
  Made loaded{load(std::move(pointers)), range};
  return of(declare_value("s", {scalar, false, shape}, std::move(loaded)));
}

// Draws the bounds of the rows, and loads values for each row.
void Generator::describe_rows(Row &row) {
  row.end = draw_.chance(75) ? bound_parameter(row.length, "n")
                             : number_literal(Scalar::int32, double(row.length));
  if (draw_.chance(row.across >= 0 ? 30 : 8)) {
    Made count = bound_parameter(draw_.between(1, row.lines), "n");
    row.exists = join(Op::lt, row.line, std::move(count));
  }
  auto load_lengths = [&](int64_t low) {
    Parameter parameter;
    parameter.role = Parameter::Role::input;
    parameter.read_only = draw_.chance(50);
    parameter.data = {low, row.length};
    Range range{double(low), double(row.length)};
    int input = new_parameter("x", {Scalar::int32, true, {}}, parameter,
                              {.range = range, .is_fixed = true, .may_read = true});
    return loaded_for_rows(row, input);
  };
  if (draw_.chance(12))
    row.limit = load_lengths(0);
  if (draw_.chance(25))
    row.label = load_lengths(-1);
  if (draw_.chance(40)) {
    Scalar scalar = draw_.chance(50) ? type(row.x.base).scalar : draw_scalar();
    int input = input_of(scalar);
    row.operands.push_back(loaded_for_rows(row, input));
  }
  if (draw_.chance(25))
    row.weights = input_of(draw_.chance(50) ? type(row.x.base).scalar : draw_scalar());
}

// --- Memory. -------------------------------------------------------------------------------------

int Generator::matrix_of_rows(Scalar scalar, Parameter::Role role) {
  Parameter parameter;
  parameter.role = role;
  parameter.no_alias = draw_.chance(40);
  if (role == Parameter::Role::output) {
    parameter.write_only = draw_.chance(25);
    return new_parameter("y", {scalar, true, {}}, parameter, {.is_fixed = true});
  }
  parameter.data = draw_data(scalar);
  Known facts{.range = range_of_data(scalar, parameter.data), .is_fixed = true};
  if (role == Parameter::Role::both)
    return new_parameter("z", {scalar, true, {}}, parameter, facts);
  facts.may_read = true;
  parameter.read_only = draw_.chance(50);
  bool is_const = draw_.chance(25);
  return new_parameter("x", {scalar, true, {}, is_const}, parameter, facts);
}

// The addresses of rows of `length` elements.
Generator::RowView Generator::view_of_rows(const Row &row, int base, int64_t length) {
  RowView view;
  view.base = base;
  view.range = known(base).range;
  view.moves = draw_.chance(65);
  bool is_turned = draw_.chance(12); // adjacent elements of a row are far apart
  int64_t inner = draw_.chance(policy_.odd_steps) ? 2 : 1;
  int64_t outer = inner * std::max<int64_t>(is_turned ? row.lines : length, 1);
  outer = draw_.chance(55) ? (outer + 7) / 8 * 8 + draw_.pick({0, 0, 8})
                           : outer + draw_.pick({0, 1, 3});
  view.place_stride = number_literal(Scalar::int32, double(inner));
  view.line_stride =
      draw_.chance(70) ? bound_parameter(outer, "n") : number_literal(Scalar::int32, double(outer));
  if (is_turned)
    std::swap(view.line_stride, view.place_stride);
  auto times = [&](Made index, const Made &stride) {
    return stride.range.high == 1 ? index : *join(Op::mul, std::move(index), stride);
  };
  Made by_line = times(row.line_in_tile, view.line_stride);
  Made by_place = times(row.place, view.place_stride);
  if (draw_.chance(25))
    std::swap(by_line, by_place);
  if (draw_.chance(40)) {
    Made sum = *join(Op::add, std::move(by_line), std::move(by_place));
    view.start = binary(Op::add, of(base).expr, std::move(sum.expr));
  } else {
    Expr first = binary(Op::add, of(base).expr, std::move(by_line.expr));
    view.start = binary(Op::add, std::move(first), std::move(by_place.expr));
  }
  return view;
}

// The pointers to the tile of this iteration.
Expr Generator::pointers_in_row(Row &row, RowView &view) {
  if (view.pass == row.pass)
    return view.now;
  view.pass = row.pass;
  if (view.moves) {
    if (view.pointers < 0) {
      view.pointers = new_carried("p", view.start.type);
      row.before.push_back(declare(view.pointers, view.start));
    } else {
      row.before.push_back(assign(view.pointers, view.start));
    }
    row.moving.push_back(&view);
    return view.now = of(view.pointers).expr;
  }
  Made offset = row.offset;
  if (view.place_stride.range.high != 1)
    offset = *join(Op::mul, std::move(offset), view.place_stride);
  view.now = binary(Op::add, view.start, std::move(offset.expr));
  if (draw_.chance(policy_.pointers))
    view.now = of(declare_value("q", view.now.type, {view.now, {}})).expr;
  return view.now;
}

// A variable that a loop changes; the expressions of the loop do not use it.
int Generator::new_carried(const char *stem, Type type) {
  int variable =
      kernel_.add_variable(stem + std::to_string(kernel_.variables.size()), std::move(type));
  known_.resize(kernel_.variables.size());
  return variable;
}

// Loads the elements of this iteration.
void Generator::load_element(Row &row) {
  Scalar scalar = type(row.x.base).scalar;
  Expr pointers = pointers_in_row(row, row.x);
  row.is_partial = row.inside && draw_.chance(35);
  if (row.is_partial)
    row.element = {load(std::move(pointers), row.inside->expr), row.x.range};
  else
    row.element = {load(std::move(pointers)), row.x.range};
  row.element.expr.hint = load_hint();
  if (row.inside && !row.is_partial) {
    Made other =
        number_literal(scalar == Scalar::bool_ ? scalar : Scalar::int32, draw_.chance(80) ? 0 : 1);
    row.element.range = hull(row.element.range, other.range);
    row.element.expr = conditional(row.inside->expr, std::move(row.element.expr), other.expr);
  }
  if (row.stores || draw_.chance(80))
    row.element = of(declare_value("e", {scalar, false, row.tile}, std::move(row.element)));
}

// --- Loops. --------------------------------------------------------------------------------------

// The mask of the elements of this iteration.
std::optional<Made> Generator::inside_row(const Row &row, bool is_counted_down) {
  bool is_ragged = row.length % row.step != 0;
  std::vector<Made> parts;
  bool has_end = row.limit ? draw_.chance(40) : is_ragged || draw_.chance(40);
  if (is_ragged && !row.limit && !row.stores && draw_.chance(5))
    has_end = false; // reads into the next row
  if (has_end && is_counted_down) {
    parts.push_back(*join(Op::lt, row.place, row.counter));
  } else if (has_end && draw_.chance(60)) {
    Made left = *join(Op::sub, row.end, row.offset);
    parts.push_back(*join(Op::lt, row.place, std::move(left)));
  } else if (has_end) {
    Made place = *join(Op::add, row.offset, row.place);
    parts.push_back(*join(Op::lt, std::move(place), row.end));
  }
  if (row.limit) {
    Made place = *join(Op::add, row.place, row.offset);
    Made limit = in_tile(row, *row.limit);
    parts.push_back(*join(Op::lt, std::move(place), std::move(limit)));
  }
  if (row.exists && (row.stores || draw_.chance(85)))
    parts.push_back(in_tile(row, *row.exists));
  if (parts.empty())
    return std::nullopt;
  if (draw_.chance(40))
    std::swap(parts.front(), parts.back());
  Made mask = parts[0];
  for (size_t i = 1; i < parts.size(); i++) {
    Op op = draw_.chance(75) ? Op::logical_and : Op::bit_and;
    mask = {binary(op, std::move(mask.expr), std::move(parts[i].expr)), {0, 1}};
  }
  if (!draw_.chance(75))
    return mask;
  Type named{Scalar::bool_, false, draw_.chance(70) ? row.tile : mask.expr.type.shape};
  return of(declare_value("m", named, std::move(mask)));
}

// A loop over the tiles of the row. `fill` makes its body.
void Generator::walk_row(Row &row, const std::function<void()> &fill) {
  Style style = Style(draw_.weighted({55, 15, 20, 6}));
  bool is_down = style == Style::counted_down, by_tiles = style == Style::counted_tiles;
  row.pass++;
  double most = double(std::max(row.length, row.iterations));
  Scalar scalar = draw_.chance(95) ? Scalar::int32 : Scalar::int64;
  int counter = declare_new("k", {scalar, false, {}},
                            {.range = {0, most}, .is_fixed = true, .is_index = true});
  Made step = number_literal(Scalar::int32, double(row.step));
  row.counter = row.offset = of(counter);
  Stmt next = assign(counter, by_tiles ? literal(Scalar::int32, 1) : step.expr,
                     is_down ? Op::sub : Op::add);
  Made count = row.end, first = number_literal(Scalar::int32, 0);
  if (by_tiles) {
    count = *join(Op::add, row.end, number_literal(Scalar::int32, double(row.step - 1)));
    count = *join(Op::div, std::move(count), step);
    if (draw_.chance(50))
      count = bound_parameter(row.iterations, "n");
  }
  if (is_down)
    first = row.end;
  Stmt loop = jump(style == Style::counted_while ? Stmt::Kind::while_loop : Stmt::Kind::for_loop);
  loop.value.push_back(is_down ? binary(Op::gt, row.counter.expr, literal(Scalar::int32, 0))
                               : binary(Op::lt, row.counter.expr, count.expr));
  loops_.push_back({double(row.iterations), std::nullopt});
  loop.body = collect([&] {
    if (by_tiles)
      row.offset = index_of_row(*join(Op::mul, row.counter, step), Scalar::int32);
    else if (is_down)
      row.offset = *join(Op::sub, row.end, row.counter);
    row.inside = inside_row(row, is_down);
    fill();
    for (RowView *view : row.moving) {
      Made by =
          view->place_stride.range.high == 1 ? step : *join(Op::mul, step, view->place_stride);
      if (draw_.chance(75))
        emit(assign(view->pointers, std::move(by.expr), Op::add));
      else
        emit(assign(view->pointers, binary(Op::add, of(view->pointers).expr, std::move(by.expr))));
    }
    if (style == Style::counted_while)
      emit(next);
  });
  loops_.pop_back();
  for (Stmt &stmt : row.before)
    emit(std::move(stmt));
  row.before.clear();
  row.moving.clear();
  if (style == Style::counted_while) {
    emit(declare(counter, std::move(first.expr)));
  } else {
    loop.head.push_back(declare(counter, std::move(first.expr)));
    loop.head.push_back(std::move(next));
  }
  emit(std::move(loop));
}

// --- Values of the elements. ---------------------------------------------------------------------

// An operand for the elements: a value for each row, the factor of each place, or a constant.
Made Generator::operand_for_row(Row &row, Scalar scalar) {
  std::vector<Made> found = row.operands;
  for (const Made &result : row.results)
    if (row.is_per_row(result.expr.type.shape) || result.expr.type.shape == row.tile)
      found.push_back(result);
  if (row.weights && draw_.chance(35)) {
    Made place = *join(Op::add, row.offset, row.place);
    Expr pointers = binary(Op::add, of(*row.weights).expr, std::move(place.expr));
    Type loaded{type(*row.weights).scalar, false, pointers.type.shape};
    Made value{load(std::move(pointers)), known(*row.weights).range};
    return of(declare_value("w", loaded, std::move(value)));
  }
  if (found.empty() || draw_.chance(20))
    return literal_of(scalar);
  Made operand = draw_.pick(found);
  return operand.expr.type.shape == row.tile ? operand : in_tile(row, std::move(operand));
}

// A value for each element, of any type.
Made Generator::changed_element(Row &row, Made value) {
  Scalar scalar = value.expr.type.scalar;
  std::optional<Made> made;
  switch (draw_.weighted({35, 12, 6, 12, 6, 8, 8})) {
  case 0: {
    Op op = draw_.pick({Op::add, Op::sub, Op::mul, Op::max, Op::min});
    Made operand = operand_for_row(row, scalar);
    made = draw_.chance(75) ? join(op, value, std::move(operand))
                            : join(op, std::move(operand), value);
    break;
  }
  case 1:
    made = join(Op::mul, value, value);
    break;
  case 2:
    if (scalar == Scalar::bool_)
      break;
    if (std::optional<Range> range = range_of(Op::abs, promoted(scalar), value.range, false))
      made = Made{unary(Op::abs, value.expr), *range};
    break;
  case 3: { // chosen by a comparison
    Op op = draw_.pick({Op::gt, Op::ge, Op::eq, Op::ne});
    Made operand = operand_for_row(row, scalar);
    std::optional<Made> chooses = join(op, value, std::move(operand));
    if (!chooses || draw_.chance(40)) {
      made = chooses;
      break;
    }
    Made other = literal_of(scalar);
    made = Made{conditional(std::move(chooses->expr), value.expr, other.expr),
                hull(value.range, other.range)};
    break;
  }
  case 4: // also by the place
    made = join(Op::add, row.place, value);
    break;
  case 5:
    if (row.label) {
      Made place = *join(Op::add, row.place, row.offset);
      Made label = in_tile(row, *row.label);
      Made here = *join(Op::eq, std::move(place), std::move(label));
      Made other = literal_of(scalar);
      made = Made{conditional(std::move(here.expr), value.expr, other.expr),
                  hull(value.range, other.range)};
    }
    break;
  default:
    Op op = draw_.pick({Op::add, Op::max, Op::mul});
    arms_.push_back(row.tile);
    Made operand = number(scalar, row.tile, 1);
    arms_.pop_back();
    made = join(op, value, std::move(operand));
  }
  return made && made->expr.type.shape == row.tile ? std::move(*made) : value;
}

// --- Totals. -------------------------------------------------------------------------------------

// An operation, and a type that has it.
void Generator::choose_total(Row &row, RowTotal &total) {
  Scalar scalar = type(row.x.base).scalar;
  bool has_bits = is_integer(scalar) && (scalar == Scalar::bool_ || draw_.chance(30));
  if (has_bits && draw_.chance(80)) {
    total.op = draw_.pick({Op::bit_and, Op::bit_or, Op::bit_xor});
    total.scalar = draw_.chance(65) ? scalar
                                    : draw_.pick({Scalar::int32, Scalar::uint32, Scalar::int64,
                                                  Scalar::uint64, Scalar::uint8});
  } else {
    total.op = draw_.pick({Op::add, Op::add, Op::add, Op::max, Op::max, Op::min});
    bool is_wide = bits_of(scalar) >= 32;
    Scalar wide = is_wide ? scalar : is_float(scalar) ? Scalar::float_ : Scalar::int32;
    total.scalar = draw_.chance(70) ? wide : draw_.chance(50) ? scalar : draw_scalar();
    bool has_sums = total.scalar != Scalar::bool_ && !is_small_float(total.scalar);
    if (total.scalar == Scalar::bool_ || (total.op == Op::add && !has_sums))
      total.scalar = wide;
  }
  // Two launches need totals of one type.
  if (!row.totals.empty() && draw_.chance(85)) {
    Scalar first = row.totals[0].scalar;
    bool has_op =
        is_bitwise(total.op) ? is_integer(first) : first != Scalar::bool_ && !is_small_float(first);
    if (has_op)
      total.scalar = first;
  }
}

// Limits the value, so that `count` of them have an exact sum. Returns false if it cannot.
bool Generator::fits_sum(Made &value, double count) {
  Scalar scalar = value.expr.type.scalar;
  if (wraps(scalar))
    return true;
  int bits = is_float(scalar) ? std::min(precision_of(scalar) - value.range.fraction_bits, 40) : 30;
  double most = std::floor(std::ldexp(1, bits - 1) / std::max(count, 1.0));
  if (most < 1)
    return false;
  if (value.range.magnitude() > most)
    value = converted(scalar, clamped(std::move(value), -most, most));
  return true;
}

// The value of a total before the loop, often one that changes nothing.
Made Generator::start_of_total(const Row &row, RowTotal &total, const Range &values) {
  Scalar scalar = total.scalar;
  auto number = [&](double value) { return number_literal(scalar, value); };
  switch (total.op) {
  case Op::add:
  case Op::bit_or:
  case Op::bit_xor:
    return draw_.chance(95) || scalar == Scalar::bool_ ? number_literal(Scalar::int32, 0)
                                                       : number(double(draw_.between(1, 5)));
  case Op::bit_and:
    if (draw_.chance(10))
      return number(scalar == Scalar::bool_ ? 1 : 7);
    return number(scalar == Scalar::bool_ ? 1 : is_signed(scalar) ? -1 : largest(scalar));
  default:
    break;
  }
  bool is_max = total.op == Op::max;
  bool may_be_infinite =
      is_float(scalar) && !is_small_float(scalar) && row.length > 0 && !row.exists && !row.limit;
  if (may_be_infinite && draw_.chance(30)) {
    total.is_infinite = true;
    double infinity = is_max ? -INFINITY : INFINITY;
    return {real_literal(scalar == Scalar::double_ ? scalar : Scalar::float_, infinity), values};
  }
  if (draw_.chance(20))
    return number_literal(Scalar::int32, 0);
  if (is_integer(scalar) && draw_.chance(50) && bits_of(scalar) < 64)
    return number(is_max ? least(scalar) : largest(scalar));
  double limit = is_max ? std::floor(values.low) : std::ceil(values.high);
  if (is_integer(scalar)) {
    limit = std::clamp(limit, least(scalar), largest(scalar));
    limit = std::clamp(limit, -0x1p62, 0x1p62); // a literal
  }
  return number(limit);
}

// Adds the elements of this iteration to a new total.
void Generator::add_to_total(Row &row) {
  RowTotal total;
  choose_total(row, total);
  Made value = row.element;
  if (draw_.chance(55))
    value = changed_element(row, std::move(value));
  if (!row.totals.empty() && draw_.chance(12)) // a total that depends on another one
    if (const RowTotal &other = row.totals[0]; !other.is_infinite && type(other.variable).is_tile())
      if (auto joined = join(Op::max, value, {of(other.variable).expr, other.range});
          joined && joined->expr.type.shape == row.tile)
        value = std::move(*joined);
  value = converted(total.scalar, std::move(value));
  double count = double(row.rows * row.step * std::max<int64_t>(row.iterations, 1));
  if (total.op == Op::add && !fits_sum(value, count))
    total.op = Op::max;
  Made start = start_of_total(row, total, value.range);
  if (row.is_partial || (total.is_infinite && row.inside && draw_.chance(70))) {
    Made other = draw_.chance(80) || total.scalar == Scalar::bool_
                     ? start
                     : number_literal(Scalar::int32, 0);
    if (other.expr.type.scalar != total.scalar && !total.is_infinite)
      other = number_literal(total.scalar, other.range.low);
    Type named{total.scalar, false, row.tile};
    Made chosen{conditional(row.inside->expr, std::move(value.expr), other.expr),
                hull(value.range, other.range)};
    value = of(declare_value("v", named, std::move(chosen)));
  }
  Shape shape = row.tile;
  bool is_reduced = !is_bitwise(total.op) && draw_.chance(12); // in each iteration
  if (is_reduced) {
    value = along_rows(row, std::move(value), reduction_by(total.op));
    shape = value.expr.type.shape;
  }
  total.range = hull(start.range, value.range);
  double times = double(std::max<int64_t>(row.iterations, 1));
  if (total.op == Op::add && wraps(total.scalar)) {
    total.range = of_type(total.scalar);
  } else if (total.op == Op::add) {
    total.range.low = start.range.low + std::min(value.range.low * times, 0.0);
    total.range.high = start.range.high + std::max(value.range.high * times, 0.0);
  } else if (is_bitwise(total.op) && total.scalar != Scalar::bool_) {
    std::optional<Range> all = range_of(Op::bit_xor, total.scalar, start.range, value.range, false);
    total.range = hull(all.value_or(of_type(total.scalar)), total.range);
  }
  total.variable = new_carried("t", {total.scalar, false, shape});
  known(total.variable).range = total.range;
  row.before.push_back(declare(total.variable, std::move(start.expr)));
  emit_total(row, total, std::move(value.expr));
  row.totals.push_back(total);
}

void Generator::emit_total(const Row &row, const RowTotal &total, Expr value) {
  Expr before = of(total.variable).expr;
  bool is_operator = total.op != Op::max && total.op != Op::min;
  bool has_shape = row.inside && before.type.shape == row.tile;
  if (has_shape && draw_.chance(4)) {
    Expr after = binary(total.op, before, std::move(value));
    return emit(
        assign(total.variable, conditional(row.inside->expr, std::move(after), std::move(before))));
  }
  if (is_operator && draw_.chance(60))
    return emit(assign(total.variable, std::move(value), total.op));
  if (draw_.chance(60))
    return emit(assign(total.variable, binary(total.op, std::move(before), std::move(value))));
  emit(assign(total.variable, binary(total.op, std::move(value), std::move(before))));
}

// Compares the elements of this iteration with the best ones so far.
void Generator::add_search(Row &row) {
  Scalar scalar = row.element.expr.type.scalar;
  if (scalar == Scalar::bool_ || is_small_float(scalar))
    return;
  if (bits_of(scalar) < 32)
    scalar = is_float(scalar) ? Scalar::float_ : Scalar::int32;
  Made value = draw_.chance(40) ? changed_element(row, row.element) : row.element;
  value = converted(scalar, std::move(value));
  RowSearch search{.is_max = draw_.chance(50), .is_first = draw_.chance(85)};
  double limit = search.is_max ? std::floor(value.range.low) : std::ceil(value.range.high);
  if (is_integer(scalar))
    limit = std::clamp(std::clamp(limit, least(scalar), largest(scalar)), -0x1p62, 0x1p62);
  Made start = number_literal(scalar, draw_.chance(80) ? limit : 0);
  if (row.is_partial)
    value = {conditional(row.inside->expr, std::move(value.expr), start.expr),
             hull(value.range, start.range)};
  int of_value = declare_value("v", {scalar, false, row.tile}, std::move(value));
  value = of(of_value);
  search.best = new_carried("t", {scalar, false, row.tile});
  Scalar index = bits_of(scalar) == 64 ? Scalar::int64 : Scalar::int32; // of the same size
  search.place = new_carried("p", {index, false, row.tile});
  known(search.best).range = hull(start.range, value.range);
  row.before.push_back(declare(search.best, std::move(start.expr)));
  row.before.push_back(declare(search.place, literal(Scalar::int32, 0)));

  Expr best = of(search.best).expr;
  Op closer =
      search.is_max ? (search.is_first ? Op::gt : Op::ge) : (search.is_first ? Op::lt : Op::le);
  Op farther =
      search.is_max ? (search.is_first ? Op::lt : Op::le) : (search.is_first ? Op::gt : Op::ge);
  Op other = draw_.chance(8) ? Op::ne : closer; // not an order
  Expr better =
      draw_.chance(65) ? binary(other, value.expr, best) : binary(farther, best, value.expr);
  if (row.inside && draw_.chance(30))
    better = binary(Op::logical_and, row.inside->expr, std::move(better));
  Type named{Scalar::bool_, false, row.tile};
  better = of(declare_value("b", named, {std::move(better), {0, 1}})).expr;
  search.is_offset = draw_.chance(50);
  Made place = search.is_offset ? row.offset : *join(Op::add, row.place, row.offset);
  place = converted(index, std::move(place));
  known(search.place).range = hull({}, place.range);
  Expr old = of(search.place).expr;
  emit(assign(search.best, conditional(better, value.expr, std::move(best))));
  emit(assign(search.place, conditional(better, std::move(place.expr), std::move(old))));
  if (draw_.chance(25)) {
    Made more = converted(scalar, changed_element(row, of(of_value)));
    search.other = new_carried("o", {scalar, false, row.tile});
    known(search.other).range = hull({}, more.range);
    row.before.push_back(declare(search.other, literal(Scalar::int32, 0)));
    Expr before = of(search.other).expr;
    emit(assign(search.other, conditional(better, std::move(more.expr), std::move(before))));
  }
  row.search = search;
}

// Adds exponentials of the elements of this iteration to a sum, which it rescales to a larger max.
void Generator::add_exponentials(Row &row) {
  const Scalar scalar = row.element.expr.type.scalar;
  if (!is_float(scalar) || is_small_float(scalar) || bits_of(scalar) > 32)
    return;
  policy_.may_round = true;
  const Type tile{Scalar::float_, false, row.tile};
  Made value = converted(Scalar::float_, row.element);
  Made start = number_literal(Scalar::float_, std::floor(value.range.low));
  if (row.inside)
    value = {conditional(row.inside->expr, std::move(value.expr), start.expr),
             hull(value.range, start.range)};
  value = of(declare_value("v", tile, std::move(value)));
  RowExponentials found{new_carried("t", tile), new_carried("u", tile)};
  known(found.key).range = hull(start.range, value.range);
  known(found.sum).range = {0, double(row.iterations), 0, true};
  row.before.push_back(declare(found.key, std::move(start.expr)));
  row.before.push_back(declare(found.sum, literal(Scalar::int32, 0)));

  Expr key = of(found.key).expr;
  Made larger{binary(Op::max, key, value.expr), known(found.key).range};
  larger = of(declare_value("g", tile, std::move(larger)));
  const Op exp = draw_.chance(70) ? Op::exp : Op::exp2;
  auto below = [&](Expr element) { return unary(exp, binary(Op::sub, element, larger.expr)); };
  Expr term = below(value.expr);
  if (row.inside)
    term = conditional(row.inside->expr, std::move(term), real_literal(Scalar::float_, 0));
  Expr old = binary(Op::mul, of(found.sum).expr, below(std::move(key)));
  emit(assign(found.sum, binary(Op::add, std::move(old), std::move(term))));
  emit(assign(found.key, larger.expr));
  found.exp = exp;
  row.exponentials = found;
}

// Reduces a tile along its rows.
Made Generator::along_rows(const Row &row, Made value, Position how) {
  std::vector<Position> positions(row.tile.size(), how);
  if (row.across >= 0)
    positions[size_t(row.across)] = Position::keep;
  double terms = how == Position::sum ? double(row.step) : 1;
  Range range = value.range;
  range.low = std::min(range.low, range.low * terms);
  range.high = std::max(range.high, range.high * terms);
  if (wraps(value.expr.type.scalar) && !is_exact_in(value.expr.type.scalar, range))
    range = of_type(value.expr.type.scalar);
  bool in_steps = row.across < 0 && row.tile.size() == 2 && draw_.chance(30);
  if (in_steps) {
    Expr inner = subscript(std::move(value.expr), {Position::keep, how});
    return {subscript(std::move(inner), {how}), range};
  }
  return {subscript(std::move(value.expr), positions), range};
}

// --- After a loop. -------------------------------------------------------------------------------

// Reduces a total to the row's result.
void Generator::finish_total(Row &row, const RowTotal &total) {
  Made result{of(total.variable).expr, total.range};
  bool is_tile = result.expr.type.shape == row.tile;
  bool is_kept = is_tile && draw_.chance(total.is_infinite ? 10 : 12);
  if (is_kept && total.is_infinite)
    return store_result_of_row(row, result);
  if (is_tile && !is_kept) {
    bool is_other = !total.is_infinite && (is_bitwise(total.op) || draw_.chance(15));
    Position how = is_other ? draw_.pick({Position::sum, Position::max, Position::min})
                            : reduction_by(total.op);
    bool has_max = total.scalar != Scalar::bool_ && !is_small_float(total.scalar);
    if (!has_max && is_other)
      how = is_float(total.scalar) ? Position::max : Position::any;
    double terms = how == Position::sum ? double(row.step) : 1;
    Range range{result.range.low * terms, result.range.high * terms, result.range.fraction_bits};
    if (how == Position::sum && !wraps(total.scalar) && !is_exact_in(total.scalar, range))
      how = Position::min;
    result = along_rows(row, std::move(result), how);
    if (how == Position::any)
      result.range = {0, 1};
  }
  if (draw_.chance(80)) {
    Type named = result.expr.type;
    result = of(declare_value("s", named, std::move(result)));
  }
  row.results.push_back(std::move(result));
}

// Reduces the best elements and their places to the row's results.
void Generator::finish_search(Row &row, const RowSearch &search) {
  Made best = of(search.best), place = of(search.place);
  if (search.other >= 0) {
    Made other = of(search.other);
    row.results.push_back(along_rows(row, std::move(other), Position::max));
  }
  if (draw_.chance(20)) {
    store_result_of_row(row, best);
    return store_result_of_row(row, place);
  }
  Made found = along_rows(row, best, search.is_max ? Position::max : Position::min);
  Type named = found.expr.type;
  found = of(declare_value("s", named, std::move(found)));
  Made is_best = *join(Op::eq, std::move(best), in_tile(row, found));
  if (search.is_offset)
    place = *join(Op::add, std::move(place), row.place);
  double none = search.is_first ? largest(Scalar::int32) : least(Scalar::int32);
  Made nowhere = number_literal(Scalar::int32, draw_.chance(85) ? none : -1);
  Made chosen{conditional(std::move(is_best.expr), place.expr, nowhere.expr),
              hull(place.range, nowhere.range)};
  row.results.push_back(std::move(found));
  row.results.push_back(
      along_rows(row, std::move(chosen), search.is_first ? Position::min : Position::max));
}

// Reduces the greatest elements, and the sums of exponentials below them, to the row's results.
void Generator::finish_exponentials(Row &row, const RowExponentials &found) {
  Made key = of(found.key), sum = of(found.sum);
  if (draw_.chance(15)) {
    store_result_of_row(row, key);
    return store_result_of_row(row, sum);
  }
  Made top = along_rows(row, key, Position::max);
  Type named = top.expr.type;
  top = of(declare_value("s", named, std::move(top)));
  Expr below = binary(Op::sub, key.expr, in_tile(row, top).expr);
  Expr scaled = binary(Op::mul, sum.expr, unary(found.exp, std::move(below)));
  row.results.push_back(std::move(top));
  store_result_of_row(row, along_rows(row, {std::move(scaled), sum.range}, Position::sum));
}

// A further value for each row, from the results.
void Generator::derive_result(Row &row) {
  std::vector<Made> found;
  for (const Made &result : row.results)
    if (row.is_per_row(result.expr.type.shape))
      found.push_back(result);
  if (found.empty())
    return;
  Made a = draw_.pick(found);
  found.insert(found.end(), row.operands.begin(), row.operands.end());
  Scalar scalar = a.expr.type.scalar;
  Made b = draw_.chance(60) ? draw_.pick(found) : literal_of(scalar);
  std::optional<Made> made;
  switch (draw_.weighted({50, 25, 15})) {
  case 0:
    made = join(draw_.pick({Op::add, Op::sub, Op::mul, Op::max, Op::min}), a, b);
    break;
  case 1: // a mean
    if (is_float(scalar)) {
      Range range{a.range.low / 2, a.range.high / 2, a.range.fraction_bits + 1};
      if (is_exact_in(promoted(scalar), range) && !is_small_float(scalar))
        made = Made{binary(Op::mul, a.expr, real_literal(scalar, 0.5)), range};
    } else if (row.length > 0) {
      made = join(Op::div, a, row.end);
    }
    break;
  default:
    if (std::optional<Made> chooses = join(draw_.pick({Op::gt, Op::eq, Op::le}), a, b))
      made = Made{conditional(std::move(chooses->expr), a.expr, b.expr), hull(a.range, b.range)};
  }
  if (!made)
    return;
  Type named = made->expr.type;
  row.results.push_back(of(declare_value("v", named, std::move(*made))));
}

// The element of the label, as in a cross entropy: 0 if the label is no place.
void Generator::load_label(Row &row) {
  Made zero = number_literal(Scalar::int32, 0);
  Made after_start = *join(Op::ge, *row.label, zero),
       before_end = *join(Op::lt, *row.label, row.end);
  Made is_place = *join(Op::logical_and, std::move(after_start), std::move(before_end));
  Made by_line = *join(Op::mul, row.line, row.x.line_stride);
  Made by_place = *join(Op::mul, *row.label, row.x.place_stride);
  Expr pointer = binary(Op::add, of(row.x.base).expr, std::move(by_line.expr));
  pointer = binary(Op::add, std::move(pointer), std::move(by_place.expr));
  Scalar scalar = type(row.x.base).scalar;
  Type named{scalar, false, pointer.type.shape};
  Made other = number_literal(scalar == Scalar::bool_ ? scalar : Scalar::int32, 0);
  Made chosen{conditional(std::move(is_place.expr), load(std::move(pointer)), other.expr),
              hull(row.x.range, {})};
  row.results.push_back(of(declare_value("s", named, std::move(chosen))));
}

void Generator::store_result_of_row(Row &row, const Made &value) {
  const Shape shape = value.expr.type.shape;
  const Scalar scalar = value.expr.type.scalar;
  bool is_whole = shape == row.tile, is_per_row = row.is_per_row(shape);
  if (!is_whole && !(is_per_row && draw_.chance(70)))
    return store_value(value, value.expr.type);
  int output = matrix_of_rows(scalar, Parameter::Role::output);
  if (is_whole)
    return emit(store(view_of_rows(row, output, row.step).start, value.expr));
  Made index = scaled(row.line, draw_.chance(85) ? 1 : draw_.between(2, 3));
  Expr pointers = binary(Op::add, of(output).expr, std::move(index.expr));
  if (row.exists && draw_.chance(75))
    return emit(masked_store(row.exists->expr, std::move(pointers), value.expr));
  emit(store(std::move(pointers), value.expr));
}

// --- The kernel. ---------------------------------------------------------------------------------

// A loop that computes totals.
void Generator::reduce_row(Row &row) {
  row.stores = false;
  std::vector<Stmt> around = collect([&] {
    walk_row(row, [&] {
      load_element(row);
      const int64_t drawn = draw_.between(1, 100);
      const bool searches = drawn <= 15, has_exponentials = drawn > 90;
      for (int count = searches ? draw_.pick({0, 0, 0, 1}) : draw_.pick({1, 1, 1, 2, 2, 3});
           count > 0; count--)
        add_to_total(row);
      if (searches)
        add_search(row);
      if (has_exponentials)
        add_exponentials(row);
      if (!row.is_partial && draw_.chance(4)) { // not a total
        int last = new_carried("v", {type(row.x.base).scalar, false, row.tile});
        row.before.push_back(declare(last, literal(Scalar::int32, 0)));
        known(last).range = hull(row.element.range, {});
        emit(assign(last, row.element.expr));
        row.results.push_back(of(last));
      }
    });
  });
  for (Stmt &stmt : around)
    emit(std::move(stmt));
  for (const RowTotal &total : row.totals)
    finish_total(row, total);
  row.totals.clear();
  if (row.search)
    finish_search(row, *row.search);
  row.search.reset();
  if (row.exponentials)
    finish_exponentials(row, *row.exponentials);
  row.exponentials.reset();
  for (int count = draw_.pick({0, 0, 1, 2}); count > 0; count--)
    derive_result(row);
}

// A loop that changes each element, and stores it.
void Generator::rewrite_row(Row &row, bool is_in_place) {
  row.stores = true;
  RowView y;
  std::vector<Stmt> around = collect([&] {
    walk_row(row, [&] {
      load_element(row);
      Made value = row.element;
      for (int64_t count = draw_.between(1, 3); count > 0; count--)
        value = changed_element(row, std::move(value));
      Scalar own = value.expr.type.scalar, scalar = type(row.x.base).scalar;
      if (is_in_place) {
        value = converted(scalar, std::move(value));
      } else {
        if (draw_.chance(40))
          scalar = draw_scalar();
        if (!is_exact_in(scalar, value.range))
          scalar = own;
        int output = matrix_of_rows(scalar, Parameter::Role::output);
        y = view_of_rows(row, output, row.length);
      }
      Expr pointers = pointers_in_row(row, is_in_place ? row.x : y);
      std::optional<Made> mask = row.inside;
      if (draw_.chance(8))
        if (std::optional<Made> some = join(Op::gt, row.element, literal_of(promoted(own))))
          mask = mask ? join(Op::logical_and, std::move(*mask), std::move(*some)) : some;
      Stmt stmt = mask ? masked_store(std::move(mask->expr), std::move(pointers), value.expr)
                       : store(std::move(pointers), value.expr);
      stmt.hint = store_hint();
      emit(std::move(stmt));
      if (draw_.chance(12))
        add_to_total(row);
    });
  });
  for (Stmt &stmt : around)
    emit(std::move(stmt));
  for (const RowTotal &total : row.totals)
    finish_total(row, total);
  row.totals.clear();
}

// Changes the extent of the tile for the next loop.
void Generator::change_tile(Row &row) {
  row.tile = {draw_.pick({8, 16, 32, 64})};
  row.step = row.tile[0];
  row.iterations = (row.length + row.step - 1) / row.step;
  number_places(row);
  row.x = view_of_rows_again(row);
}

// The matrix of the rows, for tiles of another shape.
Generator::RowView Generator::view_of_rows_again(const Row &row) {
  RowView view = row.x;
  Made by_line = *join(Op::mul, row.line_in_tile, view.line_stride);
  Made by_place = *join(Op::mul, row.place, view.place_stride);
  Expr first = binary(Op::add, of(view.base).expr, std::move(by_line.expr));
  view.start = binary(Op::add, std::move(first), std::move(by_place.expr));
  view.pointers = -1;
  return view;
}

void Generator::row_kernel() {
  int reductions = int(draw_.weighted({6, 68, 26}));
  bool is_rewritten = reductions == 0 || draw_.chance(reductions == 1 ? 42 : 70);
  bool is_in_place = is_rewritten && draw_.chance(35);
  Row row;
  choose_row(row, reductions == 1 && !is_rewritten);
  if (draw_.chance(12))
    declaration();
  Scalar scalar = draw_scalar();
  number_rows(row);
  number_places(row);
  int base = matrix_of_rows(scalar, is_in_place ? Parameter::Role::both : Parameter::Role::input);
  row.x = view_of_rows(row, base, row.length);
  describe_rows(row);
  for (; reductions > 0; reductions--)
    reduce_row(row);
  if (row.label && row.length > 0 && draw_.chance(40))
    load_label(row);
  size_t stored = 0;
  auto store_results = [&] {
    for (; stored < std::min<size_t>(row.results.size(), max_results); stored++)
      if (!is_rewritten || draw_.chance(70)) {
        Made result = row.results[stored];
        store_result_of_row(row, result);
      }
  };
  if (draw_.chance(25))
    store_results();
  if (is_rewritten) {
    if (row.tile.size() == 1 && draw_.chance(12))
      change_tile(row);
    rewrite_row(row, is_in_place);
  }
  store_results();
}

} // namespace tritonc::random
