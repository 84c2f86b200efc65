// What a random kernel means. See evaluate.h.

#include "random/evaluate.h"

#include "random/print.h"

#include <algorithm>
#include <memory>

namespace tritonc::random {
namespace {

using Kind = Expr::Kind;

constexpr int64_t most_elements = int64_t(1) << 17; // of a buffer

struct Invalid {
  std::string why;
};

// The elements of a value in row-major order; a scalar has one.
struct Tile {
  Type type;
  std::vector<Number> elements;
};

// Which element of a tile of shape `from` stands at each place of shape `to`.
class Spread {
public:
  Spread(const Shape &from, const Shape &to)
      : is_whole_(from == to), is_scalar_(elements_of(from) == 1) {
    if (is_whole_ || is_scalar_)
      return;
    size_t count = size_t(elements_of(to)), missing = to.size() - from.size();
    places_.resize(count);
    for (size_t i = 0; i < count; i++) {
      int64_t rest = int64_t(i), place = 0, stride = 1;
      for (size_t d = to.size(); d-- > missing;) {
        int64_t at = rest % to[d], extent = from[d - missing];
        rest /= to[d];
        place += (extent == 1 ? 0 : at) * stride;
        stride *= extent;
      }
      places_[i] = size_t(place);
    }
  }
  size_t operator[](size_t i) const { return is_whole_ ? i : is_scalar_ ? 0 : places_[i]; }

private:
  bool is_whole_, is_scalar_;
  std::vector<size_t> places_;
};

// Global memory, with what is needed to tell whether the order of accesses matters.
class Buffers {
public:
  explicit Buffers(const Kernel &kernel) : kernel_(kernel), buffers_(kernel.parameters.size()) {
    for (size_t i = 0; i < buffers_.size(); i++) {
      const std::string &name = kernel.variables[size_t(kernel.parameters[i].variable)].name;
      buffers_[i].stream = stream_of(kernel.data_seed, name);
    }
  }

  Number read(const Number &pointer, int program) {
    Buffer &buffer = reach(pointer);
    const Parameter &parameter = kernel_.parameters[size_t(pointer.buffer)];
    if (parameter.role == Parameter::Role::output)
      throw Invalid{"reads an output"};
    if (parameter.role == Parameter::Role::input)
      return initial(pointer.buffer, pointer.integer);
    Cell &cell = buffer.cells[size_t(pointer.integer)];
    if (cell.writer >= 0 && cell.writer != program)
      throw Invalid{"reads what another program stores"};
    if (cell.reader >= 0 && cell.reader != program)
      cell.is_shared = true;
    cell.reader = program;
    return cell.value;
  }

  // What a program does to its memory is in the order of its statements, but a statement that
  // stores to one place twice is in none: neither two elements of a tile are, nor two trips of a
  // loop.
  void write(const Number &pointer, const Number &value, int program, const Stmt *by) {
    Buffer &buffer = reach(pointer);
    if (kernel_.parameters[size_t(pointer.buffer)].role == Parameter::Role::input)
      throw Invalid{"stores to an input"};
    Cell &cell = buffer.cells[size_t(pointer.integer)];
    if (cell.writer >= 0 && (cell.writer != program || cell.by == by))
      throw Invalid{"stores to one place twice"};
    if (cell.is_shared || (cell.reader >= 0 && cell.reader != program))
      throw Invalid{"stores what another program reads"};
    cell.writer = program;
    cell.by = by;
    cell.value = value;
  }

  std::vector<Contents> contents() const {
    std::vector<Contents> result;
    for (const Buffer &buffer : buffers_) {
      Contents contents{buffer.count, {}, {}};
      for (const Cell &cell : buffer.cells) {
        contents.elements.push_back(cell.value);
        contents.written.push_back(cell.writer >= 0);
      }
      result.push_back(std::move(contents));
    }
    return result;
  }

private:
  struct Cell {
    Number value;
    int reader = -1, writer = -1; // programs
    bool is_shared = false;       // several programs read it
    const Stmt *by = nullptr;     // the last to store to it
  };
  struct Buffer {
    int64_t count = 0;
    uint64_t stream = 0;
    std::vector<Cell> cells; // none for an input
  };

  Number initial(int parameter, int64_t index) const {
    DataValue value = value_of(kernel_.parameters[size_t(parameter)].data,
                               buffers_[size_t(parameter)].stream, index);
    return {value.integer, value.real};
  }

  Buffer &reach(const Number &pointer) {
    if (pointer.poison)
      throw Invalid{"an access without a pointer"};
    if (pointer.integer < 0 || pointer.integer >= most_elements)
      throw Invalid{"an access at " + std::to_string(pointer.integer)};
    Buffer &buffer = buffers_[size_t(pointer.buffer)];
    buffer.count = std::max(buffer.count, pointer.integer + 1);
    Parameter::Role role = kernel_.parameters[size_t(pointer.buffer)].role;
    while (role != Parameter::Role::input && int64_t(buffer.cells.size()) < buffer.count) {
      Cell cell;
      if (role == Parameter::Role::both)
        cell.value = initial(pointer.buffer, int64_t(buffer.cells.size()));
      buffer.cells.push_back(cell);
    }
    return buffer;
  }

  const Kernel &kernel_;
  std::vector<Buffer> buffers_;
};

enum class Flow { normal, leave, proceed, finish };

// One program of the grid at work.
class Program {
public:
  Program(const Kernel &kernel, Buffers &buffers, std::array<int, 3> id, int64_t &cost,
          int64_t most_cost)
      : kernel_(kernel), buffers_(buffers), id_(id), cost_(cost), most_cost_(most_cost),
        variables_(kernel.variables.size()) {
    number_ = id[0] + kernel.grid[0] * (id[1] + kernel.grid[1] * id[2]);
    for (size_t i = 0; i < kernel.parameters.size(); i++) {
      const Parameter &parameter = kernel.parameters[i];
      const Type &type = kernel.type_of(parameter.variable);
      Number value = parameter.role != Parameter::Role::number ? Number::pointer(int(i), 0)
                     : is_float(type.scalar) ? Number::of_real(parameter.real)
                                             : Number::of_integer(parameter.integer);
      variables_[size_t(parameter.variable)] = {type, {value}};
    }
  }

  void run() { list(kernel_.body); }

private:
  // --- Statements.

  Flow list(const std::vector<Stmt> &list) {
    for (const Stmt &stmt : list)
      if (Flow flow = statement(stmt); flow != Flow::normal)
        return flow;
    return Flow::normal;
  }

  Flow statement(const Stmt &stmt) {
    spend(1);
    switch (stmt.kind) {
    case Stmt::Kind::declare: {
      const Type &type = kernel_.type_of(stmt.variable);
      std::vector<Number> nothing(size_t(type.elements()), Number::no_value());
      variable(stmt) =
          stmt.value.empty() ? Tile{type, std::move(nothing)} : fitted(value(stmt.value[0]), type);
      return Flow::normal;
    }
    case Stmt::Kind::assign:
    case Stmt::Kind::increment:
      assign(stmt);
      return Flow::normal;
    case Stmt::Kind::store:
      store(stmt);
      return Flow::normal;
    case Stmt::Kind::branch:
      return list(decides(stmt.value[0]) ? stmt.body : stmt.other);
    case Stmt::Kind::for_loop:
    case Stmt::Kind::while_loop:
    case Stmt::Kind::do_loop:
      return loop(stmt);
    case Stmt::Kind::leave:
      return Flow::leave;
    case Stmt::Kind::proceed:
      return Flow::proceed;
    case Stmt::Kind::finish:
      return Flow::finish;
    case Stmt::Kind::block:
      return list(stmt.body);
    }
    return Flow::normal;
  }

  Flow loop(const Stmt &stmt) {
    if (stmt.is(Stmt::Kind::for_loop))
      statement(stmt.head[0]);
    bool tests = !stmt.is(Stmt::Kind::do_loop);
    while (!tests || decides(stmt.value[0])) {
      tests = true;
      Flow flow = list(stmt.body);
      if (flow == Flow::leave)
        break;
      if (flow == Flow::finish)
        return flow;
      if (stmt.is(Stmt::Kind::for_loop))
        statement(stmt.head[1]);
    }
    return Flow::normal;
  }

  bool decides(const Expr &condition) {
    Tile tile = truth(value(condition));
    if (tile.elements[0].poison)
      throw Invalid{"branches on poison"};
    return tile.elements[0].integer;
  }

  void assign(const Stmt &stmt) {
    Tile &to = variable(stmt);
    Tile made = stmt.value.empty() ? Tile{{Scalar::int32, false, {}}, {Number::of_integer(1)}}
                                   : value(stmt.value[0]);
    if (stmt.op != Op::none)
      made = combined(stmt.op, to, made);
    to = fitted(std::move(made), kernel_.type_of(stmt.variable));
  }

  void store(const Stmt &stmt) {
    Tile pointers = value(stmt.value[0]);
    Tile mask;
    bool has_mask = stmt.value.size() == 3;
    if (has_mask) {
      mask = truth(value(stmt.value[2]));
      Shape shape = *broadcast(mask.type.shape, pointers.type.shape);
      pointers = fitted(std::move(pointers), Type(pointers.type).with_shape(shape));
      mask = fitted(std::move(mask), mask.type.with_shape(shape));
    }
    Type type{pointers.type.scalar, false, pointers.type.shape};
    Tile old{type, {}};
    if (stmt.op != Op::none)
      old = loaded(pointers, has_mask ? &mask : nullptr);
    Tile made = value(stmt.value[1]);
    if (stmt.op != Op::none)
      made = combined(stmt.op, old, made);
    made = fitted(std::move(made), type);
    for (size_t i = 0; i < made.elements.size(); i++) {
      if (has_mask && !is_on(mask.elements[i]))
        continue;
      if (made.elements[i].poison)
        throw Invalid{"stores poison: " + text_of(kernel_, stmt.value[1])};
      buffers_.write(pointers.elements[i], made.elements[i], number_, &stmt);
    }
  }

  static bool is_on(const Number &mask) {
    if (mask.poison)
      throw Invalid{"a mask is poison"};
    return mask.integer;
  }

  // --- Expressions.

  Tile value(const Expr &expr) {
    spend(expr.type.elements());
    switch (expr.kind) {
    case Kind::literal:
      if (!is_float(expr.type.scalar))
        return {expr.type, {Number::of_integer(expr.integer)}};
      return {expr.type,
              {converted(Scalar::double_, expr.type.scalar, Number::of_real(expr.real))}};
    case Kind::variable:
      return variables_[size_t(expr.integer)];
    case Kind::program_id:
      return {expr.type, {Number::of_integer(id_[size_t(expr.integer)])}};
    case Kind::num_programs:
      return {expr.type, {Number::of_integer(kernel_.grid[size_t(expr.integer)])}};
    case Kind::range: {
      Tile tile{expr.type, {}};
      for (int64_t i = 0; i < expr.type.shape[0]; i++)
        tile.elements.push_back(Number::of_integer(expr.integer + i));
      return tile;
    }
    case Kind::unary:
      return unary(expr);
    case Kind::binary:
      return is_logical(expr.op)
                 ? logical(expr)
                 : combined(expr.op, value(expr.operands[0]), value(expr.operands[1]));
    case Kind::load:
      return load(expr);
    case Kind::conditional:
      return conditional(expr);
    case Kind::cast:
    case Kind::bitcast:
      return cast(expr);
    case Kind::transpose:
    case Kind::permute:
      return permute(expr);
    case Kind::subscript:
      return subscript(expr);
    case Kind::dot:
      return dot(expr);
    }
    return {};
  }

  Tile unary(const Expr &expr) {
    Tile a = value(expr.operands[0]);
    if (expr.op == Op::logical_not)
      a = truth(std::move(a));
    Tile result = fitted(std::move(a), expr.type);
    for (Number &element : result.elements)
      element = random::unary(expr.op, expr.type.scalar, element);
    return result;
  }

  // A binary operator between two values, as the language converts and repeats them.
  Tile combined(Op op, const Tile &a, const Tile &b) {
    Shape shape = *broadcast(a.type.shape, b.type.shape);
    Spread from_a(a.type.shape, shape), from_b(b.type.shape, shape);
    Tile result{{Scalar::int32, false, shape}, {}};
    result.elements.resize(size_t(elements_of(shape)));
    spend(int64_t(result.elements.size()));
    if (a.type.pointer || b.type.pointer) {
      bool turned = b.type.pointer;
      result.type = {turned ? b.type.scalar : a.type.scalar, true, shape};
      for (size_t i = 0; i < result.elements.size(); i++) {
        const Number &x = a.elements[from_a[i]], &y = b.elements[from_b[i]];
        result.elements[i] =
            turned ? moved(op, y, x, a.type.scalar) : moved(op, x, y, b.type.scalar);
      }
      return result;
    }
    Scalar scalar = common(a.type.scalar, b.type.scalar);
    bool of_bits = op >= Op::bit_and && op <= Op::bit_or;
    if (of_bits && a.type.scalar == Scalar::bool_ && b.type.scalar == Scalar::bool_)
      scalar = Scalar::bool_;
    if (op == Op::shl || op == Op::shr)
      scalar = promoted(a.type.scalar);
    for (size_t i = 0; i < result.elements.size(); i++)
      result.elements[i] =
          binary(op, scalar, converted(a.type.scalar, scalar, a.elements[from_a[i]]),
                 converted(b.type.scalar, scalar, b.elements[from_b[i]]));
    result.type.scalar = is_comparison(op) ? Scalar::bool_ : scalar;
    return result;
  }

  static Number moved(Op op, const Number &pointer, const Number &by, Scalar scalar) {
    if (pointer.poison || by.poison)
      return Number::no_value();
    constexpr int64_t far = int64_t(1) << 40;
    if (scalar == Scalar::uint64 && by.integer < 0)
      return Number::no_value();
    if (by.integer > far || by.integer < -far)
      return Number::no_value();
    return Number::pointer(pointer.buffer, op == Op::sub ? pointer.integer - by.integer
                                                         : pointer.integer + by.integer);
  }

  // The right operand is evaluated, as far as it loads, where the left one leaves the answer open.
  Tile logical(const Expr &expr) {
    Tile a = truth(value(expr.operands[0]));
    bool is_and = expr.op == Op::logical_and;
    masks_.push_back({is_and ? a : negated(a), true});
    Tile b = truth(value(expr.operands[1]));
    masks_.pop_back();
    return combined(is_and ? Op::bit_and : Op::bit_or, a, b);
  }

  Tile conditional(const Expr &expr) {
    Tile condition = truth(value(expr.operands[0]));
    masks_.push_back({condition, false});
    Tile yes = fitted(value(expr.operands[1]), expr.type);
    masks_.back().on = negated(condition);
    Tile no = fitted(value(expr.operands[2]), expr.type);
    masks_.pop_back();
    condition = fitted(std::move(condition), condition.type.with_shape(expr.type.shape));
    for (size_t i = 0; i < yes.elements.size(); i++) {
      const Number &chooses = condition.elements[i];
      if (chooses.poison)
        yes.elements[i] = chooses;
      else if (!chooses.integer)
        yes.elements[i] = no.elements[i];
    }
    return yes;
  }

  Tile load(const Expr &expr) {
    Tile pointers = value(expr.operands[0]);
    Type pointer_type{expr.type.scalar, true, expr.type.shape};
    pointers = fitted(std::move(pointers), pointer_type);
    if (expr.operands.size() == 1)
      return loaded(pointers, nullptr);
    Tile mask = truth(value(expr.operands[1]));
    mask = fitted(std::move(mask), mask.type.with_shape(expr.type.shape));
    return loaded(pointers, &mask);
  }

  // Loads in the arms of conditions happen only where the conditions allow it.
  Tile loaded(const Tile &pointers, const Tile *mask) {
    Tile result{{pointers.type.scalar, false, pointers.type.shape}, {}};
    result.elements.resize(pointers.elements.size());
    std::vector<Spread> spreads;
    for (const Mask &outer : masks_)
      spreads.emplace_back(outer.on.type.shape, pointers.type.shape);
    for (size_t i = 0; i < result.elements.size(); i++) {
      bool on = !mask || is_on(mask->elements[i]), gives_zero = false;
      for (size_t m = 0; m < masks_.size(); m++) {
        on = on && is_on(masks_[m].on.elements[spreads[m][i]]);
        gives_zero |= masks_[m].gives_zero;
      }
      result.elements[i] = on           ? buffers_.read(pointers.elements[i], number_)
                           : gives_zero ? Number()
                                        : Number::no_value();
    }
    return result;
  }

  Tile cast(const Expr &expr) {
    Tile a = value(expr.operands[0]);
    Scalar from = a.type.scalar, to = expr.type.scalar;
    for (Number &element : a.elements)
      element = expr.is(Kind::bitcast) ? bits_as(from, to, element) : converted(from, to, element);
    a.type.scalar = to;
    if (fits(a.type.shape, expr.type.shape))
      return fitted(std::move(a), expr.type);
    a.type.shape = expr.type.shape; // the same elements in row-major order
    return a;
  }

  Tile permute(const Expr &expr) {
    Tile a = value(expr.operands[0]);
    size_t rank = a.type.shape.size();
    std::vector<int64_t> strides(rank, 1), along(rank);
    for (size_t d = rank - 1; d-- > 0;)
      strides[d] = strides[d + 1] * a.type.shape[d + 1];
    for (size_t d = 0; d < rank; d++)
      along[d] = strides[expr.is(Kind::transpose) ? (d + 1) % rank : size_t(expr.axes[d])];
    Tile result{expr.type, {}};
    result.elements.resize(a.elements.size());
    for (size_t i = 0; i < a.elements.size(); i++) {
      int64_t rest = int64_t(i), place = 0;
      for (size_t d = rank; d-- > 0;) {
        place += rest % expr.type.shape[d] * along[d];
        rest /= expr.type.shape[d];
      }
      result.elements[i] = a.elements[size_t(place)];
    }
    return result;
  }

  Tile subscript(const Expr &expr) {
    Tile a = value(expr.operands[0]);
    size_t axis = 0;
    for (Position position : expr.positions)
      if (position == Position::keep)
        axis++;
      else if (position != Position::newaxis)
        a = reduced(a, axis, position);
    a.type.shape = expr.type.shape; // axes of extent 1 change nothing else
    return a;
  }

  Tile reduced(const Tile &a, size_t axis, Position how) {
    int64_t outer = 1, inner = 1, extent = a.type.shape[axis];
    for (size_t d = 0; d < a.type.shape.size(); d++)
      (d < axis ? outer : inner) *= d == axis ? 1 : a.type.shape[d];
    Shape shape = a.type.shape;
    shape.erase(shape.begin() + int64_t(axis));
    Tile result{a.type.with_shape(shape), {}};
    for (int64_t o = 0; o < outer; o++)
      for (int64_t i = 0; i < inner; i++) {
        auto at = [&](int64_t k) -> const Number & {
          return a.elements[size_t((o * extent + k) * inner + i)];
        };
        Sum sum(a.type.scalar);
        Number best = at(0);
        for (int64_t k = 0; k < extent; k++) {
          if (how == Position::sum)
            sum.add(at(k));
          else if (k > 0)
            best = binary(how == Position::max ? Op::max : Op::min, a.type.scalar, best, at(k));
        }
        result.elements.push_back(how == Position::sum ? sum.result() : best);
      }
    spend(int64_t(a.elements.size()));
    return result;
  }

  Tile dot(const Expr &expr) {
    Tile a = value(expr.operands[0]), b = value(expr.operands[1]);
    int lowest = 0;
    for (Tile *factor : {&a, &b}) {
      int digit = 1 << 20;
      for (Number &element : factor->elements) {
        if (kernel_.tf32 && factor->type.scalar == Scalar::float_)
          element = rounded_to_tf32(element);
        digit = std::min(digit, lowest_digit(element.real));
      }
      lowest += digit;
    }
    int64_t m = expr.type.shape[0], n = expr.type.shape[1], depth = a.type.shape[1];
    spend(m * n * depth / 4);
    Tile result{expr.type, {}};
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        Sum sum(Scalar::float_, /*slack=*/4);
        for (int64_t k = 0; k < depth; k++)
          sum.add_product(a.elements[size_t(i * depth + k)], b.elements[size_t(k * n + j)], lowest);
        result.elements.push_back(sum.result());
      }
    return result;
  }

  // --- Conversions.

  static Tile truth(Tile tile) {
    for (Number &element : tile.elements)
      element = converted(tile.type.scalar, Scalar::bool_, element);
    tile.type.scalar = Scalar::bool_;
    return tile;
  }

  static Tile negated(Tile tile) {
    for (Number &element : tile.elements)
      if (!element.poison)
        element.integer = !element.integer;
    return tile;
  }

  // What is assigned to something of type `to`.
  static Tile fitted(Tile tile, const Type &to) {
    if (!to.pointer)
      for (Number &element : tile.elements)
        element = converted(tile.type.scalar, to.scalar, element);
    tile.type.scalar = to.scalar;
    if (tile.type.shape != to.shape) {
      Spread from(tile.type.shape, to.shape);
      std::vector<Number> elements(size_t(to.elements()));
      for (size_t i = 0; i < elements.size(); i++)
        elements[i] = tile.elements[from[i]];
      tile.elements = std::move(elements);
    }
    tile.type = to;
    return tile;
  }

  Tile &variable(const Stmt &stmt) { return variables_[size_t(stmt.variable)]; }

  void spend(int64_t cost) {
    cost_ += cost;
    if (cost_ > most_cost_)
      throw Invalid{"runs too long"};
  }

  struct Mask {
    Tile on;
    bool gives_zero; // where it is off, a load gives zero
  };

  const Kernel &kernel_;
  Buffers &buffers_;
  std::array<int, 3> id_;
  int number_;
  int64_t &cost_;
  int64_t most_cost_;
  std::vector<Tile> variables_;
  std::vector<Mask> masks_;
};

} // namespace

bool Evaluation::is_exact() const {
  for (const Contents &contents : this->contents)
    for (size_t i = 0; i < contents.elements.size(); i++)
      if (contents.written[i] && contents.elements[i].error != 0)
        return false;
  return true;
}

Evaluation evaluate(const Kernel &kernel, int64_t most_cost) {
  Evaluation evaluation;
  Buffers buffers(kernel);
  try {
    for (int z = 0; z < kernel.grid[2]; z++)
      for (int y = 0; y < kernel.grid[1]; y++)
        for (int x = 0; x < kernel.grid[0]; x++)
          Program(kernel, buffers, {x, y, z}, evaluation.cost, most_cost).run();
  } catch (const Invalid &invalid) {
    evaluation.invalid = invalid.why;
  }
  evaluation.contents = buffers.contents();
  return evaluation;
}

} // namespace tritonc::random
