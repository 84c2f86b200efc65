// Computes the affine forms of index and pointer tiles. See affine.h.
//
// Tested by tests/unit/analysis/affine_test.cpp.

#include "analysis/affine.h"

#include <algorithm>
#include <numeric>

namespace tritonc {

using namespace ir;

namespace {

bool by_number(const Value *a, const Value *b) { return a->number < b->number; }

} // namespace

bool Poly::ByNumbers::operator()(const Monomial &a, const Monomial &b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), by_number);
}

Poly Poly::constant(int64_t value) {
  Poly poly;
  if (value)
    poly.terms[{}] = value;
  return poly;
}

Poly Poly::symbol(const Value *value) {
  Poly poly;
  poly.terms[{value}] = 1;
  return poly;
}

std::optional<int64_t> Poly::as_constant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

namespace {

// Modulo 2^64, like the emitted arithmetic.
int64_t wrapping_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t wrapping_mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

} // namespace

void Poly::add(const Monomial &monomial, int64_t coefficient) {
  auto term = terms.try_emplace(monomial, 0).first;
  term->second = wrapping_add(term->second, coefficient);
  if (term->second == 0)
    terms.erase(term);
}

Poly Poly::operator+(const Poly &other) const {
  Poly sum = *this;
  for (const auto &[monomial, coefficient] : other.terms)
    sum.add(monomial, coefficient);
  return sum;
}

Poly Poly::operator*(const Poly &other) const {
  Poly product;
  for (const auto &[a, ca] : terms)
    for (const auto &[b, cb] : other.terms) {
      Monomial both(a.size() + b.size());
      std::merge(a.begin(), a.end(), b.begin(), b.end(), both.begin(), by_number);
      product.add(both, wrapping_mul(ca, cb));
    }
  return product;
}

Poly Poly::operator-(const Poly &other) const { return *this + other * constant(-1); }

Poly Poly::substitute(const Value *symbol, const Poly &by) const {
  Poly result;
  for (const auto &[monomial, coefficient] : terms) {
    Poly term = constant(coefficient);
    for (const Value *operand : monomial)
      term = term * (operand == symbol ? by : Poly::symbol(operand));
    for (const auto &[part, number] : term.terms)
      result.add(part, number);
  }
  return result;
}

bool Affine::uniform() const {
  return std::all_of(strides.begin(), strides.end(), [](const Poly &p) { return p.is_zero(); });
}

namespace {

// Polynomials can grow without bound. Larger polynomials than this are not useful.
constexpr size_t max_terms = 32, max_factors = 8;

bool is_small(const Poly &poly) {
  return poly.terms.size() <= max_terms &&
         std::all_of(poly.terms.begin(), poly.terms.end(),
                     [](const auto &term) { return term.first.size() <= max_factors; });
}

// Returns whether the result of unsigned arithmetic may differ from the formula.
bool may_wrap(const Op &op) { return !op.is(Opcode::cast_) && op.has(attr::unsigned_); }

// Returns whether a conversion keeps the value. Signed arithmetic does not overflow.
bool keeps_value(const Op &cast) {
  Elem from = cast.operand(0)->type.elem, to = cast.result()->type.elem;
  return is_integer(from) && is_integer(to) && from != Elem::i1 && bits_of(to) >= bits_of(from) &&
         !cast.has(attr::unsigned_);
}

Affine uniform(Poly offset, int rank) {
  return {nullptr, std::move(offset), std::vector<Poly>(rank)};
}

std::optional<Affine> if_small(Affine form) {
  bool small =
      is_small(form.offset) && std::all_of(form.strides.begin(), form.strides.end(), is_small);
  return small ? std::optional(std::move(form)) : std::nullopt;
}

std::optional<Affine> combine(const Value *result, const std::optional<Affine> &a,
                              const std::optional<Affine> &b, bool subtract) {
  if (!a || !b || (a->base && b->base) || (subtract && b->base))
    return std::nullopt;
  Affine sum;
  sum.base = a->base ? a->base : b->base;
  sum.offset = subtract ? a->offset - b->offset : a->offset + b->offset;
  for (int d = 0; d < result->type.rank(); d++)
    sum.strides.push_back(subtract ? a->strides[d] - b->strides[d] : a->strides[d] + b->strides[d]);
  return if_small(std::move(sum));
}

std::optional<Affine> product(const std::optional<Affine> &a, const std::optional<Affine> &b) {
  if (!a || !b || a->base || b->base)
    return std::nullopt;
  if (!a->uniform() && !b->uniform())
    return std::nullopt;
  const Affine &tile = b->uniform() ? *a : *b;
  const Poly &operand = b->uniform() ? b->offset : a->offset;
  Affine result = uniform(tile.offset * operand, 0);
  for (const Poly &stride : tile.strides)
    result.strides.push_back(stride * operand);
  return if_small(std::move(result));
}

std::optional<Affine> reshaped(const Op &op, std::optional<Affine> from) {
  if (!from)
    return std::nullopt;
  switch (op.code) {
  case Opcode::expand_:
    from->strides.insert(from->strides.begin() + op.get(attr::axis_), Poly());
    return from;
  case Opcode::broadcast_:
    // An axis of extent 1 is repeated, so its old stride does not matter.
    for (size_t d = 0; d < from->strides.size(); d++)
      if (op.operand(0)->type.shape[d] == 1)
        from->strides[d] = Poly();
    return from;
  case Opcode::trans_: {
    std::vector<Poly> strides;
    for (int64_t axis : op.get(attr::perm_))
      strides.push_back(from->strides[axis]);
    from->strides = std::move(strides);
    return from;
  }
  default:
    return std::nullopt;
  }
}

} // namespace

const Poly &AffineForms::poly(const Value *scalar) {
  if (auto found = polys_.find(scalar); found != polys_.end())
    return found->second;
  depth_++;
  const bool is_leaf = !scalar->op || scalar->op->operands.empty(); // such as a constant
  Poly form = depth_ <= max_depth || is_leaf ? joined(expand(scalar)) : Poly::symbol(scalar);
  depth_--;
  return polys_[scalar] = is_small(form) ? std::move(form) : Poly::symbol(scalar);
}

Poly AffineForms::expand(const Value *scalar) {
  const Op *op = scalar->op;
  if (!op || may_wrap(*op))
    return Poly::symbol(scalar);
  switch (op->code) {
  case Opcode::constant_:
    return Poly::constant(op->get(attr::value_));
  case Opcode::add_:
    return poly(op->operand(0)) + poly(op->operand(1));
  case Opcode::sub_:
    return poly(op->operand(0)) - poly(op->operand(1));
  case Opcode::mul_:
    return poly(op->operand(0)) * poly(op->operand(1));
  case Opcode::neg_:
    return Poly() - poly(op->operand(0));
  case Opcode::cast_:
    return keeps_value(*op) ? poly(op->operand(0)) : Poly::symbol(scalar);
  case Opcode::no_hoist_:
    return poly(op->operand(0));
  default:
    return Poly::symbol(scalar);
  }
}

// `poly` with x for q*d + r, for each quotient q = x / d and its remainder r = x % d, if that removes
// terms with q.
Poly AffineForms::joined(Poly poly) {
  auto symbols = [&](Opcode code) {
    std::vector<const Value *> found;
    for (const auto &[monomial, coefficient] : poly.terms)
      std::copy_if(monomial.begin(), monomial.end(), std::back_inserter(found),
                   [&](const Value *symbol) { return symbol->op && symbol->op->is(code); });
    return found;
  };
  for (const Value *remainder : symbols(Opcode::rem_))
    for (const Value *quotient : symbols(Opcode::div_)) {
      auto same = [&](size_t i) {
        return this->poly(remainder->op->operand(i)) == this->poly(quotient->op->operand(i));
      };
      auto terms_with_quotient = [&](const Poly &of) {
        return std::count_if(of.terms.begin(), of.terms.end(), [&](const auto &term) {
          return std::find(term.first.begin(), term.first.end(), quotient) != term.first.end();
        });
      };
      if (!same(0) || !same(1))
        continue;
      const Poly multiple = this->poly(remainder->op->operand(1)) * Poly::symbol(quotient);
      const Poly replaced =
          poly.substitute(remainder, this->poly(remainder->op->operand(0)) - multiple);
      if (terms_with_quotient(replaced) < terms_with_quotient(poly))
        poly = replaced;
    }
  return poly;
}

const std::optional<Affine> &AffineForms::affine(const Value *value) {
  if (auto found = affines_.find(value); found != affines_.end())
    return found->second;
  depth_++;
  std::optional<Affine> form;
  if (depth_ <= max_depth)
    form = value->type.is_scalar() ? of_scalar(value) : of_tile(value);
  if (form)
    form->offset = joined(std::move(form->offset));
  depth_--;
  return affines_[value] = std::move(form);
}

std::optional<Affine> AffineForms::of_scalar(const Value *value) {
  if (value->type.is_number())
    return is_float(value->type.elem) ? std::nullopt : std::optional(uniform(poly(value), 0));
  const Op *op = value->op;
  if (!op || !op->is(Opcode::addptr_))
    return Affine{value, Poly(), {}};
  return combine(value, affine(op->operand(0)), affine(op->operand(1)), false);
}

std::optional<Affine> AffineForms::of_tile(const Value *value) {
  const Op *op = value->op;
  if (!op || may_wrap(*op) || (value->type.is_number() && is_float(value->type.elem)))
    return std::nullopt;
  switch (op->code) {
  case Opcode::range_: {
    Affine range = uniform(Poly::constant(op->get(attr::start_)), 1);
    range.strides[0] = Poly::constant(1);
    return range;
  }
  case Opcode::splat_: {
    std::optional<Affine> scalar = affine(op->operand(0));
    if (scalar)
      scalar->strides.resize(value->type.rank());
    return scalar;
  }
  case Opcode::expand_:
  case Opcode::broadcast_:
  case Opcode::trans_:
    return reshaped(*op, affine(op->operand(0)));
  case Opcode::add_:
  case Opcode::addptr_:
    return combine(value, affine(op->operand(0)), affine(op->operand(1)), false);
  case Opcode::sub_:
    return combine(value, affine(op->operand(0)), affine(op->operand(1)), true);
  case Opcode::mul_:
    return product(affine(op->operand(0)), affine(op->operand(1)));
  case Opcode::cast_:
    return keeps_value(*op) ? affine(op->operand(0)) : std::nullopt;
  case Opcode::view_: {
    Affine view{op->operand(0), poly(op->operand(1)), {}};
    for (size_t i = 2; i < op->operands.size(); i++)
      view.strides.push_back(poly(op->operand(i)));
    return view;
  }
  default:
    return std::nullopt;
  }
}

Poly poly_of(const Value *scalar) { return AffineForms().poly(scalar); }

std::optional<Affine> affine_of(const Value *value) { return AffineForms().affine(value); }

Units units_of(const Value *value) {
  const Value *counted = value;
  if (counted->op && counted->op->is(Opcode::cast_))
    counted = counted->op->operand(0);
  if (!counted->op || !counted->op->is(Opcode::udiv_))
    return {value, 1};
  std::optional<int64_t> unit = constant_of(counted->op->operand(1));
  return unit && *unit > 0 ? Units{counted->op->operand(0), *unit} : Units{value, 1};
}

int64_t divisor_of(const Poly &poly, const Function &fn) {
  uint64_t divisor = 0;
  for (const auto &[monomial, coefficient] : poly.terms) {
    int64_t term = coefficient;
    for (const Value *symbol : monomial)
      for (const Parameter &parameter : fn.parameters)
        if (parameter.value == symbol)
          term = wrapping_mul(term, parameter.multiple_of);
    divisor = std::gcd(divisor, term < 0 ? -uint64_t(term) : uint64_t(term));
  }
  constexpr uint64_t max_value = uint64_t(1) << 62; // 2^62 also divides what 2^63 divides
  return int64_t(divisor > max_value ? max_value : divisor);
}

Value *emit(Builder &builder, const Poly &poly) {
  Value *sum = nullptr;
  for (const auto &[monomial, coefficient] : poly.terms) {
    Value *term = monomial.empty() || coefficient != 1 ? builder.i64(coefficient) : nullptr;
    for (const Value *symbol : monomial) {
      Value *operand = const_cast<Value *>(symbol);
      if (operand->type.elem != Elem::i64)
        operand = builder.cast(operand, Elem::i64);
      term = term ? builder.mul(term, operand) : operand;
    }
    sum = sum ? builder.add(sum, term) : term;
  }
  return sum ? sum : builder.i64(0);
}

} // namespace tritonc
