// Generates matmuls: dots in loops, in all styles of kernel authors. Most passes work on them.
//
// Styles: baseline; prefetched by hand, with or without a guard; masked; with incremented or
// recomputed addresses; with row-major or column-major operands, transposed or not; with operands
// that are converted or modified.

#include "random_kernels/generator.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tritonc::random {
namespace {

enum class Style {
  counted_up,
  counted_down,
  computed_anew, // addresses computed from the counter
  ragged,        // the last K tile is shorter, and masked
  guarded,       // prefetched by hand, but not after the last iteration
  unguarded,     // prefetched by hand, also after the last iteration
  counted_while,
};

// Max magnitude of operands of chained matmuls.
constexpr double max_chained = 6;

bool is_prefetched(Style style) { return style == Style::guarded || style == Style::unguarded; }

} // namespace

// An operand of a matmul.
struct Generator::MatmulOperand {
  bool is_transposed = false; // the tile is transposed for the dot
  bool k_is_fast = true;      // contiguous along K
  Shape shape;                // of the loaded tile
  Scalar stored = Scalar::half;
  Made stride; // from one K tile to the next, in elements
  Made k_coordinate;
  std::vector<Expr> mask; // empty or one mask, in addition to the style's mask
  int pointers = -1;      // index of a variable
  Expr start;             // the pointers at the first K tile
  int tile = -1;          // index of a variable
  double max_value = 0;
};

// A matmul and its loop.
struct Generator::Matmul {
  Scalar scalar = Scalar::half; // of the operands
  int64_t m = 0, n = 0, k = 0, iterations = 0;
  Style style = Style::counted_up;
  bool may_be_approximate = false;
  MatmulOperand a, b;
  bool is_reused = false; // b is a, transposed
  int accumulator = -1;
  Range range;       // of the accumulator
  int row_sums = -1; // the sums of the rows of A
  int chained = -1;  // accumulator of a chained matmul
  Shape chained_by;
  Made end;               // of the counter
  bool counts_up = false; // the counter
  Expr counter;

  /// The extent along K of all K tiles.
  int64_t length() const { return iterations * k; }
  /// Whether the loop increments pointers. Otherwise it computes them from the counter.
  bool moves() const { return style != Style::computed_anew; }
  std::array<MatmulOperand *, 2> operands() { return {&a, &b}; }
};

// Chooses types, extents and style. Returns false if the kernel cannot afford a matmul.
bool Generator::choose_matmul(Matmul &p) {
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
      return false;
    int64_t &largest = p.m >= p.n && p.m >= p.k ? p.m : p.n >= p.k ? p.n : p.k;
    largest /= 2;
  }
  p.style = Style(draw_.weighted(policy_.whole ? std::vector{20, 15, 12, 25, 4, 4, 8}
                                               : std::vector{20, 15, 12, 15, 20, 15, 8}));
  p.may_be_approximate = policy_.may_round;
  return true;
}

// Declares an operand's parameter and computes its addresses.
void Generator::add_operand(Matmul &p, MatmulOperand &f, bool is_a, int64_t extent) {
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
  parameter.data = p.may_be_approximate && is_float(f.stored)
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
  if (inner.expr.is(Expr::Kind::range) && is_prefetched(p.style) && draw_.chance(50))
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
  f.stride = f.k_is_fast ? one : leading;
  Made by_k = times(f.k_coordinate, f.stride), by_row = times(row, f.k_is_fast ? leading : one);
  if (draw_.chance(50))
    std::swap(by_k, by_row);
  f.start =
      binary(Op::add, binary(Op::add, of(base).expr, std::move(by_k.expr)), std::move(by_row.expr));
  if (draw_.chance(12)) { // fewer rows than the tile has
    Made bound = bound_parameter(draw_.between(0, extent * programs), "n");
    f.mask.push_back(binary(Op::lt, row.expr, std::move(bound.expr)));
  }
}

// Declares the accumulator, and maybe sums of rows and the accumulator of a chained matmul.
void Generator::declare_accumulators(Matmul &p) {
  double total = double(std::max<int64_t>(p.length(), p.k)) * p.a.max_value * p.b.max_value;
  int fraction = p.may_be_approximate ? 10 : 0;
  p.range = {-total, total, fraction, p.may_be_approximate};
  Made first{literal(Scalar::int32, 0), {}};
  if (draw_.chance(20)) { // a bias
    first = number(Scalar::float_, operand_shape({p.m, p.n}), 1);
    if (first.range.magnitude() > 4000 || first.range.fraction_bits)
      first = number_literal(Scalar::int32, 3);
    p.range = {p.range.low - 4000, p.range.high + 4000, p.range.fraction_bits, p.range.is_rounded};
  }
  p.accumulator = kernel_.add_variable("s" + std::to_string(kernel_.variables.size()),
                                       {Scalar::float_, false, {p.m, p.n}});
  emit(declare(p.accumulator, std::move(first.expr)));
  known_.resize(kernel_.variables.size());
  if (!p.a.is_transposed && draw_.chance(15) && !p.may_be_approximate) {
    p.row_sums = kernel_.add_variable("s" + std::to_string(kernel_.variables.size()),
                                      {Scalar::float_, false, {p.m}});
    emit(declare(p.row_sums, literal(Scalar::float_, 0)));
    known_.resize(kernel_.variables.size());
  }

  if (draw_.chance(policy_.whole ? 3 : 12) && !p.may_be_approximate && p.n >= 4) {
    p.chained_by = {p.n, draw_.pick({8, 16, 32})};
    p.chained = kernel_.add_variable("s" + std::to_string(kernel_.variables.size()),
                                     {Scalar::float_, false, {p.m, p.chained_by[1]}});
    emit(declare(p.chained, literal(Scalar::int32, 0)));
    known_.resize(kernel_.variables.size());
  }
}

Expr Generator::load_operand(const MatmulOperand &f, const Expr *extra_mask, const Expr &pointers) {
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
}

int Generator::declare_tile(const Matmul &p, const MatmulOperand &f) {
  return declare_new("t", {p.scalar, false, f.shape},
                     {.range = {-f.max_value, f.max_value}, .is_fixed = true});
}

// The operand of the dot, from its tile.
Expr Generator::use_of(const Matmul &p, const MatmulOperand &f, Expr tile) {
  if (f.tile < 0 && tile.type.scalar != p.scalar)
    tile = cast({p.scalar, false, {}}, std::move(tile));
  return f.is_transposed ? transpose(std::move(tile)) : tile;
}

// Declares the pointers of the first K tile, and loads it if the style prefetches.
void Generator::start_matmul(Matmul &p) {
  int64_t bound =
      p.length() - (p.style == Style::ragged && p.length() ? draw_.between(0, p.k - 1) : 0);
  p.end =
      draw_.chance(75) ? bound_parameter(bound, "n") : number_literal(Scalar::int32, double(bound));
  if (p.moves())
    for (MatmulOperand *f : p.operands()) {
      if (p.is_reused && f == &p.b) {
        p.b.pointers = p.a.pointers;
        continue;
      }
      f->pointers = declare_new("p", f->start.type, {.range = {}, .may_read = false});
      emit(declare(f->pointers, f->start));
    }
  if (is_prefetched(p.style))
    for (MatmulOperand *f : p.operands()) {
      f->tile = declare_tile(p, *f);
      Expr loaded = load(of(f->pointers).expr);
      emit(declare(f->tile, f->mask.empty() ? std::move(loaded)
                                            : load_operand(*f, nullptr, of(f->pointers).expr)));
    }
}

// Moves the pointers to the next K tile.
void Generator::advance_pointers(Matmul &p) {
  for (MatmulOperand *f : p.operands()) {
    if (!p.moves() || (p.is_reused && f == &p.b))
      continue;
    Made step = *join(Op::mul, number_literal(Scalar::int32, double(p.k)), f->stride);
    if (f->stride.range.high == 1 && draw_.chance(70))
      step = number_literal(Scalar::int32, double(p.k));
    if (draw_.chance(60))
      emit(assign(f->pointers, std::move(step.expr), Op::add));
    else
      emit(assign(f->pointers, binary(Op::add, of(f->pointers).expr, std::move(step.expr))));
  }
}

// Loads the operands of one iteration, or takes the prefetched tiles.
std::vector<Expr> Generator::load_operands(Matmul &p) {
  std::vector<Expr> uses;
  for (MatmulOperand *f : p.operands()) {
    if (is_prefetched(p.style)) {
      uses.push_back(use_of(p, *f, of(f->tile).expr));
      continue;
    }
    Expr pointers =
        p.moves() ? of(f->pointers).expr
                  : binary(Op::add, f->start,
                           f->stride.range.high == 1 ? p.counter
                                                     : binary(Op::mul, p.counter, f->stride.expr));
    Expr mask;
    if (p.style == Style::ragged) {
      Expr rest = p.counts_up ? binary(Op::sub, p.end.expr, p.counter) : p.counter;
      mask = binary(Op::lt, f->k_coordinate.expr, std::move(rest));
    }
    Expr loaded = load_operand(*f, p.style == Style::ragged ? &mask : nullptr, pointers);
    bool is_named = draw_.chance(75) || p.row_sums >= 0;
    if (!is_named) {
      uses.push_back(use_of(p, *f, std::move(loaded)));
      continue;
    }
    f->tile = declare_tile(p, *f);
    emit(declare(f->tile, std::move(loaded)));
    if (draw_.chance(12)) { // modified before the dot, within the same range
      Expr changed = draw_.chance(50) ? binary(Op::max, of(f->tile).expr, real_literal(p.scalar, 0))
                                      : unary(Op::negate, of(f->tile).expr);
      emit(assign(f->tile, std::move(changed)));
    }
    uses.push_back(use_of(p, *f, of(f->tile).expr));
  }
  return uses;
}

// Loads the next K tile at the end of an iteration.
void Generator::prefetch_operands(Matmul &p) {
  // Another iteration follows if more than this K tile is left.
  Expr step = literal(Scalar::int32, p.k);
  Expr more = p.counts_up ? binary(Op::lt, binary(Op::add, p.counter, step), p.end.expr)
                          : binary(Op::gt, p.counter, step);
  if (draw_.chance(60) && p.style == Style::guarded) {
    int named = declare_new("m", {Scalar::bool_, false, {}}, {.range = {0, 1}, .is_fixed = true});
    emit(declare(named, std::move(more)));
    more = of(named).expr;
  }
  for (MatmulOperand *f : p.operands())
    emit(assign(f->tile, load_operand(*f, p.style == Style::guarded ? &more : nullptr,
                                      of(f->pointers).expr)));
}

// Adds the product of one K tile to the accumulator, in one of several styles. A chained matmul
// adds the product's product with another operand to a second accumulator.
void Generator::accumulate(const Matmul &p, const std::vector<Expr> &uses) {
  Expr product = dot(uses[0], uses[1]);
  Expr accumulator = variable(kernel_, p.accumulator);
  size_t way = p.chained >= 0 ? 3 : draw_.weighted({60, 15, 15, 10});
  if (way == 0)
    return emit(assign(p.accumulator, std::move(product), Op::add));
  if (way == 1)
    return emit(assign(p.accumulator, binary(Op::add, std::move(accumulator), std::move(product))));
  if (way == 2)
    return emit(assign(p.accumulator, binary(Op::add, std::move(product), std::move(accumulator))));
  int part = declare_new("v", kernel_.type_of(p.accumulator), {.range = p.range, .is_fixed = true});
  emit(declare(part, std::move(product)));
  emit(assign(p.accumulator, of(part).expr, Op::add));
  if (p.chained < 0)
    return;
  Made small = clamped({of(part).expr, {-1e6, 1e6}}, -max_chained, max_chained);
  Made left = converted(p.scalar, std::move(small));
  Made right = factor(p.scalar, p.chained_by, max_chained, 1);
  emit(assign(p.chained, dot(std::move(left.expr), std::move(right.expr)), Op::add));
}

void Generator::matmul_body(Matmul &p) {
  std::vector<Expr> uses = load_operands(p);
  if (draw_.chance(6)) { // in some of the iterations
    Made decides = condition(1);
    std::vector<Stmt> sometimes = collect([&] { accumulate(p, uses); });
    emit(branch(std::move(decides.expr), std::move(sometimes)));
  } else {
    accumulate(p, uses);
  }
  if (p.row_sums >= 0)
    emit(assign(p.row_sums,
                cast({Scalar::float_, false, {}},
                     subscript(of(p.a.tile).expr, {Position::keep, Position::sum})),
                Op::add));
  if (draw_.chance(10))
    statement(0);
  advance_pointers(p);
  if (is_prefetched(p.style))
    prefetch_operands(p);
}

// The loop over K, with its counter.
void Generator::emit_matmul_loop(Matmul &p) {
  p.counts_up = p.style != Style::counted_down && !(is_prefetched(p.style) && draw_.chance(70));
  int counter = declare_new("k", {Scalar::int32, false, {}},
                            {.range = {0, double(p.length())}, .is_fixed = true, .is_index = true});
  p.counter = of(counter).expr;
  Stmt loop = jump(p.style == Style::counted_while ? Stmt::Kind::while_loop : Stmt::Kind::for_loop);
  Expr zero = literal(Scalar::int32, 0), step = literal(Scalar::int32, p.k);
  Stmt start = declare(counter, p.counts_up ? zero : p.end.expr);
  Stmt next = assign(counter, step, p.counts_up ? Op::add : Op::sub);
  loop.value.push_back(p.counts_up ? binary(Op::lt, p.counter, p.end.expr)
                                   : binary(Op::gt, p.counter, zero));
  loops_.push_back({double(p.iterations), Made{p.counter, {0, double(p.length())}}});
  loop.body = collect([&] {
    matmul_body(p);
    if (p.style == Style::counted_while)
      emit(next);
  });
  loops_.pop_back();
  if (p.style == Style::counted_while) {
    emit(std::move(start));
  } else {
    loop.head.push_back(std::move(start));
    loop.head.push_back(std::move(next));
  }
  emit(std::move(loop));
}

// Makes the results visible, and maybe stores the accumulator.
void Generator::finish_matmul(const Matmul &p) {
  auto publish = [&](int variable, Range result) {
    known(variable) = {.range = result, .is_fixed = true, .loops = int(loops_.size())};
    visible_.push_back(variable);
  };
  publish(p.accumulator, p.range);
  if (p.chained >= 0) {
    double total = double(p.iterations) * double(p.n) * max_chained * max_chained;
    publish(p.chained, {-total, total});
  }
  if (p.row_sums >= 0)
    publish(p.row_sums, {-double(p.length()) * p.a.max_value, double(p.length()) * p.a.max_value});
  if (!draw_.chance(70))
    return;
  Made result = of(p.accumulator);
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

void Generator::matmul_loop() {
  Matmul p;
  if (!choose_matmul(p))
    return;
  add_operand(p, p.a, true, p.m);
  add_operand(p, p.b, false, p.n);
  p.is_reused = p.m == p.n && draw_.chance(6); // A times A transposed
  if (p.is_reused) {
    p.b = p.a;
    p.b.is_transposed = !p.a.is_transposed;
  }
  declare_accumulators(p);
  start_matmul(p);
  std::vector<Stmt> around = collect([&] { emit_matmul_loop(p); });
  for (Stmt &stmt : around)
    emit(std::move(stmt));
  finish_matmul(p);
}

} // namespace tritonc::random
