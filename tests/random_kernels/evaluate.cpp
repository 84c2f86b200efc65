// Evaluates random kernels. See evaluate.h.

#include "random_kernels/evaluate.h"

#include "random_kernels/print.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace tritonc::random {
namespace {

using Kind = Expr::Kind;

constexpr int64_t max_elements = int64_t(1) << 17; // per buffer

struct Invalid {
  std::string why;
};

// The elements of a value in row-major order; a scalar has one element.
struct Tile {
  Type type;
  std::vector<Number> elements;
};

// Maps each index of shape `to` to the element of a tile of shape `from` (broadcast).
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

// Global memory, with data to decide whether results depend on the order of accesses.
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
    if (parameter.role == Parameter::Role::input || parameter.role == Parameter::Role::constant)
      return initial(pointer.buffer, pointer.integer);
    Cell &cell = buffer.cells[size_t(pointer.integer)];
    if (cell.gathers != Op::none)
      throw Invalid{"reads what atomic operations are gathering"};
    if (cell.writer >= 0 && cell.writer != program)
      throw Invalid{"reads what another program stores"};
    if (cell.reader >= 0 && cell.reader != program)
      cell.is_shared = true;
    cell.reader = program;
    return cell.value;
  }

  // A program's accesses are in the order of its statements. But two stores of one statement to one
  // address are unordered: two elements of a tile, or two iterations of a loop.
  void write(const Number &pointer, const Number &value, int program, const Stmt *by) {
    Buffer &buffer = reach(pointer);
    Parameter::Role role = kernel_.parameters[size_t(pointer.buffer)].role;
    if (role == Parameter::Role::input || role == Parameter::Role::constant)
      throw Invalid{"stores to an input"};
    Cell &cell = buffer.cells[size_t(pointer.integer)];
    if (cell.gathers != Op::none)
      throw Invalid{"stores to what atomic operations are gathering"};
    if (cell.writer >= 0 && (cell.writer != program || cell.by == by))
      throw Invalid{"stores to one place twice"};
    if (cell.is_shared || (cell.reader >= 0 && cell.reader != program))
      throw Invalid{"stores what another program reads"};
    cell.writer = program;
    cell.by = by;
    cell.value = value;
  }

  // An unordered atomic: many programs and elements use one operation and ignore its results.
  void gather(const Number &pointer, Op op, Scalar scalar, const Number &value) {
    Cell &cell = cell_at(pointer);
    bool is_first = cell.writer < 0 && cell.reader < 0 && cell.gathers == Op::none;
    if (!is_first && cell.gathers != op)
      throw Invalid{"atomic operations of two kinds"};
    cell.gathers = op;
    Number result = binary(op, scalar, cell.value, value);
    // The rounding depends on the order.
    bool is_whole =
        !is_float(scalar) || (result.error == 0 && result.real == std::trunc(result.real) &&
                              value.real == std::trunc(value.real));
    if (result.poison || !is_whole)
      throw Invalid{"a sum that depends on the order"};
    if (is_float(scalar) && op == Op::add) {
      cell.magnitude += std::fabs(value.real);
      if (cell.magnitude > std::ldexp(1, precision_of(scalar)))
        throw Invalid{"a sum that depends on the order"};
    }
    cell.value = result;
  }

  std::vector<Contents> contents() const {
    std::vector<Contents> result;
    for (const Buffer &buffer : buffers_) {
      Contents contents{buffer.count, {}, {}};
      for (const Cell &cell : buffer.cells) {
        contents.elements.push_back(cell.value);
        contents.written.push_back(cell.writer >= 0 || cell.gathers != Op::none);
      }
      result.push_back(std::move(contents));
    }
    return result;
  }

private:
  struct Cell {
    Number value;
    int reader = -1, writer = -1; // program indices; -1 = none
    bool is_shared = false;       // read by several programs
    const Stmt *by = nullptr;     // the last statement that stored to it
    Op gathers = Op::none;        // operation of unordered atomics
    double magnitude = 0;         // sum of the terms' magnitudes
  };
  struct Buffer {
    int64_t count = 0;
    uint64_t stream = 0;
    std::vector<Cell> cells; // empty for inputs
  };

  Number initial(int parameter, int64_t index) const {
    DataValue value = value_of(kernel_.parameters[size_t(parameter)].data,
                               buffers_[size_t(parameter)].stream, index);
    return {value.integer, value.real};
  }

  // The cell of an element in a buffer that is written.
  Cell &cell_at(const Number &pointer) {
    Buffer &buffer = reach(pointer);
    if (kernel_.parameters[size_t(pointer.buffer)].role != Parameter::Role::both)
      throw Invalid{"an atomic operation on what is not read and written"};
    return buffer.cells[size_t(pointer.integer)];
  }

  Buffer &reach(const Number &pointer) {
    if (pointer.poison)
      throw Invalid{"an access without a pointer"};
    if (pointer.integer < 0 || pointer.integer >= max_elements)
      throw Invalid{"an access at " + std::to_string(pointer.integer)};
    Buffer &buffer = buffers_[size_t(pointer.buffer)];
    buffer.count = std::max(buffer.count, pointer.integer + 1);
    const Parameter &parameter = kernel_.parameters[size_t(pointer.buffer)];
    Parameter::Role role = parameter.role;
    bool is_read = role == Parameter::Role::input || role == Parameter::Role::constant;
    if (role == Parameter::Role::constant && pointer.integer >= parameter.count)
      throw Invalid{"an access outside of constant memory"};
    while (!is_read && int64_t(buffer.cells.size()) < buffer.count) {
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

// The four words of Philox4x32-10 at an offset.
std::array<uint32_t, 4> philox_words(uint64_t seed, uint64_t offset) {
  std::array<uint32_t, 4> c = {uint32_t(offset), uint32_t(offset >> 32), 0, 0};
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t a = uint64_t(0xD2511F53) * c[0], b = uint64_t(0xCD9E8D57) * c[2];
    c = {uint32_t(b >> 32) ^ c[1] ^ k0, uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ k1, uint32_t(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

enum class Flow { normal, leave, proceed, finish };

// Executes one program of the grid.
class Program {
public:
  Program(const Kernel &kernel, Buffers &buffers, std::array<int, 3> id, int64_t &cost,
          int64_t max_cost)
      : kernel_(kernel), buffers_(buffers), id_(id), cost_(cost), max_cost_(max_cost),
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
      if (!stmt.value.empty())
        returned_ = value(stmt.value[0]);
      return Flow::finish;
    case Stmt::Kind::atomic:
      atomic(stmt);
      return Flow::normal;
    case Stmt::Kind::check:
      check(stmt);
      return Flow::normal;
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

  // All operands have the common shape.
  void atomic(const Stmt &stmt) {
    std::vector<Tile> operands;
    Shape shape;
    for (const Expr &expr : stmt.value) {
      operands.push_back(value(expr));
      shape = *broadcast(shape, operands.back().type.shape);
    }
    Scalar scalar = operands[0].type.scalar;
    size_t values = operands.size() - 1 - stmt.has_mask;
    if (stmt.has_mask)
      operands.back() = truth(std::move(operands.back()));
    for (size_t i = 0; i < operands.size(); i++) {
      Type type{operands[i].type.scalar, operands[i].type.pointer, shape};
      if (i > 0 && i <= values)
        type.scalar = scalar;
      operands[i] = fitted(std::move(operands[i]), type);
    }
    Tile before{{scalar, false, shape}, {}};
    bool is_gathered = stmt.variable < 0 && stmt.op < Op::exchange;
    for (size_t i = 0; i < operands[0].elements.size(); i++) {
      const Number &pointer = operands[0].elements[i];
      before.elements.push_back(Number::no_value());
      if (stmt.has_mask && !is_on(operands.back().elements[i]))
        continue;
      for (size_t k = 1; k <= values; k++)
        if (operands[k].elements[i].poison)
          throw Invalid{"stores poison"};
      const Number &given = operands[values].elements[i];
      if (is_gathered)
        buffers_.gather(pointer, stmt.op, scalar, given);
      else
        before.elements.back() = exchanged(stmt, scalar, pointer, operands[1].elements[i], given);
    }
    if (stmt.variable >= 0)
      variable(stmt) = fitted(std::move(before), kernel_.type_of(stmt.variable));
  }

  // An atomic on an address that only this program and this element access.
  Number exchanged(const Stmt &stmt, Scalar scalar, const Number &pointer, const Number &expected,
                   const Number &given) {
    Number before = buffers_.read(pointer, number_), after = given;
    if (stmt.op == Op::compare_exchange) {
      Number same = binary(Op::eq, scalar, before, expected);
      if (same.poison || (is_float(scalar) && (before.real == 0 || expected.real == 0)))
        throw Invalid{"compares what has no certain bits"};
      after = same.integer ? given : before;
    } else if (stmt.op != Op::exchange) {
      after = binary(stmt.op, scalar, before, given);
    }
    if (after.poison || after.error != 0)
      throw Invalid{"an atomic operation without an exact result"};
    buffers_.write(pointer, after, number_, &stmt);
    return before;
  }

  void check(const Stmt &stmt) {
    for (const Number &element : truth(value(stmt.value[0])).elements)
      if (element.poison || !element.integer)
        throw Invalid{"an assertion that fails"};
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
    case Kind::fma:
      return multiply_add(expr);
    case Kind::gather:
      return gather(expr);
    case Kind::element:
      return element(expr);
    case Kind::philox:
    case Kind::uniform:
      return random_numbers(expr);
    case Kind::call:
      return call(expr);
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

  // A binary operator on two values, with the language's conversions and broadcast.
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

  // The right operand's loads happen only where the left operand does not determine the result.
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

  // Loads in the arms of `?:` happen only where the condition selects the arm.
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
    auto is = [&](auto wanted) {
      return std::any_of(expr.positions.begin(), expr.positions.end(), wanted);
    };
    if (is(asks_truth))
      a = truth(std::move(a));
    else if (Type type = a.type.with_scalar(expr.type.scalar); !is(is_arg))
      a = fitted(std::move(a), type);
    size_t axis = 0;
    for (Position position : expr.positions) {
      if (position != Position::keep && position != Position::newaxis)
        a = is_scan(position) ? scanned(a, axis, position) : reduced(a, axis, position);
      axis += position == Position::keep || is_scan(position);
    }
    a.type.scalar = expr.type.scalar;
    a.type.shape = expr.type.shape; // only adds axes of extent 1
    return a;
  }

  // Calls visit(indices) for each line along an axis, with the indices of its elements in order.
  template <typename Visit>
  static void for_each_line(const Shape &shape, size_t axis, const Visit &visit) {
    int64_t outer = 1, inner = 1, extent = shape[axis];
    for (size_t d = 0; d < shape.size(); d++)
      (d < axis ? outer : inner) *= d == axis ? 1 : shape[d];
    std::vector<size_t> places(size_t(extent), 0);
    for (int64_t o = 0; o < outer; o++)
      for (int64_t i = 0; i < inner; i++) {
        for (int64_t k = 0; k < extent; k++)
          places[size_t(k)] = size_t((o * extent + k) * inner + i);
        visit(places);
      }
  }

  // Combines elements in sequence to the result of a reduction.
  class Combined {
  public:
    Combined(Position how, Scalar scalar)
        : how_(how), scalar_(scalar), sum_(scalar), product_(scalar) {}

    void take(const Number &element) {
      switch (how_) {
      case Position::sum:
      case Position::scan_sum:
        return sum_.add(element);
      case Position::prod:
      case Position::scan_prod:
        return product_.multiply(element);
      default:
        choose(element);
      }
    }

    Number result() const {
      if (how_ == Position::sum || how_ == Position::scan_sum)
        return sum_.result();
      if (how_ == Position::prod || how_ == Position::scan_prod)
        return product_.result();
      return is_arg(how_) ? place_ : best_;
    }

  private:
    void choose(const Number &element) {
      int64_t place = taken_++;
      if (place == 0) {
        best_ = element;
        place_ = element.poison ? element : Number::of_integer(0);
        return;
      }
      bool is_largest =
          how_ == Position::max || how_ == Position::scan_max || how_ == Position::argmax;
      Op op = how_ == Position::any || how_ == Position::scan_any   ? Op::logical_or
              : how_ == Position::all || how_ == Position::scan_all ? Op::logical_and
              : is_largest                                          ? Op::max
                                                                    : Op::min;
      if (is_arg(how_)) {
        Number better = binary(is_largest ? Op::gt : Op::lt, scalar_, element, best_);
        if (better.poison || place_.poison)
          place_ = Number::no_value();
        else if (better.integer)
          place_ = Number::of_integer(place);
      }
      best_ = binary(op, scalar_, best_, element);
    }

    Position how_;
    Scalar scalar_;
    Sum sum_;
    Product product_;
    Number best_, place_;
    int64_t taken_ = 0;
  };

  Tile reduced(const Tile &a, size_t axis, Position how) {
    Shape shape = a.type.shape;
    shape.erase(shape.begin() + int64_t(axis));
    Tile result{a.type.with_shape(shape), {}};
    for_each_line(a.type.shape, axis, [&](const std::vector<size_t> &places) {
      Combined all(how, a.type.scalar);
      for (size_t place : places)
        all.take(a.elements[place]);
      result.elements.push_back(all.result());
    });
    spend(int64_t(a.elements.size()));
    return result;
  }

  Tile scanned(const Tile &a, size_t axis, Position how) {
    Tile result = a;
    for_each_line(a.type.shape, axis, [&](const std::vector<size_t> &places) {
      Combined all(how, a.type.scalar);
      for (size_t place : places) {
        all.take(a.elements[place]);
        result.elements[place] = all.result();
      }
    });
    spend(2 * int64_t(a.elements.size()));
    return result;
  }

  // An out-of-bounds index makes the kernel invalid, unless a condition may discard the element.
  Number at_position(const Tile &a, const std::vector<size_t> &line, const Number &position) const {
    bool is_inside =
        !position.poison && position.integer >= 0 && position.integer < int64_t(line.size());
    if (is_inside)
      return a.elements[line[size_t(position.integer)]];
    if (masks_.empty())
      throw Invalid{"a position outside of its axis"};
    return Number::no_value();
  }

  Tile gather(const Expr &expr) {
    Tile a = value(expr.operands[0]), positions = value(expr.operands[1]);
    positions = fitted(std::move(positions), positions.type.with_shape(expr.type.shape));
    size_t axis = size_t(expr.integer);
    std::vector<std::vector<size_t>> lines;
    auto keep = [&](const std::vector<size_t> &line) { lines.push_back(line); };
    for_each_line(a.type.shape, axis, keep);
    Tile result{expr.type, positions.elements};
    size_t next = 0;
    for_each_line(expr.type.shape, axis, [&](const std::vector<size_t> &places) {
      for (size_t place : places)
        result.elements[place] = at_position(a, lines[next], positions.elements[place]);
      next++;
    });
    spend(int64_t(a.elements.size() + result.elements.size()));
    return result;
  }

  Tile element(const Expr &expr) {
    Tile a = value(expr.operands[0]), position = value(expr.operands[1]);
    Tile result{expr.type, {}};
    for_each_line(a.type.shape, size_t(expr.integer), [&](const std::vector<size_t> &line) {
      result.elements.push_back(at_position(a, line, position.elements[0]));
    });
    spend(int64_t(a.elements.size()));
    return result;
  }

  Tile multiply_add(const Expr &expr) {
    std::array<Tile, 3> operands;
    for (size_t i = 0; i < 3; i++)
      operands[i] = fitted(value(expr.operands[i]), expr.type);
    Tile result = operands[2];
    for (size_t i = 0; i < result.elements.size(); i++)
      result.elements[i] = multiplied_and_added(expr.type.scalar, operands[0].elements[i],
                                                operands[1].elements[i], operands[2].elements[i]);
    return result;
  }

  Tile random_numbers(const Expr &expr) {
    Tile seeds = value(expr.operands[0]), offsets = value(expr.operands[1]);
    bool is_wide = bits_of(offsets.type.scalar) == 64;
    seeds = fitted(std::move(seeds), {Scalar::uint64, false, expr.type.shape});
    // A negative offset narrower than 64 bits becomes a 32-bit counter.
    offsets = fitted(std::move(offsets),
                     {is_wide ? Scalar::uint64 : Scalar::uint32, false, expr.type.shape});
    Tile result{expr.type, {}};
    for (size_t i = 0; i < seeds.elements.size(); i++) {
      const Number &seed = seeds.elements[i], &offset = offsets.elements[i];
      if (seed.poison || offset.poison) {
        result.elements.push_back(Number::no_value());
        continue;
      }
      uint32_t word =
          philox_words(uint64_t(seed.integer),
                       uint64_t(offset.integer))[size_t(std::max<int64_t>(expr.integer, 0))];
      if (expr.is(Kind::philox)) {
        result.elements.push_back(Number::of_integer(word));
        continue;
      }
      int32_t number = int32_t(word);
      float whole = float(number < 0 ? ~number : number);
      result.elements.push_back(Number::of_real(whole * 0x1.fffffep-32f));
    }
    spend(20 * int64_t(result.elements.size()));
    return result;
  }

  Tile call(const Expr &expr) {
    const Function &function = kernel_.functions[size_t(expr.integer)];
    std::vector<Tile> arguments;
    for (size_t i = 0; i < expr.operands.size(); i++)
      arguments.push_back(fitted(value(expr.operands[i]), kernel_.type_of(function.parameters[i])));
    for (size_t i = 0; i < arguments.size(); i++)
      variables_[size_t(function.parameters[i])] = std::move(arguments[i]);
    if (list(function.body) != Flow::finish)
      throw Invalid{"a function that returns nothing"};
    return fitted(std::move(returned_), function.result);
  }

  // Batched dot: one matmul per index of the leading axes.
  Tile dot(const Expr &expr) {
    Tile a = value(expr.operands[0]), b = value(expr.operands[1]);
    const Scalar scalar = a.type.scalar;
    int lowest = 0;
    for (Tile *factor : {&a, &b}) {
      int digit = 1 << 20;
      for (Number &element : factor->elements) {
        if (kernel_.tf32 && scalar == Scalar::float_)
          element = rounded_to_tf32(element);
        digit = std::min(digit, lowest_digit(element.real));
      }
      lowest += digit;
    }
    int64_t m = expr.type.shape[0], n = expr.type.shape[1], depth = a.type.shape[1];
    int64_t batch = elements_of(expr.type.shape) / (m * n);
    spend(m * n * depth * batch / 4);
    Tile result{expr.type, {}};
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++)
        for (int64_t e = 0; e < batch; e++) {
          Sum sum(expr.type.scalar, /*slack=*/4);
          for (int64_t k = 0; k < depth; k++) {
            const Number &x = a.elements[size_t((i * depth + k) * batch + e)];
            const Number &y = b.elements[size_t((k * n + j) * batch + e)];
            if (is_float(scalar))
              sum.add_product(x, y, lowest);
            else
              sum.add(binary(Op::mul, expr.type.scalar, converted(scalar, expr.type.scalar, x),
                             converted(scalar, expr.type.scalar, y)));
          }
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

  // Converts a value for an assignment to type `to`.
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
    if (cost_ > max_cost_)
      throw Invalid{"runs too long"};
  }

  struct Mask {
    Tile on;
    bool gives_zero; // a load returns zero where the mask is off
  };

  const Kernel &kernel_;
  Buffers &buffers_;
  std::array<int, 3> id_;
  int number_;
  int64_t &cost_;
  int64_t max_cost_;
  std::vector<Tile> variables_;
  std::vector<Mask> masks_;
  Tile returned_; // result of the called function
};

} // namespace

bool Evaluation::is_exact() const {
  for (const Contents &contents : this->contents)
    for (size_t i = 0; i < contents.elements.size(); i++)
      if (contents.written[i] && contents.elements[i].error != 0)
        return false;
  return true;
}

Evaluation evaluate(const Kernel &kernel, int64_t max_cost) {
  Evaluation evaluation;
  Buffers buffers(kernel);
  try {
    for (int z = 0; z < kernel.grid[2]; z++)
      for (int y = 0; y < kernel.grid[1]; y++)
        for (int x = 0; x < kernel.grid[0]; x++)
          Program(kernel, buffers, {x, y, z}, evaluation.cost, max_cost).run();
  } catch (const Invalid &invalid) {
    evaluation.invalid = invalid.why;
  }
  evaluation.contents = buffers.contents();
  return evaluation;
}

} // namespace tritonc::random
