// Generates matmuls: dots in loops, in all styles of kernel authors. Most passes work on them.
//
// Styles: baseline; prefetched by hand, with or without a guard; masked; with incremented or
// recomputed addresses; with row-major or column-major operands, transposed or not; with operands
// that are converted or modified.

#include "random_kernels/generator.h"

#include <algorithm>
#include <cmath>

namespace tritonc::random {
namespace {

enum class Form {
  counted_up,
  counted_down,
  computed_anew, // addresses computed from the counter
  ragged,        // the last K tile is shorter, and masked
  guarded,       // prefetched by hand, but not after the last iteration
  unguarded,     // prefetched by hand, also after the last iteration
  counted_while,
};

// Max magnitude of operands of chained matmuls.
constexpr double chained_most = 6;

bool is_prefetched(Form form) { return form == Form::guarded || form == Form::unguarded; }

} // namespace

// A matmul, and its operands.
struct Generator::Product {
  struct Factor {
    bool is_transposed = false; // the tile is transposed for the dot
    bool k_is_fast = true;      // contiguous along K
    Shape shape;                // of the loaded tile
    Scalar stored = Scalar::half;
    Made distance; // from one K tile to the next, in elements
    Made k_coordinate;
    std::vector<Expr> mask; // empty or one mask, in addition to the style's mask
    int pointers = -1;      // index of a variable
    Expr start;             // the pointers at the first K tile
    int tile = -1;          // index of a variable
    double max_value = 0;
  };
  Scalar scalar = Scalar::half; // of the operands
  int64_t m = 0, n = 0, k = 0, iterations = 0;
  Form form = Form::counted_up;
  Factor a, b;
  int sum = -1, rows = -1;
  int chained = -1; // accumulator of a chained matmul
  Shape chained_by;
};

// Adds the product of one K tile to the accumulator, in one of several styles. A chained matmul
// adds the product's product with another operand to a second accumulator.
void Generator::add_product(const Product &p, const std::vector<Expr> &uses, const Range &range) {
  Expr product = dot(uses[0], uses[1]);
  Expr sum = variable(kernel_, p.sum);
  size_t way = p.chained >= 0 ? 3 : draw_.weighted({60, 15, 15, 10});
  if (way == 0)
    return emit(assign(p.sum, std::move(product), Op::add));
  if (way == 1)
    return emit(assign(p.sum, binary(Op::add, std::move(sum), std::move(product))));
  if (way == 2)
    return emit(assign(p.sum, binary(Op::add, std::move(product), std::move(sum))));
  int part = declare_new("v", kernel_.type_of(p.sum), {.range = range, .is_fixed = true});
  emit(declare(part, std::move(product)));
  emit(assign(p.sum, of(part).expr, Op::add));
  if (p.chained < 0)
    return;
  Made small = clamped({of(part).expr, {-1e6, 1e6}}, -chained_most, chained_most);
  Made left = converted(p.scalar, std::move(small));
  Made right = factor(p.scalar, p.chained_by, chained_most, 1);
  emit(assign(p.chained, dot(std::move(left.expr), std::move(right.expr)), Op::add));
}

void Generator::matmul_loop() {
  Product p;
  p.scalar = draw_.pick(
      {Scalar::half, Scalar::half, Scalar::half, Scalar::bfloat16, Scalar::float_, Scalar::float_});
  bool is_large = policy_.largest_tile > 4096;
  p.m = is_large ? draw_.pick({128, 128, 64, 256}) : draw_.pick({16, 16, 32, 32, 64, 8, 4, 128});
  p.n = is_large ? draw_.pick({128, 64, 128, 64}) : draw_.pick({8, 16, 16, 32, 32, 64, 4, 128});
  p.k = draw_.pick({4, 8, 16, 16, 32, 32, 64, 2});
  p.iterations = draw_.pick({0, 1, 1, 2, 2, 3, 5});
  if (policy_.whole) {
    p.scalar = draw_.pick({Scalar::half, Scalar::half, Scalar::bfloat16});
    if (kernel_.tf32 && draw_.chance(50))
      p.scalar = Scalar::float_;
    p.m = draw_.pick({64, 64, 128});
    p.n = draw_.pick({16, 32, 32, 64, 128});
    p.k = draw_.pick({16, 32, 32, 64});
    p.iterations = draw_.pick({1, 2, 3, 5, 6});
    auto is_too_much = [&] {
      double elements = double(p.m * p.n) * (double(p.k * p.iterations) / 16 + 4);
      return work_ + elements * iterations() > 0.7 * policy_.work; // leaves work for other code
    };
    while (is_too_much() && p.iterations > 1)
      p.iterations--;
    while (is_too_much() && p.n > 16)
      p.n /= 2;
  }
  while (!afford(p.m * p.n * p.k * std::max<int64_t>(p.iterations, 1) / 16 + 4 * p.m * p.n)) {
    if (p.m * p.n * p.k <= 1024)
      return;
    int64_t &largest = p.m >= p.n && p.m >= p.k ? p.m : p.n >= p.k ? p.n : p.k;
    largest /= 2;
  }
  p.form = Form(draw_.weighted(policy_.whole ? std::vector{20, 15, 12, 25, 4, 4, 8}
                                             : std::vector{20, 15, 12, 15, 20, 15, 8}));
  bool may_be_approximate = policy_.may_round;

  // --- The operands' addresses.

  auto add_factor = [&](Product::Factor &f, bool is_a, int64_t extent) {
    f.is_transposed = draw_.chance(35);
    f.k_is_fast = draw_.chance(70) ? is_a != f.is_transposed : draw_.chance(50);
    bool rows_first = is_a != f.is_transposed; // the axis along M or N comes first
    f.shape = rows_first ? Shape{extent, p.k} : Shape{p.k, extent};
    f.stored = draw_.chance(policy_.whole ? 97 : 85)
                   ? p.scalar
                   : draw_.pick({Scalar::float_, Scalar::int8, Scalar::half});

    Parameter parameter;
    parameter.role = Parameter::Role::input;
    parameter.read_only = draw_.chance(70);
    parameter.no_alias = draw_.chance(40);
    parameter.data = may_be_approximate && is_float(f.stored)
                         ? Data{-63, 63, 5}
                         : draw_.pick({Data{-3, 3}, Data{-2, 2}, Data{0, 3}, Data{-1, 1}});
    f.max_value = std::ldexp(double(parameter.data.high), -parameter.data.fraction_bits);
    Range range{-f.max_value, f.max_value, parameter.data.fraction_bits};
    int base = new_parameter("x", {f.stored, true, {}, draw_.chance(15)}, parameter,
                             {.range = range, .is_fixed = true, .may_read = true});

    int axis = draw_.chance(60) ? int(draw_.between(0, 2)) : -1;
    if (policy_.whole && draw_.chance(80)) // as in a GEMM
      axis = is_a ? 0 : 1;
    int64_t programs = axis >= 0 ? kernel_.grid[size_t(axis)] : 1;
    Made along = coordinate(extent, axis, true);
    Made inner = coordinate(p.k, -1, true);
    if (inner.expr.is(Expr::Kind::range) && is_prefetched(p.form) && draw_.chance(50))
      inner = of(declare_value("i", inner.expr.type, inner));
    size_t k_axis = rows_first ? 1 : 0;
    f.k_coordinate = placed(inner, k_axis, 2);
    Made row = placed(along, 1 - k_axis, 2);
    int64_t size = f.k_is_fast ? p.k * std::max<int64_t>(p.iterations, 1) : extent * programs;
    int64_t ld = draw_.chance(policy_.whole ? 92 : 60) ? (size + 7) / 8 * 8 + draw_.pick({0, 0, 8})
                                                       : size + draw_.pick({0, 1, 3});
    Made leading =
        draw_.chance(65) ? bound_parameter(ld, "n") : number_literal(Scalar::int32, double(ld));
    Made one = number_literal(Scalar::int32, 1);
    auto times = [&](Made index, const Made &stride) {
      return stride.range.high == 1 && draw_.chance(80) ? index
                                                        : *join(Op::mul, std::move(index), stride);
    };
    f.distance = f.k_is_fast ? one : leading;
    Made by_k = times(f.k_coordinate, f.distance), by_row = times(row, f.k_is_fast ? leading : one);
    if (draw_.chance(50))
      std::swap(by_k, by_row);
    f.start = binary(Op::add, binary(Op::add, of(base).expr, std::move(by_k.expr)),
                     std::move(by_row.expr));
    if (draw_.chance(12)) { // fewer rows than the tile has
      Made bound = bound_parameter(draw_.between(0, extent * programs), "n");
      f.mask.push_back(binary(Op::lt, row.expr, std::move(bound.expr)));
    }
  };
  add_factor(p.a, true, p.m);
  add_factor(p.b, false, p.n);
  bool is_reused = p.m == p.n && draw_.chance(6); // A times A transposed
  if (is_reused) {
    p.b = p.a;
    p.b.is_transposed = !p.a.is_transposed;
  }

  // --- The accumulator.

  int64_t length = p.iterations * p.k;
  double total = double(std::max<int64_t>(length, p.k)) * p.a.max_value * p.b.max_value;
  int fraction = may_be_approximate ? 10 : 0;
  Range range{-total, total, fraction, may_be_approximate};
  Made first{literal(Scalar::int32, 0), {}};
  if (draw_.chance(20)) { // a bias
    first = number(Scalar::float_, operand_shape({p.m, p.n}), 1);
    if (first.range.magnitude() > 4000 || first.range.fraction_bits)
      first = number_literal(Scalar::int32, 3);
    range = {range.low - 4000, range.high + 4000, range.fraction_bits, range.is_rounded};
  }
  p.sum = kernel_.add_variable("s" + std::to_string(kernel_.variables.size()),
                               {Scalar::float_, false, {p.m, p.n}});
  emit(declare(p.sum, std::move(first.expr)));
  known_.resize(kernel_.variables.size());
  bool sums_rows = !p.a.is_transposed && draw_.chance(15) && !may_be_approximate;
  if (sums_rows) {
    p.rows = kernel_.add_variable("s" + std::to_string(kernel_.variables.size()),
                                  {Scalar::float_, false, {p.m}});
    emit(declare(p.rows, literal(Scalar::float_, 0)));
    known_.resize(kernel_.variables.size());
  }

  double chained_total = double(p.iterations) * double(p.n) * chained_most * chained_most;
  if (draw_.chance(policy_.whole ? 3 : 12) && !may_be_approximate && p.n >= 4) {
    p.chained_by = {p.n, draw_.pick({8, 16, 32})};
    p.chained = kernel_.add_variable("s" + std::to_string(kernel_.variables.size()),
                                     {Scalar::float_, false, {p.m, p.chained_by[1]}});
    emit(declare(p.chained, literal(Scalar::int32, 0)));
    known_.resize(kernel_.variables.size());
  }

  // --- The loop.

  int64_t bound = length - (p.form == Form::ragged && length ? draw_.between(0, p.k - 1) : 0);
  Made end =
      draw_.chance(75) ? bound_parameter(bound, "n") : number_literal(Scalar::int32, double(bound));
  bool computes_anew = p.form == Form::computed_anew;
  bool moves = !computes_anew;
  std::vector<Product::Factor *> factors = {&p.a, &p.b};
  if (moves)
    for (Product::Factor *f : factors) {
      if (is_reused && f == &p.b) {
        p.b.pointers = p.a.pointers;
        continue;
      }
      f->pointers = declare_new("p", f->start.type, {.range = {}, .may_read = false});
      emit(declare(f->pointers, f->start));
    }

  auto load_of = [&](const Product::Factor &f, const Expr *extra_mask, const Expr &pointers) {
    Expr loaded = load(pointers);
    std::vector<Expr> masks = f.mask;
    if (extra_mask)
      masks.push_back(*extra_mask);
    if (masks.empty())
      return loaded;
    Expr mask = masks[0];
    if (masks.size() == 2)
      mask = binary(Op::logical_and, masks[0], masks[1]);
    return conditional(std::move(mask), std::move(loaded), literal(Scalar::int32, 0));
  };
  auto tile_type = [&](const Product::Factor &f) { return Type{p.scalar, false, f.shape}; };
  auto use_of = [&](Product::Factor &f, Expr tile) {
    if (f.tile < 0 && tile.type.scalar != p.scalar)
      tile = cast({p.scalar, false, {}}, std::move(tile));
    return f.is_transposed ? transpose(std::move(tile)) : tile;
  };
  if (is_prefetched(p.form))
    for (Product::Factor *f : factors) {
      f->tile = declare_new("t", tile_type(*f),
                            {.range = {-f->max_value, f->max_value}, .is_fixed = true});
      Expr loaded = load(of(f->pointers).expr);
      emit(declare(f->tile, f->mask.empty() ? std::move(loaded)
                                            : load_of(*f, nullptr, of(f->pointers).expr)));
    }

  auto advance = [&] {
    for (Product::Factor *f : factors) {
      if (!moves || (is_reused && f == &p.b))
        continue;
      Made step = *join(Op::mul, number_literal(Scalar::int32, double(p.k)), f->distance);
      if (f->distance.range.high == 1 && draw_.chance(70))
        step = number_literal(Scalar::int32, double(p.k));
      if (draw_.chance(60))
        emit(assign(f->pointers, std::move(step.expr), Op::add));
      else
        emit(assign(f->pointers, binary(Op::add, of(f->pointers).expr, std::move(step.expr))));
    }
  };

  std::vector<Stmt> around = collect([&] {
    bool counts_up = p.form != Form::counted_down && !(is_prefetched(p.form) && draw_.chance(70));
    int counter = declare_new("k", {Scalar::int32, false, {}},
                              {.range = {0, double(length)}, .is_fixed = true, .is_index = true});
    Expr k = of(counter).expr;
    Stmt loop = jump(p.form == Form::counted_while ? Stmt::Kind::while_loop : Stmt::Kind::for_loop);
    Expr zero = literal(Scalar::int32, 0), step = literal(Scalar::int32, p.k);
    Stmt start = declare(counter, counts_up ? zero : end.expr);
    Stmt next = assign(counter, step, counts_up ? Op::add : Op::sub);
    loop.value.push_back(counts_up ? binary(Op::lt, k, end.expr) : binary(Op::gt, k, zero));
    loops_.push_back({double(p.iterations), Made{k, {0, double(length)}}});
    std::vector<Stmt> body = collect([&] {
      std::vector<Expr> uses;
      for (Product::Factor *f : factors) {
        if (is_prefetched(p.form)) {
          uses.push_back(use_of(*f, of(f->tile).expr));
          continue;
        }
        Expr pointers =
            moves ? of(f->pointers).expr
                  : binary(Op::add, f->start,
                           f->distance.range.high == 1 ? k : binary(Op::mul, k, f->distance.expr));
        Expr mask;
        if (p.form == Form::ragged) {
          Expr rest = counts_up ? binary(Op::sub, end.expr, k) : k;
          mask = binary(Op::lt, f->k_coordinate.expr, std::move(rest));
        }
        Expr loaded = load_of(*f, p.form == Form::ragged ? &mask : nullptr, pointers);
        bool is_named = draw_.chance(75) || sums_rows;
        if (!is_named) {
          uses.push_back(use_of(*f, std::move(loaded)));
          continue;
        }
        f->tile = declare_new("t", tile_type(*f),
                              {.range = {-f->max_value, f->max_value}, .is_fixed = true});
        emit(declare(f->tile, std::move(loaded)));
        if (draw_.chance(12)) { // modified before the dot, within the same range
          Expr changed = draw_.chance(50)
                             ? binary(Op::max, of(f->tile).expr, real_literal(p.scalar, 0))
                             : unary(Op::negate, of(f->tile).expr);
          emit(assign(f->tile, std::move(changed)));
        }
        uses.push_back(use_of(*f, of(f->tile).expr));
      }
      auto accumulate = [&] { add_product(p, uses, range); };
      if (draw_.chance(6)) { // in some of the iterations
        Made decides = condition(1);
        std::vector<Stmt> sometimes = collect(accumulate);
        emit(branch(std::move(decides.expr), std::move(sometimes)));
      } else {
        accumulate();
      }
      if (sums_rows)
        emit(assign(p.rows,
                    cast({Scalar::float_, false, {}},
                         subscript(of(p.a.tile).expr, {Position::keep, Position::sum})),
                    Op::add));
      if (draw_.chance(10))
        statement(0);
      advance();
      if (is_prefetched(p.form)) {
        // Another iteration follows if more than this K tile is left.
        Expr more = counts_up ? binary(Op::lt, binary(Op::add, k, step), end.expr)
                              : binary(Op::gt, k, step);
        if (draw_.chance(60) && p.form == Form::guarded) {
          int named =
              declare_new("m", {Scalar::bool_, false, {}}, {.range = {0, 1}, .is_fixed = true});
          emit(declare(named, std::move(more)));
          more = of(named).expr;
        }
        for (Product::Factor *f : factors)
          emit(assign(f->tile, load_of(*f, p.form == Form::guarded ? &more : nullptr,
                                       of(f->pointers).expr)));
      }
      if (p.form == Form::counted_while)
        emit(next);
    });
    loops_.pop_back();
    loop.body = std::move(body);
    if (p.form == Form::counted_while) {
      emit(std::move(start));
    } else {
      loop.head.push_back(std::move(start));
      loop.head.push_back(std::move(next));
    }
    emit(std::move(loop));
  });
  for (Stmt &stmt : around)
    emit(std::move(stmt));

  // --- The epilogue.

  auto publish = [&](int variable, Range result) {
    known(variable) = {.range = result, .is_fixed = true, .loops = int(loops_.size())};
    visible_.push_back(variable);
  };
  publish(p.sum, range);
  if (p.chained >= 0)
    publish(p.chained, {-chained_total, chained_total});
  if (sums_rows)
    publish(p.rows, {-double(length) * p.a.max_value, double(length) * p.a.max_value});
  if (!draw_.chance(70))
    return;
  Made result = of(p.sum);
  if (draw_.chance(30))
    result = clamped(std::move(result), 0, 1e6);
  if (policy_.whole && draw_.chance(30)) { // another bias
    Made bias = number(Scalar::float_, operand_shape({p.m, p.n}), 1);
    if (bias.range.magnitude() <= 4000 && !bias.range.fraction_bits)
      if (std::optional<Made> sum = join(Op::add, result, std::move(bias)))
        result = std::move(*sum);
  }
  Scalar stored = draw_.pick({Scalar::float_, p.scalar});
  result = converted(stored, std::move(result));
  store_value(std::move(result), {stored, false, {p.m, p.n}});
}

} // namespace tritonc::random
